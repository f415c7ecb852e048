"""The margins of a forest one by one: the range of each, and the forest that computes one of them alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from arborshap.forest.forest import Forest


def margin_ranges(forest: Forest) -> NDArray[np.float64]:
    """Return the least and the greatest margin that a row could have, if all trees gave an extreme: (outputs, 2)."""
    ranges = np.repeat(forest.base[:, np.newaxis], 2, axis=1)
    starts = forest.tree_offsets[:-1]
    if len(starts) == 0:
        return ranges
    is_leaf = (forest.left == -1).reshape(-1, *(1,) * (forest.value.ndim - 1))
    for column, (reduce, none) in enumerate(((np.minimum, np.inf), (np.maximum, -np.inf))):
        of_trees = reduce.reduceat(np.where(is_leaf, forest.value, none), starts, axis=0)
        if forest.value.ndim == 2:
            ranges[:, column] += of_trees.sum(axis=0)
        else:
            np.add.at(ranges[:, column], forest.tree_output, of_trees)
    slack = 1e-9 * (1.0 + np.abs(ranges).max(axis=1))  # sums are rounded
    return ranges + np.outer(slack, [-1.0, 1.0])


def forest_of_margin(forest: Forest, output: int) -> Forest:
    """Return the forest that computes one of the margins: the trees that add to it, or their leaves' values for it."""
    if forest.n_outputs == 1:
        return forest
    base = forest.base[output : output + 1]
    if forest.value.ndim == 2:
        value = np.ascontiguousarray(forest.value[:, output])
        none = np.zeros(forest.n_trees, np.int32)
        return replace(forest, value=value, tree_output=none, base=base, output_names=None)
    trees = forest.tree_output == output
    return _chosen(forest, trees, np.zeros(int(trees.sum()), np.int32), base, None)


def some_trees(forest: Forest, trees: NDArray[np.bool_]) -> Forest:
    """Return the forest of the marked trees alone, without a base."""
    return _chosen(forest, trees, forest.tree_output[trees], np.zeros(forest.n_outputs), forest.output_names)


def _chosen(
    forest: Forest,
    trees: NDArray[np.bool_],
    tree_output: NDArray[np.int32],
    base: NDArray[np.float64],
    output_names: tuple[str, ...] | None,
) -> Forest:
    sizes = np.diff(forest.tree_offsets)
    nodes = np.repeat(trees, sizes)
    sets = nodes[forest.category_nodes]
    lengths = np.diff(forest.category_offsets)
    node_arrays = ("left", "right", "feature", "threshold", "flags", "value")
    return Forest(
        n_features=forest.n_features,
        tree_offsets=np.cumsum([0, *sizes[trees]]),
        tree_output=tree_output,
        base=base,
        category_nodes=(np.cumsum(nodes) - 1)[forest.category_nodes[sets]],
        category_offsets=np.cumsum([0, *lengths[sets]]),
        categories=forest.categories[np.repeat(sets, lengths)],
        cover=None if forest.cover is None else forest.cover[nodes],
        feature_names=forest.feature_names,
        output_names=output_names,
        **{name: getattr(forest, name)[nodes] for name in node_arrays},
    )
