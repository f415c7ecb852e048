"""Pipelines explained in raw columns, against the definition played on raw columns through the whole pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from arborshap import InputError, TreeExplainer
from support import oracle
from support.pipeline_cases import CASES, N_FIT, N_ROWS, boosted, fitted, forest, light, raw_prediction
from support.raw_tables import NAMES, table, target, worths


@pytest.mark.parametrize("name", CASES)
def test_every_index_is_that_of_the_game_on_raw_columns(name: str) -> None:
    it, case = fitted(name), CASES[name]
    explainer = it.explainer
    assert explainer.feature_names == case.players
    player_of = [next(i for i, p in enumerate(case.players) if column in p.split(" + ")) for column in NAMES]
    predict = raw_prediction(it.pipeline)
    if name == "log link":
        predict = lambda rows: np.log(it.pipeline.predict(rows))  # noqa: E731
    worth = worths(predict, it.X, it.Z, player_of)
    # XGBoost adds its trees up in float32.
    close = 1e-5 if "xgboost" in type(it.pipeline[-1]).__module__ else 1e-9
    for index, definition in oracle.INDICES.items():
        found = explainer(it.X, index=index).values  # type: ignore[arg-type]
        expected = definition(worth).reshape(found.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=close * np.abs(worth).max(), err_msg=index)
    expected_value = worth[0, 0]
    np.testing.assert_allclose(np.atleast_1d(explainer.expected_value), expected_value, atol=close * 10)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.uses_junk])
def test_a_column_that_no_step_uses_is_worth_nothing(name: str) -> None:
    it = fitted(name)
    values = it.explainer(it.X)
    assert not values[:, "junk"].values.any()
    assert np.abs(values.values).max() > 0.01


def test_raw_rows_are_shown_with_their_names_and_players() -> None:
    it = fitted("principal components")
    explanation = it.explainer(it.X)
    assert explanation.data is not None
    assert explanation.data[:, 0].tolist() == it.X["town"].tolist()
    np.testing.assert_array_equal(explanation.data[:, 2].astype(float), it.X["w"])
    assert explanation.data_names == NAMES
    assert explanation.data_players == ["town", "age", "w + v + size", "junk", "w + v + size", "w + v + size"]
    shown = explanation[:, "w + v + size"].data
    assert shown is not None
    assert shown.shape == (N_ROWS, 3)


def test_pairs_contrasts_and_traces_are_of_raw_rows() -> None:
    it = fitted("infrequent categories")
    pairs = it.explainer.pair_values(it.X, it.Z)
    np.testing.assert_allclose(pairs.mean(axis=1), it.explainer.shap_values(it.X), atol=1e-12)
    np.testing.assert_array_equal(it.explainer.pair_values(it.X), pairs)
    contrast = it.explainer.contrast(it.X.iloc[1], it.Z.iloc[2])
    np.testing.assert_allclose(contrast.values, pairs[1, 2], atol=1e-12)
    assert contrast.reference is not None
    assert contrast.reference[0] == it.Z["town"][2]
    trace = it.explainer.trace(it.X.iloc[1], it.Z.iloc[2], tree=0)
    asked = {split.feature: split.player for split in trace.splits}
    assert set(asked) <= set(it.pipeline[:-1].get_feature_names_out())
    for feature, player in asked.items():
        assert feature.partition("__")[2].startswith(player)


def test_groups_join_raw_columns_on_top_of_what_the_steps_mix() -> None:
    it = fitted("principal components")
    groups = {"place": ["town", "age"], "shape": ["w", "v", "size"]}
    named = TreeExplainer(it.pipeline, it.Z, groups=groups)
    assert named.feature_names == ["place", "shape", "junk"]
    predict = raw_prediction(it.pipeline)
    expected = oracle.shapley(worths(predict, it.X, it.Z, [0, 0, 1, 2, 1, 1]))[..., 0]
    np.testing.assert_allclose(named.shap_values(it.X), expected, atol=1e-9)
    # What the steps mix cannot be told apart: the group grows, and its name says so.
    assert TreeExplainer(it.pipeline, it.Z, groups={"g": ["town", "w"]}).feature_names == [
        "g + v + size",
        "age",
        "junk",
    ]
    assert TreeExplainer(it.pipeline, it.Z, groups=[0, 1, 2, 3, 2, 2]).feature_names == [
        "town",
        "age",
        "w + v + size",
        "junk",
    ]
    # A player keeps the number that it was given, as without a pipeline, and not the order of its columns.
    backwards = TreeExplainer(it.pipeline, it.Z, groups=[3, 2, 0, 1, 0, 0])
    assert backwards.feature_names == ["w + v + size", "junk", "age", "town"]
    expected = oracle.shapley(worths(predict, it.X, it.Z, [3, 2, 0, 1, 0, 0]))[..., 0]
    np.testing.assert_allclose(backwards.shap_values(it.X), expected, atol=1e-9)
    with pytest.raises(InputError, match="group 'g' lists the column 'nowhere'"):
        TreeExplainer(it.pipeline, it.Z, groups={"g": ["nowhere"]})
    with pytest.raises(InputError, match="already explained by its raw columns"):
        TreeExplainer(it.pipeline, it.Z, groups=it.pipeline[:-1])


def test_players_of_the_same_name_are_refused() -> None:
    frame = table(60, gaps=False)[["w", "v", "size"]].rename(columns={"size": "w + v"})
    mixed = make_column_transformer((PCA(1), ["w", "v"]), ("passthrough", ["w + v"]))
    pipeline = make_pipeline(mixed, forest()).fit(frame, frame["w"])
    with pytest.raises(InputError, match="two players would have the same name"):
        TreeExplainer(pipeline, frame)
    named = TreeExplainer(pipeline, frame, groups={"both": ["w", "v"]})
    assert named.feature_names == ["both", "w + v"]


def test_without_a_background_values_are_path_dependent_and_verified_on_the_first_rows() -> None:
    it = fitted("one-hot, binary dropped")
    explainer = TreeExplainer(it.pipeline)
    values = explainer.shap_values(it.X)
    np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, it.pipeline.predict(it.X))
    inner = TreeExplainer(it.pipeline[-1], groups=it.pipeline)
    features = it.pipeline[:-1].transform(it.X)
    same = inner(features)
    np.testing.assert_allclose(explainer(it.X)[:, same.feature_names].values, same.values, atol=1e-12)


# --- kinds of rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["unknown categories ignored", "one-hot, first dropped, sparse", "a step of one's own"]
)
def test_rows_of_any_kind_give_the_same_values(name: str) -> None:
    it = fitted(name)
    expected = it.explainer.shap_values(it.X)
    moved = it.X[NAMES[::-1]]
    for rows in (
        moved,
        pl.from_pandas(moved),
        pa.Table.from_pandas(moved),
        it.X.to_numpy(),
        it.X.to_numpy().tolist(),
    ):
        np.testing.assert_array_equal(it.explainer.shap_values(rows), expected, err_msg=str(type(rows)))


def test_a_pipeline_fitted_on_an_array_takes_arrays_and_frames() -> None:
    frame = table(N_FIT, gaps=False)[["w", "size", "v"]]
    y = frame["w"] * frame["v"] + frame["size"]
    pipeline = make_pipeline(ColumnTransformer([("one-hot", OneHotEncoder(), [1])], remainder="passthrough"), forest())
    pipeline.fit(frame.to_numpy(), y)
    explainer = TreeExplainer(pipeline, frame[:20].to_numpy())
    assert explainer.feature_names == ["x0", "x1", "x2"]
    values = explainer.shap_values(frame[20:30].to_numpy())
    worth = worths(pipeline.predict, frame[20:30].to_numpy(), frame[:20].to_numpy(), [0, 1, 2])
    np.testing.assert_allclose(values, oracle.shapley(worth)[..., 0], atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns of names where it was fitted without
        named = TreeExplainer(pipeline, frame[:20])
        assert named.feature_names == ["w", "size", "v"]
        np.testing.assert_array_equal(named.shap_values(frame[20:30][["v", "w", "size"]]), values)


def test_sparse_raw_rows() -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((80, 4)) < 0.5, 0.0, rng.normal(size=(80, 4)))
    raw = scipy.sparse.csr_matrix(dense)
    pipeline = make_pipeline(MaxAbsScaler(), boosted()).fit(raw, dense @ [1.0, 2.0, -1.0, 0.5])
    explainer = TreeExplainer(pipeline, raw[:6])
    explanation = explainer(raw[6:9])
    worth = worths(
        lambda rows: pipeline.predict(scipy.sparse.csr_matrix(rows), output_margin=True),
        dense[6:9],
        dense[:6],
        [0, 1, 2, 3],
    )
    np.testing.assert_allclose(explanation.values, oracle.shapley(worth)[..., 0], atol=1e-5)
    assert explanation.data is not None
    np.testing.assert_array_equal(explanation.data, dense[6:9])


def test_category_columns_go_through_to_the_model() -> None:
    from xgboost import XGBRegressor

    frame = table(N_FIT).astype({"town": "category"})
    through = make_column_transformer(("passthrough", ["town"]), remainder=StandardScaler()).set_output(
        transform="pandas"
    )
    pipeline = make_pipeline(through, XGBRegressor(n_estimators=8, max_depth=4, n_jobs=1, enable_categorical=True))
    pipeline.fit(frame, target(frame))
    X, Z = frame[:3], frame[3:9]
    explainer = TreeExplainer(pipeline, Z)
    worth = worths(raw_prediction(pipeline), X, Z, range(6))
    np.testing.assert_allclose(explainer.shap_values(X), oracle.shapley(worth)[..., 0], atol=1e-5)
    contrast = explainer.contrast(X.iloc[[0]], X.iloc[[1]])
    assert contrast.values.shape == (6,)
    # A Series does not keep the columns' types, but a category's own text is enough.
    np.testing.assert_array_equal(explainer.contrast(X.iloc[0], X.iloc[1]).values, contrast.values)


def test_a_pipeline_of_polars_frames() -> None:
    frame = pl.from_pandas(table(N_FIT))
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["town"]), remainder=StandardScaler())
    pipeline = make_pipeline(encode.set_output(transform="polars"), light())
    pipeline.fit(frame, target(frame.to_pandas()))
    X, Z = table(3, seed=2), table(6, seed=1)
    explainer = TreeExplainer(pipeline, pl.from_pandas(Z))
    worth = worths(raw_prediction(pipeline), X, Z, range(6))
    explanation = explainer(pl.from_pandas(X))
    np.testing.assert_allclose(explanation.values, oracle.shapley(worth)[..., 0], atol=1e-9)
    assert explanation.to_frame().columns == NAMES


def test_no_rows_are_no_values() -> None:
    it = fitted("principal components")
    assert it.explainer.shap_values(it.X[:0]).shape == (0, 4)
    with pytest.raises(InputError, match="data has no rows"):
        TreeExplainer(it.pipeline, it.Z[:0])


def test_a_pipeline_of_a_model_alone_is_that_model() -> None:
    X = table(60, gaps=False)[["w", "v", "size"]]
    model = forest().fit(X, X["w"])
    values = TreeExplainer(Pipeline([("skip", "passthrough"), ("model", model)]), X).shap_values(X)
    np.testing.assert_array_equal(values, TreeExplainer(model, X).shap_values(X))


@pytest.mark.parametrize(
    "model",
    [IsolationForest(n_estimators=5, random_state=0), light(boosting_type="rf", bagging_fraction=0.5, bagging_freq=1)],
)
def test_models_whose_margin_no_method_gives(model: Any) -> None:
    X = table(100, gaps=False)[["w", "v", "size"]]
    pipeline = make_pipeline(StandardScaler(), model).fit(X, X["w"])
    values = TreeExplainer(pipeline, X[:20]).shap_values(X[20:30])
    scaled = pipeline[:-1].transform(X)
    np.testing.assert_array_equal(values, TreeExplainer(pipeline[-1], scaled[:20]).shap_values(scaled[20:30]))


# --- any pipeline ---------------------------------------------------------------------------------------------------

STEPS: list[tuple[Callable[[], Any], bool]] = [  # and whether text may go in
    (lambda: OneHotEncoder(drop="first", handle_unknown="ignore"), True),
    (lambda: OneHotEncoder(max_categories=3), True),
    (lambda: OrdinalEncoder(), True),
    (lambda: "passthrough", False),
    (lambda: "drop", True),
    (lambda: StandardScaler(), False),
    (lambda: PolynomialFeatures(2, include_bias=True), False),
    (lambda: PCA(1), False),
    (lambda: FeatureUnion([("a", PCA(1)), ("b", StandardScaler())]), False),
    (
        lambda: make_pipeline(SimpleImputer(add_indicator=True), KBinsDiscretizer(2, strategy="uniform")),
        False,
    ),
]


@given(st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_any_columns_through_any_steps(data: st.DataObject) -> None:
    order = data.draw(st.permutations(NAMES))
    cuts = sorted(data.draw(st.sets(st.integers(1, 5), max_size=3)))
    blocks = [order[start:stop] for start, stop in zip([0, *cuts], [*cuts, 6], strict=True)]
    steps = []
    for number, columns in enumerate(blocks):
        possible = [make for make, takes_text in STEPS if takes_text or "town" not in columns]
        steps.append((str(number), data.draw(st.sampled_from(possible))(), columns))
    frame = table(60, seed=3, gaps=False)
    transformer = ColumnTransformer(
        [*steps, ("also", "passthrough", ["size"])], sparse_threshold=data.draw(st.sampled_from([0.0, 1.0]))
    )
    model = data.draw(st.sampled_from([forest, boosted]))()
    pipeline = make_pipeline(transformer, model).fit(frame, target(frame))
    X, Z = frame[:2], frame[2:6]
    explainer = TreeExplainer(pipeline, Z, n_jobs=1)
    owners = dict(zip(explainer(X).data_names, explainer(X).data_players, strict=True))
    players = [explainer.feature_names.index(owners[name]) for name in NAMES]
    worth = worths(raw_prediction(pipeline), X, Z, players)
    for index, definition in oracle.INDICES.items():
        found = explainer(X, index=index).values  # type: ignore[arg-type]
        np.testing.assert_allclose(found, definition(worth).reshape(found.shape), atol=2e-5 * np.abs(worth).max())


def test_a_pipeline_fitted_again_leaves_its_explainer_alone() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    pipeline = make_pipeline(StandardScaler(), forest()).fit(rows, rows[:, 0] * rows[:, 1])
    explainer = TreeExplainer(pipeline, rows)
    values = explainer.shap_values(rows[:5])
    pipeline.fit(100 * rows + 5, rows[:, 2])
    np.testing.assert_array_equal(explainer.shap_values(rows[:5]), values)
