"""Live scikit-learn models: which function reads which class, and which classes are refused and why."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from arborshap.exceptions import ModelError
from arborshap.models.model import Model
from arborshap.models.sklearn.common import sklearn_classes
from arborshap.models.supported import unsupported

_READERS: dict[str, str] = {
    "BaseDecisionTree": "sklearn.trees.read_tree",
    "ForestRegressor": "sklearn.trees.read_forest",
    "ForestClassifier": "sklearn.trees.read_forest",
    "BaggingRegressor": "sklearn.trees.read_bagging",
    "BaggingClassifier": "sklearn.trees.read_bagging",
    "IsolationForest": "sklearn.isolation.read_isolation_forest",
    "BaseGradientBoosting": "sklearn.boosting.read_gradient_boosting",
    "BaseHistGradientBoosting": "sklearn.hist.read_hist_gradient_boosting",
    "BaseSearchCV": "wrappers.passing.read_inside",
    "BaseThresholdClassifier": "wrappers.passing.read_inside",
    "FrozenEstimator": "wrappers.passing.read_inside",
    "SelfTrainingClassifier": "wrappers.passing.read_inside",
    "MultiOutputRegressor": "wrappers.outputs.read_multi_output_regressor",
    "MultiOutputClassifier": "wrappers.outputs.read_multi_output_classifier",
    "OneVsRestClassifier": "wrappers.outputs.read_one_vs_rest",
    "VotingRegressor": "wrappers.voting.read_voting_regressor",
    "VotingClassifier": "wrappers.voting.read_voting_classifier",
}

_REFUSED: dict[str, str] = {
    "AdaBoostRegressor": "it predicts a weighted median of its trees, which is not a sum",
    "AdaBoostClassifier": "its trees vote, and its score is a function of their votes; explain one of its estimators_",
    "RandomTreesEmbedding": "it is a transformer and predicts nothing",
    "Pipeline": "it is not a tree model itself; give its last step, and rows that the earlier steps transformed",
    "ColumnTransformer": "it is a transformer and predicts nothing",
    "CalibratedClassifierCV": "calibration is not a sum of trees; give one of its calibrated estimators",
    "StackingRegressor": "a model on top of other models is not a sum of trees",
    "StackingClassifier": "a model on top of other models is not a sum of trees",
}


def load(model: Any) -> Model:
    """Read a fitted estimator."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    for name in sklearn_classes(model):
        if name in _REFUSED:
            raise unsupported(model, _REFUSED[name])
        if name in _READERS:
            try:
                check_is_fitted(model)
            except NotFittedError:
                raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first") from None
            module, _, function = _READERS[name].rpartition(".")
            read: Callable[[Any], Model] = getattr(import_module(f"arborshap.models.{module}"), function)
            return read(model)
    raise unsupported(model)
