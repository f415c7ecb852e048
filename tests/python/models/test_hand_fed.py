"""The example that hands a model over by its arrays: it runs, and what it hands over is explained exactly."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor, VotingRegressor

from arborshap import TreeExplainer
from support import oracle
from support.models.case import data, edge_rows
from support.places import EXAMPLES

EXAMPLE = EXAMPLES / "hand_fed_forest.py"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    shown = capsys.readouterr().out
    assert "Forest(100 trees" in shown
    assert "sum to its prediction: True" in shown
    assert float(shown.partition("own prediction: ")[2].split()[0]) < 1e-10


def test_what_it_hands_over_is_the_model() -> None:
    given = data(gaps=False)
    members = [
        ("bagged", RandomForestRegressor(n_estimators=4, max_depth=3, random_state=1)),
        ("boosted", GradientBoostingRegressor(n_estimators=4, max_depth=2, random_state=1)),
    ]
    model, X = VotingRegressor(members, weights=[3, 1]).fit(given.X, given.y), given.X
    forest = runpy.run_path(str(EXAMPLE))["forest_of"](model, [*"abcde"])
    rows = np.vstack([X, edge_rows(forest, X)])
    np.testing.assert_allclose(forest.margin(rows)[:, 0], model.predict(rows), atol=1e-12)
    expected = oracle.shapley(oracle.worths(model.predict, X[:3], X[10:20]))[..., 0]
    np.testing.assert_allclose(TreeExplainer(forest, X[10:20]).shap_values(X[:3]), expected, atol=1e-12)
    np.testing.assert_allclose(TreeExplainer(model, X[10:20]).shap_values(X[:3]), expected, atol=1e-12)
    assert TreeExplainer(forest).shap_values(X[:3]).shape == (3, 5)
