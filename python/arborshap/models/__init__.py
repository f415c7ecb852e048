"""Loaders: one small file per library, imported only when a model of that library is given."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from arborshap.exceptions import UnsupportedModelError
from arborshap.forest import Forest
from arborshap.limits import DEFAULT, Limits
from arborshap.models._model import Model

__all__ = ["Model", "load", "supported_models"]

# The wrappers of all others descend from scikit-learn's classes, so that comes last.
_LOADERS = ("xgboost", "lightgbm", "catboost", "treelite", "sklearn")

_SUPPORTED: dict[str, tuple[str, ...]] = {
    "xgboost": (
        "Booster",
        "XGBRegressor",
        "XGBClassifier",
        "XGBRanker",
        "XGBRFRegressor",
        "XGBRFClassifier",
        "saved .json",
        "saved .ubj",
        "JSON dump",
    ),
    "sklearn": (
        "DecisionTreeRegressor",
        "DecisionTreeClassifier",
        "ExtraTreeRegressor",
        "ExtraTreeClassifier",
        "RandomForestRegressor",
        "RandomForestClassifier",
        "ExtraTreesRegressor",
        "ExtraTreesClassifier",
        "GradientBoostingRegressor",
        "GradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "HistGradientBoostingClassifier",
        "IsolationForest",
        "BaggingRegressor",
        "BaggingClassifier",
    ),
    "lightgbm": ("Booster", "LGBMRegressor", "LGBMClassifier", "LGBMRanker", "saved text"),
    "catboost": ("CatBoost", "CatBoostRegressor", "CatBoostClassifier", "CatBoostRanker", "saved .json"),
    "treelite": ("Model",),
    "arborshap": ("Forest",),
}


def supported_models() -> dict[str, tuple[str, ...]]:
    """List what can be explained, by library."""
    return dict(_SUPPORTED)


def load(model: Any, *, feature_names: Sequence[str] | None = None, limits: Limits | None = None) -> Model:
    """Read a model of any supported kind.

    Parameters
    ----------
    model
        A fitted model, a path to a model file, the trees of an XGBoost JSON dump (a list of strings), or a `Forest`.
    feature_names
        The names of all columns, in order. Only an XGBoost dump needs them: it names the columns it splits on, but
        does not say where they are.
    limits
        The most a file or a dump may hold; a fitted model is the caller's own, and may be of any size.

    Returns
    -------
    Model

    Raises
    ------
    UnsupportedModelError
        If the model is of no supported kind.
    ModelError
        If it is not fitted, or its file is damaged.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, Forest):
        return Model(forest=model, library="arborshap")
    if isinstance(model, (str, os.PathLike)):
        from arborshap.models._files import load_file

        return load_file(model, feature_names, limits or DEFAULT)
    if isinstance(model, (list, tuple)) and model and all(isinstance(tree, str) for tree in model):
        from arborshap.models.xgboost_dump import load_dump

        return load_dump(model, feature_names, limits or DEFAULT)
    # The class's ancestry says who made it, also for a user's own subclass.
    libraries = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    for library in _LOADERS:
        if library in libraries:
            loaded: Model = import_module(f"arborshap.models.{library}").load(model)
            return loaded
    raise unsupported(model)


def unsupported(model: Any, reason: str = "") -> UnsupportedModelError:
    """Build the error that refuses a model by name and lists what is supported."""
    kind = f"{type(model).__module__}.{type(model).__qualname__}".removeprefix("builtins.")
    listed = "; ".join(f"{library}: {', '.join(kinds)}" for library, kinds in _SUPPORTED.items())
    return UnsupportedModelError(f"{kind} is not supported{': ' + reason if reason else ''}. Supported are {listed}.")
