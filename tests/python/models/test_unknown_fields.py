"""A field of a tree that is not known may change what the model predicts, so it is never ignored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.models import load
from arborshap.models.sklearn.common import check_node_fields
from support.models.case import data

GIVEN = data(gaps=False)
UNKNOWN = "this version of arborshap does not know 'novelty'.*update arborshap"


def _xgboost(path: Path) -> Any:
    import xgboost

    booster = xgboost.train({"max_depth": 2, "nthread": 1}, xgboost.DMatrix(GIVEN.X, GIVEN.y), 2)
    booster.save_model(path)
    return json.loads(path.read_text())


XGBOOST: dict[str, Callable[[Any], Any]] = {
    "learner": lambda learner: learner,
    "learner_model_param": lambda learner: learner["learner_model_param"],
    "gradient_booster": lambda learner: learner["gradient_booster"],
    "gbtree": lambda learner: learner["gradient_booster"]["model"],
    "tree 1": lambda learner: learner["gradient_booster"]["model"]["trees"][1],
    "tree 1: tree_param": lambda learner: learner["gradient_booster"]["model"]["trees"][1]["tree_param"],
}


@pytest.mark.parametrize("where", XGBOOST)
def test_xgboost_files(where: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    document = _xgboost(path)
    load(path)
    XGBOOST[where](document["learner"])["novelty"] = "1"
    path.write_text(json.dumps(document))
    with pytest.raises(UnsupportedModelError, match=f"^{where}: {UNKNOWN}"):
        load(path)


def test_xgboost_files_of_unknown_versions_and_kinds_of_splits(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    document = _xgboost(path)
    document["version"] = [4, 0, 0]
    path.write_text(json.dumps(document))
    with pytest.warns(UserWarning, match="saved by XGBoost 4, which is newer"):
        load(path)
    document = _xgboost(path)
    document["learner"]["gradient_booster"]["model"]["trees"][0]["split_type"][1] = 2
    path.write_text(json.dumps(document))
    with pytest.raises(UnsupportedModelError, match="tree 0, node 1: its split is of the unknown type 2"):
        load(path)


@pytest.mark.filterwarnings("ignore:An XGBoost dump holds only the trees")
def test_xgboost_dumps() -> None:
    import xgboost

    booster = xgboost.train({"max_depth": 2, "nthread": 1}, xgboost.DMatrix(GIVEN.X, GIVEN.y), 1)
    (tree,) = booster.get_dump(dump_format="json", with_stats=True)
    load([tree])
    parsed = json.loads(tree)
    parsed["children"][0]["novelty"] = 1
    with pytest.raises(UnsupportedModelError, match=f"tree 0, node 1: {UNKNOWN}"):
        load([json.dumps(parsed)])


def test_lightgbm_texts(tmp_path: Path) -> None:
    import lightgbm

    path = tmp_path / "model.txt"
    options = {"verbose": -1, "num_threads": 1, "num_leaves": 4}
    text = lightgbm.train(options, lightgbm.Dataset(GIVEN.X, GIVEN.y), 2).model_to_string()
    path.write_text(text)
    load(path)
    path.write_text(text.replace("\nleaf_value=", "\nnovelty=1\nleaf_value=", 1))
    with pytest.raises(UnsupportedModelError, match=f"tree 0: {UNKNOWN}"):
        load(path)
    path.write_text(text.replace("decision_type=2 ", "decision_type=34 ", 1))
    with pytest.raises(UnsupportedModelError, match="tree 0, node 0: its decision_type 34 has bits that are not known"):
        load(path)
    path.write_text(text.replace("version=v4", "version=v9", 1))
    with pytest.raises(UnsupportedModelError, match="version of the model text is 'v9'"):
        load(path)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
def test_catboost_exports(policy: str, tmp_path: Path) -> None:
    import catboost

    path = tmp_path / "model.json"
    options = {"iterations": 2, "depth": 2, "verbose": 0, "allow_writing_files": False, "grow_policy": policy}
    catboost.CatBoost(options).fit(GIVEN.X, GIVEN.y).save_model(str(path), format="json")
    load(path)
    document = json.loads(path.read_text())
    (document.get("oblivious_trees") or document["trees"])[1]["novelty"] = 1
    path.write_text(json.dumps(document))
    with pytest.raises(UnsupportedModelError, match=f"tree 1.*{UNKNOWN}"):
        load(path)


@pytest.mark.parametrize("where", ["treelite model", "tree 1"])
def test_treelite_dumps(where: str) -> None:
    treelite = pytest.importorskip("treelite")
    from sklearn.ensemble import RandomForestRegressor

    from arborshap.models.treelite import read_document

    forest = RandomForestRegressor(2, max_depth=2, random_state=0).fit(GIVEN.X, GIVEN.y)
    document = json.loads(treelite.sklearn.import_model(forest).dump_as_json(pretty_print=False))
    read_document(document, "float64")
    (document if where != "tree 1" else document["trees"][1]["nodes"][0])["novelty"] = 1
    with pytest.raises(UnsupportedModelError, match=f"^{where}: {UNKNOWN}"):
        read_document(document, "float64")


def test_onnx_attributes() -> None:
    from arborshap.forest.builder import ForestBuilder
    from arborshap.models.onnx.ensemble import add_trees

    whole = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0]}
    whole |= {"nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "nodes_values": [0, 0, 0]}
    whole |= {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1, 2]}
    attributes: dict[str, Any] = {name: np.array(numbers) for name, numbers in whole.items()}
    attributes["nodes_modes"] = ["BRANCH_LEQ", "LEAF", "LEAF"]

    def builder_of(width: int) -> ForestBuilder:
        return ForestBuilder(width, rule="<=", precision="float32")

    add_trees(attributes, "target", builder_of, np.zeros(1), single=True)
    with pytest.raises(UnsupportedModelError, match=f"the tree ensemble: {UNKNOWN}"):
        add_trees({**attributes, "novelty": np.ones(3)}, "target", builder_of, np.zeros(1), single=True)


def test_perpetual_nodes() -> None:
    from arborshap.forest.builder import ForestBuilder
    from arborshap.models.perpetual import add_tree

    leaf = {"num": 0, "weight_value": 1.0, "split_feature": 0, "is_leaf": True}
    root = {**leaf, "is_leaf": False, "split_value": 0.5, "left_child": 1, "right_child": 2, "missing_node": 2}
    builder = ForestBuilder(1, rule="<", precision="float64")
    nodes: dict[str, Any] = {"0": root, "1": leaf, "2": leaf}
    add_tree(builder, nodes, "tree 0", 0)
    np.testing.assert_array_equal(builder.build().margin([[0.0], [np.nan]]), [[1.0], [1.0]])
    with pytest.raises(UnsupportedModelError, match=f"tree 0: {UNKNOWN}"):
        add_tree(builder, {**nodes, "1": {**leaf, "novelty": 1}}, "tree 0", 0)
    with pytest.raises(ModelError, match=r"tree 0: 'left_cats' is '\[1\]', which is not a set of categories"):
        add_tree(builder, {**nodes, "0": {**root, "left_cats": [1]}}, "tree 0", 0)


def test_nodes_of_scikit_learn() -> None:
    nodes = np.zeros(3, [("threshold", np.float64), ("novelty", np.uint8)])
    nodes["threshold"] = 1.0
    check_node_fields(nodes, {"threshold"})  # a field that is empty in every node says nothing
    nodes["novelty"][2] = 1
    with pytest.raises(UnsupportedModelError, match=f"the trees of this scikit-learn: {UNKNOWN}"):
        check_node_fields(nodes, {"threshold"})


def test_nodes_of_scikit_learn_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.tree import DecisionTreeRegressor

    from arborshap.models.sklearn import hist, trees

    for module, model in ((trees, DecisionTreeRegressor(max_depth=2)), (hist, HistGradientBoostingRegressor())):
        model.fit(GIVEN.X, GIVEN.y)
        load(model)
        monkeypatch.setattr(module, "_FIELDS", frozenset(("threshold",)))
        with pytest.raises(UnsupportedModelError, match="the trees of this scikit-learn: this version of arborshap"):
            load(model)


def test_category_splits_of_scikit_learn_are_refused_by_name() -> None:
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(n_estimators=2, max_depth=2).fit(GIVEN.X, GIVEN.y)
    for tree in model.estimators_:
        tree.is_categorical_ = np.array([False, False, True, False, False])
    with pytest.raises(UnsupportedModelError, match=r"RandomForestRegressor .*its trees split on sets of categories"):
        load(model)
