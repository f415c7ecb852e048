"""Coalition values in shapiq: its exact computer gives the values that arborshap gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBRegressor

from arborshap import InputError, TreeExplainer
from support.models.case import data

pytest.importorskip("shapiq", reason="shapiq is installed by `make test-tools` only")

from shapiq import ExactComputer

from arborshap.adapters.shapiq import CoalitionGame

DATA = data(gaps=True)
X, Y = DATA.X, DATA.y


def exact(game: CoalitionGame, index: str, order: int) -> dict[tuple[int, ...], float]:
    values: Any = ExactComputer(game, n_players=game.n_players)(index=index, order=order)
    return {players: float(values[players]) for players in values.interaction_lookup}


def test_shapley_values_and_interactions() -> None:
    explainer = TreeExplainer(XGBRegressor(n_estimators=6, max_depth=4).fit(X, Y), X)
    game = CoalitionGame(explainer, X[[3]])
    assert game.player_name_lookup is not None
    assert sorted(game.player_name_lookup) == explainer.feature_names
    found = exact(game, "SV", 1)
    np.testing.assert_allclose([found[(i,)] for i in range(5)], explainer.shap_values(X[[3]])[0], atol=1e-6)
    pairs = exact(game, "SII", 2)
    ours = explainer.shap_interaction_values(X[[3]])[0]
    for i in range(5):
        for j in range(i):
            assert pairs[(j, i)] == pytest.approx(2.0 * ours[i, j], abs=1e-6)


def test_worth_of_coalitions_is_the_models_own() -> None:
    model = XGBRegressor(n_estimators=6, max_depth=4).fit(X, Y)
    game = CoalitionGame(TreeExplainer(model, X), X[[3]], normalize=False)
    coalitions = np.array([[True, False, True, False, False], [False] * 5, [True] * 5])
    mixed = X.copy()
    mixed[:, [0, 2]] = X[3, [0, 2]]
    expected = [model.predict(mixed).mean(), model.predict(X).mean(), model.predict(X[[3]])[0]]
    np.testing.assert_allclose(game(coalitions), expected, rtol=1e-5, atol=1e-6)
    assert CoalitionGame(TreeExplainer(model, X), X[[3]])(coalitions)[1] == 0.0


def test_groups_outputs_and_frames() -> None:
    frame = pd.DataFrame(np.nan_to_num(X), columns=list("abcde"))
    model = RandomForestClassifier(4, max_depth=4, random_state=0).fit(frame, np.array(["x", "y", "z"])[DATA.classes])
    explainer = TreeExplainer(model, frame, groups={"both": ["a", "c"]})
    values = explainer.shap_values(frame.iloc[[7]])[0]
    for output in (1, "z"):
        position = output if isinstance(output, int) else 2
        found = exact(CoalitionGame(explainer, frame.iloc[[7]], output), "SV", 1)
        np.testing.assert_allclose([found[(i,)] for i in range(4)], values[:, position], atol=1e-10)


def test_bad_input() -> None:
    explainer = TreeExplainer(XGBRegressor(n_estimators=2).fit(X, Y), X)
    with pytest.raises(InputError, match="one row"):
        CoalitionGame(explainer, X[:2])
    with pytest.raises(InputError, match="output must be"):
        CoalitionGame(explainer, X[:1], "nobody")
