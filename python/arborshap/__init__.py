"""Exact interventional Shapley values of tree ensembles, with groups of features as players.

>>> from arborshap import TreeExplainer
>>> explainer = TreeExplainer(model, X_train)  # doctest: +SKIP
>>> explanation = explainer(X)  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING

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
from arborshap.forest import Forest, ForestBuilder
from arborshap.limits import Limits
from arborshap.models import supported_models
from arborshap.result.curve import Curve
from arborshap.result.explanation import Explanation
from arborshap.result.importance import Importance, TopValues

if TYPE_CHECKING:
    from arborshap.explain.cohorts import cohort_contrasts
    from arborshap.explain.drift import drift_contributions
    from arborshap.explain.release import release_attribution
    from arborshap.models.survival import survival_curve
    from arborshap.result.cohorts import CohortContrasts
    from arborshap.result.drift import Drift
    from arborshap.result.interactions import Interactions
    from arborshap.result.sage import SageValues
    from arborshap.trace import Trace

Explainer = TreeExplainer
"""The name that shap's own pages use; every model that arborshap explains consists of trees."""

__all__ = [
    "ArborshapError",
    "Background",
    "CohortContrasts",
    "Curve",
    "Drift",
    "Explainer",
    "Explanation",
    "Facts",
    "Forest",
    "ForestBuilder",
    "Importance",
    "InputError",
    "Interactions",
    "InternalError",
    "Limits",
    "ModelError",
    "Plan",
    "SageValues",
    "TopValues",
    "Trace",
    "TreeExplainer",
    "UnsupportedModelError",
    "VerificationError",
    "__version__",
    "cohort_contrasts",
    "drift_contributions",
    "release_attribution",
    "supported_models",
    "survival_curve",
]

_LATE = {
    "CohortContrasts": "arborshap.result.cohorts",
    "Drift": "arborshap.result.drift",
    "Interactions": "arborshap.result.interactions",
    "SageValues": "arborshap.result.sage",
    "Trace": "arborshap.trace",
    "cohort_contrasts": "arborshap.explain.cohorts",
    "drift_contributions": "arborshap.explain.drift",
    "release_attribution": "arborshap.explain.release",
    "survival_curve": "arborshap.models.survival",
}
"""Names that few programs use, each with the module that is imported when the name is."""

if not TYPE_CHECKING:  # a type checker would take every name for one of these

    def __getattr__(name: str) -> object:
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
