"""LightGBM's linear trees: what can be computed for them, missing values, other outputs, files, and what is refused."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest

from arborshap import Background, InputError, ModelError, TreeExplainer, _core
from arborshap.cli import main
from arborshap.forest.linear import LinearForest
from arborshap.models import load
from support.models.case import data
from support.models.lightgbm_cases import SMALL, linear, train
from support.oracle import shapley, worths
from support.saved_files import entries_of, joined, parts_of
from support.set_oracle import INDICES, indices_of, members, semivalue
from support.trained import built

X = data(gaps=False).rows
ROWS, BACKGROUND = X[:4], X[20:32]


def booster() -> Any:
    return linear("y").model


def linear_forest(model: Any) -> LinearForest:
    forest = load(model).forest
    assert isinstance(forest, LinearForest)
    return forest


def coalition(model: Any, members: list[int]) -> Any:
    kept = np.isin(np.arange(5), members)
    return np.array([model.predict(np.where(kept, row, BACKGROUND)).mean() for row in ROWS])


@pytest.mark.parametrize("members", [[], [0], [1, 2], [0, 2, 4], [0, 1, 2, 3], [0, 1, 2, 3, 4]], ids=str)
def test_predictions_of_coalitions(members: list[int]) -> None:
    model = booster()
    found = TreeExplainer(model, BACKGROUND).coalition_values(ROWS, members)
    np.testing.assert_allclose(found, coalition(model, members), rtol=0, atol=1e-12)


def test_sets_of_players_and_members_of_groups() -> None:
    model = booster()
    explainer = TreeExplainer(model, BACKGROUND)
    worth = worths(model.predict, ROWS, BACKGROUND)
    for index in INDICES:
        found = explainer.interactions(ROWS, index=index, order=3)  # type: ignore[arg-type]
        expected = indices_of(worth, index, 3)
        by_set = {tuple(players): found.values[:, at] for at, players in enumerate(found.sets)}
        for players, values in expected.items():
            given = by_set.get(players, np.zeros(len(ROWS)))
            np.testing.assert_allclose(given, values[:, 0], rtol=0, atol=1e-12, err_msg=f"{index} {players}")
    weights = [0.4, 0.05, 0.03, 0.04, 0.1]
    found_values = explainer.semivalues(ROWS, weights)
    np.testing.assert_allclose(found_values, semivalue(worth, weights)[..., 0], rtol=0, atol=1e-12)
    owen = explainer.owen_values(ROWS, within={"ab": [0, 1], "cd": [2, 3]})
    np.testing.assert_allclose(owen, members(worth, [[0, 1], [2, 3], 4])[..., 0], rtol=0, atol=1e-12)


def test_a_column_far_from_zero_costs_no_digits() -> None:
    far = data(gaps=False)
    far.X[:, 0] += 1e6
    model = lightgbm.train({**SMALL, "linear_tree": True, "linear_lambda": 0.01}, lightgbm.Dataset(far.X, far.y), 4)
    explainer = TreeExplainer(model, far.X[20:32], verify=False)
    slope = max(abs(slopes).max() for _, slopes in linear_forest(model).slopes.values())
    worth = worths(explainer.forest.margin, far.X[:3], far.X[20:32])
    np.testing.assert_allclose(explainer.shap_values(far.X[:3]), shapley(worth)[..., 0], rtol=0, atol=1e-9 * slope)


def test_probabilities_and_losses_go_pair_by_pair() -> None:
    model = linear("binary", objective="binary").model
    explainer = TreeExplainer(model, BACKGROUND, model_output="probability")
    expected = np.zeros((len(ROWS), 5))
    for z in BACKGROUND:
        worth = worths(lambda rows: model.predict(rows, raw_score=True), ROWS, z[np.newaxis])[..., 0]
        chance = 1 / (1 + np.exp(-worth))
        slope = (chance[-1] - chance[0]) / (worth[-1] - worth[0])
        expected += slope[:, np.newaxis] * shapley(worth[..., np.newaxis])[..., 0] / len(BACKGROUND)
    np.testing.assert_allclose(explainer.shap_values(ROWS), expected, rtol=0, atol=1e-12)
    again = TreeExplainer.from_bytes(explainer.to_bytes())
    np.testing.assert_array_equal(again.shap_values(ROWS), explainer.shap_values(ROWS))
    with pytest.raises(InputError, match=r"linear functions, so every pair of rows is rescaled"):
        explainer.taylor_values(ROWS)
    losses = TreeExplainer(model, BACKGROUND, model_output="log_loss")
    labels = np.array([0, 1, 1, 0])
    chance = model.predict(ROWS)
    loss = -np.log(np.where(labels == 1, chance, 1 - chance))
    explanation = losses(ROWS, labels)
    np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, loss, atol=1e-12)


def test_missing_and_infinite_values_are_refused_where_leaves_need_them() -> None:
    model = train("y", gaps=False, linear_tree=True)
    explainer = TreeExplainer(model, BACKGROUND)
    used = linear_forest(model).slopes
    for wrong in (np.nan, np.inf):
        rows = ROWS.copy()
        rows[2, min(used)] = wrong
        for call in (
            explainer.shap_values,
            explainer.pair_values,
            lambda given: explainer.pair_values(ROWS, given),
            lambda given: explainer.coalition_values(given, [0]),
            lambda given: TreeExplainer(model, given),
            lambda given: TreeExplainer(model, given, verify=False),
            lambda given: load(model).forest.margin(given),
        ):
            with pytest.raises(InputError, match=rf"row 2 of column 'x{min(used)}' is {wrong}, .* fill them"):
                call(rows)


def test_a_missing_value_that_no_leaf_needs_is_explained() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3))
    rows[::3, 2] = np.nan
    target = np.where(np.isnan(rows[:, 2]), rows[:, 0], -rows[:, 1])
    options = {**SMALL, "linear_tree": True, "linear_lambda": 1.0}
    model = lightgbm.train(options, lightgbm.Dataset(rows, target, categorical_feature=[2]), 3)
    if 2 in linear_forest(model).slopes:
        pytest.skip("the leaves depend on this column")
    worth = worths(model.predict, rows[:4], rows[10:16])
    values = TreeExplainer(model, rows[10:16]).shap_values(rows[:4])
    np.testing.assert_allclose(values, shapley(worth)[..., 0], rtol=0, atol=1e-12)


READER = """
import sys
import numpy as np
from arborshap import TreeExplainer
values = TreeExplainer.load("linear.arborshap").taylor_values(np.load("rows.npy"))
assert np.array_equal(values, np.load("values.npy")) and "lightgbm" not in sys.modules
"""


def test_explainers_are_saved_and_pickled(tmp_path: Path) -> None:
    explainer = TreeExplainer(booster(), BACKGROUND, sample_weight=np.arange(1.0, 13.0))
    values = explainer.taylor_values(ROWS)
    explainer.save(tmp_path / "linear.arborshap")
    np.save(tmp_path / "rows.npy", ROWS)
    np.save(tmp_path / "values.npy", values)
    subprocess.run([sys.executable, "-c", READER], cwd=tmp_path, check=True)
    again = pickle.loads(pickle.dumps(explainer))
    np.testing.assert_array_equal(again.taylor_values(ROWS), values)
    assert again.model_id == explainer.model_id
    assert again.model_id != TreeExplainer(train("y", gaps=False), BACKGROUND).model_id
    forest = copy.deepcopy(explainer.forest)
    np.testing.assert_array_equal(forest.margin(ROWS), explainer.forest.margin(ROWS))
    assert repr(forest).startswith("LinearForest(5 trees")
    assert main(["inspect", str(tmp_path / "linear.arborshap")]) == 0
    with pytest.raises(ModelError, match=r"is a saved explainer; read it with TreeExplainer.load"):
        load(tmp_path / "linear.arborshap")


def test_readers_that_know_only_constant_leaves_refuse_the_file() -> None:
    saved = TreeExplainer(booster(), BACKGROUND).to_bytes()
    with pytest.raises(ModelError, match="it does not begin with ARBORSHP"):
        _core.Explainer.from_bytes(saved, n_threads=1)
    inside = saved[8:]
    assert "numbers.slopes" in parts_of(inside)
    plain = TreeExplainer(train("y", gaps=False), BACKGROUND).to_bytes()
    for wrong in (inside, saved[:8] + plain):
        with pytest.raises(ModelError, match="whether its leaves hold slopes; it is damaged"):
            TreeExplainer.from_bytes(wrong)
    for damage, message in (
        (("numbers.slopes", np.zeros(3)), "incomplete"),
        (("numbers.slope_nodes", None), "incomplete"),
        (("numbers.background", None), "background is incomplete"),
    ):
        entries = [entry for entry in entries_of(inside) if entry[0] != damage[0]]
        if damage[1] is not None:
            entries.append((damage[0], 6, damage[1].astype("<f8").tobytes()))
        with pytest.raises(ModelError, match=message):
            TreeExplainer.from_bytes(saved[:8] + joined(inside, entries))


@pytest.mark.parametrize(
    ("key", "words", "message"),
    [
        ("num_features", "1 2", "num_features has 2 entries"),
        ("num_features", "-1 1 1 1 1 1 1 1", "negative entry"),
        ("leaf_features", "99", "leaf_features has"),
        ("leaf_coeff", "nan", "leaf_coeff has"),
        ("leaf_const", "x", "leaf_const has"),
    ],
)
def test_damaged_leaves_are_refused(key: str, words: str, message: str, tmp_path: Path) -> None:
    lines = booster().model_to_string().splitlines()
    at = max(number for number, line in enumerate(lines) if line.startswith(f"{key}="))
    lines[at] = f"{key}={words}"
    (tmp_path / "model.txt").write_text("\n".join(lines))
    with pytest.raises(ModelError, match=message):
        load(tmp_path / "model.txt")


def test_slopes_of_nothing_are_refused() -> None:
    constants = linear_forest(booster()).constants
    leaf = int(np.flatnonzero(constants.left == -1)[0])
    for column, node, slope in ((9, leaf, 1.0), (-1, leaf, 1.0), (0, 0, 1.0), (0, 10**6, 1.0), (0, leaf, np.inf)):
        with pytest.raises(ModelError, match="no such column or leaf, or is not finite"):
            LinearForest.of(constants, np.array([column]), np.array([node]), np.array([slope]))


def test_what_needs_constant_leaves_is_refused() -> None:
    from sklearn.ensemble import VotingRegressor

    model = booster()
    explainer = TreeExplainer(model, BACKGROUND)
    wrapper = VotingRegressor([("one", lightgbm.LGBMRegressor(linear_tree=True, n_estimators=2, verbose=-1, n_jobs=1))])
    refused: dict[str, Callable[[], Any]] = {
        "no background": lambda: TreeExplainer(model),
        "its own weights": lambda: TreeExplainer(model, X, feature_perturbation="tree_path_dependent"),
        "counts": lambda: Background(model, X),
        "a part": lambda: explainer.background_part(X),
        "a trace": lambda: explainer.trace(X[0], X[1]),
        "standard errors": lambda: explainer.standard_error(ROWS),
        "a curve": lambda: explainer.partial_dependence("x0"),
        "local effects": lambda: explainer.accumulated_local_effects("x0", X),
        "arrays": lambda: explainer.forest.left,
        "a member": lambda: TreeExplainer(wrapper.fit(X, X[:, 0] * X[:, 1]), X),
    }
    for what, call in refused.items():
        with pytest.raises(InputError, match=r"hold linear functions.*train with linear_tree=false"):
            print(what, call())


def test_the_cases_have_slopes() -> None:
    from support.models.cases import LINEAR

    for case in LINEAR:
        assert linear_forest(built(case).model).slopes, case.name
    assert TreeExplainer(booster(), X).facts().n_trees == 5
