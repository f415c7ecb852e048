"""LightGBM: all missing types, categories, boosting kinds, and the saved text."""

from __future__ import annotations

import atexit
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support.models.case import BuiltCase, Case, columns_of, data

SMALL: dict[str, Any] = {
    "verbose": -1,
    "num_threads": 1,
    "num_leaves": 8,
    "min_data_in_leaf": 5,
    "min_data_per_group": 1,
    "cat_smooth": 1,
    "seed": 7,
}
_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)


def train(target: str, categories: bool = False, gaps: bool = True, rounds: int = 5, **parameters: Any) -> Any:
    import lightgbm

    given = data(gaps=gaps)
    label = abs(given.y) if target == "positive" else getattr(given, target)
    rows = lightgbm.Dataset(given.X, label, categorical_feature=[3] if categories else "auto")
    return lightgbm.train({**SMALL, **parameters}, rows, rounds)


def raw_score(booster: Any, X: NDArray[Any]) -> NDArray[np.float64]:
    return columns_of(booster.predict(X, raw_score=True, num_threads=1))


def _rows() -> NDArray[np.float64]:
    """Make rows with LightGBM's special cases: missing cells where training had none, zeros, unusual categories."""
    X = data().rows.copy()
    X[5::9, 1] = np.nan
    X[6::9, 2] = 0.0
    X[7::9, 4] = [1e-36, -1e-36, 1.1e-35, -1.1e-35, 0.0, -0.0]
    X[8::9, 3] = [-0.5, -1.0, 3.7, 40.0, np.nan, 1e12]
    return X


def _booster(target: str, **options: Any) -> BuiltCase:
    booster = train(target, **options)
    return BuiltCase(booster, _rows(), partial(raw_score, booster))


def _mean() -> BuiltCase:
    booster = train("y", boosting="rf", bagging_freq=1, bagging_fraction=0.5)
    return BuiltCase(booster, _rows(), lambda rows: columns_of(booster.predict(rows)))


def _wrapper(kind: str, target: str, stop: bool = False, **fit: Any) -> BuiltCase:
    import lightgbm

    given = data()
    label = getattr(given, target)
    options: dict[str, Any] = {"n_estimators": 5, "num_leaves": 8, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}
    if stop:
        fit = {"eval_set": [(given.X[:80], label[80:160])], "callbacks": [lightgbm.early_stopping(2, verbose=False)]}
        options |= {"n_estimators": 30, "learning_rate": 0.9}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions want the evaluation set in two arguments, older cannot
        model = getattr(lightgbm, kind)(**options).fit(given.X, label, **fit)
    return BuiltCase(model, _rows(), lambda rows: columns_of(model.predict(rows, raw_score=True)))


def _file() -> BuiltCase:
    booster = train("classes", objective="multiclass", num_class=3, categories=True)
    path = Path(_folder.name) / "model.txt"
    booster.save_model(path)
    return BuiltCase(path, _rows(), partial(raw_score, booster))


CASES = [
    Case(f"lightgbm-{name}", "lightgbm", kind, what, build)
    for name, kind, what, build in (
        ("regression", "Booster", "NaN as missing", partial(_booster, "y")),
        ("zero-missing", "Booster", "zero as missing", partial(_booster, "y", zero_as_missing=True)),
        ("no-missing", "Booster", "nothing missing in training", partial(_booster, "y", gaps=False)),
        ("use-missing-off", "Booster", "use_missing=false", partial(_booster, "y", use_missing=False)),
        ("categorical", "Booster", "categories", partial(_booster, "y", categories=True)),
        (
            "categorical-onehot",
            "Booster",
            "categories, one against the rest",
            partial(_booster, "y", categories=True, max_cat_to_onehot=99),
        ),
        ("binary", "Booster", "binary", partial(_booster, "binary", objective="binary")),
        (
            "multiclass",
            "Booster",
            "multi-class",
            partial(_booster, "classes", objective="multiclass", num_class=3),
        ),
        ("poisson", "Booster", "log link", partial(_booster, "positive", objective="poisson")),
        ("dart", "Booster", "DART", partial(_booster, "y", boosting="dart", drop_rate=0.5)),
        ("forest", "Booster", "random forest", _mean),
        ("regressor-stopped", "LGBMRegressor", "stopped early", partial(_wrapper, "LGBMRegressor", "y", stop=True)),
        ("classifier", "LGBMClassifier", "multi-class", partial(_wrapper, "LGBMClassifier", "classes")),
        ("ranker", "LGBMRanker", "ranking", partial(_wrapper, "LGBMRanker", "binary", group=[30] * 10)),
        ("text", "saved text", "multi-class, categories", _file),
    )
]


def linear(target: str, **options: Any) -> BuiltCase:
    booster = train(target, gaps=False, linear_tree=True, linear_lambda=0.01, **options)
    return BuiltCase(booster, data(gaps=False).rows, partial(raw_score, booster))


def _linear_file() -> BuiltCase:
    made = linear("y", categories=True)
    path = Path(_folder.name) / "linear.txt"
    made.model.save_model(path)
    return BuiltCase(path, made.X, made.raw_predict)


LINEAR = [
    Case(f"lightgbm-{name}", "lightgbm", kind, what, build)
    for name, kind, what, build in (
        ("linear", "Booster", "linear trees", partial(linear, "y")),
        (
            "linear-multiclass",
            "Booster",
            "linear trees, multi-class",
            partial(linear, "classes", objective="multiclass", num_class=3),
        ),
        ("linear-text", "saved text", "linear trees, categories", _linear_file),
    )
]
