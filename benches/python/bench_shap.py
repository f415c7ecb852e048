"""arborshap beside shap in one run, on the same model, rows and background: `python benches/python/bench_shap.py`.

The model is 100 XGBoost trees of depth 6 on 20 features. Times are the best of three; a traversal is one row, one
background row and one tree, and the last ratio counts construction as well.
"""

import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import shap
import xgboost
from numpy.typing import NDArray

from arborshap import TreeExplainer

Array: TypeAlias = NDArray[np.float64]
Contender: TypeAlias = tuple[str, Callable[[Any, Array], Any], Callable[[Any, Array], Array]]

TREES, DEPTH, FEATURES = 100, 6, 20
SIZES = [(100, 100), (1000, 100), (200, 1000)]


def contenders() -> Iterator[Contender]:
    """Yield the name, the constructor from model and background, and the explanation of rows; shap comes first."""
    yield "shap", shap_explainer, lambda explainer, rows: explainer.shap_values(rows, check_additivity=False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for threads in sorted({1, cores}):
        construct = partial(TreeExplainer, n_jobs=threads)
        yield f"arborshap, threads: {threads}", construct, TreeExplainer.shap_values
        yield f"  pair by pair, threads: {threads}", construct, lambda e, rows: e.pair_values(rows).mean(axis=1)


def shap_explainer(model: Any, background: Array) -> Any:
    # Left to itself, shap would silently keep 100 rows of a larger background.
    return shap.TreeExplainer(model, shap.maskers.Independent(background, max_samples=len(background)))


def measure(contender: Contender, model: Any, rows: Array, background: Array) -> tuple[float, float, Array]:
    """Return the seconds to construct, the seconds to explain, and the values."""
    _, construct, explain = contender
    constructing, explaining = [], []
    for _ in range(3):
        start = time.perf_counter()
        explainer = construct(model, background)
        between = time.perf_counter()
        values = explain(explainer, rows)
        constructing.append(between - start)
        explaining.append(time.perf_counter() - between)
    return min(constructing), min(explaining), values


def main() -> None:
    warnings.simplefilter("ignore")  # of shap, about its own future
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, FEATURES))
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + np.where(X[:, 3] > 0, X[:, 4], X[:, 5]) + 0.1 * rng.normal(size=len(X))
    model = xgboost.XGBRegressor(n_estimators=TREES, max_depth=DEPTH).fit(X, y)

    print(f"{platform.machine()}; XGBoost {xgboost.__version__}, {TREES} trees of depth {DEPTH}, {FEATURES} features")
    for n, m in SIZES:
        rows, background = X[:n], X[-m:]
        print(f"\n{f'{n} rows x {m} background rows':<34} construct   explain  ns/traversal  shap takes     in all")
        reference: tuple[float, float, Array] | None = None
        for contender in contenders():
            construct, explain, values = measured = measure(contender, model, rows, background)
            reference = reference or measured
            np.testing.assert_allclose(values, reference[2], atol=1e-5)
            print(
                f"{contender[0]:<34} {construct:>7.4f} s {explain:>7.4f} s {1e9 * explain / (n * m * TREES):>13.1f}"
                f" {reference[1] / explain:>9.1f} x {(reference[0] + reference[1]) / (construct + explain):>8.1f} x"
            )


if __name__ == "__main__":
    main()
