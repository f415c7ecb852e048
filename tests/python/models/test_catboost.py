"""CatBoost in detail: links, names, trees without splits, scaled models."""

from __future__ import annotations

from typing import Any

import catboost
import numpy as np
import pytest

from arborshap.models import load
from support.models.case import columns_of, data, predicted

pd = pytest.importorskip("pandas")


def fitted(kind: str, target: str, **options: Any) -> Any:
    given = data()
    label = abs(given.y) if target == "positive" else getattr(given, target)
    options = {"iterations": 3, "depth": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False, **options}
    return getattr(catboost, kind)(**options).fit(given.X, label)


@pytest.mark.parametrize(
    ("kind", "loss", "target", "link"),
    [
        ("CatBoostRegressor", "RMSE", "y", "identity"),
        ("CatBoostRegressor", "Poisson", "positive", "log"),
        ("CatBoostRegressor", "Tweedie:variance_power=1.5", "positive", "log"),
        ("CatBoostRegressor", "MAE", "y", "identity"),
        ("CatBoostClassifier", "Logloss", "binary", "logistic"),
        ("CatBoostClassifier", "CrossEntropy", "binary", "logistic"),
        ("CatBoostClassifier", "MultiClass", "classes", "softmax"),
        ("CatBoostClassifier", "MultiClassOneVsAll", "classes", "logistic"),
        ("CatBoostClassifier", "MultiLogloss", "labels", "logistic"),
    ],
)
def test_links(kind: str, loss: str, target: str, link: str) -> None:
    model = fitted(kind, target, loss_function=loss)
    loaded = load(model)
    assert loaded.link.name == link
    raw = loaded.forest.margin(data().rows)
    expected = columns_of(model.predict(data().rows, prediction_type="RawFormulaVal"))
    np.testing.assert_allclose(raw, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    theirs = (
        model.predict_proba(data().rows) if kind == "CatBoostClassifier" else columns_of(model.predict(data().rows))
    )
    np.testing.assert_allclose(predicted(link, raw), theirs[:, -raw.shape[1] :], rtol=1e-9)


def test_names_are_kept_only_where_there_were_any() -> None:
    assert load(fitted("CatBoostRegressor", "y")).forest.feature_names is None
    given = data()
    model = catboost.CatBoostRegressor(iterations=2, verbose=0, allow_writing_files=False)
    model.fit(pd.DataFrame(given.X, columns=[*"abcde"]), given.y)
    assert load(model).forest.feature_names == tuple("abcde")


@pytest.mark.parametrize("policy", ["Depthwise", "Lossguide"])
def test_a_model_without_splits(policy: str) -> None:
    model = fitted("CatBoostRegressor", "y", min_data_in_leaf=10_000, grow_policy=policy)
    forest = load(model).forest
    assert forest.max_depth == 0
    np.testing.assert_allclose(forest.margin(data().rows)[:, 0], model.predict(data().rows), rtol=1e-9)


def test_scale_and_bias_are_applied() -> None:
    model = fitted("CatBoostRegressor", "y")
    model.set_scale_and_bias(-2.5, 17.0)
    np.testing.assert_allclose(load(model).forest.margin(data().rows)[:, 0], model.predict(data().rows), rtol=1e-9)


def test_outputs_are_called_after_the_classes() -> None:
    given = data()
    model = catboost.CatBoostClassifier(iterations=2, verbose=0, thread_count=1, allow_writing_files=False)
    model.fit(given.X, np.array(["red", "green", "blue"])[given.classes])
    assert load(model).forest.output_names == ("blue", "green", "red")
    assert load(fitted("CatBoostClassifier", "binary")).forest.output_names is None
