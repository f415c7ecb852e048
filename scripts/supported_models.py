"""Write the tables of supported models from the list that the tests run over: `python scripts/supported_models.py`.

With `--check`, write nothing and fail if a table is stale. README.md names the libraries, and docs/supported-models.md
has a table with one row per library and another with one row per class.
"""

import sys
import textwrap

from generated import ROOT, table, written

sys.path.insert(0, str(ROOT / "tests" / "python"))

from arborshap import supported_models
from support.models.cases import CASES, LINEAR

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
    "gpboost": "GPBoost",
    "causalml": "CausalML",
    "ydf": "YDF",
    "perpetual": "PerpetualBooster",
    "pyspark": "Spark ML",
}
LONGEST = 280
"""The most characters of a cell: about four lines of a narrow page."""
BY_HAND = "any other sum of trees, built with `ForestBuilder`"


def main(check: bool) -> None:
    written("README.md", {"supported-models": sentence()}, check=check)
    tables = {"supported-libraries": by_library(), "supported-models": by_kind()}
    written("docs/supported-models.md", tables, check=check)


def sentence() -> str:
    """Name the libraries for readers who only want to know whether theirs is there."""
    names = [title(library) for library in supported_models() if library not in ("arborshap", "shap")]
    text = (
        f"arborshap explains models of {', '.join(names[:-1])} and {names[-1]}. It also explains scikit-learn's "
        "wrappers around them (searches, voting, stacking, calibration, pipelines), saved model files, and any other "
        "sum of trees that you build with `ForestBuilder`. Any other model is refused, with an error that names it "
        "and gives the reason."
    )
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def by_library() -> str:
    rows = []
    for library, kinds in supported_models().items():
        around = [kind for kind in kinds if library == "sklearn" and is_wrapper(library, kind)]
        own = listed([kind for kind in kinds if kind not in around])
        rows.append((title(library), f"{own}: {BY_HAND}" if library == "arborshap" else own))
        if around:
            rows.append((f"{title(library)}, around any of these", listed(around)))
    return checked_table([("library", "models"), *rows])


def by_kind() -> str:
    rows = [
        (title(library), quoted(kind), shown(tried(library, kind)) or BY_HAND)
        for library, kinds in supported_models().items()
        for kind in kinds
    ]
    return checked_table([("library", "model", "tested with"), *rows])


def checked_table(rows: list[tuple[str, ...]]) -> str:
    """Return the table, and fail if one of its cells is too long to be read."""
    for cells in rows:
        for cell in cells:
            if len(cell) > LONGEST:
                raise SystemExit(f"a cell of the table has {len(cell)} characters, more than {LONGEST}: {cell}")
    return table(rows)


def is_wrapper(library: str, kind: str) -> bool:
    """Whether all cases of this kind have other models inside."""
    names = [case.name for case in [*CASES, *LINEAR] if (case.library, case.kind) == (library, kind)]
    return all(name.startswith("wrapper-") for name in names)


def tried(library: str, kind: str) -> list[str]:
    """List what the tests cover of one kind of model. What begins with the same words is listed together."""
    variants: dict[str, list[str]] = {}
    for case in [*CASES, *LINEAR]:
        if (case.library, case.kind) == (library, kind):
            head, _, rest = case.what.partition(", ")
            variants.setdefault(head, []).append(rest)
    things = []
    for head, rests in variants.items():
        named = list(dict.fromkeys(rest for rest in rests if rest))
        if len(named) == len(rests) == 1:
            things.append(f"{head}, {named[0]}")
        else:
            things.append(f"{head} ({'; '.join(named)})" if named else head)
    return things


def listed(kinds: list[str]) -> str:
    """List classes; a star stands for Regressor and Classifier, if there are both."""
    names = []
    for kind in kinds:
        stem = kind.removesuffix("Regressor").removesuffix("Classifier")
        is_pair = kind != stem and {f"{stem}Regressor", f"{stem}Classifier"} <= set(kinds)
        names.append(f"`{stem}*`" if is_pair else quoted(kind))
    return ", ".join(dict.fromkeys(names))


def title(library: str) -> str:
    return LIBRARIES.get(library, library)


def quoted(kind: str) -> str:
    """Format a class as code, and anything else (a file, a dump) as it is."""
    return f"`{kind}`" if kind.isidentifier() else kind


def shown(things: list[str]) -> str:
    return "; ".join(things).replace("<", "&lt;").replace(">", "&gt;")


if __name__ == "__main__":
    main(check="--check" in sys.argv[1:])
