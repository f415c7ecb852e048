"""Files that are cut, changed or made to harm: each ends in a `ModelError`, soon, and names what it can."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arborshap.exceptions import ModelError
from arborshap.models import load
from support.effort import lines_at_most, lines_in_proportion
from support.models import catboost_cases, lightgbm_cases, xgboost_cases
from support.models.case import data

pytestmark = pytest.mark.filterwarnings("ignore:An XGBoost dump")


def contents() -> dict[str, bytes]:
    """One small file of every format."""
    booster = xgboost_cases.train("y", {"max_depth": 2, "max_cat_to_onehot": 1}, categorical=True, rounds=2)
    text = lightgbm_cases.train("y", categories=True, rounds=2, num_leaves=4).model_to_string()
    cases = {case.name: case for case in catboost_cases.CASES}
    return {
        "xgboost.json": bytes(booster.save_raw("json")),
        "xgboost.ubj": bytes(booster.save_raw("ubj")),
        "dump.json": ("[" + ",".join(booster.get_dump(dump_format="json", with_stats=True)) + "]").encode(),
        "lightgbm.txt": text.split("\nparameters:")[0].encode(),
        "catboost.json": Path(cases["catboost-json"].build().model).read_bytes(),
    }


CONTENTS = contents()


def survives(path: Path, content: bytes) -> bool:
    """Load a file: a right answer or a `ModelError` is fine, and nothing else is."""
    path.write_bytes(content)
    try:
        with lines_in_proportion(content), np.errstate(all="raise", under="ignore"):
            forest = load(path).forest
        forest.margin(np.zeros((1, forest.n_features))) if forest.n_features < 100 else None
        return True
    except ModelError:
        return False


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_cut_anywhere(name: str, tmp_path: Path) -> None:
    content = CONTENTS[name]
    assert survives(tmp_path / name, content)
    step = max(1, len(content) // 400)
    kept = [end for end in range(0, len(content) - 1, step) if survives(tmp_path / name, content[:end])]
    # LightGBM's trees are complete once it says so, whatever follows.
    complete = content.index(b"end of trees") + len(b"end of trees") if name == "lightgbm.txt" else len(content) - 8
    assert all(end >= complete for end in kept)


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_with_bytes_changed(name: str, tmp_path: Path) -> None:
    content = CONTENTS[name]
    rng = np.random.default_rng(11)
    refused = 0
    for _ in range(300):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), rng.integers(1, 4)):
            damaged[at] = rng.choice([*b"\x00\xff-9[{L", int(rng.integers(256))])
        refused += not survives(tmp_path / name, bytes(damaged))
    assert refused > 30, "changes that are never noticed test nothing"


Edit = Callable[[dict[str, Any], dict[str, Any]], object]
"""Damages a document, given its first tree and its parameters."""


def _set(key: str, node: int, value: Any) -> Edit:
    def edit(tree: dict[str, Any], learner: dict[str, Any]) -> None:
        tree[key][node] = value

    return edit


def _leaf(tree: dict[str, Any]) -> int:
    return int(tree["left_children"].index(-1))


def _split(tree: dict[str, Any]) -> int:
    """A node, not the root, that has children."""
    return next(node for node, left in enumerate(tree["left_children"]) if node and left != -1)


def _put_in_leaf(value: Any) -> Edit:
    def edit(tree: dict[str, Any], learner: dict[str, Any]) -> None:
        tree["split_conditions"][_leaf(tree)] = value

    return edit


def _split_numerically(value: Any) -> Edit:
    def edit(tree: dict[str, Any], learner: dict[str, Any]) -> None:
        tree["split_type"] = [0] * len(tree["split_type"])
        tree["split_conditions"][0] = value

    return edit


def _parameter(key: str, value: Any) -> Edit:
    def edit(tree: dict[str, Any], learner: dict[str, Any]) -> None:
        learner["learner_model_param"][key] = value

    return edit


XGBOOST: dict[str, tuple[Edit, str]] = {
    "a cycle to the root": (_set("left_children", 1, 0), r"tree 0, node \d+: .*reached twice"),
    "a cycle to itself": (
        lambda tree, _: tree["left_children"].__setitem__(_split(tree), _split(tree)),
        "reached twice",
    ),
    "a shared child": (_set("left_children", 0, 2), r"tree 0, node 0: .*reached twice"),
    "a child out of range": (_set("left_children", 0, 1000), "tree 0, node 0: its left child is node 1000"),
    "a negative child": (_set("right_children", 0, -7), "tree 0, node 0: its right child is -7"),
    "a child beyond int32": (_set("right_children", 0, 2**40), "tree 0: right.*outside"),
    "a child beyond int64": (_set("right_children", 0, 2**70), "tree 0: right"),
    "a child that is no number": (_set("left_children", 0, "1"), "tree 0: left"),
    "a child that is a list": (_set("left_children", 0, [1]), "tree 0: left_children must be an array"),
    "a feature out of range": (_set("split_indices", 0, 5), "tree 0, node 0: it splits on feature 5"),
    "a negative feature": (_set("split_indices", 0, -1), "tree 0, node 0: its feature is -1"),
    "a NaN threshold": (_split_numerically(float("nan")), "tree 0, node 0: its threshold is NaN"),
    "a threshold that is text": (_split_numerically("x"), "tree 0: split_conditions must be a list of numbers"),
    "an infinite leaf": (_put_in_leaf(float("inf")), r"tree 0, node \d+: its leaf value is inf"),
    "a leaf beyond float32": (_put_in_leaf(1e300), r"tree 0, node \d+: its leaf value is inf"),
    "arrays of different lengths": (lambda tree, _: tree["split_indices"].pop(), "tree 0: its arrays differ in length"),
    "no nodes": (lambda tree, _: tree.update({key: [] for key in tree}), "tree 0"),
    "a missing array": (lambda tree, _: tree.pop("default_left"), "tree 0: 'default_left' is missing"),
    "an array that is a number": (
        lambda tree, _: tree.update(left_children=1),
        "tree 0: 'left_children' must be a list",
    ),
    "a direction that is 2": (_set("default_left", 0, 2), "tree 0: default_left must be true or false"),
    "categories too far": (
        lambda tree, _: tree["categories_sizes"].__setitem__(0, 10**9),
        r"tree 0, node \d+: its cat",
    ),
    "a negative segment": (
        lambda tree, _: tree["categories_segments"].__setitem__(0, -1),
        r"tree 0, node \d+: its cat",
    ),
    "a category below zero": (lambda tree, _: tree["categories"].__setitem__(0, -1), r"tree 0, node \d+: categories"),
    "a category beyond all": (lambda tree, _: tree["categories"].__setitem__(0, 2**31), r"tree 0, node \d+: category"),
    "a set for no node": (lambda tree, _: tree["categories_nodes"].__setitem__(0, 99), "tree 0: categories are given"),
    "a split without its set": (
        lambda tree, _: tree.update(categories_nodes=[], categories_segments=[], categories_sizes=[]),
        "without categories",
    ),
    "many outputs": (_parameter("num_class", "4000000000"), "claims 4000000000 outputs"),
    "vectors of another size": (
        lambda tree, _: tree["tree_param"].update(size_leaf_vector="3"),
        "3 values, but there are 1 outputs",
    ),
    "features that are text": (_parameter("num_feature", "many"), "num_feature must be a whole number"),
    "features without end": (_parameter("num_feature", "9" * 20), "n_features must be a whole number"),
    "features below zero": (_parameter("num_feature", "-1"), "n_features must be a whole number"),
    "a base score of nothing": (_parameter("base_score", "[]"), "base_score has 0 values"),
    "a base score of NaN": (_parameter("base_score", "nan"), "base value of output 0 is NaN"),
    "a base score that is text": (_parameter("base_score", "half"), "base_score half is not valid"),
    "an unknown objective": (
        lambda _, learner: learner["objective"].update(name="reg:new"),
        "objective 'reg:new' is not known",
    ),
    "an unknown booster": (
        lambda _, learner: learner["gradient_booster"].update(name="new"),
        "booster 'new' is not supported",
    ),
    "too few outputs named": (
        lambda _, learner: learner["gradient_booster"]["model"]["tree_info"].pop(),
        "tree_info has",
    ),
    "an output out of range": (
        lambda _, learner: learner["gradient_booster"]["model"]["tree_info"].__setitem__(0, 1),
        "adds to output 1",
    ),
    "an output beyond all": (
        lambda _, learner: learner["gradient_booster"]["model"]["tree_info"].__setitem__(0, 2**70),
        "tree 0: output must be a whole number",
    ),
    "trees that are numbers": (
        lambda _, learner: learner["gradient_booster"]["model"].update(trees=[1, 2]),
        "tree 0: 'left_children' is missing",
    ),
    "names that are numbers": (
        lambda _, learner: learner.update(feature_names=[1, 2, 3, 4, 5]),
        "must be a list of strings",
    ),
    "too few names": (lambda _, learner: learner.update(feature_names=["a"]), "feature_names has 1 entries"),
    "a learner that is a list": (
        lambda _, learner: learner.update(gradient_booster=[]),
        "'gradient_booster' must be dict",
    ),
}


@pytest.mark.parametrize("name", XGBOOST)
def test_a_hostile_xgboost_model(name: str, tmp_path: Path) -> None:
    edit, message = XGBOOST[name]
    document = copy.deepcopy(json.loads(CONTENTS["xgboost.json"]))
    learner = document["learner"]
    tree = learner["gradient_booster"]["model"]["trees"][0]
    edit(tree, learner)
    path = _written(tmp_path, document)
    with lines_in_proportion(path.read_bytes()), pytest.raises(ModelError, match=message):
        load(path)


def _line(key: str, old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        start = text.index(f"\n{key}=") + len(key) + 2
        end = text.index("\n", start)
        assert old in text[start:end]
        return text[:start] + text[start:end].replace(old, new, 1) + text[end:]

    return edit


def _first(key: str, new: str) -> Callable[[str], str]:
    """Replace the first number of a field of the first tree."""
    return lambda text: _line(key, text.split(f"\n{key}=")[1].split()[0], new)(text)


LIGHTGBM: dict[str, tuple[Callable[[str], str], str]] = {
    "a cycle": (_first("left_child", "0"), "tree 0, node 0: .*reached twice"),
    "a leaf out of range": (_first("left_child", "-99"), "tree 0, node 0: its left child"),
    "many leaves": (_first("num_leaves", "4000000000"), "tree 0: leaf_value has 4 entries instead of 4000000000"),
    "no leaves": (_first("num_leaves", "0"), "tree 0: leaf_value has 4 entries instead of 0"),
    "many features": (_first("max_feature_idx", "4000000000"), "n_features must be a whole number from 0"),
    "many trees an iteration": (_first("num_tree_per_iteration", "4000000000"), "2 trees cannot be divided"),
    "no trees an iteration": (_first("num_tree_per_iteration", "0"), "2 trees cannot be divided"),
    "a feature out of range": (_first("split_feature", "17"), "tree 0, node 0: it splits on feature 17"),
    "a leaf that is text": (_first("leaf_value", "x"), "tree 0: leaf_value has an entry"),
    "an infinite leaf": (_first("leaf_value", "1e999"), r"tree 0, node \d+: its leaf value is inf"),
    "an unknown missing type": (_first("decision_type", "14"), "tree 0, node 0: its missing type"),
    "sets too far": (_line("cat_boundaries", "0 ", "0 999"), "tree 0: cat_"),
    "a key twice": (_line("num_leaves", "4", "4\nnum_leaves=4"), "tree 0: 'num_leaves' appears twice"),
    "a field taken out": (
        lambda text: text.replace("\nleft_child=", "\nleaf_parent=", 1),
        "tree 0: 'left_child' is missing",
    ),
    "a tree taken out": (
        lambda text: text[: text.index("Tree=1")] + text[text.index("end of trees") :],
        "announces 2 trees, but holds 1",
    ),
}


@pytest.mark.parametrize("name", LIGHTGBM)
def test_a_hostile_lightgbm_model(name: str, tmp_path: Path) -> None:
    edit, message = LIGHTGBM[name]
    (tmp_path / "model.txt").write_text(edit(CONTENTS["lightgbm.txt"].decode()))
    with pytest.raises(ModelError, match=message):
        load(tmp_path / "model.txt")


def _dump(**changes: Any) -> str:
    leaves = [{"nodeid": 1, "leaf": 1.0}, {"nodeid": 2, "leaf": 2.0}]
    node = {"nodeid": 0, "split": "f0", "split_condition": 0.5, "yes": 1, "no": 2, "missing": 1, "children": leaves}
    return json.dumps({key: value for key, value in (node | changes).items() if value is not None})


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (_dump(children=[]), "tree 0, node 0: it has 0 children instead of two"),
        (_dump(children=[{"nodeid": 1, "leaf": 1}] * 2), "tree 0, node 0: its children are 1 and 1"),
        (_dump(yes=7), "tree 0, node 0: its children are 1 and 2, but yes is 7"),
        (_dump(missing=9), "tree 0, node 0: missing values go to node 9"),
        (_dump(missing=None), "tree 0, node 0: 'missing' is missing"),
        (_dump(split=3), "tree 0, node 0: 'split' must be str"),
        (_dump(split_condition="x"), "tree 0: split_condition must be a list of numbers"),
        (_dump(split_condition=[-1]), "tree 0, node 0: categories"),
        (_dump(split_condition=float("nan")), "tree 0, node 0: its threshold is NaN"),
        (
            _dump(children=[{"nodeid": 1, "leaf": "x"}, {"nodeid": 2, "leaf": 1}]),
            "tree 0: leaf must be a list of numbers",
        ),
        (_dump(children=[{"nodeid": 1, "leaf": [1, 2]}, {"nodeid": 2, "leaf": [1]}]), "different numbers of values"),
        (_dump(children=[1, 2]), "tree 0, node 0, a child: 'nodeid' is missing"),
        (_dump(children=None), "tree 0, node 0: 'children' is missing"),
        (_dump(split="f99999999999"), "names its columns"),
        ("{", "tree 0 is not valid JSON"),
        ("[]", "tree 0: a node is list"),
        ('{"nodeid": 0, "leaf": 1, "leaf": 2}', "the key 'leaf' appears twice"),
    ],
)
def test_a_hostile_dump(tree: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load([tree])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d["oblivious_trees"][1]["leaf_values"].pop(), "tree 1: leaf_values has 7 entries"),
        (lambda d: d["oblivious_trees"][1].update(splits=d["oblivious_trees"][1]["splits"] * 20), "tree 1: 60 levels"),
        (lambda d: d["oblivious_trees"][0]["splits"][0].update(float_feature_index=77), "tree 0, level 0: feature 77"),
        (lambda d: d["oblivious_trees"][0]["splits"][0].update(border="x"), "tree 0, level 0: border must be"),
        (lambda d: d["oblivious_trees"][0]["splits"][0].pop("split_type"), "tree 0, level 0: 'split_type' is missing"),
        (lambda d: d["oblivious_trees"][0]["leaf_values"].__setitem__(3, float("nan")), r"tree 0, node 10: its leaf"),
        (lambda d: d["features_info"]["float_features"].pop(0), "every column exactly once"),
        (lambda d: d["features_info"]["float_features"][0].update(nan_value_treatment="Odd"), "'Odd' is unknown"),
        (lambda d: d.update(scale_and_bias=[1]), "must hold a scale and a bias"),
        (lambda d: d.update(scale_and_bias=["a", [0]]), "the scale must be an array of numbers"),
        (lambda d: d.update(oblivious_trees=5), "'oblivious_trees' must be a list"),
    ],
)
def test_a_hostile_catboost_model(edit: Callable[[dict[str, Any]], object], message: str, tmp_path: Path) -> None:
    cases = {case.name: case for case in catboost_cases.CASES}
    cases["catboost-symmetric"].build().model.save_model(tmp_path / "model.json", format="json")
    document = json.loads((tmp_path / "model.json").read_bytes())
    edit(document)
    with pytest.raises(ModelError, match=message):
        load(_written(tmp_path, document))


def test_a_long_chain_of_nodes_cut_off_by_pruning_is_dropped_at_once(tmp_path: Path) -> None:
    document = json.loads(CONTENTS["xgboost.json"])
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    n, extra = len(tree["left_children"]), 100_000
    before = load(_written(tmp_path, document)).forest
    tree["left_children"] += [min(n + i + 1, n + extra - 1) for i in range(extra)]
    tree["right_children"] += [min(n + i + 1, n + extra - 1) for i in range(extra)]
    for key in ("split_indices", "split_conditions", "default_left", "split_type", "sum_hessian"):
        tree[key] += [0] * extra
    with lines_at_most(extra // 2):  # nothing is done for each of them, let alone again and again
        after = load(_written(tmp_path, document)).forest
    np.testing.assert_array_equal(after.margin(data().rows), before.margin(data().rows))
    assert after.n_nodes == before.n_nodes


def _written(folder: Path, document: Any) -> Path:
    (folder / "model.json").write_text(json.dumps(document))
    return folder / "model.json"
