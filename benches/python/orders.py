"""Interactions of order three beside shapiq's, and Owen values beside Shapley values: `make bench-orders`.

Everything runs on one thread, and times are processor times. shapiq explains row by row, so it explains a few rows, and
its time is scaled to all of them. The values of these rows are compared.
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
    """Print the times of both, how far values are apart, and the speed-up; without a background, path-dependent."""
    against: dict[str, Any] = {"mode": "pathdependent"}
    if background is not None:
        against = {"mode": "interventional", "reference_dataset": background}
    theirs = shapiq.TreeExplainer(model, max_order=ORDER, min_order=1, index=index, **against)
    batch, seconds = timed(lambda: theirs.explain_X(X[:few]))
    scaled = seconds / few * len(X)
    explainer = TreeExplainer(model, background, n_jobs=1)
    found, once = timed(lambda: explainer.interactions(X, index=index, order=ORDER))
    nothing = np.zeros(few)
    apart = max(
        np.abs(found.values[:few, at] - batch.values.get(players, nothing)).max()
        for at, players in enumerate(found.sets)
    )
    what = "path-dependent" if background is None else f"against {len(background)} rows"
    print(f"{index} of order {ORDER}, {len(found.sets)} sets, {len(X)} rows, {what}")
    print(f"  shapiq {scaled:.2f} s ({few} rows measured), arborshap {once:.2f} s: {scaled / once:.0f} times as fast")
    print(f"  values up to {np.abs(found.values).max():.1e} differ by {apart:.1e} at most")


def compare_with_shapley(model: Any, X: Any, background: Any) -> None:
    """Print the times of Owen and of Shapley values, each by an explainer that was just made."""
    groups = {f"group {g}": list(range(4 * g, 4 * g + 4)) for g in range(5)}
    once = min(timed(lambda: TreeExplainer(model, background, n_jobs=1).shap_values(X))[1] for _ in range(3))
    owen = min(timed(lambda: TreeExplainer(model, background, n_jobs=1).owen_values(X, groups))[1] for _ in range(3))
    print(f"Shapley values {once:.3f} s, Owen values {owen:.3f} s: {owen / once:.1f} times as long")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="rows, and background rows")
    parser.add_argument("--few", type=int, default=20, help="rows that shapiq explains")
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
    for index, against in (("SII", background), ("STII", background), ("SII", None)):
        compare_with_shapiq(model, rows, against, index, options.few)
    compare_with_shapley(model, rows, background)


if __name__ == "__main__":
    main()
