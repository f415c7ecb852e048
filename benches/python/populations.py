"""Time the comparison of two populations of ten million rows each: `make bench-populations`.

Rows are drawn chunk by chunk and never in memory as a whole. Drawing them is not counted. What is timed: counting both
populations (batch by batch, and as parts that are merged), their contrast, and both with error bars.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from xgboost import XGBClassifier

from arborshap import Background
from arborshap.explain.labels import OutputName

N_COLUMNS = 12
CHUNK = 250_000


class Clock:
    """Sums up the seconds between the chunks that are drawn."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def chunks(self, n_rows: int, seed: int, shift: float) -> Iterator[NDArray[np.float32]]:
        """Draw rows, chunk by chunk, while the clock stands still."""
        rng = np.random.default_rng(seed)
        for start in range(0, n_rows, CHUNK):
            rows = rng.standard_normal((min(CHUNK, n_rows - start), N_COLUMNS), dtype=np.float32)
            rows[:, 2] += shift
            began = time.perf_counter()
            yield rows
            self.seconds += time.perf_counter() - began


def trained(n_trees: int) -> XGBClassifier:
    """Train a model of trees of depth 6."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50_000, N_COLUMNS), dtype=np.float32)
    y = X[:, 2] + X[:, 0] * X[:, 1] + rng.standard_normal(len(X)) > 0
    return XGBClassifier(n_estimators=n_trees, max_depth=6, learning_rate=0.1).fit(X, y)


def counted(
    model: XGBClassifier, n_rows: int, seed: int, shift: float, output: OutputName, *, error_bars: bool
) -> tuple[Background, float]:
    """Count a population, and return how long that took."""
    clock = Clock()
    chunks = clock.chunks(n_rows, seed, shift)
    part = Background.from_batches(model, chunks, model_output=output, error_bars=error_bars, verify=False)
    return part, clock.seconds


def merged_in_parts(model: XGBClassifier, n_rows: int) -> tuple[Background, float]:
    """Count each chunk as a part of its own, as machines of a cluster would, and merge the parts."""
    clock = Clock()
    whole: Background | None = None
    for chunk in clock.chunks(n_rows, 1, 0.0):
        part = Background(model, chunk, verify=False)
        whole = part if whole is None else whole.merge(part)
    assert whole is not None
    return whole, clock.seconds


def main() -> None:
    """Measure, and print seconds, bytes and the memory at its highest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of each population")
    parser.add_argument("--trees", type=int, default=100)
    options = parser.parse_args()
    model = trained(options.trees)
    print(f"{options.trees} trees of depth 6, {N_COLUMNS} columns, {options.rows:,} rows on each side")
    outputs: tuple[OutputName, ...] = ("raw", "probability")
    for output in outputs:
        for error_bars in (False, True):
            before, first = counted(model, options.rows, 1, 0.0, output, error_bars=error_bars)
            after, second = counted(model, options.rows, 2, 0.1, output, error_bars=error_bars)
            began = time.perf_counter()
            change = after.contrast(before)
            seconds = time.perf_counter() - began
            largest = int(np.abs(change.values).argmax())
            error = "" if change.standard_error is None else f" ± {1.96 * change.standard_error[largest]:.1g}"
            bars = "with error bars" if error_bars else "without"
            print(
                f"{output:>12}, {bars:<15}  count {first:6.1f} s and {second:6.1f} s, contrast {seconds:6.2f} s, "
                f"{len(before.to_bytes()):>12,} bytes per side; {change.feature_names[largest]} "
                f"{change.values[largest]:+.4f}{error}",
                flush=True,
            )
            if output == "raw" and not error_bars:
                whole, took = merged_in_parts(model, options.rows)
                assert whole.to_bytes() == before.to_bytes()
                print(f"{'':>12}  in parts of {CHUNK:,} rows, merged: {took:.1f} s, and the same bytes", flush=True)
    print(f"memory at its highest: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
