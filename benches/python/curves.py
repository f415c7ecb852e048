"""Curves, H statistics and a deep forest, beside woodelf and scikit-learn's brute force: `make bench-curves`.

Seconds are those of the whole job, with making the explainer; processor seconds are those of all threads together.
Values are compared before anything is written. scikit-learn predicts every background row once per point and column, so
it is timed on one point and extrapolated.
"""

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import measuring
from arborshap import TreeExplainer
from workloads import cached, normal_rows, response

Array: TypeAlias = NDArray[Any]

RESULTS = Path(__file__).resolve().parent.parent / "results" / "curves.json"
BACKGROUND, FEATURES, TRAINING, H_ROWS = 400_000, 20, 50_000, 10_000
NAMES = [f"x{j}" for j in range(FEATURES)]


def timed(job: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    start, processor = time.perf_counter(), time.process_time()
    found = job()
    return found, {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - processor,
    }


def boosted() -> Any:
    from xgboost import XGBRegressor

    X = normal_rows(TRAINING, FEATURES, seed=1)
    return XGBRegressor(n_estimators=100, max_depth=6).fit(X, response(X, seed=2))


def deep() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    X = normal_rows(H_ROWS, 10, seed=1)
    return RandomForestRegressor(random_state=0, n_jobs=-1).fit(X, response(X, seed=2))


def all_curves(model: Any, Z: Array) -> list[dict[str, Any]]:
    """Every one-way curve: ours at every step, woodelf's on 100 points, scikit-learn's extrapolated."""
    curves, ours = timed(lambda: TreeExplainer(model, Z).partial_dependence())
    points = {name: curve.grid_values[0] for name, curve in curves.items()}
    n_points = sum(map(len, points.values()))
    found = [{"who": "arborshap", "points": n_points, **ours}]

    def one_point() -> float:
        mixed = Z.copy()
        mixed[:, 0] = points["x0"][len(points["x0"]) // 2]
        return float(model.predict(mixed).mean())

    mean, theirs = timed(one_point)
    gap = abs(mean - float(curves["x0"].average[0, len(points["x0"]) // 2]))
    compared("scikit-learn's way", gap)
    found.append(
        {"who": "scikit-learn (extrapolated)", "points": n_points, "gap": gap}
        | {key: seconds * n_points for key, seconds in theirs.items()}
    )
    try:
        from woodelf.pdp import woodelf_pdp
    except ImportError:
        print("woodelf_explainer is not installed; it is left out")
        return found
    frame = pd.DataFrame(Z, columns=NAMES)
    (values, at), woodelf = timed(lambda: woodelf_pdp(model, frame, k=100, centered=False, verbose=False))
    explainer = TreeExplainer(model, Z)
    gap = max(
        float(np.abs(explainer.partial_dependence(name, grid=at[name].to_numpy()).average[0] - values[name]).max())
        for name in NAMES
    )
    compared("woodelf", gap)
    found.append({"who": "woodelf", "points": 100 * FEATURES, "gap": gap, **woodelf})
    return found


def compared(who: str, gap: float) -> None:
    if not gap < 1e-4:
        raise SystemExit(f"the curves differ from those of {who} by {gap:.1e}")


def run(scale: float) -> dict[str, list[dict[str, Any]]]:
    model = cached("curves-boosted", "xgboost", boosted)
    Z = normal_rows(int(BACKGROUND * scale), FEATURES, seed=3)
    TreeExplainer(model, Z[:100]).partial_dependence()  # everything is loaded once before it is timed
    jobs = {"all curves": all_curves(model, Z)}
    few = Z[: int(H_ROWS * scale)]
    h, seconds = timed(lambda: TreeExplainer(model, few).h_statistic(few))
    jobs["H of all pairs"] = [{"who": "arborshap", "rows": len(few), "largest": float(h.max()), **seconds}]
    forest = cached("curves-deep", "sklearn", deep)
    some = normal_rows(int(H_ROWS * scale), 10, seed=3)
    curves, seconds = timed(lambda: TreeExplainer(forest, some).partial_dependence())
    curve = curves["x0"]
    middle = len(curve.grid_values[0]) // 2
    mixed = some.copy()
    mixed[:, 0] = curve.grid_values[0][middle]
    gap = abs(float(forest.predict(mixed).mean()) - float(curve.average[0, middle]))
    compared("scikit-learn's forest", gap)
    steps = sum(len(curve.grid_values[0]) for curve in curves.values())
    jobs["all curves of a deep forest"] = [{"who": "arborshap", "points": steps, "gap": gap, **seconds}]
    return jobs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="a fraction of the rows; records nothing unless 1")
    options = parser.parse_args()
    bystanders = measuring.Bystanders()
    jobs = run(options.scale)
    for name, found in jobs.items():
        for one in found:
            print(name, json.dumps(one), flush=True)
    if options.scale != 1.0:
        return
    recorded = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": measuring.machine(),
        "versions": measuring.versions(("arborshap", "numpy", "scikit-learn", "woodelf_explainer", "xgboost")),
        "jobs": jobs,
        "others": bystanders.share(),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
