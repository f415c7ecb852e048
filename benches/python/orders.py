"""Interactions of order three beside shapiq's, and Owen values beside Shapley values: `make bench-orders`.

All on one thread, in the time of the processor. shapiq explains row by row, so it explains a few rows, and its time is
scaled to all of them. It knows path-dependent values only; ours are measured without a background, whose values are
compared with shapiq's, and against a background of as many rows.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import shapiq
from xgboost import XGBRegressor

from arborshap import TreeExplainer

ORDER = 3


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work returns, and the seconds that the processor took for it."""
    start = time.process_time()
    return work(), time.process_time() - start


def compare_with_shapiq(model: Any, X: Any, background: Any, index: Any, few: int) -> None:
    """Print the times of both, how far values are apart, and the speed-up."""
    theirs = shapiq.TreeExplainer(model, max_order=ORDER, index=index)
    rows, seconds = timed(lambda: [theirs.explain(x) for x in X[:few]])
    scaled = seconds / few * len(X)
    ours = TreeExplainer(model, n_jobs=1)
    found, by_cover = timed(lambda: ours.interactions(X, index=index, order=ORDER))
    apart = max(
        abs(found.values[row, at] - values[players])
        for row, values in enumerate(rows)
        for at, players in enumerate(found.sets)
    )
    explainer = TreeExplainer(model, background, n_jobs=1)
    _, against = timed(lambda: explainer.interactions(X, index=index, order=ORDER))
    print(f"{index} of order {ORDER}, {len(found.sets)} sets, {len(X)} rows")
    print(f"  shapiq, path-dependent       {scaled:9.2f} s ({few} rows measured)")
    print(f"  arborshap, path-dependent    {by_cover:9.2f} s, speed-up {scaled / by_cover:,.0f}x")
    print(f"  arborshap, {len(background)} background rows {against:7.2f} s, speed-up {scaled / against:,.0f}x")
    print(f"  largest difference of values {apart:.1e}, of values up to {np.abs(found.values).max():.1e}")


def compare_with_shapley(model: Any, X: Any, background: Any) -> None:
    """Print the times of Owen and of Shapley values, each by an explainer that was just made."""
    groups = {f"group {g}": list(range(4 * g, 4 * g + 4)) for g in range(5)}
    once = min(timed(lambda: TreeExplainer(model, background, n_jobs=1).shap_values(X))[1] for _ in range(3))
    owen = min(timed(lambda: TreeExplainer(model, background, n_jobs=1).owen_values(X, groups))[1] for _ in range(3))
    print(f"Shapley values {once:.3f} s, Owen values {owen:.3f} s: {owen / once:.1f} times as long")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="rows, and background rows")
    parser.add_argument("--few", type=int, default=3, help="rows that shapiq explains")
    options = parser.parse_args()
    X = np.random.default_rng(0).normal(size=(5000, 20))
    y = (
        X[:, 0] * X[:, 1] * X[:, 2]
        + np.sin(X[:, 3]) * X[:, 4]
        + X[:, 5] * X[:, 0] * X[:, 3]
        + 0.3 * X[:, 6:].sum(axis=1)
    )
    model = XGBRegressor(n_estimators=100, max_depth=6, n_jobs=1).fit(X, y)
    rows, background = X[: options.rows], X[-options.rows :]
    for index in ("SII", "k-SII"):
        compare_with_shapiq(model, rows, background, index, options.few)
    compare_with_shapley(model, rows, background)


if __name__ == "__main__":
    main()
