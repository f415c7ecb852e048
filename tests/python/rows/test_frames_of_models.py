"""Frames as they come, given to models of every library: the right answer, or an error that names the column."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from lightgbm import LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from xgboost import XGBRegressor

from arborshap import InputError, TreeExplainer

KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
}


@cache
def with_categories(library: str) -> TreeExplainer:
    """An explainer of a model trained on one column of numbers and one of categories."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"num": rng.normal(size=200), "kind": pd.Categorical(rng.choice(["a", "b", "c"], 200))})
    y = frame["num"] + 2.0 * (frame["kind"] == "a")
    model: Any
    match library:
        case "xgboost":
            model = XGBRegressor(n_estimators=5, max_depth=3, enable_categorical=True)
        case "lightgbm":
            model = LGBMRegressor(n_estimators=5, num_leaves=8, verbose=-1)
        case _:
            model = HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype")
    return TreeExplainer(model.fit(frame, y), frame)


LIBRARIES = ["xgboost", "lightgbm", "scikit-learn"]
KIND = pd.Categorical(["a", "b"], categories=["a", "b", "c"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (np.array([1, 0]), [1.0, 0.0]),
        (np.array([True, False]), [1.0, 0.0]),
        (pd.array([1, None], dtype="Int64"), [1.0, np.nan]),
        (pd.array([True, None], dtype="boolean"), [1.0, np.nan]),
        (pd.array([0.5, None], dtype="Float32"), [0.5, np.nan]),
        ([Decimal("0.5"), None], [0.5, np.nan]),
    ],
    ids=["int", "bool", "Int64", "boolean", "Float32", "decimal"],
)
def test_any_column_of_numbers_beside_categories(library: str, kind: str, column: Any, numbers: list[float]) -> None:
    explainer = with_categories(library)
    plain = pd.DataFrame({"num": numbers, "kind": KIND})
    given = KINDS[kind](pd.DataFrame({"num": column, "kind": KIND}))
    np.testing.assert_array_equal(explainer.shap_values(given), explainer.shap_values(plain))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.array(["1", "2"], dtype=object), "X: .*column 'num'"),
        (pd.to_datetime(["2024-03-31", "2024-10-27"]), "X: column 'num' has dtype"),
        (pd.to_datetime(["2024-03-31", "2024-10-27"]).tz_localize("Europe/Zurich"), "X: column 'num' has dtype"),
        (pd.to_timedelta([1, 2], unit="D"), "X: column 'num' has dtype"),
        (np.array([1, 2**53 + 1]), "X: row 1 of column 'num' is 9007199254740993, beyond"),
    ],
    ids=["text", "dates", "dates with a timezone", "durations", "long identifiers"],
)
def test_what_is_no_number_is_refused_beside_categories_too(library: str, kind: str, column: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_categories(library).shap_values(KINDS[kind](pd.DataFrame({"num": column, "kind": KIND})))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_categories_are_matched_by_name(library: str, kind: str) -> None:
    explainer = with_categories(library)
    plain = pd.DataFrame({"num": [0.0, 1.0], "kind": KIND})
    reordered = plain.assign(kind=pd.Categorical(["a", "b"], categories=["c", "b", "a"]))
    np.testing.assert_array_equal(explainer.shap_values(KINDS[kind](reordered)), explainer.shap_values(plain))
    gap = plain.assign(kind=pd.Categorical(["a", None], categories=["a", "b", "c"]))
    values = explainer.shap_values(KINDS[kind](gap))
    np.testing.assert_array_equal(values[0], explainer.shap_values(plain)[0])
    assert np.isfinite(values).all()


def test_a_row_that_lost_its_types_still_has_its_categories() -> None:
    explainer = with_categories("xgboost")
    frame = pd.DataFrame({"num": [0.0, 1.0], "kind": KIND})
    contrast = explainer.contrast(frame.iloc[0], frame.iloc[1])
    np.testing.assert_allclose(contrast.values, explainer.pair_values(frame[:1], frame[1:])[0, 0], atol=1e-12)


@pytest.mark.parametrize("library", ["xgboost", "treelite", "lightgbm", "catboost"])
def test_zeros_that_are_not_stored_are_what_the_library_takes_them_for(library: str) -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((150, 3)) < 0.5, 0.0, rng.normal(size=(150, 3)))
    # Trained on rows in which zero and missing mean different things.
    X, y = np.vstack([dense, np.where(dense == 0.0, np.nan, dense)]), np.r_[dense[:, 0], dense[:, 0] - 5.0]
    sparse = scipy.sparse.csr_matrix(dense)
    model: Any
    if library == "lightgbm":
        model = LGBMRegressor(n_estimators=5, num_leaves=8, verbose=-1).fit(X, y)
        predicted = model.predict(sparse)
    elif library == "catboost":
        from catboost import CatBoostRegressor

        model = CatBoostRegressor(iterations=5, depth=4, verbose=False, allow_writing_files=False).fit(X, y)
        predicted = model.predict(sparse)
    else:
        model = XGBRegressor(n_estimators=5, max_depth=3).fit(X, y)
        predicted = model.predict(sparse)
        if library == "treelite":
            import treelite

            model = treelite.frontend.from_xgboost(model.get_booster())
            predicted = treelite.gtil.predict(model, sparse).ravel()
    explainer = TreeExplainer(model, dense)
    margins = explainer.shap_values(sparse).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(margins, predicted, atol=1e-4)
