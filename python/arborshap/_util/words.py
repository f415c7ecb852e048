"""Words in messages."""


def counted(n: int, what: str, plural: str = "") -> str:
    """Say how many things there are: "1 row", "2 rows"."""
    return f"1 {what}" if n == 1 else f"{n} {plural or what + 's'}"
