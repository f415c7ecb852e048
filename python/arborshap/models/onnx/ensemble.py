"""The trees of one TreeEnsembleRegressor or TreeEnsembleClassifier, given its attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.models.documents import check_known, shown

T = TypeVar("T")

Attributes = Mapping[str, Any]
"""The attributes of a node of the graph: arrays, lists of texts, and texts."""

# Whether values that satisfy a test go to the left child, and whether the test holds at the threshold itself.
_MODES = {
    "BRANCH_LEQ": (True, True),
    "BRANCH_LT": (True, False),
    "BRANCH_GT": (False, True),
    "BRANCH_GTE": (False, False),
}


_KNOWN = frozenset(
    (
        *(f"nodes_{name}" for name in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids", "modes")),
        *(f"nodes_{name}" for name in ("values", "values_as_tensor", "hitrates", "hitrates_as_tensor")),
        *("nodes_missing_value_tracks_true", "base_values", "base_values_as_tensor", "post_transform"),
        *(f"target_{name}" for name in ("treeids", "nodeids", "ids", "weights", "weights_as_tensor")),
        *(f"class_{name}" for name in ("treeids", "nodeids", "ids", "weights", "weights_as_tensor")),
        *("aggregate_function", "n_targets", "classlabels_strings", "classlabels_int64s"),
    )
)


def add_trees(
    attributes: Attributes, leaves: str, builder_of: Callable[[int], ForestBuilder], base: NDArray[Any], *, single: bool
) -> ForestBuilder:
    """Add all trees; `leaves` is the prefix of the attributes of leaves, and `single` tells float32 rows."""
    check_known(attributes, _KNOWN, "the tree ensemble")
    nodes, n_outputs = _nodes(attributes), len(base)
    scale = _scale(attributes, len(np.unique(nodes["treeids"])))
    weights, named = _weights(attributes, leaves, nodes, n_outputs)
    weights *= scale
    _check_start(nodes, named, base)
    builder = builder_of(int(np.where(nodes["leaf"], 0, nodes["featureids"]).max(initial=0)) + 1)
    for tree in np.unique(nodes["treeids"]).tolist():
        own = np.flatnonzero(nodes["treeids"] == tree)
        _add_tree(builder, {name: array[own] for name, array in nodes.items()}, weights[own], tree, single=single)
    return builder


def numbers(attributes: Attributes, name: str) -> NDArray[Any]:
    """Return an attribute of numbers, which newer files may hold in a tensor of float64."""
    tensor = attributes.get(f"{name}_as_tensor")
    found = attributes.get(name, np.empty(0)) if tensor is None else tensor
    if not isinstance(found, np.ndarray):
        raise ModelError(f"the attribute {name!r} must be a list of numbers")
    return found


def attribute(attributes: Attributes, name: str, default: T) -> T:
    """Return an attribute, which must have the type of its default."""
    found = attributes.get(name, default)
    if not isinstance(found, type(default)):
        raise ModelError(f"the attribute {name!r} has the wrong type")
    return found


def _nodes(attributes: Attributes) -> dict[str, NDArray[Any]]:
    names = ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids", "values")
    nodes = {name: numbers(attributes, f"nodes_{name}") for name in names}
    modes: list[str] = attribute(attributes, "nodes_modes", [])
    n = len(nodes["treeids"])
    if not n or len(modes) != n or {len(array) for array in nodes.values()} != {n}:
        raise ModelError("the attributes nodes_... must have one entry per node, and at least one")
    wrong = next((mode for mode in modes if mode != "LEAF" and mode not in _MODES), None)
    if wrong is not None:
        raise UnsupportedModelError(f"a node of the trees tests by {shown(wrong)}, which is not a comparison")
    tracks = numbers(attributes, "nodes_missing_value_tracks_true")
    if len(tracks) not in (0, n):
        raise ModelError("nodes_missing_value_tracks_true must have one entry per node")
    kinds = np.array([_MODES.get(mode, (True, True)) for mode in modes])
    nodes["leaf"] = np.array([mode == "LEAF" for mode in modes], np.bool_)
    nodes["true_is_left"], nodes["inclusive"] = kinds[:, 0], kinds[:, 1]
    nodes["missing_is_true"] = tracks == 1 if len(tracks) else np.zeros(n, np.bool_)
    return nodes


def _scale(attributes: Attributes, n_trees: int) -> float:
    function = attribute(attributes, "aggregate_function", "SUM")
    if function not in ("SUM", "AVERAGE"):
        raise UnsupportedModelError(
            f"the trees are aggregated by {shown(function)}, which is neither a sum nor an average"
        )
    return 1.0 / n_trees if function == "AVERAGE" else 1.0


def _weights(
    attributes: Attributes, leaves: str, nodes: dict[str, NDArray[Any]], n_outputs: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return what each node adds to each output, and whether the file names the two together."""
    place = {key: at for at, key in enumerate(zip(nodes["treeids"].tolist(), nodes["nodeids"].tolist(), strict=True))}
    if len(place) < len(nodes["treeids"]):
        raise ModelError("two nodes of a tree have the same number")
    trees, numbered, outputs = (numbers(attributes, f"{leaves}_{name}") for name in ("treeids", "nodeids", "ids"))
    added = numbers(attributes, f"{leaves}_weights")
    if len({len(trees), len(numbered), len(outputs), len(added)}) > 1:
        raise ModelError(f"the attributes {leaves}_... must all have the same length")
    weights = np.zeros((len(nodes["treeids"]), n_outputs))
    named = np.zeros(weights.shape, np.bool_)
    for key, output, weight in zip(
        zip(trees.tolist(), numbered.tolist(), strict=True), outputs.tolist(), added.tolist(), strict=True
    ):
        if key not in place or not nodes["leaf"][place[key]]:
            raise ModelError(f"tree {key[0]}: node {key[1]} has a weight but is not a leaf")
        if not 0 <= output < n_outputs:
            raise ModelError(f"tree {key[0]}, node {key[1]}: there is no output {output}")
        weights[place[key], output] += weight
        named[place[key], output] = True
    return weights, named


def _check_start(nodes: dict[str, NDArray[Any]], named: NDArray[np.bool_], base: NDArray[Any]) -> None:
    """Refuse base values that runtimes leave out for rows whose leaves all say nothing of the output."""
    for output in np.flatnonzero(base).tolist():
        silent = np.unique(nodes["treeids"][nodes["leaf"] & ~named[:, output]])
        if len(silent) == len(np.unique(nodes["treeids"])):
            raise UnsupportedModelError(
                f"output {output} has a base value, but every tree has a leaf without a weight for it. For rows in "
                "such leaves alone, runtimes leave the base value out, so the output is not a sum"
            )


def _add_tree(
    builder: ForestBuilder, nodes: dict[str, NDArray[Any]], weights: NDArray[np.float64], tree: int, *, single: bool
) -> None:
    order = {number: at for at, number in enumerate(nodes["nodeids"].tolist())}
    try:
        true, false = (
            np.array(
                [-1 if leaf else order[child] for child, leaf in zip(nodes[name].tolist(), nodes["leaf"], strict=True)]
            )
            for name in ("truenodeids", "falsenodeids")
        )
    except KeyError as error:
        raise ModelError(f"tree {tree}: a node has the child {error}, which does not exist") from error
    # The left child takes values up to the threshold. "Below" is "up to the next number below".
    dtype = np.float32 if single else np.float64
    with np.errstate(over="ignore"):
        threshold = nodes["values"].astype(dtype)
    below = np.nextafter(threshold, dtype(-np.inf))
    is_left = nodes["true_is_left"]
    builder.add_tree(
        left=np.where(is_left, true, false),
        right=np.where(is_left, false, true),
        feature=np.where(nodes["leaf"], 0, nodes["featureids"]),
        threshold=np.where(nodes["inclusive"], threshold, below).astype(np.float64),
        value=weights[:, 0] if weights.shape[1] == 1 else weights,
        # No comparison with NaN is true.
        default_left=is_left == nodes["missing_is_true"],
    )
