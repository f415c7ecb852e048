"""treelite models, read from their own JSON. treelite's rules apply, whatever library made the model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder, Precision, Rule
from arborshap.forest.forest import Forest, as_array, frozen_copy
from arborshap.models.documents import check_known, take, take_list
from arborshap.models.json import parse_json
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported

_WHERE = "treelite model"
_IDS = ("target_id", "class_id")
_MODEL = frozenset(
    (
        *("attributes", "average_tree_output", "base_scores", "class_id", "leaf_output_type", "leaf_vector_shape"),
        *("num_class", "num_feature", "num_target", "postprocessor", "ratio_c", "sigmoid_alpha", "target_id"),
        *("task_type", "threshold_type", "trees"),
    )
)
_NODE = frozenset(
    (
        *("category_list", "category_list_right_child", "comparison_op", "data_count", "default_left", "gain"),
        *("leaf_value", "left_child", "node_id", "node_type", "right_child", "split_feature_id", "sum_hess"),
        "threshold",
    )
)
_LINKS = {
    "identity": "identity",
    "identity_multiclass": "identity",
    "sigmoid": "logistic",
    "multiclass_ova": "logistic",
    "softmax": "softmax",
    "exponential": "log",
}
# A comparison that sends greater values left is the opposite comparison with its children swapped.
_RULES: dict[str, tuple[Rule, bool]] = {"<": ("<", False), "<=": ("<=", False), ">": ("<=", True), ">=": ("<", True)}


def load(model: Any) -> Model:
    """Read a model. Everything is checked here, because treelite itself checks little when it loads a model."""
    treelite: Any = import_module("treelite")

    if not isinstance(model, treelite.Model):
        raise unsupported(model)
    document = parse_json(model.dump_as_json(pretty_print=False), "what treelite dumped")
    single = take(document, "threshold_type", str, _WHERE) == "float32"
    forest = read_document(document, "float32" if single else "float64")
    postprocessor = take(document, "postprocessor", str, _WHERE)
    link = _LINKS.get(postprocessor, postprocessor)
    if link == "softmax" and document.get("num_target") != 1:
        link = "softmax of each target"

    def raw_predict(rows: NDArray[Any]) -> NDArray[np.float64]:
        matrix = np.ascontiguousarray(rows, np.float32 if single else np.float64)
        margin = treelite.gtil.predict(model, matrix, nthread=1, pred_margin=True)
        return np.asarray(margin, np.float64).reshape(len(rows), forest.n_outputs)

    return Model(
        forest=forest,
        library=f"treelite {treelite.__version__}",
        link=Link.named(link, float(document.get("sigmoid_alpha", 1.0)) if link == "logistic" else 1.0),
        raw_predict=raw_predict,
        tolerance=2e-5 if single else 1e-9,
        sparse_zero_is_missing=True,
    )


def read_document(document: Any, precision: Precision) -> Forest:
    """Turn a parsed dump into a forest."""
    check_known(document if isinstance(document, dict) else (), _MODEL, _WHERE)
    trees = [take_list(tree, "nodes", f"tree {t}") for t, tree in enumerate(take_list(document, "trees", _WHERE))]
    for t, nodes in enumerate(trees):
        if not all(isinstance(node, dict) for node in nodes):
            raise ModelError(f"tree {t}: each of its nodes must be an object")
        check_known({key for node in nodes for key in node}, _NODE, f"tree {t}")
    base = frozen_copy(f"{_WHERE}: base_scores", take_list(document, "base_scores", _WHERE), np.float64)
    # Outputs are the classes of each target, padded to the largest number of classes.
    n_targets = take(document, "num_target", int, _WHERE)
    n_classes = max(frozen_copy(f"{_WHERE}: num_class", take_list(document, "num_class", _WHERE), np.int32), default=0)
    if n_targets * int(n_classes) != len(base):
        raise ModelError(
            f"{_WHERE}: {n_targets} targets of {n_classes} classes need {n_targets * int(n_classes)} base scores, but "
            f"it has {len(base)}"
        )
    positions = np.arange(len(base)).reshape(n_targets, int(n_classes))
    ids = [frozen_copy(f"{_WHERE}: {key}", take_list(document, key, _WHERE), np.int32) for key in _IDS]
    if any(len(of_trees) != len(trees) for of_trees in ids):
        raise ModelError(f"{_WHERE}: target_id and class_id must have one entry for each of {len(trees)} trees")
    outputs = [
        _outputs(positions, t, int(target), int(klass)) for t, (target, klass) in enumerate(zip(*ids, strict=True))
    ]
    share = np.ones(len(base))
    if take(document, "average_tree_output", bool, _WHERE) and trees:
        share = 1.0 / np.maximum(np.bincount(np.concatenate(outputs), minlength=len(base)), 1)
    cover = next(
        (key for key in ("sum_hess", "data_count") if all(key in node for tree in trees for node in tree)), None
    )
    n_features = take(document, "num_feature", int, _WHERE)
    builder = ForestBuilder(n_features, len(base), rule=_rule(trees), precision=precision)
    for t, (nodes, output) in enumerate(zip(trees, outputs, strict=True)):
        _add_tree(builder, t, nodes, output, share, cover)
    return builder.build(base=base)


def _rule(trees: list[Any]) -> Rule:
    signs = {str(node["comparison_op"]) for tree in trees for node in tree if "comparison_op" in node}
    rules = {_RULES[sign][0] if sign in _RULES else None for sign in signs} or {"<="}
    if len(rules) > 1 or None in rules:
        raise UnsupportedModelError(
            f"{_WHERE}: its splits compare by {', '.join(sorted(signs))}; all must compare by <, or all by <="
        )
    return "<" if "<" in rules else "<="


def _outputs(positions: NDArray[np.int64], t: int, target: int, klass: int) -> NDArray[np.int64]:
    """List the outputs that a tree adds to; -1 stands for all targets, or for all classes."""
    rows = slice(None) if target == -1 else slice(target, target + 1)
    columns = slice(None) if klass == -1 else slice(klass, klass + 1)
    chosen = np.ravel(positions[rows, columns])
    if len(chosen) == 0:
        raise ModelError(f"tree {t}: it adds to class {klass} of target {target}, which does not exist")
    return chosen


def _add_tree(
    builder: ForestBuilder, t: int, nodes: list[Any], outputs: NDArray[np.int64], share: NDArray[Any], cover: str | None
) -> None:
    left, right, default_left = [], [], []
    sets: dict[int, list[int]] = {}
    members_left = np.ones(len(nodes), np.bool_)
    is_vector = len(share) > 1 and len(outputs) > 1
    value = np.zeros((len(nodes), len(share)) if is_vector else len(nodes))
    for n, node in enumerate(nodes):
        if take(node, "node_id", int, f"tree {t}") != n:
            raise ModelError(f"tree {t}: node {node['node_id']} is at position {n}")
        swaps = _RULES[node["comparison_op"]][1] if "comparison_op" in node else False
        children = [node.get("left_child", -1), node.get("right_child", -1)]
        left.append(children[swaps])
        right.append(children[not swaps])
        default_left.append(node.get("default_left", False) != swaps)
        if "category_list" in node:
            sets[n] = node["category_list"]
            members_left[n] = not take(node, "category_list_right_child", bool, f"tree {t}, node {n}")
        if "leaf_value" in node:
            name = f"tree {t}, node {n}: leaf_value"
            leaf = frozen_copy(name, np.ravel(as_array(name, node["leaf_value"])), np.float64)
            if len(leaf) != len(outputs):
                raise ModelError(
                    f"tree {t}, node {n}: its leaf has {len(leaf)} values, but there are {len(outputs)} outputs"
                )
            if is_vector:
                value[n, outputs] = leaf * share[outputs]
            else:
                value[n] = leaf[0] * share[outputs[0]]
    builder.add_tree(
        left=left,
        right=right,
        feature=[node.get("split_feature_id", 0) for node in nodes],
        threshold=[node.get("threshold", 0.0) for node in nodes],
        value=value,
        output=int(outputs[0]),
        default_left=default_left,
        categories=sets,
        members_left=members_left,
        cover=None if cover is None else [node[cover] for node in nodes],
    )
