"""What cannot be explained is refused with an error of ours that says what is wrong and where, and is a ValueError."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost

from arborshap import ArborshapError, InputError, ModelError, TreeExplainer, UnsupportedModelError

NAMES = ["a", "b", "c"]


@cache
def background() -> Any:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=NAMES)


@cache
def model() -> Any:
    return xgboost.XGBRegressor(n_estimators=3, max_depth=2, n_jobs=1).fit(background(), background()["a"])


@cache
def explainer() -> TreeExplainer:
    return TreeExplainer(model(), background())


def test_every_error_is_a_value_error() -> None:
    for error in (InputError, ModelError, UnsupportedModelError, ArborshapError):
        assert issubclass(error, ValueError)


BAD_ROWS: list[Any] = [
    pytest.param(lambda: np.zeros((2, 4)), "has 4 columns, but the model has 3 features", id="too many columns"),
    pytest.param(lambda: np.zeros((2, 2)), "has 2 columns, but the model has 3 features", id="too few columns"),
    pytest.param(lambda: np.zeros((2, 3, 1)), "has 3 dimensions", id="3-d"),
    pytest.param(lambda: [["x", "y", "z"]], "row 0 of column 'a' is 'x', not a number", id="strings"),
    pytest.param(lambda: np.array([["x", "y", "z"]]), "column 'a' has dtype <U1", id="array of strings"),
    pytest.param(lambda: np.zeros((2, 3), dtype=complex), "column 'a' has dtype complex128", id="complex"),
    pytest.param(lambda: [[1.0, 2.0, 3.0], [1.0, 2.0]], "row 1 has 2 values, but row 0 has 3", id="ragged"),
    pytest.param(lambda: "rows.csv", "is a str, which cannot be read as rows", id="path"),
    pytest.param(lambda: xgboost.DMatrix(np.zeros((2, 4))), "has 4 columns, but the model has 3", id="DMatrix"),
    pytest.param(lambda: xgboost.QuantileDMatrix(np.zeros((2, 3))), "keeps bins and not values", id="QuantileDMatrix"),
    pytest.param(lambda: background().drop(columns="b"), "has no column 'b', which the model needs", id="no column"),
    pytest.param(lambda: background().assign(d=1.0), "has the column 'd', which the model does not know", id="unknown"),
    pytest.param(lambda: background().assign(b="red"), "column 'b'", id="text column"),
    pytest.param(lambda: background().assign(b=pd.Timestamp("2020-01-01", tz="UTC")), "column 'b'", id="date column"),
    pytest.param(lambda: background()[["a", "b", "b"]], "column name 'b' is used more than once", id="repeated"),
    pytest.param(lambda: pl.LazyFrame({"a": [1.0]}), r"\.collect\(\)", id="lazy"),
]


@pytest.mark.parametrize(("make", "message"), BAD_ROWS)
def test_rows_that_cannot_be_read_are_refused_everywhere(make: Callable[[], Any], message: str) -> None:
    rows = make()
    calls: dict[str, Callable[[], Any]] = {
        "data": lambda: TreeExplainer(model(), rows),
        "X": lambda: explainer().shap_values(rows),
        "Z": lambda: explainer().pair_values(background(), rows),
    }
    for what, call in calls.items():
        with pytest.raises(InputError, match=message) as caught:
            call()
        assert str(caught.value).startswith(what)
    with pytest.raises(InputError, match=message):
        explainer()(rows)


@pytest.mark.parametrize("method", ["shap_values", "taylor_values", "shap_interaction_values", "banzhaf_values"])
def test_every_method_checks_its_rows(method: str) -> None:
    with pytest.raises(InputError, match="X has 4 columns"):
        getattr(explainer(), method)(np.zeros((2, 4)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": background()[:0]}, "data has no rows"),
        ({"data": None, "feature_perturbation": "interventional"}, "data is missing"),
        ({"data": None, "sample_weight": np.ones(30)}, "weights of the rows of data, but there is no data"),
        ({"sample_weight": np.zeros(30)}, r"sample_weight sums to 0\.0"),
        ({"sample_weight": np.ones(29)}, r"sample_weight has shape \(29,\), but data has 30 rows"),
        ({"sample_weight": np.ones((30, 1))}, r"sample_weight has shape \(30, 1\)"),
        ({"sample_weight": [1.0] * 29 + [-1.0]}, r"sample_weight of row 29 is -1\.0"),
        ({"sample_weight": [np.nan] + [1.0] * 29}, "sample_weight of row 0 is nan"),
        ({"sample_weight": [1.0, np.inf] * 15}, "sample_weight of row 1 is inf"),
        ({"sample_weight": [1e308] * 30}, "sample_weight sums to inf"),
        ({"sample_weight": ["1"] * 30}, "sample_weight must be numbers"),
        ({"sample_weight": [1] * 29 + [None]}, "sample_weight of row 29 is None; weights must be numbers"),
        ({"sample_weight": np.array([1] * 29 + ["1"], object)}, "sample_weight of row 29 is '1'"),
        ({"sample_weight": np.array([10**400] * 30, object)}, "sample_weight has a number that is too large"),
        ({"verify": "no"}, "verify must be True or False; got 'no'"),
        ({"groups": {"g": ["a", "z"]}}, "group 'g' lists the column 'z'"),
        ({"groups": {"g": ["a"], "h": ["a", "b"]}}, "column 'a' is in two groups, 'g' and 'h'"),
        ({"groups": [0, 2, 2]}, "player 1 no feature"),
        ({"feature_names": ["a", "b"]}, "feature_names has 2 names, but the model has 3 features"),
        ({"feature_names": ["a", "b", "a"]}, "feature_names has 'a' more than once"),
        ({"feature_names": "abc"}, "feature_names must be a list of names"),
        ({"feature_perturbation": "observational"}, "feature_perturbation must be 'auto' or 'interventional' or"),
        ({"model_output": "odds"}, "'log_loss' or 'squared_error'; got 'odds'"),
        ({"model_output": "predict_proba"}, "'predict_proba' is called 'probability' here"),
        ({"engine": "steam"}, 'the engine "steam" is unknown'),
        ({"engine": 3}, 'the engine "3" is unknown'),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
        ({"n_jobs": 1.5}, r"n_jobs must be .* got 1\.5"),
        ({"n_jobs": True}, "n_jobs must be .* got True"),
        ({"n_jobs": "all"}, "n_jobs must be .* got 'all'"),
        ({"memory_limit": 0}, "memory_limit must be a positive number of bytes"),
        ({"memory_limit": "a lot"}, "memory_limit must be a positive number of bytes"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TreeExplainer(model(), **{"data": background(), **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": np.int64}, "dtype must be float64 or float32"),
        ({"dtype": "double precision"}, "dtype must be float64 or float32"),
        ({"dtype": np.float16}, "dtype must be float64 or float32"),
        ({"progress": "yes"}, "progress must be True, False or a function"),
    ],
)
def test_options_of_a_call_are_checked(options: dict[str, Any], message: str) -> None:
    for method in (explainer().shap_values, explainer().pair_values, explainer()):
        with pytest.raises(InputError, match=message):
            method(background(), **options)


def test_an_unknown_index_is_refused() -> None:
    with pytest.raises(InputError, match="index must be 'shapley' or 'taylor'"):
        explainer()(background(), index="owen")  # type: ignore[arg-type]


def test_a_model_of_no_known_kind_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedModelError, match="object is not supported"):
        TreeExplainer(object(), background())


def test_nothing_is_missing_or_infinite_that_the_model_does_not_allow() -> None:
    """NaN and infinity in rows follow the model's own rule and are no error."""
    values = explainer().shap_values([[np.nan, np.inf, -np.inf]])
    assert np.isfinite(values).all()


def test_weights_may_be_numbers_of_any_kind() -> None:
    weights = np.arange(1.0, 31.0)
    expected = TreeExplainer(model(), background(), sample_weight=weights).expected_value
    kinds: list[Any] = [weights.astype(object), weights.astype(int).tolist()]
    for given in (*kinds, [Decimal(int(weight)) for weight in weights]):
        assert TreeExplainer(model(), background(), sample_weight=given).expected_value == expected
