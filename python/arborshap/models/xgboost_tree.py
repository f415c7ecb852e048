"""One tree of XGBoost's saved model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.forest import as_array, frozen_copy
from arborshap.forest_builder import ForestBuilder
from arborshap.models._document import take, take_list, whole


def float32(name: str, numbers: Any, ndim: tuple[int, ...] = (1,)) -> NDArray[np.float32]:
    """Round to the precision XGBoost keeps its numbers in, whatever precision they were written in."""
    with np.errstate(over="ignore"):
        return frozen_copy(name, numbers, np.float64, ndim).astype(np.float32)


def has_cover(tree: Any) -> bool:
    """Whether the tree tells how much training weight reached its nodes; a custom objective's may be negative."""
    hessian = as_array("sum_hessian", tree.get("sum_hessian", [])) if isinstance(tree, dict) else np.zeros(0)
    return hessian.size > 0 and hessian.dtype.kind in "iuf" and bool((hessian >= 0).all())


def add_tree(builder: ForestBuilder, t: int, tree: Any, output: Any, *, weight: float, with_cover: bool) -> None:
    """Add tree `t`, which counts towards `output` with `weight`."""
    where = f"tree {t}"
    left = frozen_copy(f"{where}: left_children", take_list(tree, "left_children", where), np.int32)
    right = frozen_copy(f"{where}: right_children", take_list(tree, "right_children", where), np.int32)
    condition = float32(f"{where}: split_conditions", take_list(tree, "split_conditions", where))
    feature, default_left = (
        as_array(f"{where}: {key}", take_list(tree, key, where)) for key in ("split_indices", "default_left")
    )
    cover = as_array(f"{where}: sum_hessian", tree["sum_hessian"] if with_cover else np.zeros(len(left)))
    if any(array.shape != left.shape for array in (right, condition, feature, default_left, cover)):
        raise ModelError(f"{where}: its arrays differ in length, where each must have one entry per node")

    leaf = left == -1  # a leaf's right child, if any, is the number of its vector
    parameters = take(tree, "tree_param", dict, where)
    leaf_size = whole(parameters.get("size_leaf_vector", "1"), f"{where}: size_leaf_vector")
    value = condition if leaf_size <= 1 else _vector_values(where, tree, right, leaf, leaf_size, builder.n_outputs)
    sets = _category_sets(where, tree, leaf)
    right = np.where(leaf, -1, right)
    kept = _kept(left, right)
    number = np.cumsum(kept) - 1
    builder.add_tree(
        left=_renumbered(left, number)[kept],
        right=_renumbered(right, number)[kept],
        feature=feature[kept],
        threshold=condition[kept],
        value=value[kept] * np.float64(weight),
        output=whole(output, f"{where}: tree_info"),
        default_left=default_left[kept],
        categories={int(number[node]): members for node, members in sets.items() if kept[node]},
        members_left=False,
        cover=cover[kept] if with_cover else None,
    )


def _kept(left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mark all nodes but those that pruning cut off and left behind in the arrays."""
    children = np.concatenate((left, right))
    children = children[children != -1]
    named = np.zeros(len(left), np.bool_)
    named[:1] = True
    if ((children < 0) | (children >= len(left))).any():
        return np.ones(len(left), np.bool_)  # the forest's own validation will say which node is at fault
    named[children] = True
    if named.all():
        return named
    reached = np.zeros(len(left), np.bool_)
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if not reached[node]:
            reached[node] = True
            waiting += [int(child) for child in (left[node], right[node]) if child != -1]
    return reached


def _renumbered(children: NDArray[np.int32], number: NDArray[np.int64]) -> NDArray[Any]:
    if len(number) == 0 or number[-1] == len(number) - 1:
        return children
    return np.where(children == -1, -1, number[children])


def _vector_values(
    where: str, tree: dict[str, Any], right: NDArray[np.int32], leaf: NDArray[np.bool_], leaf_size: int, n_outputs: int
) -> NDArray[np.float32]:
    if leaf_size != n_outputs:
        raise ModelError(f"{where}: its leaves hold {leaf_size} values for {n_outputs} outputs")
    # Kept apart from 3.2 on, one vector per leaf; before that base_weights held one per node.
    by_leaf = "leaf_weights" in tree
    key = "leaf_weights" if by_leaf else "base_weights"
    weights = float32(f"{where}: {key}", take_list(tree, key, where))
    if len(weights) % leaf_size or len(weights) < leaf_size * np.count_nonzero(leaf):
        raise ModelError(f"{where}: {key} has {len(weights)} entries, not {leaf_size} for every leaf")
    vectors = weights.reshape(-1, leaf_size)
    index = np.where(leaf, right if by_leaf else np.arange(len(leaf)), 0)
    beyond = leaf & ((index < 0) | (index >= len(vectors)))
    if beyond.any():
        node = int(np.argmax(beyond))
        raise ModelError(f"{where}, node {node}: its leaf vector is number {index[node]} of {len(vectors)}")
    value = np.zeros((len(leaf), leaf_size), np.float32)
    value[leaf] = vectors[index[leaf]]
    return value


def _category_sets(where: str, tree: dict[str, Any], leaf: NDArray[np.bool_]) -> dict[int, NDArray[Any]]:
    categorical = frozen_copy(f"{where}: split_type", tree.get("split_type", []), np.int64)
    if not categorical.any():
        return {}
    columns = [
        frozen_copy(f"{where}: {key}", take_list(tree, key, where), np.int64)
        for key in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    ]
    nodes, segments, sizes, categories = columns
    if not len(nodes) == len(segments) == len(sizes):
        raise ModelError(f"{where}: categories_nodes, categories_segments and categories_sizes differ in length")
    if categorical.shape != leaf.shape:
        raise ModelError(f"{where}: split_type has {len(categorical)} entries for {len(leaf)} nodes")
    sets = {}
    for node, start, size in zip(nodes.tolist(), segments.tolist(), sizes.tolist(), strict=True):
        if not 0 <= node < len(leaf):
            raise ModelError(f"{where}: categories are given for node {node} of {len(leaf)}")
        if start < 0 or size < 0 or start + size > len(categories):
            raise ModelError(f"{where}, node {node}: its categories run from {start} to {start + size}, too far")
        sets[node] = categories[start : start + size]
    bare = [node for node in np.flatnonzero((categorical == 1) & ~leaf).tolist() if node not in sets]
    if bare:
        raise ModelError(f"{where}, node {bare[0]}: a categorical split without categories")
    return {node: members for node, members in sets.items() if not leaf[node]}
