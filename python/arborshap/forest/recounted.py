"""A forest whose cover is counted anew, from rows of the caller instead of the rows that it was trained on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from arborshap.forest.forest import Forest

_LARGEST_BLOCK = 1 << 22  # leaf numbers that are held at a time


def recounted(
    forest: Forest, rows: NDArray[np.floating], weights: NDArray[np.float64] | None, n_threads: int
) -> Forest:
    """Return the same trees, where the cover of a node is the weight of these rows that reach it."""
    if forest.n_trees == 0:
        return forest
    starts = np.repeat(forest.tree_offsets[:-1], np.diff(forest.tree_offsets))
    cover = _leaf_weights(forest, rows, weights, n_threads)
    for level in reversed(_levels(forest, starts)):
        cover[level] = cover[forest.left[level] + starts[level]] + cover[forest.right[level] + starts[level]]
    return replace(forest, cover=cover)


def _leaf_weights(
    forest: Forest, rows: NDArray[np.floating], weights: NDArray[np.float64] | None, n_threads: int
) -> NDArray[np.float64]:
    """Return the weight of the rows that reach each leaf, and 0 for all other nodes.

    If each leaf is worth its own number, and each tree has an output of its own, margins are numbers of leaves.
    """
    n_trees = forest.n_trees
    numbers = replace(
        forest,
        value=np.arange(forest.n_nodes, dtype=np.float64),
        tree_output=np.arange(n_trees, dtype=np.int32),
        base=np.zeros(n_trees),
        output_names=None,
    )
    cover = np.zeros(forest.n_nodes)
    step = max(1, _LARGEST_BLOCK // max(1, n_trees))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        leaves = numbers.margin(rows[block], n_threads).astype(np.int64)
        each = None if weights is None else np.repeat(weights[block], n_trees)
        cover += np.bincount(leaves.ravel(), each, minlength=forest.n_nodes)
    return cover


def _levels(forest: Forest, starts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the inner nodes of all trees, level by level from the roots down."""
    levels: list[NDArray[np.int64]] = []
    nodes = forest.tree_offsets[:-1]
    while True:
        nodes = nodes[forest.left[nodes] != -1]
        if len(nodes) == 0:
            return levels
        levels.append(nodes)
        nodes = np.concatenate([forest.left[nodes] + starts[nodes], forest.right[nodes] + starts[nodes]])
