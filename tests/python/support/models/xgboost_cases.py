"""XGBoost: objectives, boosters, leaf layouts, categories and the ways to hand over a model."""

from __future__ import annotations

import atexit
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.models.case import BuiltCase, Case, columns_of, data

_SMALL: dict[str, Any] = {"max_depth": 3, "nthread": 1, "seed": 7}
_TYPES = ["q", "q", "q", "c", "q"]
_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)


def train(target: str, parameters: dict[str, Any], *, categorical: bool = False, rounds: int = 5) -> Any:
    import xgboost

    given = data()
    label = abs(given.y) if target == "positive" else getattr(given, target)
    types = _TYPES if categorical else None
    matrix = xgboost.DMatrix(given.X, label, feature_types=types, enable_categorical=categorical)
    return xgboost.train({**_SMALL, **parameters}, matrix, rounds)


def margin(booster: Any, X: NDArray[Any]) -> NDArray[np.float64]:
    import xgboost

    matrix = xgboost.DMatrix(X, feature_types=booster.feature_types, enable_categorical=True)
    return columns_of(booster.predict(matrix, output_margin=True))


def _booster(target: str, parameters: dict[str, Any], categorical: bool = False) -> BuiltCase:
    booster = train(target, parameters, categorical=categorical)
    return BuiltCase(booster, data().rows, partial(margin, booster))


def _mixed_leaves() -> BuiltCase:
    """Train two rounds with a tree per output, and go on with vectors of outputs."""
    import xgboost

    given = data()
    matrix = xgboost.DMatrix(given.X, given.pair)
    begun = xgboost.train(_SMALL, matrix, 2)
    try:
        booster = xgboost.train({**_SMALL, "multi_strategy": "multi_output_tree"}, matrix, 3, xgb_model=begun)
    except xgboost.core.XGBoostError:
        pytest.skip("this version of XGBoost does not mix leaves")
    return BuiltCase(booster, given.rows, partial(margin, booster))


def _survival(objective: str) -> BuiltCase:
    """Times of which a third are censored: bounds of an interval for AFT, negative times for Cox."""
    import xgboost

    given = data()
    time, censored = np.exp(0.3 * given.y), np.arange(len(given.y)) % 3 == 0
    if objective == "survival:aft":
        matrix = xgboost.DMatrix(given.X)
        matrix.set_float_info("label_lower_bound", time)
        matrix.set_float_info("label_upper_bound", np.where(censored, np.inf, time))
    else:
        matrix = xgboost.DMatrix(given.X, np.where(censored, -time, time))
    booster = xgboost.train({**_SMALL, "objective": objective}, matrix, 5)
    return BuiltCase(booster, given.rows, partial(margin, booster))


def _wrapper(kind: str, target: str, gaps: float = np.nan, stop: bool = False, **options: Any) -> BuiltCase:
    import xgboost

    given = data()
    X = np.where(np.isnan(given.X), gaps, given.X)
    label = getattr(given, target)
    fit: dict[str, Any] = {"qid": np.arange(len(X)) // 30} if kind == "XGBRanker" else {}
    if stop:
        fit = {"eval_set": [(X[:80], label[80:160])], "verbose": False}
        options = {"early_stopping_rounds": 3, "n_estimators": 30, **options}
    options = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1, "random_state": 7, "missing": gaps, **options}
    model = getattr(xgboost, kind)(**options).fit(X, label, **fit)
    return BuiltCase(model, X[:60], lambda rows: columns_of(model.predict(rows, output_margin=True)))


def _file(suffix: str, target: str, parameters: dict[str, Any]) -> BuiltCase:
    booster = train(target, parameters)
    path = Path(_folder.name) / f"{target}.{suffix}"
    booster.save_model(path)
    return BuiltCase(path, data().rows, partial(margin, booster))


def _dump() -> BuiltCase:
    # A dump does not say the base score; at zero nothing is lost.
    booster = train("y", {"base_score": 0.0})
    warnings.filterwarnings("ignore", message="An XGBoost dump holds only the trees")
    return BuiltCase(booster.get_dump(dump_format="json", with_stats=True), data().rows, partial(margin, booster))


_SOFTPROB = {"objective": "multi:softprob", "num_class": 3}
_DART = {"booster": "dart", "rate_drop": 0.5}

CASES = [
    Case(f"xgboost-{name}", "xgboost", kind, what, build, tolerance=2e-5)
    for name, kind, what, build in (
        ("regression", "Booster", "regression", partial(_booster, "y", {})),
        ("binary", "Booster", "binary", partial(_booster, "binary", {"objective": "binary:logistic"})),
        ("multiclass", "Booster", "multi-class", partial(_booster, "classes", _SOFTPROB)),
        ("poisson", "Booster", "log link", partial(_booster, "positive", {"objective": "count:poisson"})),
        ("aft", "Booster", "accelerated failure times", partial(_survival, "survival:aft")),
        ("cox", "Booster", "Cox regression", partial(_survival, "survival:cox")),
        (
            "quantile",
            "Booster",
            "several quantiles",
            partial(_booster, "y", {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.5, 0.9]}),
        ),
        ("multi-target", "Booster", "multi-target", partial(_booster, "pair", {})),
        (
            "vector-leaf",
            "Booster",
            "vector leaves",
            partial(_booster, "pair", {"multi_strategy": "multi_output_tree"}),
        ),
        ("mixed-leaves", "Booster", "single and vector leaves", _mixed_leaves),
        ("pruned", "Booster", "pruned trees", partial(_booster, "y", {"tree_method": "exact", "gamma": 3.0})),
        ("dart", "Booster", "DART", partial(_booster, "y", _DART)),
        (
            "dart-multiclass-parallel",
            "Booster",
            "DART, multi-class, parallel trees",
            partial(_booster, "classes", {**_DART, **_SOFTPROB, "num_parallel_tree": 2, "subsample": 0.7}),
        ),
        (
            "categorical-partition",
            "Booster",
            "categories, partitions",
            partial(_booster, "y", {"max_cat_to_onehot": 1}, categorical=True),
        ),
        (
            "categorical-onehot",
            "Booster",
            "categories, one against the rest",
            partial(_booster, "y", {"max_cat_to_onehot": 99}, categorical=True),
        ),
        ("regressor", "XGBRegressor", "regression", partial(_wrapper, "XGBRegressor", "y")),
        (
            "regressor-stopped",
            "XGBRegressor",
            "stopped early",
            partial(_wrapper, "XGBRegressor", "y", stop=True, learning_rate=0.7),
        ),
        (
            "regressor-marker",
            "XGBRegressor",
            "a marker for missing values",
            partial(_wrapper, "XGBRegressor", "y", gaps=-999.0),
        ),
        ("classifier", "XGBClassifier", "multi-class", partial(_wrapper, "XGBClassifier", "classes")),
        ("ranker", "XGBRanker", "ranking", partial(_wrapper, "XGBRanker", "binary")),
        ("rf-regressor", "XGBRFRegressor", "random forest", partial(_wrapper, "XGBRFRegressor", "y")),
        ("rf-classifier", "XGBRFClassifier", "random forest", partial(_wrapper, "XGBRFClassifier", "binary")),
        ("json", "saved .json", "binary", partial(_file, "json", "binary", {"objective": "binary:logistic"})),
        ("ubj", "saved .ubj", "multi-class", partial(_file, "ubj", "classes", _SOFTPROB)),
        ("dump", "JSON dump", "regression, up to its base score", _dump),
    )
]
