"""Ten million background rows with a known answer: `make ten-million`.

The rows are a thousand distinct rows, each repeated as often as a weight says. Values against all of them must equal
the values against the thousand weighted rows, whether the rows come at once or in batches.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np

from arborshap import Forest, ForestBuilder, TreeExplainer

N_FEATURES = 4
DISTINCT = 1000
TOLERANCE = 1e-13


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    wanted = parser.parse_args().rows
    rng = np.random.default_rng(0)
    different = rng.normal(size=(DISTINCT, N_FEATURES)).astype(np.float32)
    times = rng.multinomial(wanted, rng.dirichlet(np.ones(DISTINCT)))
    background = different[rng.permutation(np.repeat(np.arange(DISTINCT), times))]
    forest = narrow_forest(rng)
    X = rng.normal(size=(1000, N_FEATURES)).astype(np.float32)
    expected = TreeExplainer(forest, different, sample_weight=times.astype(float)).shap_values(X)
    largest = float(np.abs(forest.margin(X)).max())
    for name, batches in (("at once", 1), ("in ten batches", 10)):
        begin = time.perf_counter()
        if batches == 1:
            explainer = TreeExplainer(forest, background)
        else:
            explainer = TreeExplainer.from_batches(forest, np.array_split(background, batches))
        values = explainer.shap_values(X)
        seconds = time.perf_counter() - begin
        off = float(np.abs(values - expected).max()) / largest
        print(
            f"{len(background):,} background rows {name}: {seconds:.1f} s, off by {off:.1e} of the largest margin; "
            f"the process had {resident_at_most() / 1e6:.0f} MB at most, the rows {background.nbytes / 1e6:.0f}"
        )
        if not off <= TOLERANCE:
            raise SystemExit("the values differ from those of the weighted rows")


def narrow_forest(rng: np.random.Generator) -> Forest:
    depth = 5
    inner, n = 2**depth - 1, 2 ** (depth + 1) - 1
    left = np.where(np.arange(n) < inner, 2 * np.arange(n) + 1, -1)
    builder = ForestBuilder(N_FEATURES, rule="<", precision="float32")
    for _ in range(50):
        builder.add_tree(
            left=left,
            right=np.where(left < 0, -1, left + 1),
            feature=rng.integers(0, N_FEATURES, n),
            threshold=rng.normal(size=n),
            value=rng.normal(size=n),
        )
    return builder.build()


def resident_at_most() -> int:
    """Return the peak memory of the process so far, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


if __name__ == "__main__":
    main()
