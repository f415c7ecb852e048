"""The trees themselves, so that the page can walk them for any two of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.forest.forest import Forest, NodeFlag
from arborshap.report.packing import packed, packed_size

BUDGET = 3_000_000
"""Most characters of the page that the trees may take."""


def trees_payload(forest: Forest, outputs: list[int], budget: int | None = None) -> dict[str, Any]:
    """Pack the trees that add to the shown outputs, or only the first of these trees if all would be too large.

    Parameters
    ----------
    forest
        The trees.
    outputs
        The model's outputs that the page shows, in the page's order.
    budget
        Most characters to take. The default is `BUDGET`.

    Returns
    -------
    dict
        The packed arrays; ``complete`` says whether all trees are included.
    """
    most = BUDGET if budget is None else budget
    relevant = [t for t in range(forest.n_trees) if forest.tree_output[t] == -1 or forest.tree_output[t] in outputs]
    kept = relevant
    while True:
        payload = _pack(forest, kept, outputs) | {"complete": len(kept) == len(relevant), "n_trees": len(relevant)}
        size = packed_size(payload)
        if size <= most or len(kept) <= 1:
            return payload
        kept = kept[: max(1, int(0.9 * len(kept) * most / size))]


def _pack(forest: Forest, trees: list[int], outputs: list[int]) -> dict[str, Any]:
    spans = [(int(forest.tree_offsets[t]), int(forest.tree_offsets[t + 1])) for t in trees]
    nodes = np.concatenate([np.arange(*span) for span in spans]) if spans else np.empty(0, np.int64)
    leaf = forest.left[nodes] == -1
    values = forest.value[nodes[leaf]]
    page_output = {output: i for i, output in enumerate(outputs)}
    categorical = (forest.flags[nodes] & NodeFlag.CATEGORICAL) != 0
    sets = _category_sets(forest, nodes[categorical & ~leaf])
    return {
        "numbers": packed(np.array(trees, dtype=np.int64)),
        "offsets": packed(np.cumsum([0, *(end - start for start, end in spans)])),
        "output": packed(np.array([page_output.get(int(forest.tree_output[t]), -1) for t in trees], dtype=np.int64)),
        "left": packed(forest.left[nodes]),
        "right": packed(forest.right[nodes]),
        "feature": packed(np.where(leaf, 0, forest.feature[nodes])),
        "threshold": packed(np.where(leaf | categorical, 0.0, forest.threshold[nodes])),
        "flags": packed(np.where(leaf, 0, forest.flags[nodes])),
        "leaf_values": packed(values[:, outputs] if values.ndim == 2 else values[:, np.newaxis]),
        "categories": sets,
    }


def _category_sets(forest: Forest, nodes: NDArray[np.int64]) -> dict[str, Any]:
    """Return the sets of the kept categorical nodes, one after another in the order of the nodes."""
    at = np.searchsorted(forest.category_nodes, nodes)
    sets = [forest.categories[forest.category_offsets[s] : forest.category_offsets[s + 1]] for s in at]
    return {
        "offsets": packed(np.cumsum([0, *map(len, sets)])),
        "members": packed(np.concatenate(sets) if sets else np.empty(0, np.uint32)),
    }
