"""CatBoost's JSON export into a forest; oblivious trees, with one split per level, are written out in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.forest.forest import Forest, as_array, frozen_copy
from arborshap.models.catboost.features import Features, Split
from arborshap.models.catboost.recoding import CatBoostRecoding
from arborshap.models.documents import check_known, take, take_list
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
_SEVERAL_TARGETS = ("MultiRMSE", "MultiRMSEWithMissingValues", "MultiLogloss", "MultiCrossEntropy")
_MAX_DEPTH = 24  # CatBoost itself stops at 16


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed export: its trees, its link, and how it recodes rows if it has columns of categories."""

    forest: Forest
    link: str
    recoding: CatBoostRecoding | None


def read_document(document: Any, classes: NDArray[Any] | None = None) -> Document:
    """Read a parsed export; outputs are named after the classes, if one per class."""
    described = take(document, "features_info", dict, "CatBoost model")
    scale_and_bias = take_list(document, "scale_and_bias", "CatBoost model")
    if len(scale_and_bias) != 2:
        raise ModelError("CatBoost model: 'scale_and_bias' must hold a scale and a bias")
    scale = float(frozen_copy("the scale", [scale_and_bias[0]], np.float64)[0])
    bias = frozen_copy("the bias", np.ravel(as_array("the bias", scale_and_bias[1])), np.float64)
    features = Features(document, described)
    if features.has_target_statistics and (loss_of(document) in _SEVERAL_TARGETS or features.is_ambiguous):
        raise UnsupportedModelError(
            "the model has several targets and statistics of categories, of which CatBoost's JSON export keeps those "
            "of one target only; train a model per target, as MultiOutputRegressor does, or train with "
            "simple_ctr=['Counter'] and combinations_ctr=['Counter'], or with a one_hot_max_size above the number of "
            "categories"
        )
    builder = ForestBuilder(features.n_features, len(bias), rule="<=", precision="float32")
    reader = _Reader(builder, scale, features)
    for tree in take_list(document, "oblivious_trees", "CatBoost model") if "oblivious_trees" in document else []:
        reader.add_oblivious(tree)
    for tree in take_list(document, "trees", "CatBoost model") if "trees" in document else []:
        reader.add_nested(tree)
    recoding = features.recoding()
    own_names = features.names if any(features.names) else None
    forest = builder.build(
        base=bias,
        feature_names=own_names if recoding is None else recoding.feature_names,
        output_names=class_names(classes, len(bias)),
    )
    return Document(forest, _LINKS.get(loss_of(document), "unknown"), recoding)


def loss_of(document: dict[str, Any]) -> str:
    """Return the name of the loss that the model was trained with, or nothing if the export lacks it."""
    # Every key is optional: an export may lack the parameters of training.
    step: Any = document
    for key in ("model_info", "params", "loss_function", "type"):
        step = step.get(key) if isinstance(step, dict) else None
    return step if isinstance(step, str) else ""


class _Reader:
    def __init__(self, builder: ForestBuilder, scale: float, features: Features) -> None:
        self.builder = builder
        self.scale = scale
        self.features = features
        self.n_read = 0

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
        # CatBoost writes null for a tree that is a single leaf.
        levels = [] if isinstance(tree, dict) and tree.get("splits", 0) is None else take_list(tree, "splits", where)
        check_known(tree, ("splits", "leaf_values", "leaf_weights"), where)
        splits = [self.features.split(split, f"{where}, level {level}") for level, split in enumerate(levels)]
        if len(splits) > _MAX_DEPTH:
            raise ModelError(f"{where}: {len(splits)} levels would make 2**{len(splits)} leaves")
        leaves = 1 << len(splits)
        inner = leaves - 1
        values = self.value(f"{where}: leaf_values", take_list(tree, "leaf_values", where), leaves)
        # In level order the children of node n are 2n + 1 and 2n + 2. With the last split at the root, the leaves
        # are in the order of their positions.
        level_of = np.repeat(np.arange(len(splits)), 1 << np.arange(len(splits)))
        nodes = np.arange(inner)
        pad = (0, leaves)
        self.builder.add_tree(
            **_arrays([*splits[::-1], Split(0, 0.0)], np.pad(level_of, pad, constant_values=len(splits))),
            left=np.pad(2 * nodes + 1, pad, constant_values=-1),
            right=np.pad(2 * nodes + 2, pad, constant_values=-1),
            value=np.concatenate((np.zeros((inner, *values.shape[1:])), values)),
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
            check_known(node if isinstance(node, dict) else (), ("split", "left", "right", "value", "weight"), at)
            left.append(-1)
            right.append(-1)
            splits.append(self.features.split(node["split"], at) if is_split else Split(0, 0.0))
            if is_split:
                values.append(nothing)
                cover.append(0.0)
                children = [take(node, side, dict, at) for side in ("left", "right")]
                waiting += [(children[1], right, n), (children[0], left, n)]
            else:
                values.append(self.value(f"{at}: value", take(node, "value", object, at), 1))
                cover.append(node.get("weight"))
        self.builder.add_tree(
            **_arrays(splits),
            left=left,
            right=right,
            value=np.concatenate(values),
            cover=None
            if None in cover
            else _summed_up(frozen_copy(f"{where}: weight", cover, np.float64), left, right),
        )


def _arrays(splits: list[Split], level_of: NDArray[np.intp] | None = None) -> dict[str, Any]:
    """Return the arguments of a tree that describe its splits; in an oblivious tree, nodes share those of a level."""
    at = np.arange(len(splits)) if level_of is None else level_of
    named = {level: [split.category] for level, split in enumerate(splits) if split.category is not None}
    return {
        "feature": np.array([split.feature for split in splits], np.int64)[at],
        "threshold": np.array([split.border for split in splits], np.float64)[at],
        "default_left": ~np.array([split.nan_is_largest for split in splits], np.bool_)[at],
        "categories": {node: named[level] for node, level in enumerate(at.tolist()) if level in named},
        "members_left": False,
    }


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
