"""Models of libraries that are tested in an environment of their own, and dictionaries of trees.

A case whose library is not installed is skipped.
"""

from __future__ import annotations

import atexit
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.models.case import BuiltCase, Case, columns_of, data

_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)
_FOREST: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "random_state": 7}


def lifetimes() -> Any:
    """Times that depend on the columns, a third of them censored."""
    given = data()
    time = np.round(np.exp(0.3 * given.y) * np.random.default_rng(1).exponential(size=len(given.y)), 1) + 1.1
    return pytest.importorskip("sksurv.util").Surv.from_arrays(np.arange(len(time)) % 3 > 0, time)


def _survival(kind: str, gaps: bool = True, **options: Any) -> BuiltCase:
    module = pytest.importorskip("sksurv.tree" if kind.endswith("Tree") else "sksurv.ensemble")
    given = data(gaps=gaps)
    model = getattr(module, kind)(**options).fit(given.X, lifetimes())
    return BuiltCase(model, given.rows, lambda rows: columns_of(model.predict(rows)))


def _survival_times() -> BuiltCase:
    built = _survival("GradientBoostingSurvivalAnalysis", gaps=False, loss="ipcwls", **_FOREST)
    return BuiltCase(built.model, built.X, lambda rows: np.log(built.raw_predict(rows)))


def _curve(curve: str) -> BuiltCase:
    from arborshap import survival_curve

    forest = _survival("RandomSurvivalForest", **_FOREST).model
    at = [3, 10, 25]
    predict = getattr(forest, f"predict_{curve}_function")
    model = survival_curve(forest, forest.unique_times_[at], curve=curve)  # type: ignore[arg-type]
    return BuiltCase(model, data().rows, lambda rows: predict(rows, return_array=True)[:, at])


def _ngboost(kind: str, target: str, **options: Any) -> BuiltCase:
    ngboost = pytest.importorskip("ngboost")
    given = data(gaps=False)
    if "classes" in options:
        options["Dist"] = ngboost.distns.k_categorical(options.pop("classes"))
    model = getattr(ngboost, kind)(n_estimators=5, verbose=False, random_state=7, **options)
    fitted = model.fit(given.X, getattr(given, target))
    return BuiltCase(fitted, given.rows, lambda rows: columns_of(fitted.pred_param(rows)))


def _ngboost_survival() -> BuiltCase:
    ngboost = pytest.importorskip("ngboost")
    given = data(gaps=False)
    model = ngboost.NGBSurvival(n_estimators=5, verbose=False, random_state=7)
    model.fit(given.X, np.exp(0.3 * given.y), (np.arange(len(given.y)) % 3 > 0).astype(int))
    return BuiltCase(model, given.rows, lambda rows: columns_of(model.pred_param(rows)))


def _pyod() -> BuiltCase:
    pyod = pytest.importorskip("pyod.models.iforest")
    given = data(gaps=False)
    model = pyod.IForest(n_estimators=5, max_samples=40, random_state=7).fit(given.X)

    def path_length(rows: NDArray[Any]) -> NDArray[np.float64]:
        """Recover the path length from pyod's own score, by the formula of the inventors of the score."""
        n = 40
        expected = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
        score = model.decision_function(rows) - model.detector_.offset_
        return columns_of(-np.log2(score) * expected)

    return BuiltCase(model, given.rows, path_length)


def _quantile_forest(kind: str, target: str, **options: Any) -> BuiltCase:
    quantile_forest = pytest.importorskip("quantile_forest")
    given = data(gaps=False)
    model = getattr(quantile_forest, kind)(default_quantiles="mean", **_FOREST, **options)
    model.fit(given.X, getattr(given, target))
    return BuiltCase(model, given.rows, lambda rows: columns_of(model.predict(rows)))


def _onnx(kind: str, target: str, *, live: bool = False, **options: Any) -> BuiltCase:
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    from sklearn import ensemble

    given = data(gaps=False)
    model = getattr(ensemble, kind)(random_state=7, **options).fit(given.X, getattr(given, target))
    sample = given.X[:1].astype(np.float32)
    ignored = {"options": {id(model): {"zipmap": False}}} if "Classifier" in kind else {}
    converted = skl2onnx.to_onnx(model, sample, **ignored)
    session = runtime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])

    def raw(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return columns_of(session.run(None, {"X": rows.astype(np.float32)})[-1])

    if live:
        return BuiltCase(converted, given.rows, raw)
    path = Path(_folder.name) / f"{kind}-{target}.onnx"
    path.write_bytes(converted.SerializeToString())
    return BuiltCase(path, given.rows, raw)


def dictionary() -> dict[str, Any]:
    """Two trees over five columns in the form of shap, with two outputs."""
    tree = {
        "children_left": np.array([1, -1, 3, -1, -1]),
        "children_right": np.array([2, -1, 4, -1, -1]),
        "children_default": np.array([2, -1, 3, -1, -1]),
        "features": np.array([0, -1, 4, -1, -1]),
        "thresholds": np.array([0.1, 0, -0.3, 0, 0]),
        "values": np.array([[0.0, 0], [1, -2], [0, 0], [3, 0.5], [-1, 4]]),
        "node_sample_weight": np.array([10.0, 4, 6, 1, 5]),
    }
    other = {**tree, "features": np.array([2, -1, 1, -1, -1]), "thresholds": np.array([0.5, 0, 0.25, 0, 0])}
    return {"trees": [tree, other], "base_offset": np.array([0.5, -1.0]), "tree_output": "raw_value"}


def _dictionary() -> BuiltCase:
    model = dictionary()

    def predict(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.tile(model["base_offset"], (len(rows), 1))
        for row, x in enumerate(rows):
            for tree in model["trees"]:
                node = 0
                while tree["children_left"][node] != -1:
                    value = x[tree["features"][node]]
                    side = "default" if np.isnan(value) else "left" if value <= tree["thresholds"][node] else "right"
                    node = tree[f"children_{side}"][node]
                total[row] += tree["values"][node]
        return total

    return BuiltCase(model, data().rows, predict)


_BOOSTING: dict[str, Any] = {"n_estimators": 4, "max_depth": 3}
CASES = [
    *(
        Case(f"other-{name}", library, kind, what, build)
        for name, library, kind, what, build in (
            ("survival-tree", "sksurv", "SurvivalTree", "risk", partial(_survival, "SurvivalTree", max_depth=3)),
            (
                "extra-survival-tree",
                "sksurv",
                "ExtraSurvivalTree",
                "risk",
                partial(_survival, "ExtraSurvivalTree", gaps=False, max_depth=3, random_state=7),
            ),
            (
                "survival-forest",
                "sksurv",
                "RandomSurvivalForest",
                "risk",
                partial(_survival, "RandomSurvivalForest", **_FOREST),
            ),
            (
                "survival-forest-low-memory",
                "sksurv",
                "RandomSurvivalForest",
                "risk, low memory",
                partial(_survival, "RandomSurvivalForest", low_memory=True, **_FOREST),
            ),
            ("survival-curve", "sksurv", "RandomSurvivalForest", "survival by time", partial(_curve, "survival")),
            (
                "hazard-curve",
                "sksurv",
                "RandomSurvivalForest",
                "cumulative hazard by time",
                partial(_curve, "cumulative_hazard"),
            ),
            (
                "extra-survival-trees",
                "sksurv",
                "ExtraSurvivalTrees",
                "risk",
                partial(_survival, "ExtraSurvivalTrees", gaps=False, **_FOREST),
            ),
            (
                "survival-boosting",
                "sksurv",
                "GradientBoostingSurvivalAnalysis",
                "Cox",
                partial(_survival, "GradientBoostingSurvivalAnalysis", gaps=False, **_FOREST),
            ),
            (
                "survival-boosting-dropout",
                "sksurv",
                "GradientBoostingSurvivalAnalysis",
                "dropout",
                partial(_survival, "GradientBoostingSurvivalAnalysis", gaps=False, dropout_rate=0.4, **_FOREST),
            ),
            ("survival-boosting-times", "sksurv", "GradientBoostingSurvivalAnalysis", "times", _survival_times),
            ("ngboost", "ngboost", "NGBRegressor", "normal", partial(_ngboost, "NGBRegressor", "y", col_sample=0.6)),
            ("ngboost-binary", "ngboost", "NGBClassifier", "binary", partial(_ngboost, "NGBClassifier", "binary")),
            (
                "ngboost-classes",
                "ngboost",
                "NGBClassifier",
                "multi-class",
                partial(_ngboost, "NGBClassifier", "classes", classes=3),
            ),
            ("ngboost-survival", "ngboost", "NGBSurvival", "log-normal", _ngboost_survival),
            ("pyod", "pyod", "IForest", "path length", _pyod),
            (
                "quantile-forest",
                "quantile_forest",
                "RandomForestQuantileRegressor",
                "mean",
                partial(_quantile_forest, "RandomForestQuantileRegressor", "y", monotonic_cst=[1, 0, 0, 0, 0]),
            ),
            (
                "extra-quantile-forest",
                "quantile_forest",
                "ExtraTreesQuantileRegressor",
                "mean, multi-output",
                partial(_quantile_forest, "ExtraTreesQuantileRegressor", "pair"),
            ),
            ("dictionary", "shap", "dictionary of trees", "multi-output", _dictionary),
        )
    ),
    *(
        Case(f"other-onnx-{name}", "onnx", kind, what, build, 2e-6)
        for name, kind, what, build in (
            ("forest", "saved .onnx", "forest", partial(_onnx, "RandomForestRegressor", "y", **_BOOSTING)),
            (
                "boosting",
                "saved .onnx",
                "boosting",
                partial(_onnx, "GradientBoostingRegressor", "y", **_BOOSTING),
            ),
            (
                "classes",
                "saved .onnx",
                "multi-class forest",
                partial(_onnx, "ExtraTreesClassifier", "classes", **_BOOSTING),
            ),
            (
                "outputs",
                "saved .onnx",
                "multi-output",
                partial(_onnx, "RandomForestRegressor", "pair", **_BOOSTING),
            ),
            (
                "live",
                "ModelProto",
                "forest",
                partial(_onnx, "ExtraTreesRegressor", "y", live=True, **_BOOSTING),
            ),
        )
    ),
]
