"""One tree of XGBoost's saved model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.forest.forest import as_array, frozen_copy
from arborshap.models.documents import check_known, take, take_list, whole

_FIELDS = frozenset(
    (
        *("left_children", "right_children", "parents", "id", "split_indices", "split_conditions", "split_type"),
        *("default_left", "base_weights", "leaf_weights", "loss_changes", "sum_hessian", "leaf_child_counts"),
        *("categories", "categories_nodes", "categories_segments", "categories_sizes", "tree_param"),
    )
)
_PARAMETERS = frozenset(("num_deleted", "num_feature", "num_nodes", "size_leaf_vector", "num_roots"))
_MAX_CATEGORY = 1 << 24  # above this, float32 no longer distinguishes whole numbers


def float32(name: str, numbers: Any, ndim: tuple[int, ...] = (1,)) -> NDArray[np.float32]:
    """Round to float32, in which XGBoost keeps its numbers, whatever precision they were written in."""
    array = as_array(name, numbers)
    if array.ndim not in ndim or (array.size and array.dtype.kind not in "iuf"):
        raise ModelError(f"{name} must be a list of numbers")
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def has_cover(tree: Any) -> bool:
    """Whether the tree records how much training weight reached its nodes. A custom objective's may be negative."""
    hessian = as_array("sum_hessian", tree.get("sum_hessian", [])) if isinstance(tree, dict) else np.zeros(0)
    return hessian.size > 0 and hessian.dtype.kind in "iuf" and bool((hessian >= 0).all())


def add_tree(
    builder: ForestBuilder, t: int, tree: Any, output: Any, *, weight: float, with_cover: bool, in_vectors: bool = False
) -> None:
    """Add tree `t`, whose leaves, times `weight`, are added to `output`; `in_vectors` spreads single values."""
    where = f"tree {t}"
    left, right, feature, default_left = (
        as_array(f"{where}: {key}", take_list(tree, key, where))
        for key in ("left_children", "right_children", "split_indices", "default_left")
    )
    condition = float32(f"{where}: split_conditions", take_list(tree, "split_conditions", where))
    cover = float32(f"{where}: sum_hessian", tree["sum_hessian"]) if with_cover else condition
    shape = (len(condition),)
    if any(array.shape != shape for array in (left, right, feature, default_left, cover)):
        raise ModelError(f"{where}: its arrays differ in length, but each must have one entry per node")

    leaf = left == -1  # a leaf's right child, if any, is the position of its vector
    parameters = take(tree, "tree_param", dict, where)
    check_known(tree, _FIELDS, where)
    check_known(parameters, _PARAMETERS, f"{where}: tree_param")
    leaf_size = whole(parameters.get("size_leaf_vector", "1"), f"{where}: size_leaf_vector")
    value: NDArray[np.floating[Any]]
    value = condition if leaf_size <= 1 else _vector_values(where, tree, right, leaf, leaf_size, builder.n_outputs)
    sets = _category_sets(where, tree, leaf)
    right = np.where(leaf, -1, right)
    if 2 * (len(leaf) - np.count_nonzero(leaf)) + 1 != len(leaf):
        # There are more nodes than children of splits: pruning detached some but left them in the arrays.
        left, right = (frozen_copy(f"{where}: {key}", a, np.int32) for key, a in (("left", left), ("right", right)))
        kept = _reached(where, left, right)
        moved = np.append(np.cumsum(kept) - 1, -1)  # so that -1 stays -1
        left, right, feature, condition = moved[left[kept]], moved[right[kept]], feature[kept], condition[kept]
        value, default_left, cover = value[kept], default_left[kept], cover[kept]
        sets = {int(moved[node]): members for node, members in sets.items() if kept[node]}
    if weight != 1.0:
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # a result that is not finite is refused later, with its node
            value = value * np.float64(weight)
    if in_vectors and value.ndim == 1:
        value = _spread(where, value, whole(output, f"{where}: tree_info"), builder.n_outputs)
    builder.add_tree(
        left=left,
        right=right,
        feature=feature,
        threshold=condition,
        value=value,
        output=whole(output, f"{where}: tree_info"),
        default_left=default_left,
        categories=sets,
        members_left=False,
        cover=cover if with_cover else None,
    )


def has_vectors(tree: Any) -> bool:
    """Whether the leaves of a tree hold one value per output."""
    parameters = tree.get("tree_param") if isinstance(tree, dict) else None
    return isinstance(parameters, dict) and str(parameters.get("size_leaf_vector", "1")) not in ("0", "1")


def _spread(where: str, value: NDArray[Any], output: int, n_outputs: int) -> NDArray[Any]:
    """Write the values of one output as vectors that are 0 elsewhere."""
    if not 0 <= output < n_outputs:
        raise ModelError(f"{where}: it adds to output {output}, but there are {n_outputs} outputs")
    spread = np.zeros((len(value), n_outputs), value.dtype)
    spread[:, output] = value
    return spread


def _reached(where: str, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mark the nodes that a path from the root reaches."""
    for side, children in (("left", left), ("right", right)):
        beyond = (children < -1) | (children >= len(left))
        if beyond.any():
            node = int(np.argmax(beyond))
            raise ModelError(
                f"{where}, node {node}: its {side} child is node {children[node]}, but there are {len(left)} nodes"
            )
    reached = np.zeros(len(left), np.bool_)
    waiting = [0] if len(left) else []
    while waiting:
        node = waiting.pop()
        if not reached[node]:
            reached[node] = True
            waiting += [int(child) for child in (left[node], right[node]) if child != -1]
    return reached


def _vector_values(
    where: str, tree: dict[str, Any], right: NDArray[np.int32], leaf: NDArray[np.bool_], leaf_size: int, n_outputs: int
) -> NDArray[np.float32]:
    if leaf_size != n_outputs:
        raise ModelError(f"{where}: its leaves hold {leaf_size} values, but there are {n_outputs} outputs")
    # Since 3.2, leaf_weights has one vector per leaf; before, base_weights had one per node.
    by_leaf = "leaf_weights" in tree
    key = "leaf_weights" if by_leaf else "base_weights"
    weights = float32(f"{where}: {key}", take_list(tree, key, where))
    if len(weights) % leaf_size or len(weights) < leaf_size * np.count_nonzero(leaf):
        raise ModelError(f"{where}: {key} has {len(weights)} entries, not {leaf_size} per leaf")
    vectors = weights.reshape(-1, leaf_size)
    position = np.where(leaf, right if by_leaf else np.arange(len(leaf)), 0)
    beyond = leaf & ((position < 0) | (position >= len(vectors)))
    if beyond.any():
        node = int(np.argmax(beyond))
        raise ModelError(f"{where}, node {node}: it uses leaf vector {position[node]}, but there are {len(vectors)}")
    value = np.zeros((len(leaf), leaf_size), np.float32)
    value[leaf] = vectors[position[leaf]]
    return value


def _category_sets(where: str, tree: dict[str, Any], leaf: NDArray[np.bool_]) -> dict[int, NDArray[Any]]:
    categorical = as_array(f"{where}: split_type", tree.get("split_type", []))
    if categorical.size and categorical.dtype.kind not in "iub":
        raise ModelError(f"{where}: split_type must be a list of whole numbers")
    if not categorical.any():
        return {}
    if not np.isin(categorical, (0, 1)).all():
        node = int(np.argmax(~np.isin(categorical, (0, 1))))
        raise UnsupportedModelError(f"{where}, node {node}: its split is of the unknown type {categorical[node]}")
    columns = [
        frozen_copy(f"{where}: {key}", take_list(tree, key, where), np.int64)
        for key in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    ]
    nodes, segments, sizes, categories = columns
    if not len(nodes) == len(segments) == len(sizes):
        raise ModelError(f"{where}: categories_nodes, categories_segments and categories_sizes differ in length")
    if categorical.shape != leaf.shape:
        raise ModelError(f"{where}: split_type has {len(categorical)} entries, but there are {len(leaf)} nodes")
    sets = {}
    for node, start, size in zip(nodes.tolist(), segments.tolist(), sizes.tolist(), strict=True):
        if not 0 <= node < len(leaf):
            raise ModelError(f"{where}: categories are given for node {node}, but there are {len(leaf)} nodes")
        if start < 0 or size < 0 or start + size > len(categories):
            raise ModelError(
                f"{where}, node {node}: its categories run from {start} to {start + size}, beyond the list"
            )
        sets[node] = categories[start : start + size]
        if (sets[node] >= _MAX_CATEGORY).any():
            raise ModelError(f"{where}, node {node}: category {sets[node].max()} is larger than XGBoost can hold")
    # XGBoost gives every node its own segment; many nodes with one large segment would take any amount of memory.
    used = sum(map(len, sets.values()))
    if used > len(categories):
        raise ModelError(
            f"{where}: its nodes use {used} categories, but it lists {len(categories)}; nodes must not share categories"
        )
    bare = [node for node in np.flatnonzero((categorical == 1) & ~leaf).tolist() if node not in sets]
    if bare:
        raise ModelError(f"{where}, node {bare[0]}: it is a categorical split without categories")
    return {node: members for node, members in sets.items() if not leaf[node]}
