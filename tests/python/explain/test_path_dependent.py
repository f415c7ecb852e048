"""Values without a background: against the definition by training weights, and against the libraries' own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import InputError, TreeExplainer
from arborshap.game.relations import Relation
from arborshap.models import load
from support.cover import worths_by_cover
from support.models.cases import CASES, Case
from support.oracle import ENGINES, INDICES
from support.trained import built

pytestmark = pytest.mark.filterwarnings("ignore:An XGBoost dump holds only the trees")

Array = NDArray[np.float64]
GROUPS = [0, 1, 0, 2, 1]


def values_of(explainer: TreeExplainer, X: Array, index: str) -> Array:
    return np.asarray(explainer(X, index=index).values)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_kind_of_model(case: Case) -> None:
    model, X = built(case).model, built(case).X[:4]
    loaded = load(model)
    if loaded.forest.cover is None:
        with pytest.raises(InputError, match="training weight"):
            TreeExplainer(model)
        return
    seen = X if loaded.encode is None else np.asarray(loaded.encode(X), np.float64)
    for groups in (None, GROUPS):
        owners = groups or range(5)
        players = owners if loaded.sources is None else Relation(5, loaded.sources).owners(owners).tolist()
        worth = worths_by_cover(loaded.forest, seen, players)
        tolerance = 1e-12 * np.abs(worth).max()
        for engine in ENGINES:
            explainer = TreeExplainer(model, groups=groups, engine=engine)
            np.testing.assert_allclose(np.ravel(explainer.expected_value), worth[0, 0], rtol=0, atol=tolerance)
            for index, definition in INDICES.items():
                values, expected = values_of(explainer, X, index), definition(worth)
                np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=0, atol=tolerance)


def data() -> tuple[Array, Array]:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(500, 8))
    y = X[:, 0] * X[:, 1] + np.where(X[:, 2] > 0.3, X[:, 3], -X[:, 4]) + 0.1 * rng.normal(size=500)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@pytest.mark.parametrize("engine", ENGINES)
def test_same_as_xgboost(engine: str) -> None:
    import xgboost

    X, y = data()
    booster = xgboost.train({"max_depth": 5, "nthread": 1}, xgboost.DMatrix(X, y), 20)
    explainer = TreeExplainer(booster, engine=engine)
    rows = xgboost.DMatrix(X[:30])
    contributions = booster.predict(rows, pred_contribs=True)
    np.testing.assert_allclose(explainer.shap_values(X[:30]), contributions[:, :-1], rtol=0, atol=2e-5)
    np.testing.assert_allclose(explainer.expected_value, contributions[0, -1], rtol=0, atol=2e-5)
    interactions = booster.predict(rows, pred_interactions=True)
    np.testing.assert_allclose(explainer.shap_interaction_values(X[:30]), interactions[:, :-1, :-1], rtol=0, atol=2e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_same_as_lightgbm(engine: str) -> None:
    import lightgbm

    X, y = data()
    parameters = {"objective": "regression", "num_leaves": 20, "num_threads": 1, "verbose": -1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, y), 20)
    explainer = TreeExplainer(booster, engine=engine)
    contributions = np.asarray(booster.predict(X[:30], pred_contrib=True))
    np.testing.assert_allclose(explainer.shap_values(X[:30]), contributions[:, :-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(explainer.expected_value, contributions[0, -1], rtol=0, atol=1e-9)


def test_same_as_shap_on_deep_forests() -> None:
    import shap
    from sklearn.ensemble import RandomForestRegressor

    X, y = data()
    X = np.nan_to_num(X).astype(np.float32).astype(np.float64)
    model = RandomForestRegressor(n_estimators=10, random_state=0).fit(X, y)
    theirs = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    for engine in ("auto", "traversal"):
        ours: Any = TreeExplainer(model, engine=engine)
        np.testing.assert_allclose(ours.shap_values(X[:20]), theirs.shap_values(X[:20]), rtol=0, atol=1e-9)
        interactions = theirs.shap_interaction_values(X[:5])
        np.testing.assert_allclose(ours.shap_interaction_values(X[:5]), interactions, rtol=0, atol=1e-9)
