"""Write the tables of rooms in DESIGN.md from the contracts that lint and tests enforce: `python scripts/rooms.py`.

The rooms of the package are the layers of import-linter in pyproject.toml, and what is in each is the first sentence of
its docstring. The rooms of the crate are in src/rooms.toml. With `--check`, write nothing and fail if a table is stale.
"""

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "arborshap"


def main(check: bool) -> None:
    page = ROOT / "DESIGN.md"
    written = page.read_text(encoding="utf-8")
    current = filled(filled(written, "python-rooms", of_package()), "rust-rooms", of_crate())
    if check and current != written:
        raise SystemExit("the tables of rooms in DESIGN.md are not current: run scripts/rooms.py")
    if not check:
        page.write_text(current, encoding="utf-8")


def filled(text: str, name: str, table: str) -> str:
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"DESIGN.md has no place for the table: {begin.strip()} and {end}")
    return f"{before}{begin}{table}{end}{after}"


def of_package() -> str:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = [("room", "what is in it")]
    for layer in layers:
        rows += [room(name.strip()) for name in layer.replace(":", "|").split("|")]
    return table(rows)


def room(name: str) -> tuple[str, str]:
    folder = PACKAGE / name
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if not docstring:
        raise SystemExit(f"{file} has no docstring to describe the room by")
    path = f"python/arborshap/{name}/" if folder.is_dir() else f"python/arborshap/{name}.py"
    return f"`{path}`", docstring.splitlines()[0].rstrip(".")


def of_crate() -> str:
    rooms = tomllib.loads((ROOT / "src" / "rooms.toml").read_text(encoding="utf-8"))["room"]
    rows = [("room", "what is in it", "what it uses")]
    rows += [(f"`{room['path']}`", room["holds"], ", ".join(room["uses"]) or "nothing") for room in reversed(rooms)]
    return table(rows)


def table(rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
