"""The models that can be explained, by library, and the error that refuses all others."""

from __future__ import annotations

from typing import Any

from arborshap.exceptions import UnsupportedModelError

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
        "VotingRegressor",
        "VotingClassifier",
        "StackingRegressor",
        "StackingClassifier",
        "AdaBoostClassifier",
        "MultiOutputRegressor",
        "MultiOutputClassifier",
        "OneVsRestClassifier",
        "GridSearchCV",
        "RandomizedSearchCV",
        "HalvingGridSearchCV",
        "FixedThresholdClassifier",
        "TunedThresholdClassifierCV",
        "TransformedTargetRegressor",
        "CalibratedClassifierCV",
        "RFE",
    ),
    "imblearn": (
        "BalancedRandomForestClassifier",
        "BalancedBaggingClassifier",
        "EasyEnsembleClassifier",
        "RUSBoostClassifier",
    ),
    "lightgbm": ("Booster", "LGBMRegressor", "LGBMClassifier", "LGBMRanker", "saved text"),
    "catboost": ("CatBoost", "CatBoostRegressor", "CatBoostClassifier", "CatBoostRanker", "saved .json"),
    "treelite": ("Model",),
    "onnx": ("ModelProto", "saved .onnx"),
    "sksurv": (
        "SurvivalTree",
        "ExtraSurvivalTree",
        "RandomSurvivalForest",
        "ExtraSurvivalTrees",
        "GradientBoostingSurvivalAnalysis",
    ),
    "ngboost": ("NGBRegressor", "NGBClassifier", "NGBSurvival"),
    "pyod": ("IForest",),
    "quantile_forest": ("RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor"),
    "gpboost": ("Booster", "GPBoostRegressor", "GPBoostClassifier"),
    "causalml": (
        "CausalTreeRegressor",
        "CausalRandomForestRegressor",
        "UpliftTreeClassifier",
        "UpliftRandomForestClassifier",
    ),
    "ydf": ("GradientBoostedTreesModel", "RandomForestModel"),
    "perpetual": ("PerpetualBooster", "PerpetualRegressor", "PerpetualClassifier"),
    "pyspark": (
        "DecisionTreeRegressionModel",
        "DecisionTreeClassificationModel",
        "RandomForestRegressionModel",
        "RandomForestClassificationModel",
        "GBTRegressionModel",
        "GBTClassificationModel",
    ),
    "shap": ("dictionary of trees",),
    "arborshap": ("Forest",),
}


def supported_models() -> dict[str, tuple[str, ...]]:
    """List the models that can be explained, by library."""
    return dict(_SUPPORTED)


def unsupported(model: Any, reason: str = "") -> UnsupportedModelError:
    """Build the error that refuses a model by name and says where to find what is supported."""
    kind = f"{type(model).__module__}.{type(model).__qualname__}".removeprefix("builtins.")
    return UnsupportedModelError(
        f"{kind} is not supported{': ' + reason if reason else ''}. arborshap.supported_models() lists what is"
    )
