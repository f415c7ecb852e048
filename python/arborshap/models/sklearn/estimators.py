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
    "BaggingRegressor": "wrappers.bagging.read_bagging_regressor",
    "BaggingClassifier": "wrappers.bagging.read_bagging_classifier",
    "AdaBoostClassifier": "sklearn.adaboost.read_adaboost_classifier",
    "IsolationForest": "sklearn.isolation.read_isolation_forest",
    "BaseGradientBoosting": "sklearn.boosting.read_gradient_boosting",
    "BaseHistGradientBoosting": "sklearn.hist.read_hist_gradient_boosting",
    "Pipeline": "wrappers.piped.read_pipeline",
    "BaseSearchCV": "wrappers.passing.read_inside",
    "BaseThresholdClassifier": "wrappers.passing.read_inside",
    "FrozenEstimator": "wrappers.passing.read_inside",
    "SelfTrainingClassifier": "wrappers.passing.read_inside",
    "MultiOutputRegressor": "wrappers.outputs.read_multi_output_regressor",
    "MultiOutputClassifier": "wrappers.outputs.read_multi_output_classifier",
    "OneVsRestClassifier": "wrappers.outputs.read_one_vs_rest",
    "VotingRegressor": "wrappers.voting.read_voting_regressor",
    "VotingClassifier": "wrappers.voting.read_voting_classifier",
    "StackingRegressor": "wrappers.stacking.read_stacking_regressor",
    "StackingClassifier": "wrappers.stacking.read_stacking_classifier",
    "TransformedTargetRegressor": "wrappers.target.read_transformed_target",
    "CalibratedClassifierCV": "wrappers.calibrated.read_calibrated",
    "RFE": "wrappers.bagging.read_selected",
}

_REFUSED: dict[str, str] = {
    "AdaBoostRegressor": "it predicts a weighted median of its trees, which is not a sum",
    "RandomTreesEmbedding": "it is a transformer and predicts nothing",
    "ColumnTransformer": "it is a transformer and predicts nothing",
    "RegressorChain": "each of its members reads what the earlier ones predict, which is not a sum of trees",
    "ClassifierChain": "each of its members reads what the earlier ones predict, which is not a sum of trees",
    "OneVsOneClassifier": "it counts votes between pairs of classes; explain one of its estimators_",
    "OutputCodeClassifier": "it picks the class of the nearest code; explain one of its estimators_",
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
