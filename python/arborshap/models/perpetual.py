"""PerpetualBooster, read from its own JSON."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.models.documents import check_known, take, take_list
from arborshap.models.json import parse_json
from arborshap.models.link import Link
from arborshap.models.model import Model, class_names
from arborshap.models.supported import unsupported
from arborshap.models.vocabulary import VocabularyRecoding

_NODE = frozenset(
    (
        *("num", "weight_value", "hessian_sum", "split_value", "split_feature", "split_gain", "missing_node"),
        *("left_child", "right_child", "is_leaf", "parent_node", "left_cats", "stats"),
    )
)
_MISSING = "nan"
_TOLERANCE = 1e-6
"""Leaves and their sums are float32."""


def load(model: Any) -> Model:
    """Read a fitted booster. Its outputs are log-odds of classes, or predictions."""
    if not hasattr(model, "json_dump"):
        raise unsupported(model, "of perpetual's models, only PerpetualBooster and its scikit-learn classes are")
    if not model.is_fitted:
        raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
    document = parse_json(model.json_dump().encode(), "what PerpetualBooster saved of the model")
    boosters = take_list(document, "boosters", "PerpetualBooster") if "boosters" in document else [document]
    classes = np.asarray(model.classes_) if len(model.classes_) else None
    builder = ForestBuilder(int(model.n_features_), len(boosters), rule="<", precision="float64")
    for output, booster in enumerate(boosters):
        for number, tree in enumerate(take_list(booster, "trees", "PerpetualBooster")):
            add_tree(builder, take(tree, "nodes", dict, f"tree {number}"), f"tree {number}", output)
    base = [float(take(booster, "base_score", float, "PerpetualBooster")) for booster in boosters]
    names = getattr(model, "feature_names_in_", None) or None
    encode = _recoding(model.cat_mapping, names or ()) if model.cat_mapping else None
    plain = copy(model)
    plain.cat_mapping = {}  # it is given codes
    unnamed = [str(j) for j in range(builder.n_features)]

    def raw_predict(rows: NDArray[Any]) -> NDArray[np.float64]:
        # In spite of its name, this method returns the log-odds, or the scores before a softmax.
        score = plain.predict(rows) if classes is None else plain.predict_log_proba(rows)
        return np.asarray(score, np.float64).reshape(len(rows), -1)

    return Model(
        forest=builder.build(
            base=base,
            feature_names=None if names is None or list(names) == unnamed else [str(name) for name in names],
            output_names=class_names(classes, len(boosters)),
        ),
        library=f"perpetual {version('perpetual')}",
        link=Link.named("identity" if classes is None else "softmax" if len(boosters) > 1 else "logistic"),
        classes=classes,
        raw_predict=raw_predict,
        encode=encode,
        tolerance=_TOLERANCE,
    )


def _recoding(listed: dict[str, list[Any]], names: Sequence[str]) -> VocabularyRecoding:
    """Return how texts become codes: their places in a list that begins with the text for missing values."""
    categories: list[list[str] | None] = [None] * len(names)
    for name, known in listed.items():
        categories[list(names).index(name)] = [str(category) for category in known]
    # PerpetualBooster looks texts up in a sorted list, where an unknown text has the place of the next one. From a
    # frame of pandas, it looks up missing cells, too.
    never = [j for j, known in enumerate(categories) if known is not None and max(known) > _MISSING]
    return VocabularyRecoding(categories, None, _MISSING, never)


def add_tree(builder: ForestBuilder, nodes: dict[str, Any], where: str, output: int) -> None:
    """Add a tree whose nodes are numbered by the keys of a dictionary, as text; node 0 is the root."""
    check_known({key for node in nodes.values() for key in node}, _NODE, where)
    order = sorted(nodes, key=int)
    place = {int(key): at for at, key in enumerate(order)}
    found = [nodes[key] for key in order]
    is_leaf = np.array([take(node, "is_leaf", bool, where) for node in found])

    def children(side: str) -> list[int]:
        try:
            return [-1 if node["is_leaf"] else place[take(node, side, int, where)] for node in found]
        except KeyError as error:
            raise ModelError(f"{where}: a node has the child {error}, which does not exist") from error

    left, right, missing = (children(side) for side in ("left_child", "right_child", "missing_node"))
    if any(at not in (a, b) for a, b, at in zip(left, right, missing, strict=True)):
        raise UnsupportedModelError(
            f"{where} has a branch of its own for missing values; fit without create_missing_branch"
        )
    builder.add_tree(
        left=left,
        right=right,
        feature=[take(node, "split_feature", int, where) for node in found],
        threshold=[0.0 if leaf else float(node["split_value"]) for node, leaf in zip(found, is_leaf, strict=True)],
        value=[float(take(node, "weight_value", float, where)) for node in found],
        output=output,
        default_left=np.equal(left, missing),
        categories={
            at: _codes(node["left_cats"], where)
            for at, node in enumerate(found)
            if not node["is_leaf"] and node.get("left_cats") is not None
        },
    )


def _codes(digits: Any, where: str) -> list[int]:
    """Return the codes that go left: the bits of a number that is written in hexadecimal, lowest byte first."""
    try:
        bits = int.from_bytes(bytes.fromhex(digits), "little")
    except (TypeError, ValueError) as error:
        raise ModelError(f"{where}: 'left_cats' is {str(digits)[:40]!r}, which is not a set of categories") from error
    return [code for code in range(bits.bit_length()) if bits >> code & 1]
