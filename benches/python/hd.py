"""Deep LightGBM models at the size that WoodelfHD's authors published times for: `make bench-hd`.

118,000 rows, 472,000 background rows, 397 features, 100 trees of depth 6 to 18 with as many leaves as the depth allows,
at most 1024. It takes minutes and several gigabytes, so it is not part of `make bench-peers`. What has been measured is
recorded depth by depth, so a run may be ended; `--depth` adds one depth to what is recorded.
"""

import argparse
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import measuring
from arborshap import TreeExplainer
from large import rows
from memory import bytes_beyond
from workloads import cached, response

Array: TypeAlias = NDArray[Any]

RESULTS = Path(__file__).resolve().parent.parent / "results" / "hd.json"
ROWS, BACKGROUND, FEATURES, TREES, TRAINING = 118_000, 472_000, 397, 100, 50_000
PUBLISHED = {6: 7.4, 9: 25.0, 12: 59.0, 15: 187.0, 18: 836.0}
"""Seconds by depth, as published for WoodelfHD."""


def train(depth: int) -> Any:
    import lightgbm

    X = rows(TRAINING, FEATURES, seed=1)
    leaves = min(2**depth, 1024)
    model = lightgbm.LGBMRegressor(n_estimators=TREES, max_depth=depth, num_leaves=leaves, random_state=0, verbose=-1)
    return model.fit(X, response(X.astype(np.float64), seed=2))


def run(depth: int, scale: float) -> dict[str, Any]:
    model = cached(f"hd-{depth}-{TRAINING}", "lightgbm", lambda: train(depth))
    X, Z = rows(int(ROWS * scale), FEATURES, seed=3), rows(int(BACKGROUND * scale), FEATURES, seed=4)
    TreeExplainer(model, Z[:10]).shap_values(X[:10])  # everything is loaded once before it is timed
    expected: list[Any] = []

    def job() -> Array:
        explainer = TreeExplainer(model, Z)
        expected.append(explainer.expected_value)
        return np.asarray(explainer.shap_values(X))

    start = time.perf_counter()
    values, beyond = bytes_beyond(job)
    seconds = time.perf_counter() - start
    gap = float(np.max(np.abs(values[:1000].sum(axis=1) + expected[0] - model.predict(X[:1000]))))
    if not gap < 1e-6:
        raise SystemExit(f"values and expected value miss the prediction by {gap:.1e}")
    found = {
        "depth": depth,
        "n": len(X),
        "m": len(Z),
        "seconds": seconds,
        "published": PUBLISHED[depth],
        "leaves": round(np.mean([tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"]])),
        "bytes_beyond": beyond,
        "largest_gap": gap,
    }
    print(json.dumps(found), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--depth", type=int, choices=PUBLISHED, action="append", help="only this depth; may be repeated"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="a fraction of the rows; records nothing unless 1")
    options = parser.parse_args()
    bystanders = measuring.Bystanders()
    jobs: dict[int, Any] = {}
    if options.depth and RESULTS.exists():
        jobs = {job["depth"]: job for job in json.loads(RESULTS.read_text())["jobs"]}
    for depth in options.depth or PUBLISHED:
        jobs[depth] = run(depth, options.scale)
        if options.scale == 1.0:  # depth by depth, because the deepest take minutes
            record(jobs, bystanders)


def record(jobs: dict[int, Any], bystanders: measuring.Bystanders) -> None:
    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": measuring.machine(),
        "versions": measuring.versions(("arborshap", "lightgbm", "numpy")),
        "jobs": [jobs[depth] for depth in sorted(jobs)],
        "others": bystanders.share(),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
