"""CatBoost's JSON export into a forest; oblivious trees, with one split per level, are written out in full."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.forest.forest import Forest, as_array, frozen_copy
from arborshap.models.documents import take, take_list
from arborshap.models.model import class_names

_LINKS = {
    **dict.fromkeys(("Logloss", "CrossEntropy", "MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy"), "logistic"),
    "MultiClass": "softmax",
    **dict.fromkeys(("Poisson", "Tweedie"), "log"),
    **dict.fromkeys(("RMSE", "MAE", "MAPE", "Quantile", "MultiQuantile", "Expectile", "Huber", "Lq"), "identity"),
    **dict.fromkeys(("LogCosh", "MultiRMSE", "MultiRMSEWithMissingValues"), "identity"),
    **dict.fromkeys(("YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise", "QueryRMSE"), "identity"),
    **dict.fromkeys(("QuerySoftMax", "QueryCrossEntropy", "LambdaMart", "StochasticRank"), "identity"),
}
_NAN_IS_LARGEST = {"AsTrue": True, "AsFalse": False, "AsIs": False}
_MAX_DEPTH = 24  # CatBoost itself stops at 16

Split = tuple[int, float, bool]
"""Column, border, and whether a missing value counts as above the border."""


def read_document(document: Any, classes: NDArray[Any] | None = None) -> tuple[Forest, str]:
    """Turn a parsed export into a forest and its link; outputs are named after the classes, if one per class."""
    features = take(document, "features_info", dict, "CatBoost model")
    scale_and_bias = take_list(document, "scale_and_bias", "CatBoost model")
    if len(scale_and_bias) != 2:
        raise ModelError("CatBoost model: 'scale_and_bias' must hold a scale and a bias")
    scale = float(frozen_copy("the scale", [scale_and_bias[0]], np.float64)[0])
    bias = frozen_copy("the bias", np.ravel(as_array("the bias", scale_and_bias[1])), np.float64)
    names, floats = _columns(features)
    reader = _Reader(ForestBuilder(len(names), len(bias), rule="<=", precision="float32"), scale, floats)
    for tree in take_list(document, "oblivious_trees", "CatBoost model") if "oblivious_trees" in document else []:
        reader.add_oblivious(tree)
    for tree in take_list(document, "trees", "CatBoost model") if "trees" in document else []:
        reader.add_nested(tree)
    forest = reader.builder.build(
        base=bias, feature_names=names if any(names) else None, output_names=class_names(classes, len(bias))
    )
    return forest, _LINKS.get(loss_of(document), "unknown")


def _columns(features: dict[str, Any]) -> tuple[list[str], dict[int, tuple[int, bool]]]:
    """Return the names of all columns, and for each numerical feature its column and where missing values go."""
    found: dict[int, str] = {}
    floats: dict[int, tuple[int, bool]] = {}
    for kind in ("float_features", "categorical_features", "text_features", "embedding_features"):
        for i, feature in enumerate(take_list(features, kind, "features_info") if kind in features else []):
            where = f"{kind}, entry {i}"
            column = take(feature, "flat_feature_index", int, where)
            if column in found:
                raise ModelError(f"{where}: column {column} is described twice")
            name = feature.get("feature_id", "")
            found[column] = name if isinstance(name, str) and name != str(column) else ""
            if kind == "float_features":
                treatment = take(feature, "nan_value_treatment", str, where)
                if treatment not in _NAN_IS_LARGEST:
                    raise ModelError(f"{where}: its nan_value_treatment {treatment!r} is unknown")
                floats[take(feature, "feature_index", int, where)] = column, _NAN_IS_LARGEST[treatment]
    if sorted(found) != list(range(len(found))):
        raise ModelError("features_info must describe every column exactly once")
    return [found[column] for column in range(len(found))], floats


def loss_of(document: dict[str, Any]) -> str:
    """Return the name of the loss that the model was trained with, or nothing if the export lacks it."""
    # Every key is optional: an export may lack the parameters of training.
    step: Any = document
    for key in ("model_info", "params", "loss_function", "type"):
        step = step.get(key) if isinstance(step, dict) else None
    return step if isinstance(step, str) else ""


class _Reader:
    def __init__(self, builder: ForestBuilder, scale: float, floats: dict[int, tuple[int, bool]]) -> None:
        self.builder = builder
        self.scale = scale
        self.floats = floats
        self.n_read = 0

    def split(self, split: Any, where: str) -> Split:
        kind = take(split, "split_type", str, where)
        if kind != "FloatFeature":
            raise UnsupportedModelError(
                f"{where} is a split of type {kind}, which tests CatBoost's own statistics of a categorical, text or "
                "embedding column and cannot be read from rows of numbers; before training, turn such columns into "
                "numbers with an ordinal or one-hot encoding, and train without cat_features"
            )
        feature = take(split, "float_feature_index", int, where)
        if feature not in self.floats:
            raise ModelError(f"{where}: feature {feature} is not in float_features")
        column, nan_is_largest = self.floats[feature]
        border = frozen_copy(f"{where}: border", [split.get("border")], np.float64)
        with np.errstate(over="ignore"):
            return column, float(border.astype(np.float32)[0]), nan_is_largest

    def value(self, name: str, values: Any, leaves: int) -> NDArray[np.float64]:
        """Check leaf values, one per leaf and output, and scale them."""
        outputs = self.builder.n_outputs
        array = frozen_copy(name, np.ravel(as_array(name, values)), np.float64)
        if len(array) != leaves * outputs:
            raise ModelError(
                f"{name} has {len(array)} entries, but {leaves} leaves with {outputs} outputs need {leaves * outputs}"
            )
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # a result that is not finite is refused later, with its node
            scaled = array * self.scale
        return scaled if outputs == 1 else scaled.reshape(leaves, outputs)

    def add_oblivious(self, tree: Any) -> None:
        """Write out an oblivious tree: the answers to its splits are the bits of a leaf's position, lowest first."""
        where = f"tree {self.n_read}"
        self.n_read += 1
        splits = [
            self.split(split, f"{where}, level {level}") for level, split in enumerate(take_list(tree, "splits", where))
        ]
        if len(splits) > _MAX_DEPTH:
            raise ModelError(f"{where}: {len(splits)} levels would make 2**{len(splits)} leaves")
        leaves = 1 << len(splits)
        inner = leaves - 1
        values = self.value(f"{where}: leaf_values", take_list(tree, "leaf_values", where), leaves)
        # In level order the children of node n are 2n + 1 and 2n + 2. With the last split at the root, the leaves
        # are in the order of their positions.
        level_of = np.repeat(np.arange(len(splits)), 1 << np.arange(len(splits)))
        columns, borders, nan_is_largest = _arrays(splits[::-1])
        nodes = np.arange(inner)
        pad = (0, leaves)
        self.builder.add_tree(
            left=np.pad(2 * nodes + 1, pad, constant_values=-1),
            right=np.pad(2 * nodes + 2, pad, constant_values=-1),
            feature=np.pad(columns[level_of], pad),
            threshold=np.pad(borders[level_of], pad),
            value=np.concatenate((np.zeros((inner, *values.shape[1:])), values)),
            default_left=np.pad(~nan_is_largest[level_of], pad),
            cover=_level_order_cover(where, tree, leaves),
        )

    def add_nested(self, root: Any) -> None:
        """Number the nodes of a nested tree, parents first, without recursion."""
        where = f"tree {self.n_read}"
        self.n_read += 1
        left: list[int] = []
        right: list[int] = []
        splits: list[Split] = []
        values: list[NDArray[np.float64]] = []
        cover: list[Any] = []
        nothing = np.zeros(1) if self.builder.n_outputs == 1 else np.zeros((1, self.builder.n_outputs))
        waiting: list[tuple[Any, list[int], int]] = [(root, [0], 0)]
        while waiting:
            node, siblings, parent = waiting.pop()
            n = siblings[parent] = len(left)
            at = f"{where}, node {n}"
            is_split = isinstance(node, dict) and "split" in node
            left.append(-1)
            right.append(-1)
            splits.append(self.split(node["split"], at) if is_split else (0, 0.0, False))
            if is_split:
                values.append(nothing)
                cover.append(0.0)
                children = [take(node, side, dict, at) for side in ("left", "right")]
                waiting += [(children[1], right, n), (children[0], left, n)]
            else:
                values.append(self.value(f"{at}: value", take(node, "value", object, at), 1))
                cover.append(node.get("weight"))
        columns, borders, nan_is_largest = _arrays(splits)
        self.builder.add_tree(
            left=left,
            right=right,
            feature=columns,
            threshold=borders,
            value=np.concatenate(values),
            default_left=~nan_is_largest,
            cover=None
            if None in cover
            else _summed_up(frozen_copy(f"{where}: weight", cover, np.float64), left, right),
        )


def _arrays(splits: list[Split]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    return (
        np.array([column for column, _, _ in splits], np.int64),
        np.array([border for _, border, _ in splits], np.float64),
        np.array([nan_is_largest for _, _, nan_is_largest in splits], np.bool_),
    )


def _level_order_cover(where: str, tree: dict[str, Any], leaves: int) -> NDArray[np.float64] | None:
    if "leaf_weights" not in tree:
        return None
    weights = frozen_copy(f"{where}: leaf_weights", tree["leaf_weights"], np.float64)
    if len(weights) != leaves:
        raise ModelError(f"{where}: leaf_weights has {len(weights)} entries, but there are {leaves} leaves")
    levels = [weights]
    with np.errstate(over="ignore", invalid="ignore"):  # as above
        while len(levels[0]) > 1:
            levels.insert(0, levels[0].reshape(-1, 2).sum(axis=1))
    return np.concatenate(levels)


def _summed_up(leaf_cover: NDArray[np.float64], left: list[int], right: list[int]) -> NDArray[np.float64]:
    """Give every inner node the total weight of its leaves; children are numbered after their parents."""
    cover = leaf_cover.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # as above
        for node in range(len(left) - 1, -1, -1):
            if left[node] != -1:
                cover[node] = cover[left[node]] + cover[right[node]]
    return cover
