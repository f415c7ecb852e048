"""Pipelines and raw rows that cannot be explained: each refused with what is wrong and where."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from arborshap import InputError, ModelError, TreeExplainer, UnsupportedModelError, VerificationError
from support.pipeline_cases import fitted, forest
from support.raw_tables import table


def test_missing_and_unknown_columns_are_named() -> None:
    it = fitted("principal components")
    with pytest.raises(InputError, match="X has no column 'town', which the model needs"):
        it.explainer(it.X.drop(columns="town"))
    # A ColumnTransformer ignores columns that it does not know; a step that takes all columns does not.
    np.testing.assert_array_equal(it.explainer(it.X.assign(extra=1.0)).values, it.explainer(it.X).values)
    numbers = it.Z[["w", "v"]].fillna(0.0)
    scaled = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2)).fit(numbers, numbers["w"])
    with pytest.raises(InputError, match="X has the column 'extra', which the model does not know"):
        TreeExplainer(scaled, numbers)(numbers.assign(extra=1.0))
    with pytest.raises(InputError, match="X has 5 columns, but the model has 6 features"):
        it.explainer(it.X.to_numpy()[:, :5])
    with pytest.raises(InputError, match="the column name 'w' is used more than once"):
        it.explainer(it.X.rename(columns={"v": "w"}))


def test_what_a_step_refuses_is_told_with_its_name() -> None:
    it = fitted("principal components")
    strange = it.X.assign(town="Nowhere")
    with pytest.raises(InputError, match=r"X: the pipeline's step 'columntransformer' refuses these rows: .*Nowhere"):
        it.explainer(strange)


def test_what_is_no_tree_model_at_the_end_is_refused() -> None:
    frame = table(50, gaps=False)[["w", "v"]]
    scaled = make_pipeline(StandardScaler(), PCA()).fit(frame)
    with pytest.raises(UnsupportedModelError, match="ends in PCA, which has no predict"):
        TreeExplainer(scaled, frame)
    with pytest.raises(UnsupportedModelError, match="ends in 'passthrough', which has no predict"):
        TreeExplainer(Pipeline([("scale", StandardScaler()), ("no", "passthrough")]).fit(frame), frame)
    with pytest.raises(UnsupportedModelError, match="LinearRegression is not supported"):
        TreeExplainer(make_pipeline(StandardScaler(), LinearRegression()).fit(frame, frame["w"]), frame)
    unfitted = make_pipeline(make_column_transformer((StandardScaler(), ["w"])), forest())
    with pytest.raises(ModelError, match="this ColumnTransformer is not fitted"):
        TreeExplainer(unfitted, frame)
    with pytest.raises(ModelError, match="first step, ColumnTransformer, is not fitted"):
        TreeExplainer(unfitted)
    text = make_pipeline(CountVectorizer(), forest()).fit(["a cat", "a dog"] * 5, [0.0, 1.0] * 5)
    with pytest.raises(UnsupportedModelError, match=r"first step, CountVectorizer, .* does not record its columns"):
        TreeExplainer(text, ["a cat"])


def test_a_step_that_drops_rows_is_refused() -> None:
    frame = table(60, gaps=False)[["w", "v"]]
    pipeline = make_pipeline(FunctionTransformer(lambda rows: rows, feature_names_out="one-to-one"), forest())
    pipeline.fit(frame, frame["w"])
    pipeline[0].func = lambda rows: rows[rows["w"] > 0]
    with pytest.raises(InputError, match=r"data: the pipeline's steps turn 20 rows into \d+; they must keep every row"):
        TreeExplainer(pipeline, frame[:20])


def test_a_step_that_looks_at_other_rows_is_found_out() -> None:
    frame = table(60, gaps=False)[["w", "v"]]
    centred = make_pipeline(
        FunctionTransformer(lambda rows: rows - rows.mean(axis=0), feature_names_out="one-to-one"), forest()
    )
    centred.fit(frame, frame["w"] + frame["v"])
    with pytest.raises(VerificationError, match="looks at other rows"):
        TreeExplainer(centred, frame[:20])


def test_a_step_that_is_not_what_its_class_says_is_found_out() -> None:
    frame = table(60, gaps=False)[["w", "v"]]
    scaler = StandardScaler()
    pipeline = make_pipeline(scaler, forest()).fit(frame, frame["w"] + frame["v"])
    plain = StandardScaler.transform
    scaler.transform = lambda X: np.cumsum(plain(scaler, X), axis=1)
    with pytest.raises(
        VerificationError, match=r"feature 1 .* only on the raw columns \[1\] of its own row, but it depends on more"
    ):
        TreeExplainer(pipeline, frame[:20])


def test_margins_are_held_against_the_whole_pipeline() -> None:
    frame = table(60, gaps=False)[["w", "v"]]
    pipeline = make_pipeline(StandardScaler(), forest()).fit(frame, frame["w"])
    pipeline.predict = lambda rows: np.zeros(len(rows))
    with pytest.raises(VerificationError, match=r"row \d+ of data: scikit-learn"):
        TreeExplainer(pipeline, frame[:20])
    TreeExplainer(pipeline, frame[:20], verify=False)
