"""Exact interventional Shapley values of tree ensembles, with groups of features as players.

>>> from arborshap import TreeExplainer
>>> explainer = TreeExplainer(model, X_train)  # doctest: +SKIP
>>> explanation = explainer(X)  # doctest: +SKIP
"""

from arborshap._core import __version__
from arborshap.exceptions import (
    ArborshapError,
    InputError,
    InternalError,
    ModelError,
    UnsupportedModelError,
    VerificationError,
)
from arborshap.explain.background import Background
from arborshap.explain.explainer import TreeExplainer
from arborshap.explain.facts import Facts
from arborshap.explain.plan import Plan
from arborshap.explain.release import release_attribution
from arborshap.forest import Forest, ForestBuilder
from arborshap.limits import Limits
from arborshap.models import supported_models
from arborshap.models.survival import survival_curve
from arborshap.result.curve import Curve
from arborshap.result.explanation import Explanation
from arborshap.result.importance import Importance, TopValues
from arborshap.trace import Trace

Explainer = TreeExplainer
"""The name that shap's own pages use; every model that arborshap explains consists of trees."""

__all__ = [
    "ArborshapError",
    "Background",
    "Curve",
    "Explainer",
    "Explanation",
    "Facts",
    "Forest",
    "ForestBuilder",
    "Importance",
    "InputError",
    "InternalError",
    "Limits",
    "ModelError",
    "Plan",
    "TopValues",
    "Trace",
    "TreeExplainer",
    "UnsupportedModelError",
    "VerificationError",
    "__version__",
    "release_attribution",
    "supported_models",
    "survival_curve",
]
