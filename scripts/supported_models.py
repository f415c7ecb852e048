"""Write the tables of supported models from the list that the tests run over: `python scripts/supported_models.py`.

With `--check`, write nothing and fail if a table is not current. README.md shows one line per library,
docs/supported-models.md one per kind of model.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from arborshap import supported_models  # noqa: E402  (after the path, as the next one needs it)
from models.cases import CASES  # noqa: E402

BEGIN, END = "<!-- supported-models:begin -->", "<!-- supported-models:end -->"
LIBRARIES = {"sklearn": "scikit-learn", "xgboost": "XGBoost", "lightgbm": "LightGBM", "catboost": "CatBoost"}
BY_HAND = "any other sum of trees, built with `ForestBuilder`"


def main(check: bool) -> None:
    for name, table in {"README.md": by_library(), "docs/supported-models.md": by_kind()}.items():
        page = ROOT / name
        written = page.read_text(encoding="utf-8")
        current = filled(written, table, name)
        if check and current != written:
            raise SystemExit(f"the table in {name} is not current: run scripts/supported_models.py")
        if not check:
            page.write_text(current, encoding="utf-8")


def filled(text: str, table: str, name: str) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{name} has no place for the table: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table}{END}{after}"


def by_library() -> str:
    rows = [
        (title(library), ", ".join(map(quoted, kinds)), shown(tried(library)) or BY_HAND)
        for library, kinds in supported_models().items()
    ]
    return table(("library", "models", "tested with"), rows)


def by_kind() -> str:
    rows = [
        (title(library), quoted(kind), shown(tried(library, kind)) or BY_HAND)
        for library, kinds in supported_models().items()
        for kind in kinds
    ]
    return table(("library", "model", "tested with"), rows)


def tried(library: str, kind: str | None = None) -> list[str]:
    """What the tests try with a library, or with one kind of its models, each thing once and in their order."""
    return list(dict.fromkeys(case.what for case in CASES if case.library == library and kind in (None, case.kind)))


def title(library: str) -> str:
    return LIBRARIES.get(library, library)


def quoted(kind: str) -> str:
    """A class as code, anything else (a file, a dump) as it is."""
    return f"`{kind}`" if kind.isidentifier() else kind


def shown(things: list[str]) -> str:
    return "; ".join(things).replace("<", "&lt;").replace(">", "&gt;")


def table(head: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    main(check="--check" in sys.argv[1:])
