"""CatBoost: growing policies, outputs and treatment of missing values."""

from __future__ import annotations

import atexit
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support.models.case import BuiltCase, Case, columns_of, data

_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)


def _fit(kind: str, target: str, **options: Any) -> Any:
    import catboost

    given = data()
    options = {"iterations": 5, "depth": 3, "random_seed": 7, "thread_count": 1, **options}
    model = getattr(catboost, kind)(verbose=0, allow_writing_files=False, **options)
    group = {"group_id": np.arange(len(given.X)) // 30} if kind == "CatBoostRanker" else {}
    return model.fit(given.X, getattr(given, target), **group)


def _raw(model: Any, X: NDArray[Any]) -> NDArray[np.float64]:
    import catboost

    # A ranker predicts nothing but the raw value, and takes no prediction_type.
    is_ranker = isinstance(model, catboost.CatBoostRanker)
    return columns_of(model.predict(X) if is_ranker else model.predict(X, prediction_type="RawFormulaVal"))


def _live(kind: str, target: str, **options: Any) -> BuiltCase:
    model = _fit(kind, target, **options)
    return BuiltCase(model, data().rows, partial(_raw, model))


def _live_plain(target: str) -> BuiltCase:
    import catboost

    given = data()
    model = catboost.CatBoost({"iterations": 5, "depth": 3, "random_seed": 7, "thread_count": 1, "verbose": 0})
    model.set_params(allow_writing_files=False)
    model.fit(given.X, getattr(given, target))
    return BuiltCase(model, given.rows, partial(_raw, model))


def with_categories(X: NDArray[np.float64]) -> NDArray[Any]:
    """Return rows as CatBoost takes them if column 3 holds categories: as objects, with whole numbers there."""
    rows = X.astype(object)
    rows[:, 3] = [int(cell) for cell in X[:, 3]]
    return rows


def _fit_categories(kind: str, target: str, **options: Any) -> Any:
    import catboost

    given = data()
    options = {"iterations": 6, "depth": 3, "random_seed": 7, "thread_count": 1, "max_ctr_complexity": 1, **options}
    model = getattr(catboost, kind)(verbose=0, allow_writing_files=False, cat_features=[3], **options)
    return model.fit(with_categories(given.X), getattr(given, target))


def _categories(kind: str, target: str, **options: Any) -> BuiltCase:
    model = _fit_categories(kind, target, **options)
    return BuiltCase(model, data().rows, lambda X: _raw(model, with_categories(X)))


def _file_with_categories() -> BuiltCase:
    model = _fit_categories("CatBoostClassifier", "classes")
    path = Path(_folder.name) / "categories.json"
    model.save_model(path, format="json")
    return BuiltCase(path, data().rows, lambda X: _raw(model, with_categories(X)))


def _file() -> BuiltCase:
    model = _fit("CatBoostClassifier", "classes", grow_policy="Lossguide")
    path = Path(_folder.name) / "model.json"
    model.save_model(path, format="json")
    return BuiltCase(path, data().rows, partial(_raw, model))


CASES = [
    Case(f"catboost-{name}", "catboost", kind, what, build)
    for name, kind, what, build in (
        ("symmetric", "CatBoostRegressor", "symmetric trees", partial(_live, "CatBoostRegressor", "y")),
        (
            "depthwise",
            "CatBoostRegressor",
            "depthwise trees",
            partial(_live, "CatBoostRegressor", "y", grow_policy="Depthwise"),
        ),
        (
            "lossguide",
            "CatBoostRegressor",
            "lossguide trees",
            partial(_live, "CatBoostRegressor", "y", grow_policy="Lossguide"),
        ),
        (
            "nan-max",
            "CatBoostRegressor",
            "missing as largest",
            partial(_live, "CatBoostRegressor", "y", nan_mode="Max"),
        ),
        (
            "multi-target",
            "CatBoostRegressor",
            "multi-target",
            partial(_live, "CatBoostRegressor", "pair", loss_function="MultiRMSE"),
        ),
        ("base", "CatBoost", "regression", partial(_live_plain, "y")),
        ("binary", "CatBoostClassifier", "binary", partial(_live, "CatBoostClassifier", "binary")),
        ("multiclass", "CatBoostClassifier", "multi-class", partial(_live, "CatBoostClassifier", "classes")),
        (
            "multiclass-depthwise",
            "CatBoostClassifier",
            "multi-class, depthwise trees",
            partial(_live, "CatBoostClassifier", "classes", grow_policy="Depthwise"),
        ),
        ("ranker", "CatBoostRanker", "ranking", partial(_live, "CatBoostRanker", "y", loss_function="YetiRank")),
        (
            "one-hot",
            "CatBoostRegressor",
            "one-hot categories",
            partial(_categories, "CatBoostRegressor", "y", one_hot_max_size=20),
        ),
        (
            "categories",
            "CatBoostClassifier",
            "multi-class, statistics of categories",
            partial(_categories, "CatBoostClassifier", "classes"),
        ),
        (
            "categories-depthwise",
            "CatBoostRegressor",
            "statistics of categories, depthwise trees",
            partial(
                _categories,
                "CatBoostRegressor",
                "y",
                grow_policy="Depthwise",
                simple_ctr=["Buckets:TargetBorderCount=3", "BinarizedTargetMeanValue", "Counter"],
            ),
        ),
        ("json", "saved .json", "multi-class, lossguide trees", _file),
        ("json-categories", "saved .json", "statistics of categories", _file_with_categories),
    )
]
