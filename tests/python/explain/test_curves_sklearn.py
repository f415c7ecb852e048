"""Curves against scikit-learn's brute force, for every library, with missing values and categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.inspection import partial_dependence
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

from arborshap import TreeExplainer
from support.models.case import data

pytestmark = pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6), reason="older versions do not take missing values"
)

FULL, GAPS = data(gaps=False, rows=160), data(gaps=True, rows=160)
TOWNS = pd.Categorical(np.array(["Thun", "Bern", "Chur", "Biel"])[GAPS.X[:, 3].astype(int) % 4])
TOWNS_AND_GAPS = pd.DataFrame({"a": GAPS.X[:, 0], "b": GAPS.X[:, 1], "town": TOWNS})
TARGET = GAPS.y + 2.0 * (TOWNS == "Bern") * (GAPS.X[:, 1] > 0)
SMALL: dict[str, Any] = {"n_estimators": 5, "max_depth": 4, "random_state": 0}
QUIET: dict[str, Any] = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
LIGHT: dict[str, Any] = {"n_estimators": 5, "num_leaves": 7, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}

REGRESSORS = {
    "xgboost": (XGBRegressor(n_jobs=1, **SMALL), GAPS),
    "lightgbm": (LGBMRegressor(**LIGHT), GAPS),
    "catboost": (CatBoostRegressor(iterations=5, depth=3, **QUIET), GAPS),
    "hist": (HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5), GAPS),
    "forest": (RandomForestRegressor(4, random_state=0), GAPS),
    "extra": (ExtraTreesRegressor(4, random_state=0), FULL),
    "tree": (DecisionTreeRegressor(random_state=0), GAPS),
    "boosting": (GradientBoostingRegressor(**SMALL), FULL),
}
CLASSIFIERS = {
    "xgboost": (XGBClassifier(n_jobs=1, **SMALL), GAPS),
    "lightgbm": (LGBMClassifier(**LIGHT), GAPS),
    "catboost": (CatBoostClassifier(iterations=5, depth=3, **QUIET), GAPS),
    "hist": (HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5), GAPS),
    "forest": (RandomForestClassifier(4, random_state=0), GAPS),
    "boosting": (GradientBoostingClassifier(**SMALL), FULL),
}
WITH_TOWNS = {
    "xgboost": XGBRegressor(enable_categorical=True, max_cat_to_onehot=2, n_jobs=1, **SMALL),
    "lightgbm": LGBMRegressor(**LIGHT),
    "hist": HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=5, categorical_features="from_dtype"),
}


def assert_same(explainer: TreeExplainer, model: Any, rows: Any, features: Any, scale: float, **how: Any) -> None:
    """Compare means and the curves of single rows on scikit-learn's own grid, in its shapes."""
    theirs = partial_dependence(model, rows, features, grid_resolution=4, kind="both", method="brute", **how)
    grid = list(theirs["grid_values"])
    several = isinstance(features, tuple)
    ours = explainer.partial_dependence(features, grid=grid if several else grid[0], X=rows, kind="both").to_sklearn()
    for key in ("average", "individual"):
        assert ours[key].shape[1:] == theirs[key].shape[1:]
        # scikit-learn gives the probability of the positive class alone if there are two.
        found = ours[key][-1:] if len(theirs[key]) == 1 else ours[key]
        np.testing.assert_allclose(found, theirs[key], atol=2e-6 * scale)


@pytest.mark.parametrize("features", [0, 3, (0, 1), (4, 2)], ids=str)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name: str, features: Any) -> None:
    model, rows = REGRESSORS[name]
    model.fit(rows.X, rows.y)
    assert_same(TreeExplainer(model, rows.X), model, rows.X, features, float(np.abs(rows.y).max()))


@pytest.mark.parametrize("features", [0, (0, 1)], ids=str)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities(name: str, features: Any) -> None:
    unfitted, rows = CLASSIFIERS[name]
    for labels in (rows.binary, rows.classes):
        model = clone(unfitted).fit(rows.X, labels)
        explainer = TreeExplainer(model, rows.X, model_output="probability")
        assert_same(explainer, model, rows.X, features, 1.0, response_method="predict_proba")


@pytest.mark.parametrize("features", ["town", ("a", "town"), ("town", "b")], ids=str)
@pytest.mark.parametrize("name", WITH_TOWNS)
def test_categories(name: str, features: Any) -> None:
    model = WITH_TOWNS[name].fit(TOWNS_AND_GAPS, TARGET)
    explainer = TreeExplainer(model, TOWNS_AND_GAPS)
    columns = [features] if isinstance(features, str) else list(features)
    grids = [list(TOWNS.categories) if column == "town" else [-0.7, 0.1, 0.9] for column in columns]
    curve = explainer.partial_dependence(features, grid=grids[0] if len(grids) == 1 else grids)
    expected = np.empty([1, *map(len, grids)])
    for place in np.ndindex(*expected.shape[1:]):
        # scikit-learn puts bare texts into the column, which these libraries do not take for its categories.
        changed = TOWNS_AND_GAPS.copy()
        for column, grid, at in zip(columns, grids, place, strict=True):
            changed[column] = pd.Series([grid[at]] * len(changed), dtype=changed[column].dtype)
        expected[(0, *place)] = model.predict(changed).mean()
    np.testing.assert_allclose(np.asarray(curve.average), expected, atol=2e-6 * np.abs(TARGET).max())


@pytest.mark.parametrize("features", ["town", "b", ("town", "b"), ("a", "b")], ids=str)
def test_raw_columns_of_a_pipeline(features: Any) -> None:
    frame = TOWNS_AND_GAPS.assign(town=TOWNS_AND_GAPS["town"].astype(str), a=np.nan_to_num(TOWNS_AND_GAPS["a"]))
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).set_output(transform="pandas")
    pipeline = make_pipeline(encode, RandomForestRegressor(3, random_state=0)).fit(frame, TARGET)
    explainer = TreeExplainer(pipeline, frame)
    columns = [features] if isinstance(features, str) else list(features)
    grids = [sorted(set(frame[column]))[::40] or [] for column in columns]
    grids = [sorted(set(frame[c])) if c == "town" else grid for c, grid in zip(columns, grids, strict=True)]
    curve = explainer.partial_dependence(features, grid=grids[0] if len(grids) == 1 else grids, X=frame, kind="both")
    average, individual = np.asarray(curve.average)[0], np.asarray(curve.individual)[0]
    for place in np.ndindex(*average.shape):
        changed = frame.assign(**{c: grid[at] for c, grid, at in zip(columns, grids, place, strict=True)})
        predicted = pipeline.predict(changed)
        np.testing.assert_allclose(individual[(slice(None), *place)], predicted, atol=1e-10)
        assert average[place] == pytest.approx(predicted.mean(), abs=1e-10)


def test_missing_values_in_a_grid() -> None:
    model = XGBRegressor(n_jobs=1, **SMALL).fit(GAPS.X, GAPS.y)
    explainer = TreeExplainer(model, GAPS.X)
    curve = explainer.partial_dependence((0, 4), grid=([np.nan, 0.3], [np.nan, -0.2, 1.0]))
    for i, first in enumerate((np.nan, 0.3)):
        for j, second in enumerate((np.nan, -0.2, 1.0)):
            mixed = GAPS.X.copy()
            mixed[:, 0], mixed[:, 4] = first, second
            assert np.asarray(curve.average)[0, i, j] == pytest.approx(float(model.predict(mixed).mean()), abs=1e-5)
    assert np.asarray(curve.average)[0, 0, 1] != pytest.approx(np.asarray(curve.average)[0, 1, 1])
