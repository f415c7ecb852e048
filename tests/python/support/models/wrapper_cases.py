"""Wrappers around models: searches, thresholds, voting, stacking, bagging, and one model per output."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.models.case import BuiltCase, Case, columns_of, data


def forest(**options: Any) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(n_estimators=3, max_depth=3, random_state=7, **options)


def class_forest(**options: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=3, max_depth=3, random_state=7, **options)


def hist(**options: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=3, max_depth=3, **options)


def hist_classifier(**options: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=3, max_depth=3, **options)


def boosted(**options: Any) -> Any:
    import xgboost

    return xgboost.XGBRegressor(n_estimators=3, max_depth=3, n_jobs=1, **options)


def light(**options: Any) -> Any:
    import lightgbm

    return lightgbm.LGBMRegressor(n_estimators=3, num_leaves=6, n_jobs=1, verbose=-1, **options)


def light_classifier(**options: Any) -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=3, num_leaves=6, n_jobs=1, verbose=-1, **options)


def fitted(model: Any, target: str, method: str = "predict", *, gaps: bool = True) -> BuiltCase:
    """Fit a wrapper; its own method is what the trees must sum to."""
    given = data(gaps=gaps)
    model.fit(given.X, getattr(given, target))
    return BuiltCase(model, given.rows, lambda rows: columns_of(getattr(model, method)(rows)))


def members(model: Any, target: str, scores: Callable[[Any, NDArray[Any]], Any]) -> BuiltCase:
    """Fit a wrapper that has no method for its raw score: each of its members is asked for its own."""
    built = fitted(model, target)
    return BuiltCase(
        built.model, built.X, lambda rows: np.column_stack([scores(one, rows) for one in model.estimators_])
    )


def _search(kind: str, depths: list[int], **options: Any) -> BuiltCase:
    from sklearn import experimental, model_selection

    if kind.startswith("Halving"):
        __import__(f"{experimental.__name__}.enable_halving_search_cv")
    search = getattr(model_selection, kind)(forest(), {"max_depth": depths}, cv=2, **options)
    return fitted(search, "y")


def _threshold(kind: str, **options: Any) -> BuiltCase:
    from sklearn import model_selection

    if not hasattr(model_selection, kind):
        pytest.skip(f"this version of scikit-learn has no {kind}")
    return fitted(getattr(model_selection, kind)(class_forest(), **options), "binary", "predict_proba")


def _per_output(kind: str, model: Callable[[], Any], target: str, method: str = "predict") -> BuiltCase:
    from sklearn import multioutput

    return fitted(getattr(multioutput, kind)(model()), target, method)


def _per_output_scores() -> BuiltCase:
    from sklearn.multioutput import MultiOutputClassifier

    return members(
        MultiOutputClassifier(hist_classifier()), "class_pair", lambda one, rows: one.decision_function(rows)
    )


def _one_vs_rest(model: Callable[[], Any], target: str, method: str) -> BuiltCase:
    from sklearn.multiclass import OneVsRestClassifier

    return fitted(OneVsRestClassifier(model()), target, method)


def _one_vs_rest_forests() -> BuiltCase:
    """`predict` compares the probabilities of each class, which `predict_proba` divides by their sum."""
    from sklearn.multiclass import OneVsRestClassifier

    return members(OneVsRestClassifier(class_forest()), "classes", lambda one, rows: one.predict_proba(rows)[:, 1])


def _voting(weights: list[float] | None, names: list[tuple[str, Any]]) -> BuiltCase:
    from sklearn.ensemble import VotingRegressor

    return fitted(VotingRegressor([(name, make()) for name, make in names], weights=weights), "y")


def _soft_voting() -> BuiltCase:
    from sklearn.ensemble import VotingClassifier
    from sklearn.tree import DecisionTreeClassifier

    named = [("forest", class_forest()), ("left out", "drop"), ("tree", DecisionTreeClassifier(max_depth=3))]
    return fitted(VotingClassifier(named, voting="soft", weights=[1.0, 5.0, 2.0]), "classes", "predict_proba")


def _stacking(names: list[tuple[str, Any]]) -> BuiltCase:
    from sklearn.ensemble import StackingRegressor

    return fitted(StackingRegressor([(name, make()) for name, make in names], cv=2), "y")


def _stacked_classes(target: str, member: Callable[[], Any], how: str = "auto") -> BuiltCase:
    from sklearn.ensemble import StackingClassifier

    named = [("first", member()), ("second", member())]
    return fitted(StackingClassifier(named, cv=2, stack_method=how), target, "decision_function")


def _sampled_forest() -> Any:
    """A pipeline takes no weights, so that a bag has to give it fewer rows, and some of the classes may be missing."""
    from sklearn.pipeline import make_pipeline

    return make_pipeline(class_forest())


def _bag(kind: str, member: Callable[[], Any], target: str, method: str, **options: Any) -> BuiltCase:
    from sklearn import ensemble

    return fitted(getattr(ensemble, kind)(member(), n_estimators=3, random_state=7, **options), target, method)


def _scaled_target() -> BuiltCase:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return fitted(TransformedTargetRegressor(forest(), transformer=StandardScaler()), "pair")


def _log_target() -> BuiltCase:
    """The trees sum to the logarithm of the prediction."""
    from sklearn.compose import TransformedTargetRegressor

    given = data()
    model = TransformedTargetRegressor(forest(), func=np.log, inverse_func=np.exp)
    model.fit(given.X, 1.0 + np.abs(given.y))
    return BuiltCase(model, given.rows, lambda rows: columns_of(np.log(model.predict(rows))))


def _calibrated(method: str) -> BuiltCase:
    """Each fold has a score of its own, from which it computes a probability."""
    from sklearn.calibration import CalibratedClassifierCV

    model = CalibratedClassifierCV(class_forest(), method=method, cv=2)
    built = fitted(model, "binary", "predict_proba", gaps=False)
    return BuiltCase(
        model,
        built.X,
        lambda rows: np.column_stack(
            [fold.estimator.predict_proba(rows)[:, 1] for fold in model.calibrated_classifiers_]
        ),
    )


def _eliminated() -> BuiltCase:
    from sklearn.feature_selection import RFE

    return fitted(RFE(forest(), n_features_to_select=3), "y")


def _balanced(kind: str, target: str, method: str, **options: Any) -> BuiltCase:
    ensemble = pytest.importorskip("imblearn.ensemble")
    model = getattr(ensemble, kind)(random_state=7, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on what later versions will change
        return fitted(model, target, method, gaps=False)


_THREE: list[tuple[str, Any]] = [("forest", forest), ("xgboost", boosted), ("lightgbm", light)]

_SKLEARN: list[tuple[str, str, str, Callable[[], BuiltCase]]] = [
    ("grid-search", "GridSearchCV", "a forest", partial(_search, "GridSearchCV", [2, 3])),
    (
        "random-search",
        "RandomizedSearchCV",
        "a forest",
        partial(_search, "RandomizedSearchCV", [2, 3], n_iter=1, random_state=0),
    ),
    (
        "halving-search",
        "HalvingGridSearchCV",
        "a forest",
        partial(_search, "HalvingGridSearchCV", [2, 3], random_state=0),
    ),
    (
        "fixed-threshold",
        "FixedThresholdClassifier",
        "a forest",
        partial(_threshold, "FixedThresholdClassifier", threshold=0.3),
    ),
    (
        "tuned-threshold",
        "TunedThresholdClassifierCV",
        "a forest",
        partial(_threshold, "TunedThresholdClassifierCV", thresholds=5, cv=2),
    ),
    (
        "one-per-output",
        "MultiOutputRegressor",
        "forests",
        partial(_per_output, "MultiOutputRegressor", forest, "pair"),
    ),
    (
        "one-classifier-per-output",
        "MultiOutputClassifier",
        "forests",
        partial(_per_output, "MultiOutputClassifier", class_forest, "class_pair", "predict_proba"),
    ),
    ("one-classifier-per-output-scores", "MultiOutputClassifier", "boosting", _per_output_scores),
    ("one-vs-rest", "OneVsRestClassifier", "forests", _one_vs_rest_forests),
    (
        "one-vs-rest-labels",
        "OneVsRestClassifier",
        "forests, several labels",
        partial(_one_vs_rest, class_forest, "labels", "predict_proba"),
    ),
    (
        "one-vs-rest-scores",
        "OneVsRestClassifier",
        "boosting",
        partial(_one_vs_rest, hist_classifier, "classes", "decision_function"),
    ),
    ("soft-voting", "VotingClassifier", "forest and tree, weights, one dropped", _soft_voting),
    (
        "voting",
        "VotingRegressor",
        "forest and boosting",
        partial(_voting, None, [("forest", forest), ("boosting", hist)]),
    ),
    (
        "stacking",
        "StackingRegressor",
        "forest and LightGBM",
        partial(_stacking, [("forest", forest), ("lightgbm", light)]),
    ),
    (
        "stacked-classes",
        "StackingClassifier",
        "forests, two classes",
        partial(_stacked_classes, "binary", class_forest),
    ),
    (
        "stacked-scores",
        "StackingClassifier",
        "scores of boosting, three classes",
        partial(_stacked_classes, "classes", hist_classifier, "decision_function"),
    ),
    (
        "bagged-boosting",
        "BaggingRegressor",
        "boosting, some columns per member",
        partial(_bag, "BaggingRegressor", light, "y", "predict", max_features=3),
    ),
    (
        "bagged-forests",
        "BaggingClassifier",
        "forests that lack classes",
        partial(_bag, "BaggingClassifier", _sampled_forest, "classes", "predict_proba", max_samples=5),
    ),
    (
        "bagged-scores",
        "BaggingClassifier",
        "scores of boosting",
        partial(_bag, "BaggingClassifier", hist_classifier, "binary", "decision_function"),
    ),
    ("eliminated", "RFE", "a forest", _eliminated),
    ("scaled-target", "TransformedTargetRegressor", "scaled target, multi-output", _scaled_target),
    ("log-target", "TransformedTargetRegressor", "log of the target", _log_target),
    ("calibrated", "CalibratedClassifierCV", "sigmoid, two classes", partial(_calibrated, "sigmoid")),
    ("calibrated-isotonic", "CalibratedClassifierCV", "isotonic, two classes", partial(_calibrated, "isotonic")),
]

_BALANCED: list[tuple[str, str, str, Callable[[], BuiltCase]]] = [
    (
        "balanced-forest",
        "BalancedRandomForestClassifier",
        "three classes",
        partial(
            _balanced,
            "BalancedRandomForestClassifier",
            "classes",
            "predict_proba",
            n_estimators=3,
            max_depth=3,
            sampling_strategy="all",
            replacement=True,
            bootstrap=False,
        ),
    ),
    (
        "balanced-bagging",
        "BalancedBaggingClassifier",
        "trees, three classes",
        partial(_balanced, "BalancedBaggingClassifier", "classes", "predict_proba", n_estimators=3),
    ),
    (
        "easy-ensemble",
        "EasyEnsembleClassifier",
        "mean of scores",
        partial(_balanced, "EasyEnsembleClassifier", "binary", "decision_function", n_estimators=2),
    ),
    (
        "rusboost",
        "RUSBoostClassifier",
        "two classes",
        partial(_balanced, "RUSBoostClassifier", "binary", "decision_function", n_estimators=4),
    ),
]

CASES = [
    *(Case(f"wrapper-{name}", "sklearn", kind, what, build) for name, kind, what, build in _SKLEARN),
    *(Case(f"wrapper-{name}", "imblearn", kind, what, build) for name, kind, what, build in _BALANCED),
    Case(
        "wrapper-one-per-output-xgboost",
        "sklearn",
        "MultiOutputRegressor",
        "XGBoost",
        partial(_per_output, "MultiOutputRegressor", boosted, "pair"),
        tolerance=2e-5,
    ),
    Case(
        "wrapper-voting-libraries",
        "sklearn",
        "VotingRegressor",
        "forest, XGBoost and LightGBM, weights",
        partial(_voting, [1.0, 2.0, 0.5], _THREE),
        tolerance=2e-5,
    ),
]
