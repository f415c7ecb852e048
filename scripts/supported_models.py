"""Write the tables of supported models from the list that the tests run over: `python scripts/supported_models.py`.

With `--check`, write nothing and fail if a table is stale. README.md shows one line per library, and
docs/supported-models.md one line per kind of model.
"""

import sys

from generated import ROOT, table, written

sys.path.insert(0, str(ROOT / "tests" / "python"))

from arborshap import supported_models
from support.models.cases import CASES

LIBRARIES = {
    "sklearn": "scikit-learn",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "imblearn": "imbalanced-learn",
    "onnx": "ONNX",
    "sksurv": "scikit-survival",
    "ngboost": "NGBoost",
    "quantile_forest": "quantile-forest",
}
BY_HAND = "any other sum of trees, built with `ForestBuilder`"


def main(check: bool) -> None:
    written("README.md", {"supported-models": by_library()}, check=check)
    written("docs/supported-models.md", {"supported-models": by_kind()}, check=check)


def by_library() -> str:
    rows = [
        (title(library), ", ".join(map(quoted, kinds)), shown(tried(library)) or BY_HAND)
        for library, kinds in supported_models().items()
    ]
    return table([("library", "models", "tested with"), *rows])


def by_kind() -> str:
    rows = [
        (title(library), quoted(kind), shown(tried(library, kind)) or BY_HAND)
        for library, kinds in supported_models().items()
        for kind in kinds
    ]
    return table([("library", "model", "tested with"), *rows])


def tried(library: str, kind: str | None = None) -> list[str]:
    """List what the tests cover of a library, or of one kind of its models, each item once and in order."""
    return list(dict.fromkeys(case.what for case in CASES if case.library == library and kind in (None, case.kind)))


def title(library: str) -> str:
    return LIBRARIES.get(library, library)


def quoted(kind: str) -> str:
    """Format a class as code, and anything else (a file, a dump) as it is."""
    return f"`{kind}`" if kind.isidentifier() else kind


def shown(things: list[str]) -> str:
    return "; ".join(things).replace("<", "&lt;").replace(">", "&gt;")


if __name__ == "__main__":
    main(check="--check" in sys.argv[1:])
