"""scikit-learn: single trees, forests, bagging, boosting and isolation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support.models.case import BuiltCase, Case, columns_of, data


def _fit(kind: str, target: str | None, method: str = "predict", gaps: bool = True, **options: Any) -> BuiltCase:
    from sklearn import ensemble, tree

    given = data(gaps=gaps)
    unfitted = (getattr(ensemble, kind, None) or getattr(tree, kind))(random_state=7, **options)
    try:
        model = unfitted.fit(given.X, None if target is None else getattr(given, target))
    except ValueError as error:
        if not gaps or "NaN" not in str(error):
            raise
        # Each version of scikit-learn takes missing values in more models than the one before.
        return _fit(kind, target, method, gaps=False, **options)
    return BuiltCase(model, given.rows, lambda rows: columns_of(getattr(model, method)(rows)))


def _bagging(kind: str, target: str, method: str, **options: Any) -> BuiltCase:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    tree = DecisionTreeRegressor if kind == "BaggingRegressor" else DecisionTreeClassifier
    return _fit(kind, target, method, estimator=tree(max_depth=3), n_estimators=5, **options)


def _log_hist() -> BuiltCase:
    from sklearn.ensemble import HistGradientBoostingRegressor

    given = data()
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=5, max_depth=3).fit(given.X, abs(given.y))
    return BuiltCase(model, given.rows, lambda rows: columns_of(np.log(model.predict(rows))))


def _isolation() -> BuiltCase:
    """Recover the path length from the score, by the formula of its inventors."""
    built = _fit("IsolationForest", None, "score_samples", n_estimators=5, max_samples=40, max_features=3)

    def path_length(rows: NDArray[Any]) -> NDArray[np.float64]:
        n = 40
        expected = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
        return np.asarray(-np.log2(-built.raw_predict(rows)) * expected)

    return BuiltCase(built.model, built.X, path_length)


def _adaboost(target: str, depth: int) -> BuiltCase:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=depth)
    return _fit("AdaBoostClassifier", target, "decision_function", gaps=False, estimator=tree, n_estimators=4)


_HIST: dict[str, Any] = {"max_iter": 5, "max_depth": 3, "min_samples_leaf": 5}
_FOREST: dict[str, Any] = {"n_estimators": 5, "max_depth": 3}
_BOOSTING: dict[str, Any] = {"n_estimators": 5, "max_depth": 3, "gaps": False}

CASES = [
    Case(f"sklearn-{name}", "sklearn", kind, what, build)
    for name, kind, what, build in (
        (
            "tree-regressor",
            "DecisionTreeRegressor",
            "regression",
            partial(_fit, "DecisionTreeRegressor", "y", max_depth=4),
        ),
        (
            "tree-classifier-weighted",
            "DecisionTreeClassifier",
            "class weights",
            partial(
                _fit,
                "DecisionTreeClassifier",
                "classes",
                "predict_proba",
                max_depth=4,
                class_weight={0: 1.0, 1: 5.0, 2: 0.5},
            ),
        ),
        (
            "extra-tree-regressor",
            "ExtraTreeRegressor",
            "multi-output",
            partial(_fit, "ExtraTreeRegressor", "pair", max_depth=4),
        ),
        (
            "extra-tree-classifier",
            "ExtraTreeClassifier",
            "multi-output classes",
            partial(_fit, "ExtraTreeClassifier", "class_pair", "predict_proba", max_depth=4),
        ),
        (
            "forest-regressor",
            "RandomForestRegressor",
            "regression",
            partial(_fit, "RandomForestRegressor", "y", **_FOREST),
        ),
        (
            "forest-regressor-outputs",
            "RandomForestRegressor",
            "multi-output",
            partial(_fit, "RandomForestRegressor", "pair", **_FOREST),
        ),
        (
            "forest-classifier",
            "RandomForestClassifier",
            "multi-class",
            partial(_fit, "RandomForestClassifier", "classes", "predict_proba", **_FOREST),
        ),
        (
            "extra-regressor",
            "ExtraTreesRegressor",
            "regression",
            partial(_fit, "ExtraTreesRegressor", "y", **_FOREST),
        ),
        (
            "extra-classifier",
            "ExtraTreesClassifier",
            "binary",
            partial(_fit, "ExtraTreesClassifier", "binary", "predict_proba", **_FOREST),
        ),
        (
            "boosting-regressor",
            "GradientBoostingRegressor",
            "constant start",
            partial(_fit, "GradientBoostingRegressor", "y", **_BOOSTING),
        ),
        (
            "boosting-zero",
            "GradientBoostingRegressor",
            "zero start",
            partial(_fit, "GradientBoostingRegressor", "y", init="zero", **_BOOSTING),
        ),
        (
            "boosting-binary",
            "GradientBoostingClassifier",
            "binary",
            partial(_fit, "GradientBoostingClassifier", "binary", "decision_function", **_BOOSTING),
        ),
        (
            "boosting-multiclass",
            "GradientBoostingClassifier",
            "multi-class",
            partial(_fit, "GradientBoostingClassifier", "classes", "decision_function", **_BOOSTING),
        ),
        (
            "hist-regressor",
            "HistGradientBoostingRegressor",
            "regression",
            partial(_fit, "HistGradientBoostingRegressor", "y", **_HIST),
        ),
        (
            "hist-categorical",
            "HistGradientBoostingRegressor",
            "categories",
            partial(_fit, "HistGradientBoostingRegressor", "y", categorical_features=[3], **_HIST),
        ),
        ("hist-poisson", "HistGradientBoostingRegressor", "log link", _log_hist),
        (
            "hist-multiclass",
            "HistGradientBoostingClassifier",
            "multi-class, categories",
            partial(
                _fit,
                "HistGradientBoostingClassifier",
                "classes",
                "decision_function",
                categorical_features=[3],
                **_HIST,
            ),
        ),
        ("isolation", "IsolationForest", "path length, some columns per tree", _isolation),
        (
            "bagging-regressor",
            "BaggingRegressor",
            "some columns per tree",
            partial(_bagging, "BaggingRegressor", "y", "predict", max_features=3),
        ),
        (
            "bagging-classifier",
            "BaggingClassifier",
            "some columns per tree",
            partial(_bagging, "BaggingClassifier", "classes", "predict_proba", max_features=3),
        ),
        ("adaboost", "AdaBoostClassifier", "two classes", partial(_adaboost, "binary", 1)),
        ("adaboost-classes", "AdaBoostClassifier", "three classes", partial(_adaboost, "classes", 2)),
    )
]
