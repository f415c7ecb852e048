"""Every index equals its definition over all coalitions, for every kind of model and on models made at random.

The definition is played with the model library's own prediction, so this proves the reading of the model, the routing
of its rows and the engines at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from arborshap import InputError, TreeExplainer
from arborshap.models import load
from support.models.case import columns_of, edge_rows
from support.models.cases import CASES, LINEAR, Case
from support.oracle import ENGINES, INDICES, Predict, shapley, worths
from support.patience import UNHURRIED
from support.trained import built

pytestmark = pytest.mark.filterwarnings("ignore:An XGBoost dump holds only the trees")

Array = NDArray[np.float64]
GROUPS = [0, 1, 0, 2, 1]
"""Columns of the cases that play together, not beside one another."""


def some_rows(model: Any, X: Array, n: int) -> Array:
    """Ordinary rows and as many with a value on a threshold, or one step of either precision beside one."""
    loaded = load(model)
    edges = edge_rows(loaded.forest, X)
    chosen = np.random.default_rng(n).permutation(len(edges))[:n]
    return np.vstack([X[:n], edges[chosen]])


def explainers(model: Any, background: Array, **options: Any) -> Iterator[TreeExplainer]:
    """One for each engine, but for those whose tables or sets such a forest is too much for."""
    for engine in ENGINES:
        try:
            explainer = TreeExplainer(model, background, engine=engine, **options)
        except InputError as error:
            if f'engine "{engine}"' not in str(error) or engine != "sparse":
                raise
            continue
        yield explainer


def check(
    explainer: TreeExplainer, predict: Predict, X: Array, Z: Array, tolerance: float, **game: Any
) -> dict[str, Array]:
    """Compare every index; return the values, so that a caller can ask for more of them."""
    worth = worths(predict, X, Z, **game)
    size = np.abs(worth).max()
    n_outputs = worth.shape[2]
    found: dict[str, Array] = {}
    for index, definition in INDICES.items():
        expected = definition(worth)
        values = explainer(X, index=index).values  # type: ignore[arg-type]
        found[index] = values.reshape(*values.shape, 1) if n_outputs == 1 else values
        np.testing.assert_allclose(found[index], expected, rtol=0, atol=tolerance * size, err_msg=index)
    expected_value = np.reshape(explainer.expected_value, n_outputs)
    np.testing.assert_allclose(expected_value, worth[0, 0], rtol=0, atol=tolerance * size)
    return found


@pytest.mark.parametrize("case", [*CASES, *LINEAR], ids=lambda case: case.name)
def test_every_kind_of_model(case: Case) -> None:
    model, X, predict = built(case).model, built(case).X, built(case).raw_predict
    rows = some_rows(model, X, 4)
    background = some_rows(model, X[20:], 5)
    for engine in ENGINES:
        explainer = TreeExplainer(model, background, engine=engine)
        values = check(explainer, predict, rows, background, case.tolerance)
        assert np.abs(values["shapley"]).max() > 0, "a case must have something to explain"


@pytest.mark.parametrize("case", [*CASES, *LINEAR], ids=lambda case: case.name)
def test_groups_and_weights(case: Case) -> None:
    model, X, predict = built(case).model, built(case).X, built(case).raw_predict
    rows, background = some_rows(model, X, 3), X[30:39]
    weights = np.array([0.5, 0.0, 1.0, 2.0, 3.5, 0.25, 1.0, 1.0, 0.75])
    for engine in ENGINES:
        explainer = TreeExplainer(model, background, groups=GROUPS, sample_weight=weights, engine=engine)
        check(explainer, predict, rows, background, case.tolerance, players=GROUPS, weights=weights)


@pytest.mark.parametrize("case", [*CASES[::5], *LINEAR], ids=lambda case: case.name)
def test_every_pair(case: Case) -> None:
    model, X, predict = built(case).model, built(case).X, built(case).raw_predict
    rows, others = some_rows(model, X, 2), some_rows(model, X[20:], 2)
    explainer = TreeExplainer(model, X[40:45])
    values = explainer.pair_values(rows, others)
    for j, z in enumerate(others):
        worth = worths(predict, rows, z[np.newaxis])
        expected = shapley(worth).reshape(values[:, j].shape)
        np.testing.assert_allclose(values[:, j], expected, rtol=0, atol=case.tolerance * np.abs(worth).max())
        contrast = explainer.contrast(rows[0], z)
        np.testing.assert_allclose(contrast.values, expected[0], rtol=0, atol=case.tolerance * np.abs(worth).max())


# --- models made at random --------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn, *, gaps: bool) -> tuple[Array, Array]:
    """Data with ties, constant columns, columns in steps of one float, and gaps; and something to predict from it."""
    seed = draw(st.integers(0, 2**32 - 1))
    n, d = draw(st.integers(8, 60)), draw(st.integers(1, 6))
    rng = np.random.default_rng(seed)
    columns = []
    for _ in range(d):
        kind = draw(st.sampled_from(["normal", "ties", "constant", "steps32", "steps64", "huge"]))
        whole = rng.integers(-3, 4, n).astype(np.float64)
        columns.append(
            {
                "normal": rng.normal(size=n),
                "ties": whole,
                "constant": np.ones(n),
                "steps32": 0.1 + whole * 2.0**-27,
                "steps64": 0.1 + whole * 2.0**-56,
                "huge": whole * 1e30,
            }[kind]
        )
    X = np.stack(columns, axis=1)
    y = np.nan_to_num(X / np.abs(X).max(axis=0)) @ rng.normal(size=d) + rng.normal(size=n)
    if gaps and draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


def check_fitted(model: Any, predict: Predict, X: Array, tolerance: float) -> None:
    rows, background = some_rows(model, X, 2), some_rows(model, X[3:], 3)
    for explainer in explainers(model, background):
        check(explainer, predict, rows, background, tolerance)


@settings(UNHURRIED, max_examples=50)
@given(tables(gaps=True), st.data())
def test_random_xgboost_models(table: tuple[Array, Array], data: st.DataObject) -> None:
    import xgboost

    X, y = table
    model = xgboost.XGBRegressor(
        n_estimators=data.draw(st.integers(1, 6)),
        max_depth=data.draw(st.integers(1, 8)),
        tree_method=data.draw(st.sampled_from(["exact", "hist"])),
        min_child_weight=0,
        reg_lambda=0.1,
        n_jobs=1,
    ).fit(X, y)
    check_fitted(model, lambda rows: model.predict(rows, output_margin=True), X, 2e-5)


@settings(UNHURRIED, max_examples=50)
@given(tables(gaps=False), st.data())
def test_random_sklearn_models(table: tuple[Array, Array], data: st.DataObject) -> None:
    from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestClassifier

    X, y = table
    kind = data.draw(st.sampled_from([RandomForestClassifier, ExtraTreesRegressor, GradientBoostingRegressor]))
    options = {"n_estimators": data.draw(st.integers(1, 5)), "max_depth": data.draw(st.none() | st.integers(1, 6))}
    if kind is RandomForestClassifier:
        model = kind(**options, random_state=0).fit(X, np.digitize(y, [-0.5, 0.5]))
        check_fitted(model, model.predict_proba, X, 1e-9)
    else:
        model = kind(**options, random_state=0).fit(
            X, np.stack([y, -(y**2)], axis=1) if kind is ExtraTreesRegressor else y
        )
        check_fitted(model, lambda rows: columns_of(model.predict(rows)), X, 1e-9)


@settings(UNHURRIED, max_examples=50)
@given(tables(gaps=True), st.data())
def test_random_lightgbm_models(table: tuple[Array, Array], data: st.DataObject) -> None:
    import lightgbm

    X, y = table
    parameters = {
        "objective": "regression",
        "num_leaves": data.draw(st.integers(2, 20)),
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0,
        "use_missing": data.draw(st.booleans()),
        "zero_as_missing": data.draw(st.booleans()),
        "num_threads": 1,
        "verbose": -1,
    }
    categorical = data.draw(st.sampled_from([[], [0]]))
    X[:, categorical] = np.abs(np.nan_to_num(X[:, categorical]).round()) % 64
    model = lightgbm.train(
        parameters, lightgbm.Dataset(X, y, categorical_feature=categorical), data.draw(st.integers(1, 6))
    )
    check_fitted(model, lambda rows: columns_of(model.predict(rows, raw_score=True)), X, 1e-9)


# --- large shapes -----------------------------------------------------------------------------------------------


def test_more_than_64_features() -> None:
    """Rows that differ on eight of 90 columns: all others are dummies, so the definition is over those eight."""
    from sklearn.ensemble import ExtraTreesRegressor

    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 90))
    model = ExtraTreesRegressor(n_estimators=5, max_features=1, random_state=0).fit(X, X.sum(axis=1))
    assert all(len(np.unique(tree.tree_.feature)) > 65 for tree in model.estimators_)
    for row in X[:6]:
        differing = rng.permutation(90)[:8]
        other = row.copy()
        other[differing] = -2.0 * row[differing]
        players = np.zeros(90, np.int64)
        players[differing] = np.arange(8)
        worth = worths(model.predict, row[np.newaxis], other[np.newaxis], players=players.tolist())
        for explainer in explainers(model, other[np.newaxis]):
            for index, definition in INDICES.items():
                expected = definition(worth)[0, ..., 0]
                values = explainer(row[np.newaxis], index=index).values[0]  # type: ignore[arg-type]
                inside = np.ix_(*[differing] * expected.ndim)
                np.testing.assert_allclose(values[inside], expected, rtol=0, atol=1e-9)
                values[inside] = 0
                np.testing.assert_allclose(values, 0, rtol=0, atol=1e-9)


def test_depth_over_100() -> None:
    """Each step up is larger than all below together, so the tree takes them off one by one."""
    from sklearn.tree import DecisionTreeRegressor

    steps = np.arange(140.0)
    X = np.stack([steps, -steps, 2.0 * steps, steps % 7], axis=1)
    model = DecisionTreeRegressor(random_state=0).fit(X, 3.0**steps)
    assert model.get_depth() > 100
    rows, background = X[[0, 3, 70, 138, 139]], X[[1, 2, 80, 120, 139]]
    for explainer in explainers(model, background):
        check(explainer, model.predict, rows, background, 1e-12)


def test_groups_of_many_columns() -> None:
    """A forest of unlimited depth over 80 columns, seen as five players."""
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 80))
    model = RandomForestRegressor(n_estimators=4, max_features=4, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    players = rng.integers(0, 5, 80).tolist()
    rows, background = X[:5], X[5:15]
    for explainer in explainers(model, background, groups=players):
        check(explainer, model.predict, rows, background, 1e-9, players=players)
