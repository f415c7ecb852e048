"""Generated text between two marks of a page: writing it, and checking that it is current."""

from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent


def filled(page: str, name: str, text: str) -> str:
    """Put a text between two marks, such as <!-- rooms:begin --> and <!-- rooms:end -->."""
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"the page lacks the marks {begin.strip()} and {end}")
    return f"{before}{begin}{text}{end}{after}"


def written(page: str, texts: dict[str, str], *, check: bool) -> None:
    """Write texts into a page; with `check`, fail instead if the page differs."""
    path = ROOT / page
    found = current = path.read_text(encoding="utf-8")
    for name, text in texts.items():
        current = filled(current, name, text)
    if check and current != found:
        raise SystemExit(f"{page} is not current: run the script that writes {', '.join(texts)}")
    if not check:
        path.write_text(current, encoding="utf-8")


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table in Markdown; the first row is its head."""
    lines = [rows[0], ("---",) * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
