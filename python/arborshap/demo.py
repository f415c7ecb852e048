"""A demonstration of a few seconds: ``python -m arborshap.demo`` (after ``pip install 'arborshap[demo]'``).

It trains an XGBoost classifier on the breast cancer data of scikit-learn, explains every tumour against the whole
training set, first by column and then by measurement, checks that the values add up, and writes a report.
"""

import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap import TreeExplainer, __version__
from arborshap.exceptions import InputError

Array = NDArray[np.float64]

TREES, DEPTH = 200, 4
REPORT = "demo-report.html"  # in the current directory
WIDTH = 32  # of the longest bar, in characters


def main() -> int:
    """Run the demonstration; return 0 if the values add up to the model's predictions."""
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
    fact("background", f"all {len(train)} rows of the training set")

    margin: Array = model.predict(X, output_margin=True).astype(np.float64)
    explainer, adds_up = explain_columns(model, X, X[train], columns, margin)
    uncertain = int(held_out[np.argmin(np.abs(margin[held_out]))])
    explain_measurements(model, X, X[train], columns, uncertain, "malignant" if malignant[uncertain] else "benign")
    write_report(explainer, X)
    return 0 if adds_up else 1


def explain_columns(
    model: Any, X: Array, background: Array, columns: list[str], margin: Array
) -> tuple[TreeExplainer, bool]:
    """Explain every row with each column as a player; also return whether the values add up to the margin."""
    start = time.perf_counter()
    explainer = TreeExplainer(model, background, feature_names=columns)
    values = explainer.shap_values(X)
    taken = time.perf_counter() - start
    pairs = len(X) * len(background)
    expected = float(explainer.expected_value)
    gap = float(np.max(np.abs(values.sum(axis=1) + expected - margin)))

    title(f"{len(X)} rows x {len(background)} background rows = {pairs:,} pairs explained in {taken:.2f} s")
    fact("expected value", f"{expected:+.4f}, the mean prediction over the background")
    adds_up = gap < 1e-4  # XGBoost itself sums its trees in float32
    verdict = "each row's values add up to XGBoost's prediction" if adds_up else "THE VALUES DO NOT ADD UP"
    fact("additivity", f"{verdict}; the largest gap is {gap:.1e}")

    title("Mean |phi| over all rows, with each column as a player: the eight largest of 30")
    chart(columns, np.abs(values).mean(axis=0), limit=8)
    return explainer, adds_up


def explain_measurements(model: Any, X: Array, background: Array, columns: list[str], row: int, truth: str) -> None:
    """Explain every row with each measurement as a player, and show one row in detail."""
    measurements = sorted({measurement(name) for name in columns})
    groups = {m: [name for name in columns if measurement(name) == m] for m in measurements}
    start = time.perf_counter()
    explainer = TreeExplainer(model, background, feature_names=columns, groups=groups)
    explanation = explainer(X)
    taken = time.perf_counter() - start
    title(f"The same, with the three columns of each measurement as one player ({taken:.2f} s)")
    chart(explanation.feature_names, np.abs(explanation.values).mean(axis=0), limit=10)

    title(f"Held-out tumour {row}, the least certain prediction (the tumour was {truth})")
    chart(explanation.feature_names, explanation.values[row], limit=10, signed=True)
    total = float(explainer.expected_value) + explanation.values[row].sum()
    print(f"  {'expected value + all of these':>31}  {total:+.3f} log-odds")


def write_report(explainer: TreeExplainer, X: Array) -> None:
    """Write the report, and print where it is."""
    title("To open in a browser; no network is needed")
    try:
        page = explainer(X).report(REPORT, title="What makes a tumour look malignant?")
        fact("report", str(page.resolve()))
    except (OSError, InputError) as error:
        fact("report", f"none: {error}")


def measurement(column: str) -> str:
    """Return what a column measures: "area" for "mean area", "area error" and "worst area"."""
    return " ".join(word for word in column.split() if word not in {"mean", "error", "worst"})


def chart(names: Sequence[str], values: Array, *, limit: int, signed: bool = False) -> None:
    """Print a chart of bars, the longest first."""
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
    """Make text bold if the output is a terminal."""
    return coloured(text, 1)


def coloured(text: str, code: int) -> str:
    """Wrap text in an ANSI code if the output is a terminal and NO_COLOR is not set."""
    return f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def block() -> str:
    """Return the character for bars: a full block if the output can encode it, and otherwise "#"."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "#"
    return "█"


if __name__ == "__main__":
    sys.exit(main())
