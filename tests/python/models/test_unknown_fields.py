"""A field of a tree that is not known may change what the model predicts, so it is never ignored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arborshap.exceptions import UnsupportedModelError
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
