"""Exact interventional Shapley values of tree ensembles, with groups of features as players.

>>> from arborshap import TreeExplainer
>>> explainer = TreeExplainer(model, X_train)  # doctest: +SKIP
>>> explanation = explainer(X)  # doctest: +SKIP
"""

from arborshap._core import __version__
from arborshap.background import Background
from arborshap.exceptions import (
    ArborshapError,
    InputError,
    InternalError,
    ModelError,
    UnsupportedModelError,
    VerificationError,
)
from arborshap.explainer import TreeExplainer
from arborshap.explanation import Explanation
from arborshap.forest import Forest
from arborshap.forest_builder import ForestBuilder
from arborshap.limits import Limits
from arborshap.models import supported_models

__all__ = [
    "ArborshapError",
    "Background",
    "Explanation",
    "Forest",
    "ForestBuilder",
    "InputError",
    "InternalError",
    "Limits",
    "ModelError",
    "TreeExplainer",
    "UnsupportedModelError",
    "VerificationError",
    "__version__",
    "supported_models",
]
