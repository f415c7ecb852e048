"""Curves and coalitions: against scikit-learn's brute force, and mixed rows through the model's own prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.inspection import partial_dependence
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from arborshap import InputError, TreeExplainer
from support.models.case import data

X, Y = data(gaps=False).X, data(gaps=False).y
GAPS = data(gaps=True).X
LABELS = (np.median(Y) < Y).astype(int)
SMALL: dict[str, Any] = {"n_estimators": 6, "max_depth": 4, "random_state": 0}

REGRESSORS = {
    "xgboost": XGBRegressor(**SMALL).fit(GAPS, Y),
    "lightgbm": LGBMRegressor(n_estimators=5, num_leaves=7, min_child_samples=5, verbose=-1).fit(GAPS, Y),
    "catboost": CatBoostRegressor(iterations=6, depth=3, verbose=False, allow_writing_files=False).fit(GAPS, Y),
    "hist": HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5).fit(GAPS, Y),
    "forest": RandomForestRegressor(4, random_state=0).fit(GAPS, Y),
    "boosting": GradientBoostingRegressor(**SMALL).fit(X, Y),
}


def _brute(model: Any, rows: Any, columns: list[int], points: Any) -> Any:
    """Predict every row with its columns replaced by each point, and average: (points[, outputs])."""
    means = []
    for point in points:
        mixed = rows.copy()
        mixed[:, columns] = point
        means.append(np.asarray(model(mixed)).mean(axis=0))
    return np.array(means)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("features", [0, (1, 3)], ids=["one", "two"])
def test_brute_force(name: str, features: Any) -> None:
    model = REGRESSORS[name]
    rows = X if name == "boosting" else GAPS
    explainer = TreeExplainer(model, rows)
    columns = [features] if isinstance(features, int) else list(features)
    exact = explainer.partial_dependence(features)
    assert exact.average is not None
    grid = [values[:: max(1, len(values) // 6)] for values in exact.grid_values]
    points = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, len(columns))
    curve = explainer.partial_dependence(features, grid=grid[0] if isinstance(features, int) else grid)
    expected = _brute(model.predict, rows, columns, points)
    assert curve.average is not None
    np.testing.assert_allclose(curve.average.ravel(), expected, atol=2e-6 * np.abs(expected).max())
    if isinstance(features, int):
        positions = np.searchsorted(exact.grid_values[0], grid[0])
        np.testing.assert_array_equal(exact.average[0, positions], curve.average[0])
        assert curve.missing is None or name != "boosting"
        if curve.missing is not None:
            missing = _brute(model.predict, rows, columns, [np.nan])
            np.testing.assert_allclose(curve.missing, missing, rtol=1e-5)


def test_every_step_of_the_exact_curve() -> None:
    model = REGRESSORS["boosting"]
    curve = TreeExplainer(model, X).partial_dependence(2)
    rng = np.random.default_rng(0)
    anywhere = rng.uniform(curve.grid_values[0][0], curve.grid_values[0][-1], 300)
    expected = _brute(model.predict, X, [2], anywhere)
    assert curve.average is not None
    # Between two thresholds the curve is constant, so a point has the value of one of its two neighbours.
    after = np.clip(np.searchsorted(curve.grid_values[0], anywhere), 1, None)
    nearest = np.minimum(np.abs(curve.average[0][after] - expected), np.abs(curve.average[0][after - 1] - expected))
    assert nearest.max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["xgboost", "forest"])
def test_all_curves_at_once(name: str) -> None:
    explainer = TreeExplainer(REGRESSORS[name], GAPS)
    curves = explainer.partial_dependence()
    assert list(curves) == explainer.feature_names
    for player, curve in curves.items():
        alone = explainer.partial_dependence(player)
        np.testing.assert_array_equal(curve.grid_values[0], alone.grid_values[0])
        np.testing.assert_allclose(np.asarray(curve.average), np.asarray(alone.average), rtol=1e-12)
        np.testing.assert_allclose(np.asarray(curve.missing), np.asarray(alone.missing), rtol=1e-12)
    with pytest.raises(InputError, match="one player"):
        explainer.partial_dependence(X=GAPS, kind="individual")


def test_the_shapes_of_sklearn() -> None:
    model = REGRESSORS["forest"]
    for features in (1, (0, 2)):
        theirs = partial_dependence(model, X, features, grid_resolution=5, kind="both", method="brute")
        grid: Any = theirs["grid_values"][0] if features == 1 else list(theirs["grid_values"])
        ours = TreeExplainer(model, X).partial_dependence(features, grid=grid, X=X, kind="both").to_sklearn()
        for key in ("average", "individual"):
            assert ours[key].shape == theirs[key].shape
            np.testing.assert_allclose(ours[key], theirs[key], atol=1e-10 * np.abs(Y).max())


def test_several_outputs_and_probabilities() -> None:
    classes = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, classes)
    curve = TreeExplainer(forest, X).partial_dependence("x1", grid=[-1.0, 0.0, 1.0])
    assert curve.average is not None
    expected = _brute(forest.predict_proba, X, [1], [-1.0, 0.0, 1.0])
    np.testing.assert_allclose(np.asarray(curve.average), expected.T, atol=1e-12)
    for model in (XGBClassifier(**SMALL), LGBMClassifier(n_estimators=4, verbose=-1), HistGradientBoostingClassifier()):
        model.fit(X, LABELS)
        explainer = TreeExplainer(model, X, model_output="probability")
        curve = explainer.partial_dependence(0, grid=[-0.5, 0.5], X=X[:4], kind="both")
        expected = _brute(lambda rows, m=model: m.predict_proba(rows)[:, 1], X, [0], [-0.5, 0.5])
        np.testing.assert_allclose(np.asarray(curve.average), expected[np.newaxis], atol=1e-6)
        own = [_brute(lambda r, m=model: m.predict_proba(r)[:, 1], X[[i]], [0], [-0.5, 0.5]) for i in range(4)]
        np.testing.assert_allclose(np.asarray(curve.individual), np.array(own)[np.newaxis], atol=1e-6)


def test_categories_are_points_of_their_own() -> None:
    towns = pd.Categorical(np.array(["Bern", "Chur", "Genf"])[np.arange(len(X)) % 3])
    frame = pd.DataFrame({"a": X[:, 0], "town": towns})
    model = HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5, categorical_features="from_dtype")
    model.fit(frame, Y + 3.0 * (towns == "Chur"))
    curve = TreeExplainer(model, frame).partial_dependence("town")
    assert list(curve.grid_values[0]) == ["Bern", "Chur", "Genf"]
    expected = []
    for town in ("Bern", "Chur", "Genf"):
        mixed = frame.assign(town=pd.Categorical([town] * len(frame), categories=towns.categories))
        expected.append(model.predict(mixed).mean())
    np.testing.assert_allclose(np.asarray(curve.average), [expected], atol=1e-12 * np.abs(Y).max())
    with pytest.raises(InputError, match="'Basel' is not a category of 'town'"):
        TreeExplainer(model, frame).partial_dependence("town", grid=["Basel"])


def test_groups_and_pipelines_at_the_rows() -> None:
    pipeline = make_pipeline(StandardScaler(), RandomForestRegressor(3, random_state=0)).fit(X, Y)
    curve = TreeExplainer(pipeline, X).partial_dependence(1, X=X[:5])
    np.testing.assert_allclose(np.asarray(curve.average), [_brute(pipeline.predict, X, [1], X[:5, 1])], atol=1e-12)
    model = REGRESSORS["boosting"]
    curve = TreeExplainer(model, X, groups={"pair": [0, 2]}).partial_dependence("pair", X=X[:5])
    np.testing.assert_allclose(
        np.asarray(curve.average), [_brute(model.predict, X, [0, 2], X[:5][:, [0, 2]])], atol=1e-12
    )
    with pytest.raises(InputError, match="give X"):
        TreeExplainer(pipeline, X).partial_dependence(1)


@pytest.mark.parametrize("name", ["xgboost", "forest"])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, len(GAPS))], ids=["equal", "weighted"])
def test_coalitions(name: str, weights: Any) -> None:
    model = REGRESSORS[name]
    explainer = TreeExplainer(model, GAPS, sample_weight=weights)
    rows = GAPS[:4]
    for players in ([], [0], ["x1", "x3"], [0, 2, 4], list(range(GAPS.shape[1]))):
        columns = [int(str(p).removeprefix("x")) for p in players]
        expected = []
        for row in rows:
            mixed = GAPS.copy()
            mixed[:, columns] = row[columns]
            expected.append(np.average(model.predict(mixed), weights=weights))
        np.testing.assert_allclose(explainer.coalition_values(rows, players), expected, rtol=2e-6, atol=1e-6)


def test_h_statistic() -> None:
    model = REGRESSORS["boosting"]
    rows = X[:25]
    h = TreeExplainer(model, X).h_statistic(rows)
    effects: dict[tuple[int, ...], Any] = {}
    everybody = tuple(range(X.shape[1]))
    pairs = [(i, j) for i in everybody for j in range(i)]
    without = [everybody[:i] + everybody[i + 1 :] for i in everybody]
    for columns in [*((i,) for i in everybody), *pairs, everybody, *without]:
        values = _brute(model.predict, X, list(columns), rows[:, list(columns)])
        effects[columns] = values - values.mean()
    for i, j in pairs:
        joint = effects[i, j]
        expected = ((joint - effects[(i,)] - effects[(j,)]) ** 2).sum() / (joint**2).sum()
        assert h[i, j] == h[j, i] == pytest.approx(expected, abs=1e-10)
    for i in everybody:
        rest = effects[without[i]]
        whole = effects[everybody]
        assert h[i, i] == pytest.approx(((whole - effects[(i,)] - rest) ** 2).sum() / (whole**2).sum(), abs=1e-10)
    additive = GradientBoostingRegressor(n_estimators=20, max_depth=1, random_state=0).fit(X, Y)
    assert not TreeExplainer(additive, X).h_statistic(rows).any()


def test_path_dependent_coalitions() -> None:
    explainer = TreeExplainer(REGRESSORS["boosting"])
    rows = X[:3]
    alone = explainer.coalition_values(rows, [1])
    taylor = explainer.taylor_values(rows)
    np.testing.assert_allclose(alone, explainer.expected_value + taylor[:, 1, 1], rtol=1e-12)


def test_bad_input() -> None:
    explainer = TreeExplainer(REGRESSORS["boosting"], X)
    calls: list[tuple[Any, str]] = [
        (lambda: explainer.coalition_values(X, ["nobody"]), "no player 'nobody'"),
        (lambda: explainer.coalition_values(X, [99]), "99 is not a player"),
        (lambda: explainer.coalition_values(X, [0, 0]), "a player more than once"),
        (lambda: explainer.coalition_values(X, 1.5), "names or positions"),
        (lambda: explainer.partial_dependence([0, 1, 2]), "one player or a pair"),
        (lambda: explainer.partial_dependence(0, grid=5), "needs X"),
        (lambda: explainer.partial_dependence(0, grid=1, X=X), "at least 2"),
        (lambda: explainer.partial_dependence(0, grid=["a"]), "must be numbers"),
        (lambda: explainer.partial_dependence(0, grid=[[1.0]]), "shape"),
        (lambda: explainer.partial_dependence((0, 1), grid=[1.0]), "a pair with the values"),
        (lambda: explainer.partial_dependence(0, kind="individual"), "needs X"),
        (lambda: explainer.partial_dependence(0, kind="mean"), "kind"),  # type: ignore[arg-type]
        (lambda: explainer.h_statistic(X[:1]), "at least two rows"),
        (lambda: explainer.partial_dependence(0, X=X[:0], kind="both"), "no rows"),
        (lambda: explainer.plot_h_statistic(X, output=3), "output must be"),
    ]
    for call, message in calls:
        with pytest.raises(InputError, match=message):
            call()
    many = TreeExplainer(RandomForestClassifier(2, random_state=0).fit(X, np.digitize(Y, [0.0, 1.0])), X)
    with pytest.raises(InputError, match="choose one with output="):
        many.partial_dependence(0).plot()
    with pytest.raises(MemoryError, match="give a grid"):
        TreeExplainer(REGRESSORS["forest"], GAPS, memory_limit=10_000).partial_dependence((0, 1))


def test_deep_forests_and_tables_agree() -> None:
    """The walk of a forest of unlimited depth gives what tables give, and what a game of two players gives."""
    model = REGRESSORS["forest"]
    explainer = TreeExplainer(model, GAPS, sample_weight=np.linspace(0.1, 1.0, len(GAPS)))
    core, rows = explainer.state.core, GAPS[:30]
    walked = core.single_values(rows, list(range(5)), n_threads=2)
    taylor = core.explain(rows, "taylor", engine="pattern", n_threads=1)
    tables = core.expected_value + np.diagonal(taylor, axis1=1, axis2=2).transpose(0, 2, 1)
    np.testing.assert_allclose(walked, tables, atol=1e-12)


def test_pictures() -> None:
    explainer = TreeExplainer(REGRESSORS["xgboost"], GAPS)
    both = explainer.partial_dependence(0, X=GAPS[:20], kind="both").plot()
    assert len(both.lines) == 20 + 1 + 2  # the rows, their mean, the rug and the line of missing values
    local = explainer.accumulated_local_effects(1, GAPS, bins=5).plot()
    assert local.get_ylabel() == "accumulated effect on the prediction"
    assert np.size(local.lines[0].get_xdata()) == 6
    pair = explainer.partial_dependence((0, 1), grid=6, X=GAPS).plot()
    assert pair.collections[0].get_array().size == 36
    h = explainer.h_statistic(GAPS[:40])
    ax = explainer.plot_h_statistic(GAPS[:40], max_display=3)
    assert len(ax.texts) == 6
    assert max(float(text.get_text()) for text in ax.texts) == pytest.approx(h.max(), abs=1e-3)


class TestFrames:
    def test_one_player(self) -> None:
        curve = TreeExplainer(REGRESSORS["xgboost"], GAPS, feature_names=list("abcde")).partial_dependence("b")
        frame = curve.to_frame()
        assert curve.average is not None
        assert curve.missing is not None
        assert list(frame.columns) == ["b", "value"]
        np.testing.assert_array_equal(frame["b"], [*curve.grid_values[0], np.nan])
        np.testing.assert_array_equal(frame["value"], [*curve.average[0], *curve.missing])
        given = TreeExplainer(REGRESSORS["xgboost"], GAPS).partial_dependence(1, grid=[0.0, np.nan]).to_frame()
        assert len(given) == 2  # the missing value was asked for

    def test_pairs_rows_and_outputs(self) -> None:
        model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, np.digitize(Y, [-0.5, 0.5]))
        explainer = TreeExplainer(model, X)
        curve = explainer.partial_dependence((0, 2), grid=([0.0, 1.0], [0.5]), X=X[:4], kind="both")
        frame = curve.to_frame()
        assert list(frame.columns) == ["row", "output", "x0", "x2", "value"]
        assert len(frame) == 3 * 2 * (1 + 4)
        assert curve.average is not None
        assert curve.individual is not None
        mean = frame[frame["row"].isna()].set_index(["output", "x0"])["value"]
        own = frame.set_index(["row", "output", "x0"])["value"]
        for output in range(3):
            name = frame["output"].unique()[output]
            assert mean[name, 1.0] == curve.average[output, 1, 0]
            assert own[3, name, 0.0] == curve.individual[output, 3, 0, 0]
        alone = explainer.partial_dependence(0, grid=[0.0], X=X[:4], kind="individual").to_frame()
        assert alone["row"].tolist() == [0, 1, 2, 3] * 3

    def test_groups_have_tuples(self) -> None:
        explainer = TreeExplainer(REGRESSORS["forest"], GAPS, groups={"both": [0, 1]})
        frame = explainer.partial_dependence("both", X=X[:3]).to_frame()
        assert frame["both"].tolist() == [tuple(row) for row in X[:3, :2].tolist()]

    def test_names_that_the_frame_needs(self) -> None:
        explainer = TreeExplainer(REGRESSORS["forest"], GAPS, feature_names=["value", "b", "c", "d", "e"])
        with pytest.raises(InputError, match="the player 'value' is called like another column of the frame"):
            explainer.partial_dependence("value").to_frame()
