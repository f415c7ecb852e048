"""Models of further boosting and causal libraries, which are tested in an environment of their own.

A case whose library is not installed is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.models.case import BuiltCase, Case, columns_of, data

Predict = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def gpboost_trained(target: NDArray[Any], *, groups: bool = False, **options: Any) -> Any:
    gpboost = pytest.importorskip("gpboost")
    given = data()
    effects = np.arange(len(target)) % 7
    extra = {"gp_model": gpboost.GPModel(group_data=effects, likelihood="gaussian")} if groups else {}
    options = {"verbose": -1, "num_threads": 1, "num_leaves": 5, "min_data_in_leaf": 5, **options}
    return gpboost.train(options, gpboost.Dataset(given.X, target), 4, **extra)


def _gpboost(target: str, **options: Any) -> BuiltCase:
    booster = gpboost_trained(getattr(data(), target), **options)
    return BuiltCase(
        booster, data().rows, lambda rows: columns_of(booster.predict(rows, pred_latent=True, ignore_gp_model=True))
    )


def _gpboost_estimator(kind: str, target: str) -> BuiltCase:
    gpboost = pytest.importorskip("gpboost")
    given = data()
    model = getattr(gpboost, kind)(n_estimators=3, num_leaves=4, silent=True).fit(given.X, getattr(given, target))
    raw = partial(model.booster_.predict, pred_latent=True, ignore_gp_model=True)
    return BuiltCase(model, given.rows, lambda rows: columns_of(raw(rows)))


def treatments() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Two treatments and a control, and outcomes that they change in some rows."""
    given = data(gaps=False)
    treatment = np.arange(len(given.y)) % 3
    gain = np.where(given.X[:, 1] > 0.2, 2.0, -0.5) * (treatment == 1) + np.sign(given.X[:, 0]) * (treatment == 2)
    return treatment, np.asarray(given.y + gain)


def causal(kind: str, *, both: bool, **options: Any) -> Any:
    tree = pytest.importorskip("causalml.inference.tree")
    given = data(gaps=False)
    treatment, outcome = treatments()
    kept = np.ones(len(outcome), np.bool_) if both else treatment < 2
    is_uplift = kind.startswith("Uplift")
    model = getattr(tree, kind)(
        control_name="none" if is_uplift else 0, max_depth=3, min_samples_leaf=8, random_state=7, **options
    )
    if is_uplift:
        names = np.array(["none", "mail", "call"])[treatment]
        model.fit(given.X[kept], treatment=names[kept], y=(outcome > 1).astype(int)[kept])
    else:
        model.fit(X=given.X[kept], treatment=treatment[kept], y=outcome[kept])
    return model


def _causal(kind: str, *, both: bool, **options: Any) -> BuiltCase:
    model = causal(kind, both=both, **options)

    def effects(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        predicted = columns_of(model.predict(rows))
        return predicted[:, 1:] - predicted[:, :1] if kind == "UpliftTreeClassifier" else predicted

    return BuiltCase(model, data(gaps=False).rows, effects)


def ydf_columns(X: NDArray[np.float64], categories: bool = False) -> dict[str, NDArray[Any]]:
    """Return columns as YDF takes them; one may hold categories, where an empty text is missing."""
    columns: dict[str, NDArray[Any]] = {f"x{j}": X[:, j].astype(np.float32) for j in range(5)}
    if categories:
        columns["x3"] = np.array(["" if np.isnan(code) else str(int(code)) for code in X[:, 3]])
    return columns


def ydf_trained(learner: str, target: NDArray[Any], categories: bool = False, **options: Any) -> Any:
    ydf = pytest.importorskip("ydf")
    task = ydf.Task.CLASSIFICATION if target.dtype.kind == "i" else ydf.Task.REGRESSION
    options = {"max_depth": 4, "min_examples": 5, **options}
    columns = ydf_columns(data().X, categories)
    return getattr(ydf, learner)(label="y", task=task, **options).train({**columns, "y": target}, verbose=0)


def _ydf(learner: str, target: str, categories: bool = False, **options: Any) -> BuiltCase:
    special: dict[str, NDArray[Any]] = {
        "counts": np.round(np.exp(0.3 * data().y)),
        "gaps": data().y + 9.0 * np.isnan(data().X[:, 0]),
    }
    values = special[target] if target in special else getattr(data(), target)
    model = ydf_trained(learner, values, categories, **options)
    scores = target in ("binary", "classes") and learner == "GradientBoostedTreesLearner"

    def raw(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = ydf_columns(rows, categories)
        if target == "counts":
            return columns_of(np.log(model.predict(columns).astype(np.float64)))
        if scores:
            model.set_output_logits(True)
        predicted = np.asarray(model.predict(columns), np.float64)
        if scores:
            model.set_output_logits(False)
        if target == "binary" and not scores:
            predicted = np.stack([1.0 - predicted, predicted], axis=1)
        return columns_of(predicted)

    return BuiltCase(model, data().X[:60].astype(np.float32).astype(np.float64), raw)


def perpetual_trained(kind: str, target: NDArray[Any], **options: Any) -> Any:
    perpetual = pytest.importorskip("perpetual")
    model = getattr(perpetual, kind)(budget=0.1, num_threads=1, iteration_limit=6, **options)
    model.fit(data().X, target)
    return model


def _perpetual(kind: str, target: str, **options: Any) -> BuiltCase:
    model = perpetual_trained(kind, getattr(data(), target), **options)
    predict = model.predict if target == "y" else model.predict_log_proba
    return BuiltCase(model, data().rows, lambda rows: columns_of(predict(rows)))


def _perpetual_categories(kind: str, target: str, **options: Any) -> BuiltCase:
    perpetual, pandas = pytest.importorskip("perpetual"), pytest.importorskip("pandas")

    def frame(rows: NDArray[np.float64]) -> Any:
        columns = {f"x{j}": rows[:, j] for j in range(5)}
        texts = [None if np.isnan(code) else str(int(code)) for code in rows[:, 3]]
        return pandas.DataFrame({**columns, "x3": pandas.Categorical(texts)})

    model = getattr(perpetual, kind)(budget=0.1, num_threads=1, iteration_limit=6, **options)
    model.fit(frame(data().X), getattr(data(), target))
    predict = model.predict if target == "y" else model.predict_log_proba
    return BuiltCase(model, data().rows, lambda rows: columns_of(predict(frame(rows))))


_CAUSAL: dict[str, Any] = {"min_group_samples": 5, "min_samples_split": 12}
_SOME: dict[str, Any] = {"n_estimators": 3}
_TREES: dict[str, Any] = {"num_trees": 4}
_BOOSTING = "GradientBoostedTreesLearner"
_FOREST = "RandomForestLearner"
CASES = [
    Case(f"other-{name}", library, kind, what, build, tolerance)
    for name, library, kind, what, build, tolerance in (
        ("gpboost", "gpboost", "Booster", "boosting", partial(_gpboost, "y"), 1e-9),
        (
            "gpboost-mixed",
            "gpboost",
            "Booster",
            "fixed effects of a mixed model",
            partial(_gpboost, "y", groups=True),
            1e-9,
        ),
        (
            "gpboost-classes",
            "gpboost",
            "Booster",
            "multi-class",
            partial(_gpboost, "classes", objective="multiclass", num_class=3),
            1e-9,
        ),
        (
            "gpboost-regressor",
            "gpboost",
            "GPBoostRegressor",
            "boosting",
            partial(_gpboost_estimator, "GPBoostRegressor", "y"),
            1e-9,
        ),
        (
            "gpboost-classifier",
            "gpboost",
            "GPBoostClassifier",
            "binary",
            partial(_gpboost_estimator, "GPBoostClassifier", "binary"),
            1e-9,
        ),
        (
            "causal-tree",
            "causalml",
            "CausalTreeRegressor",
            "two treatments",
            partial(_causal, "CausalTreeRegressor", both=True, honesty=True, **_CAUSAL),
            1e-9,
        ),
        (
            "causal-forest",
            "causalml",
            "CausalRandomForestRegressor",
            "one treatment",
            partial(_causal, "CausalRandomForestRegressor", both=False, **_CAUSAL, **_SOME),
            1e-9,
        ),
        (
            "uplift-tree",
            "causalml",
            "UpliftTreeClassifier",
            "two treatments",
            partial(_causal, "UpliftTreeClassifier", both=True),
            1e-9,
        ),
        (
            "uplift-forest",
            "causalml",
            "UpliftRandomForestClassifier",
            "one treatment",
            partial(_causal, "UpliftRandomForestClassifier", both=False, **_SOME),
            1e-9,
        ),
        ("ydf-boosting", "ydf", "GradientBoostedTreesModel", "boosting", partial(_ydf, _BOOSTING, "y", **_TREES), 2e-6),
        (
            "ydf-boosting-missing",
            "ydf",
            "GradientBoostedTreesModel",
            "tests of missing values",
            partial(_ydf, _BOOSTING, "gaps", allow_na_conditions=True, discretize_numerical_columns=True, **_TREES),
            2e-6,
        ),
        (
            "ydf-binary",
            "ydf",
            "GradientBoostedTreesModel",
            "binary",
            partial(_ydf, _BOOSTING, "binary", **_TREES),
            2e-6,
        ),
        (
            "ydf-classes",
            "ydf",
            "GradientBoostedTreesModel",
            "multi-class",
            partial(_ydf, _BOOSTING, "classes", **_TREES),
            2e-6,
        ),
        (
            "ydf-counts",
            "ydf",
            "GradientBoostedTreesModel",
            "Poisson",
            partial(_ydf, _BOOSTING, "counts", loss="POISSON", **_TREES),
            2e-6,
        ),
        (
            "ydf-boosting-categories",
            "ydf",
            "GradientBoostedTreesModel",
            "categories",
            partial(_ydf, _BOOSTING, "y", categories=True, min_vocab_frequency=1, **_TREES),
            2e-6,
        ),
        (
            "ydf-forest-categories",
            "ydf",
            "RandomForestModel",
            "multi-class, categories",
            partial(_ydf, _FOREST, "classes", categories=True, **_TREES),
            2e-6,
        ),
        ("ydf-forest", "ydf", "RandomForestModel", "forest", partial(_ydf, _FOREST, "y", **_TREES), 2e-6),
        (
            "ydf-forest-votes",
            "ydf",
            "RandomForestModel",
            "multi-class, votes",
            partial(_ydf, _FOREST, "classes", **_TREES),
            2e-6,
        ),
        (
            "ydf-forest-fractions",
            "ydf",
            "RandomForestModel",
            "binary, fractions",
            partial(_ydf, _FOREST, "binary", winner_take_all=False, **_TREES),
            2e-6,
        ),
        ("ydf-tree", "ydf", "RandomForestModel", "single tree", partial(_ydf, "CartLearner", "y"), 2e-6),
        (
            "perpetual",
            "perpetual",
            "PerpetualBooster",
            "boosting",
            partial(_perpetual, "PerpetualBooster", "y", objective="SquaredLoss"),
            1e-6,
        ),
        (
            "perpetual-classes",
            "perpetual",
            "PerpetualBooster",
            "multi-class",
            partial(_perpetual, "PerpetualBooster", "classes", objective="LogLoss"),
            1e-6,
        ),
        (
            "perpetual-regressor",
            "perpetual",
            "PerpetualRegressor",
            "boosting",
            partial(_perpetual, "PerpetualRegressor", "y"),
            1e-6,
        ),
        (
            "perpetual-categories",
            "perpetual",
            "PerpetualRegressor",
            "categories",
            partial(_perpetual_categories, "PerpetualRegressor", "y"),
            1e-6,
        ),
        (
            "perpetual-classifier-categories",
            "perpetual",
            "PerpetualClassifier",
            "categories",
            partial(_perpetual_categories, "PerpetualClassifier", "binary"),
            1e-6,
        ),
        (
            "perpetual-classifier",
            "perpetual",
            "PerpetualClassifier",
            "binary",
            partial(_perpetual, "PerpetualClassifier", "binary"),
            1e-6,
        ),
    )
]
