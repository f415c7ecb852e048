"""Functions of the user's own in a pipeline: if they treat columns one by one, the columns play alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import KNNImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from arborshap import Background, TreeExplainer, VerificationError
from support.oracle import shapley, worths
from support.raw_tables import table, target

RAW = table(150)[["age", "w", "v"]]
FILLED = RAW.fillna(40.0)
Y = target(table(150))


class Median(BaseEstimator, TransformerMixin):  # type: ignore[misc]
    """An imputer of the user's own."""

    def fit(self, X: Any, y: Any = None) -> Any:
        self.median_ = np.nanmedian(np.asarray(X), axis=0)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return np.where(np.isnan(np.asarray(X)), self.median_, np.asarray(X))


def double(rows: Any) -> Any:
    return np.column_stack([np.asarray(rows), np.asarray(rows) ** 2])


def fill_from_neighbour(rows: Any) -> Any:
    """Look at the second column only if the first is missing."""
    filled = rows.copy()
    filled["age"] = filled["age"].fillna(10.0 * filled["w"])
    return filled


def of_two(rows: Any) -> Any:
    made = np.asarray(rows, np.float64).copy()
    made[:, 1] *= made[:, 2]
    return made


def forest() -> Any:
    return RandomForestRegressor(5, max_depth=4, random_state=0)


ALONE: dict[str, tuple[Any, Any]] = {
    "lambda": (FILLED, make_pipeline(FunctionTransformer(lambda rows: np.sign(rows) * np.log1p(abs(rows))), forest())),
    "imputer": (RAW, make_pipeline(Median(), forest())),
    "two outputs": (FILLED, make_pipeline(StandardScaler(), FunctionTransformer(double), forest())),
    "columns": (
        RAW,
        make_pipeline(make_column_transformer((Median(), ["age", "w"]), ("passthrough", ["v"])), forest()),
    ),
    "union": (
        FILLED,
        make_pipeline(
            FeatureUnion(
                [("a", FunctionTransformer(lambda rows: rows**2, feature_names_out="one-to-one")), ("b", "passthrough")]
            ),
            forest(),
        ),
    ),
    "inner": (RAW, make_pipeline(Pipeline([("m", Median()), ("f", FunctionTransformer(double))]), forest())),
}


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.filterwarnings("error:the pipeline's step")
def test_columns_that_a_function_treats_one_by_one_play_alone(name: str) -> None:
    rows, pipeline = ALONE[name]
    pipeline.fit(rows, Y)
    X, Z = rows[:4], rows[20:35]
    explainer = TreeExplainer(pipeline, Z)
    assert explainer.feature_names == list(rows)

    def predict(cells: Any) -> Any:
        return pipeline.predict(pd.DataFrame(cells, columns=list(rows))).reshape(-1, 1)

    expected = shapley(worths(predict, X.to_numpy(), Z.to_numpy()))[..., 0]
    np.testing.assert_allclose(explainer.shap_values(X), expected, rtol=0, atol=1e-9)


JOINED: dict[str, tuple[Any, Any, list[str]]] = {
    "a product": (FILLED, FunctionTransformer(of_two), ["age", "w + v"]),
    "only if missing": (FILLED, FunctionTransformer(fill_from_neighbour), ["age + w + v"]),
    "neighbours": (FILLED, KNNImputer(), ["age + w + v"]),
    "a constant column": (FILLED.assign(v=1), FunctionTransformer(double), ["age + w + v"]),
}


@pytest.mark.parametrize("name", JOINED)
def test_columns_that_may_depend_on_one_another_stay_joined(name: str) -> None:
    rows, step, players = JOINED[name]
    pipeline = make_pipeline(step, forest()).fit(rows, Y)
    with pytest.warns(UserWarning, match="do not play alone"):
        explainer = TreeExplainer(pipeline, rows[20:60])
    assert explainer.feature_names == players
    total = explainer.shap_values(rows[:4]).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, pipeline.predict(rows[:4]), atol=1e-9)


def test_without_verification_nothing_is_tried() -> None:
    pipeline = make_pipeline(Median(), forest()).fit(RAW, Y)
    with pytest.warns(UserWarning, match="do not play alone"):
        explainer = TreeExplainer(pipeline, RAW[20:60], verify=False)
    assert explainer.feature_names == ["age + w + v"]


def switched(rows: Any) -> Any:
    """Treat columns one by one, but for rows that the background does not have."""
    made = np.asarray(rows, np.float64).copy()
    strange = made[:, 0] > 1000.0
    made[strange, 1] += made[strange, 2]
    return made


def test_what_was_found_by_trial_is_tried_again_on_the_rows_that_are_explained() -> None:
    pipeline = make_pipeline(FunctionTransformer(switched), forest()).fit(FILLED, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explainer = TreeExplainer(pipeline, FILLED[20:80])
        explainer.shap_values(FILLED[:20])
    strange = FILLED[:20].assign(age=2000.0)
    with pytest.raises(VerificationError, match=r"feature 1 .* depends on more"):
        explainer.shap_values(strange)


def test_a_background_in_parts_brings_what_was_found_by_trial() -> None:
    pipeline = make_pipeline(FunctionTransformer(switched), forest()).fit(FILLED, Y)
    parts = Background(pipeline, FILLED[20:50]).merge(Background(pipeline, FILLED[50:80]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explainer = TreeExplainer(pipeline, parts)
    expected = TreeExplainer(pipeline, FILLED[20:80]).shap_values(FILLED[:9])
    np.testing.assert_array_equal(explainer.shap_values(FILLED[:9]), expected)
    assert explainer.feature_names == ["age", "w", "v"]
    strange = FILLED[:20].assign(age=np.where(np.arange(20) % 2, 2000.0, 30.0))
    with pytest.raises(VerificationError, match=r"feature 1 .* depends on more"):
        explainer.shap_values(strange)
