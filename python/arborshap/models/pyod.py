"""pyod: its isolation forest, which is scikit-learn's."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import Any

from arborshap.exceptions import ModelError
from arborshap.models.model import Model
from arborshap.models.sklearn.isolation import read_isolation_forest
from arborshap.models.supported import unsupported


def load(model: Any) -> Model:
    """Read the mean path length of a fitted ``IForest``; its score is a function of it."""
    if not any(cls.__module__ == "pyod.models.iforest" and cls.__name__ == "IForest" for cls in type(model).__mro__):
        raise unsupported(model, "of pyod's detectors, only IForest has a score that is a function of a sum of trees")
    if not hasattr(model, "detector_"):
        raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
    return replace(read_isolation_forest(model.detector_), library=f"pyod {version('pyod')}")
