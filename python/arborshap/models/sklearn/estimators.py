"""Live scikit-learn models: which function reads which class, and which classes are refused and why."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from arborshap.exceptions import ModelError
from arborshap.models.model import Model
from arborshap.models.supported import unsupported

_READERS: dict[str, str] = {
    "BaseDecisionTree": "trees.read_tree",
    "ForestRegressor": "trees.read_forest",
    "ForestClassifier": "trees.read_forest",
    "BaggingRegressor": "trees.read_bagging",
    "BaggingClassifier": "trees.read_bagging",
    "IsolationForest": "isolation.read_isolation_forest",
    "BaseGradientBoosting": "boosting.read_gradient_boosting",
    "BaseHistGradientBoosting": "hist.read_hist_gradient_boosting",
}

_REFUSED: dict[str, str] = {
    "AdaBoostRegressor": "it predicts a weighted median of its trees, which is not a sum",
    "AdaBoostClassifier": "its trees vote, and its score is a function of their votes; explain one of its estimators_",
    "RandomTreesEmbedding": "it is a transformer and predicts nothing",
    "Pipeline": "it is not a tree model itself; give its last step, and rows that the earlier steps transformed",
    "ColumnTransformer": "it is a transformer and predicts nothing",
    "BaseSearchCV": "it is a search; give its best_estimator_",
    "CalibratedClassifierCV": "calibration is not a sum of trees; give one of its calibrated estimators",
    "VotingRegressor": "give one of its estimators_",
    "VotingClassifier": "give one of its estimators_",
    "StackingRegressor": "a model on top of other models is not a sum of trees",
    "StackingClassifier": "a model on top of other models is not a sum of trees",
    "MultiOutputRegressor": "give one of its estimators_, one at a time",
    "MultiOutputClassifier": "give one of its estimators_, one at a time",
    "OneVsRestClassifier": "give one of its estimators_, one at a time",
}


def load(model: Any) -> Model:
    """Read a fitted estimator."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    for cls in type(model).__mro__:
        if cls.__module__.partition(".")[0] != "sklearn":
            continue
        if cls.__name__ in _REFUSED:
            raise unsupported(model, _REFUSED[cls.__name__])
        if cls.__name__ in _READERS:
            try:
                check_is_fitted(model)
            except NotFittedError:
                raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first") from None
            module, _, function = _READERS[cls.__name__].partition(".")
            read: Callable[[Any], Model] = getattr(import_module(f"arborshap.models.sklearn.{module}"), function)
            return read(model)
    raise unsupported(model)
