"""Millions of rows against millions: seconds, pairs per second, memory beyond input and output: `make bench-large`."""

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
from memory import bytes_beyond
from workloads import cached, response

Array: TypeAlias = NDArray[Any]

RESULTS = Path(__file__).resolve().parent.parent / "results" / "large.json"
# Rows, background rows, features, and the seconds we mean to stay under.
JOBS: list[tuple[int, int, int, float | None]] = [
    (1_000_000, 1_000_000, 20, None),
    (3_000_000, 5_000_000, 127, 16.0),
]
CHUNK = 1 << 18


def rows(n: int, n_features: int, seed: int) -> Array:
    """Make normal float32 rows in pieces, because two copies would not fit in memory."""
    rng = np.random.default_rng(seed)
    out = np.empty((n, n_features), np.float32)
    for start in range(0, n, CHUNK):
        part = out[start : start + CHUNK]
        rng.standard_normal(out=part, dtype=np.float32)
    return out


def train(n_features: int) -> Any:
    import xgboost

    X = rows(50_000, n_features, seed=1)
    model = xgboost.XGBRegressor(n_estimators=100, max_depth=6, learning_rate=0.1, random_state=0)
    return model.fit(X, response(X.astype(np.float64), seed=2))


def run(n: int, m: int, n_features: int, goal: float | None) -> dict[str, Any]:
    model = cached(f"large-{n_features}", "xgboost", lambda: train(n_features))
    X, Z = rows(n, n_features, seed=3), rows(m, n_features, seed=4)
    few = TreeExplainer(model, Z[:1000]).shap_values(X[:1000])  # everything is loaded once before it is timed
    del few
    times = [time.perf_counter()]

    def job() -> Array:
        explainer = TreeExplainer(model, Z)
        times.append(time.perf_counter())
        values = explainer.shap_values(X)
        times.append(time.perf_counter())
        expected.append(explainer.expected_value)
        return np.asarray(values)

    expected: list[Any] = []
    values, beyond = bytes_beyond(job)
    start, between, end = times
    some = np.random.default_rng(5).choice(n, 1000, replace=False)
    gap = values[some].sum(axis=1) + expected[0] - model.predict(X[some], output_margin=True)
    if not np.max(np.abs(gap)) < 1e-4:
        raise SystemExit(f"values and expected value miss the prediction by {np.max(np.abs(gap)):.1e}")
    found = {
        "n": n,
        "m": m,
        "features": n_features,
        "construct": between - start,
        "explain": end - between,
        "seconds": end - start,
        "pairs_per_second": n * m / (end - start),
        "bytes_beyond": beyond,
        "largest_gap": float(np.max(np.abs(gap))),
        "goal_seconds": goal,
    }
    print(json.dumps(found), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="a fraction of the rows; records nothing unless 1")
    scale = parser.parse_args().scale
    bystanders = measuring.Bystanders()
    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": measuring.machine(),
        "versions": measuring.versions(),
        "jobs": [run(int(n * scale), int(m * scale), d, goal) for n, m, d, goal in JOBS],
        "others": bystanders.share(),
    }
    if scale == 1.0:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
