"""fasttreeshap in an environment of its own: `python fasttreeshap_worker.py TREES.npz ROWS.npy THREADS OUT.npz`.

It needs a version of numpy that nothing else here supports, so trees, rows and values are exchanged in files. It cannot
load today's XGBoost files either, so the trees come as the arrays that shap makes of them. The script writes the
seconds to construct and to explain, for each repeat, and the values.
"""

import sys
import time
from typing import Any

import numpy as np

FIELDS = (
    "children_left",
    "children_right",
    "children_default",
    "features",
    "thresholds",
    "values",
    "node_sample_weight",
)


MOST_DEPTH = 8
"""Deeper trees go by the algorithm that needs less memory."""


def _depth(arrays: dict[str, Any], t: int) -> int:
    depth, level = 0, np.array([0])
    while True:
        children = np.concatenate([arrays[f"{t} {side}"][level] for side in ("children_left", "children_right")])
        level = children[children >= 0]
        if not len(level):
            return depth
        depth += 1


def main(trees_file: str, rows_file: str, threads: int, out_file: str) -> None:
    import fasttreeshap  # type: ignore[import-not-found, unused-ignore]

    arrays = dict(np.load(trees_file))
    n_trees = len(arrays) // len(FIELDS)
    rows = np.load(rows_file)
    # "v2" is the faster algorithm, but it keeps 2^depth numbers per leaf.
    algorithm = "v2" if max(_depth(arrays, t) for t in range(n_trees)) <= MOST_DEPTH else "v1"
    constructing, explaining = [], []
    for _ in range(3):
        start = time.perf_counter()
        trees: list[dict[str, Any]] = [{field: arrays[f"{t} {field}"] for field in FIELDS} for t in range(n_trees)]
        model = {"trees": trees, "internal_dtype": np.float64, "input_dtype": np.float64, "tree_output": "raw_value"}
        explainer = fasttreeshap.TreeExplainer(model, algorithm=algorithm, n_jobs=threads)
        between = time.perf_counter()
        values = explainer.shap_values(rows, check_additivity=False)
        constructing.append(between - start)
        explaining.append(time.perf_counter() - between)
    np.savez(
        out_file, constructing=constructing, explaining=explaining, values=values, version=fasttreeshap.__version__
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
