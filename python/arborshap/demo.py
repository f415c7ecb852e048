"""A look at arborshap in a few seconds: ``python -m arborshap.demo`` (with ``pip install 'arborshap[demo]'``).

Trains an XGBoost classifier on the breast cancer data that comes with scikit-learn, explains every tumour against the
whole training set, column by column and measurement by measurement, checks that the values add up, and writes a report.
"""

import os
import sys
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arborshap import TreeExplainer, __version__
from arborshap.exceptions import InputError

Array = NDArray[np.float64]

TREES, DEPTH = 200, 4
REPORT = "demo-report.html"  # in the current directory
WIDTH = 32  # of the longest bar, in characters


def main() -> int:
    """Run the demonstration; returns 0 if the values add up to the model's predictions."""
    try:
        import xgboost
        from sklearn.datasets import load_breast_cancer
        from sklearn.model_selection import train_test_split
    except ImportError as missing:
        print(f"The demonstration needs {missing.name}: pip install 'arborshap[demo]'", file=sys.stderr)
        return 2

    data = load_breast_cancer()
    columns = [str(name) for name in data.feature_names]
    X: Array = data.data
    malignant = 1 - data.target
    train, held_out = train_test_split(np.arange(len(X)), random_state=0, stratify=malignant)
    model = xgboost.XGBClassifier(n_estimators=TREES, max_depth=DEPTH, learning_rate=0.1)
    start = time.perf_counter()
    model.fit(X[train], malignant[train])
    trained = time.perf_counter() - start
    accuracy = np.mean(model.predict(X[held_out]) == malignant[held_out])

    print(f"{bold('arborshap')} {__version__}: exact interventional Shapley values of tree ensembles\n")
    fact("data", f"{len(X)} breast tumours, {len(columns)} columns: the mean, error and worst of 10 measurements")
    fact(
        "model",
        f"XGBoost, {TREES} trees of depth {DEPTH}, log-odds of malignancy; {accuracy:.1%} right on held-out rows",
    )
    fact("trained in", f"{trained:.2f} s on {len(train)} rows")
    fact("background", f"all {len(train)} rows of the training set, none left out")

    start = time.perf_counter()
    explainer = TreeExplainer(model, X[train], feature_names=columns)
    values = explainer.shap_values(X)
    taken = time.perf_counter() - start
    pairs = len(X) * len(train)
    expected = float(explainer.expected_value)
    margin: Array = model.predict(X, output_margin=True).astype(np.float64)
    gap = float(np.max(np.abs(values.sum(axis=1) + expected - margin)))

    title(f"{len(X)} rows x {len(train)} background rows = {pairs:,} pairs explained in {taken:.2f} s")
    fact("expected value", f"{expected:+.4f}, the mean prediction over the background")
    adds_up = gap < 1e-4  # XGBoost itself adds its trees up in float32
    verdict = "each row's values add up to XGBoost's prediction" if adds_up else "THE VALUES DO NOT ADD UP"
    fact("additivity", f"{verdict}; the largest gap is {gap:.1e}")

    title("Mean |phi| over all rows, each column a player: the eight largest of 30")
    chart(columns, np.abs(values).mean(axis=0), limit=8)

    measurements = sorted({measurement(name) for name in columns})
    groups = {m: [name for name in columns if measurement(name) == m] for m in measurements}
    start = time.perf_counter()
    grouped = TreeExplainer(model, X[train], feature_names=columns, groups=groups)
    explanation = grouped(X)
    taken = time.perf_counter() - start
    title(f"The same with the three columns of a measurement as one player ({taken:.2f} s)")
    chart(explanation.feature_names, np.abs(explanation.values).mean(axis=0), limit=10)

    row = int(held_out[np.argmin(np.abs(margin[held_out]))])
    truth = "malignant" if malignant[row] else "benign"
    title(f"Held-out tumour {row}, the least certain of all (it was {truth})")
    chart(explanation.feature_names, explanation.values[row], limit=10, signed=True)
    print(f"  {'expected value + all of these':>31}  {expected + explanation.values[row].sum():+.3f} log-odds")

    title("To look at in a browser, from disk and without a network")
    try:
        page = explainer(X).report(REPORT, title="What makes a tumour look malignant?")
        fact("report", str(page.resolve()))
    except (OSError, InputError) as error:
        fact("report", f"none: {error}")
    return 0 if adds_up else 1


def measurement(column: str) -> str:
    """What a column measures: "area" for "mean area", "area error" and "worst area"."""
    return " ".join(word for word in column.split() if word not in {"mean", "error", "worst"})


def chart(names: Sequence[str], values: Array, *, limit: int, signed: bool = False) -> None:
    """Print bars, the longest first."""
    order = np.argsort(-np.abs(values))[:limit]
    largest = float(np.abs(values[order[0]])) or 1.0
    for i in order:
        bar = block() * max(1, round(WIDTH * abs(float(values[i])) / largest))
        number = f"{values[i]:+.3f}" if signed else f"{values[i]:.3f}"
        print(f"  {names[i]:>31}  {number:>6}  {coloured(bar, 31 if values[i] > 0 or not signed else 34)}")


def title(text: str) -> None:
    """Print the title of a section."""
    print(f"\n{bold(text)}")


def fact(name: str, text: str) -> None:
    """Print one named fact."""
    print(f"  {name:<15} {text}")


def bold(text: str) -> str:
    """Make text bold where the terminal can."""
    return coloured(text, 1)


def coloured(text: str, code: int) -> str:
    """Wrap text in an ANSI code, but only for a terminal, and not against the user's wish."""
    return f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def block() -> str:
    """The character bars are made of: a full block where the output can encode it."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "#"
    return "█"


if __name__ == "__main__":
    sys.exit(main())
