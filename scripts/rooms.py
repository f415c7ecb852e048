"""Write the tables of rooms in DESIGN.md from the contracts that lint and tests enforce: `python scripts/rooms.py`.

The rooms of the package are the layers of import-linter in pyproject.toml, and the first sentence of its docstring
describes each. The rooms of the crate are in src/rooms.toml. With `--check`, write nothing and fail if a table is
stale.
"""

import ast
import sys
import tomllib

from generated import ROOT, table, written

PACKAGE = ROOT / "python" / "arborshap"


def main(check: bool) -> None:
    written("DESIGN.md", {"python-rooms": of_package(), "rust-rooms": of_crate()}, check=check)


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
        raise SystemExit(f"{file} has no docstring that describes the room")
    path = f"python/arborshap/{name}/" if folder.is_dir() else f"python/arborshap/{name}.py"
    return f"`{path}`", docstring.splitlines()[0].rstrip(".")


def of_crate() -> str:
    rooms = tomllib.loads((ROOT / "src" / "rooms.toml").read_text(encoding="utf-8"))["room"]
    rows = [("room", "what is in it", "what it uses")]
    rows += [(f"`{room['path']}`", room["holds"], ", ".join(room["uses"]) or "nothing") for room in reversed(rooms)]
    return table(rows)


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
