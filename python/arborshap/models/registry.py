"""The registry: which module reads a model, by the library that the model's class descends from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from arborshap.forest import Forest
from arborshap.limits import DEFAULT, Limits
from arborshap.models.model import Model
from arborshap.models.supported import unsupported
from arborshap.rows.frames import frame_library

# Each module has a function `load(model) -> Model`. The wrappers of all other libraries descend from scikit-learn's
# classes, so scikit-learn comes last.
_LOADERS: dict[str, str] = {
    "xgboost": "arborshap.models.xgboost.live",
    "lightgbm": "arborshap.models.lightgbm.live",
    "catboost": "arborshap.models.catboost.live",
    "treelite": "arborshap.models.treelite",
    "onnx": "arborshap.models.onnx.document",
    "sksurv": "arborshap.models.survival",
    "ngboost": "arborshap.models.ngboost",
    "pyod": "arborshap.models.pyod",
    "quantile_forest": "arborshap.models.quantile_forest",
    "pyspark": "arborshap.models.spark",
    "gpboost": "arborshap.models.gpboost",
    "causalml": "arborshap.models.causalml",
    "ydf": "arborshap.models.ydf",
    "perpetual": "arborshap.models.perpetual",
    "econml": "arborshap.models.refused",
    "sklearn": "arborshap.models.sklearn.estimators",
}


def load(
    model: Any,
    *,
    feature_names: Sequence[str] | None = None,
    n_columns: int | None = None,
    limits: Limits | None = None,
) -> Model:
    """Read a model of any supported kind.

    Parameters
    ----------
    model
        A fitted model, the path of a model file, the trees of an XGBoost JSON dump (a list of strings), a dictionary of
        trees in the form of shap, or a `Forest`.
    feature_names
        The names of all columns, in order. Only an XGBoost dump needs them, because it names the columns that it splits
        on but not their positions.
    n_columns
        The number of columns, if they have no names. Only a dump needs this, too.
    limits
        The most that a file or a dump may hold. A fitted model may have any size.

    Returns
    -------
    Model
        The model in the common format.

    Raises
    ------
    UnsupportedModelError
        If the model is not of a supported kind.
    ModelError
        If the model is not fitted, or its file is damaged.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, Forest):
        return Model(forest=model, library="arborshap")
    if isinstance(model, (str, os.PathLike)):
        from arborshap.models.files import load_file  # noqa: PLC0415 (fitted models need no reader of files)

        return load_file(model, feature_names, limits or DEFAULT, n_columns)
    if isinstance(model, (list, tuple)) and model and all(isinstance(tree, str) for tree in model):
        from arborshap.models.xgboost.dump import load_dump  # noqa: PLC0415 (dumps are rare)

        return load_dump(model, feature_names, limits or DEFAULT, n_columns)
    if isinstance(model, dict) and "trees" in model:
        read: Model = import_module("arborshap.models.dictionary").load_dictionary(model, feature_names, n_columns)
        return read
    # The ancestry of the class tells the library, even for a user's own subclass.
    libraries = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    for library, module in _LOADERS.items():
        if library in libraries:
            loaded: Model = import_module(module).load(model)
            return loaded
    if frame_library(model) is not None or hasattr(model, "__array__"):
        raise unsupported(model, "these are rows; give the model first, as in TreeExplainer(model, data)")
    raise unsupported(model)
