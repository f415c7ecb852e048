"""Wrappers that predict what the model inside predicts: searches, thresholds and others."""

from __future__ import annotations

from typing import Any

from arborshap.exceptions import ModelError
from arborshap.models.model import Model
from arborshap.models.registry import load
from arborshap.models.sklearn.common import sklearn_classes

# A frozen estimator has all attributes of the one inside, so it may not be asked for estimator_.
_SAME_PREDICTION = {
    "FrozenEstimator": ("estimator",),
    "BaseThresholdClassifier": ("estimator_", "estimator"),
    "SelfTrainingClassifier": ("estimator_", "base_estimator_"),
}


def read_inside(wrapper: Any) -> Model:
    """Read the model inside."""
    return load(inside(wrapper))


def inside(model: Any) -> Any:
    """Return the model whose raw predictions a wrapper passes on, or ``None`` if the model is no such wrapper."""
    classes = sklearn_classes(model)
    if "BaseSearchCV" in classes:
        return _best(model)
    for kind, names in _SAME_PREDICTION.items():
        if kind in classes:
            found = next((found for name in names if (found := getattr(model, name, None)) is not None), None)
            if found is None:
                raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
            return found
    return None


def _best(search: Any) -> Any:
    kind = type(search).__name__
    if hasattr(search, "best_estimator_"):
        return search.best_estimator_
    if hasattr(search, "cv_results_"):
        raise ModelError(
            f"this {kind} has no best_estimator_, because refit={search.refit!r}; set refit=True and fit it again, "
            "or fit an estimator with best_params_ and give that"
        )
    raise ModelError(f"this {kind} is not fitted; call fit() first")
