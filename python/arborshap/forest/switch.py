"""A forest with a switch: its trees count only if one more feature says so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.forest.forest import Forest, NodeFlag


def switched(forest: Forest, *, on: bool) -> Forest:
    """Return a forest with one more feature: 1 switches it on and 0 off, or the other way round if not `on`.

    While it is off, every output is 0. A split on the new feature stands above every tree, and one more such tree holds
    the constant of each output.
    """
    if forest.base.any():
        forest = _with_base_as_trees(forest)
    sizes = np.diff(forest.tree_offsets)
    # Each tree gets a root before its nodes and an empty leaf after them.
    moved = np.arange(len(forest.left)) + 1 + 2 * np.repeat(np.arange(len(sizes)), sizes)
    roots = forest.tree_offsets[:-1] + 2 * np.arange(len(sizes))
    n_nodes = len(forest.left) + 2 * len(sizes)

    def spread(old: NDArray[Any], fill: float, at_root: Any = None) -> NDArray[Any]:
        new = np.full((n_nodes, *old.shape[1:]), fill, old.dtype)
        new[moved] = old
        if at_root is not None:
            new[roots] = at_root
        return new

    def children(old: NDArray[Any], at_root: Any) -> NDArray[Any]:
        return spread(np.where(old < 0, old, old + 1), -1, at_root)

    tree, empty = np.ones(len(sizes), np.int64), sizes + 1
    return Forest(
        n_features=forest.n_features + 1,
        tree_offsets=forest.tree_offsets + 2 * np.arange(len(sizes) + 1),
        left=children(forest.left, empty if on else tree),
        right=children(forest.right, tree if on else empty),
        feature=spread(forest.feature, 0, forest.n_features),
        threshold=spread(forest.threshold, 0.0, 0.5),
        flags=spread(forest.flags, 0, int(NodeFlag.LESS_EQUAL)),
        value=spread(forest.value, 0.0),
        tree_output=forest.tree_output,
        base=forest.base,
        category_nodes=moved[forest.category_nodes],
        category_offsets=forest.category_offsets,
        categories=forest.categories,
    )


def _with_base_as_trees(forest: Forest) -> Forest:
    """Return the same forest with its constants in trees of a single leaf: one per output, or one for all outputs."""
    n_outputs = len(forest.base)
    constants = forest.base[np.newaxis] if forest.value.ndim == 2 else forest.base
    outputs = [-1] if forest.value.ndim == 2 else np.arange(n_outputs)
    n = len(constants)

    def more(old: NDArray[Any], fill: Any) -> NDArray[Any]:
        return np.concatenate([old, np.broadcast_to(np.asarray(fill, old.dtype), (n, *old.shape[1:]))])

    return Forest(
        n_features=forest.n_features,
        tree_offsets=np.concatenate([forest.tree_offsets, forest.tree_offsets[-1] + 1 + np.arange(n)]),
        left=more(forest.left, -1),
        right=more(forest.right, -1),
        feature=more(forest.feature, 0),
        threshold=more(forest.threshold, 0.0),
        flags=more(forest.flags, 0),
        value=np.concatenate([forest.value, constants]),
        tree_output=np.concatenate([forest.tree_output, outputs]),
        base=np.zeros(n_outputs),
        category_nodes=forest.category_nodes,
        category_offsets=forest.category_offsets,
        categories=forest.categories,
    )
