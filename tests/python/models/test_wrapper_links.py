"""Wrappers whose prediction is a function of sums of trees: transformed targets and calibrated probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from arborshap import TreeExplainer
from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.models import load
from arborshap.models.margin_functions import MarginFunction, Step
from support.models.case import columns_of, data
from support.models.wrapper_cases import boosted, class_forest, forest, hist, hist_classifier, light_classifier
from support.oracle import shapley, worths

GIVEN = data(gaps=False)
X, Z = GIVEN.rows[:4], GIVEN.rows[10:22]
Array = NDArray[np.float64]
Score = Callable[[Array], Array]
OUTPUTS: tuple[Literal["prediction"], Literal["probability"]] = ("prediction", "probability")


def asked(method: Callable[..., Any], **options: Any) -> Score:
    """The second column of what a method returns, or the only one."""
    return lambda rows: columns_of(method(rows, **options))[:, -1]


def apart(scores: list[Score]) -> Array:
    """Choose background rows whose scores differ from those of all rows; equal scores have no slope between them."""
    gaps = [np.abs(np.subtract.outer(score(GIVEN.X), score(X))).min(axis=1) for score in scores]
    return np.asarray(GIVEN.X[np.min(gaps, axis=0) > 1e-3][:8])


def rescaled(scores: list[Score], probabilities: list[Score], Z: Array) -> Array:
    """Rescale the values of every pair, played through the library's own scores, and average over pairs and scores."""
    total = np.zeros(X.shape)
    for score, probability in zip(scores, probabilities, strict=True):
        for z in Z:
            values = shapley(worths(score, X, z[np.newaxis]))[..., 0]
            gap = score(X) - score(z[np.newaxis])
            rise = probability(X) - probability(z[np.newaxis])
            total += values * (rise / gap)[:, np.newaxis]
    return total / (len(Z) * len(scores))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_folds", [1, 3])
def test_calibrated_probabilities(method: str, n_folds: int) -> None:
    from sklearn.calibration import CalibratedClassifierCV

    options: dict[str, Any] = {"ensemble": False, "cv": 2} if n_folds == 1 else {"cv": n_folds}
    for member in (hist_classifier(), light_classifier(min_child_samples=1, learning_rate=0.3)):
        model = CalibratedClassifierCV(member, method=method, **options)
        model.fit(GIVEN.X, GIVEN.binary)
        folds = model.calibrated_classifiers_
        assert len(folds) == n_folds
        scores = [
            asked(fold.estimator.decision_function)
            if hasattr(fold.estimator, "decision_function")
            else asked(fold.estimator.predict, raw_score=True)
            for fold in folds
        ]
        chances = [asked(fold.predict_proba) for fold in folds]
        background = apart(scores)
        assert len(background) > 4
        for output in OUTPUTS:
            explainer = TreeExplainer(model, background, model_output=output)
            found = explainer(X)
            total = found.values.sum(axis=1) + found.base_values
            np.testing.assert_allclose(total, model.predict_proba(X)[:, 1], rtol=0, atol=1e-9)
            np.testing.assert_allclose(found.values, rescaled(scores, chances, background), rtol=0, atol=1e-9)
            again = TreeExplainer.from_bytes(explainer.to_bytes())
            np.testing.assert_array_equal(again.shap_values(X), found.values)


def test_isotonic_calibration_that_rests_on_rounding_is_refused() -> None:
    from sklearn.calibration import CalibratedClassifierCV

    member = hist_classifier(max_leaf_nodes=None, min_samples_leaf=1).set_params(max_depth=None)
    model = CalibratedClassifierCV(member, method="isotonic", cv=3).fit(GIVEN.X, GIVEN.binary)
    points = np.array(model.calibrated_classifiers_[0].calibrators[0].X_thresholds_)
    assert 0.0 < np.diff(points).min() < 1e-12, "two sums of the same leaves that differ by rounding alone"
    TreeExplainer(model, Z).shap_values(X)
    with pytest.raises(UnsupportedModelError, match="equal up to rounding"):
        TreeExplainer(model, Z, model_output="prediction")


def test_calibrated_folds_are_the_raw_outputs() -> None:
    from sklearn.calibration import CalibratedClassifierCV

    model = CalibratedClassifierCV(class_forest(), cv=3).fit(GIVEN.X, GIVEN.binary)
    explainer = TreeExplainer(model, Z)
    assert explainer.output_names == ["fold 0", "fold 1", "fold 2"]
    assert TreeExplainer(model, Z, model_output="prediction").output_names is None


def test_calibration_that_cannot_be_explained() -> None:
    from sklearn.calibration import CalibratedClassifierCV

    model = CalibratedClassifierCV(class_forest(), cv=2).fit(GIVEN.X, GIVEN.classes)
    with pytest.raises(UnsupportedModelError, match=r"calibrates 3 classes one by one and divides by their sum"):
        load(model)
    model = CalibratedClassifierCV(class_forest(), cv=2, method="temperature")
    try:
        model.fit(GIVEN.X, GIVEN.binary)
    except ValueError:
        pytest.skip("this version of scikit-learn has no temperature scaling")
    with pytest.raises(UnsupportedModelError, match=r"its method is 'temperature'"):
        load(model)


@pytest.mark.parametrize(
    ("func", "inverse"),
    [
        (np.log, np.exp),
        (np.log1p, np.expm1),
        (np.log2, np.exp2),
        (np.log10, lambda t: 10.0**t),
        (np.log1p, lambda t: np.exp(t) - 1.0),
    ],
)
def test_transformed_targets_in_their_own_unit(func: Any, inverse: Any) -> None:
    from sklearn.compose import TransformedTargetRegressor

    target = 1.0 + np.abs(GIVEN.y)
    deep = forest().set_params(max_depth=None)  # hardly two rows have the same prediction
    for member, tolerance in ((deep, 1e-9), (boosted(objective="count:poisson"), 1e-6)):
        model = TransformedTargetRegressor(member, func=func, inverse_func=inverse).fit(GIVEN.X, target)
        found = TreeExplainer(model, Z, model_output="prediction")(X)
        total = found.values.sum(axis=1) + found.base_values
        np.testing.assert_allclose(total, model.predict(X), rtol=tolerance, atol=0)
        if member is deep:
            inner: list[Score] = [model.regressor_.predict]
            np.testing.assert_allclose(found.values, rescaled(inner, [model.predict], Z), rtol=0, atol=1e-9)


def test_a_transformed_target_around_a_pipeline() -> None:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    target = 1.0 + np.abs(GIVEN.y)
    frame = pd.DataFrame(GIVEN.X, columns=list("abcde"))
    inner = make_pipeline(StandardScaler(), forest())
    scaled = TransformedTargetRegressor(inner, transformer=StandardScaler())
    logged = TransformedTargetRegressor(inner, func=np.log, inverse_func=np.exp)
    for model in (scaled, logged, GridSearchCV(logged, {"regressor__randomforestregressor__max_depth": [2, 3]}, cv=2)):
        model.fit(frame, target)
        explainer = TreeExplainer(model, frame[:20], model_output="prediction")
        assert explainer.feature_names == list("abcde")
        found = explainer(frame[:5])
        total = found.values.sum(axis=1) + found.base_values
        np.testing.assert_allclose(total, model.predict(frame[:5]), rtol=1e-9)
    # A target that is only shifted and scaled has the values of the definition, in raw columns.
    worth = worths(lambda rows: columns_of(scaled.predict(pd.DataFrame(rows, columns=list("abcde")))), X, Z)
    background = pd.DataFrame(Z, columns=list("abcde"))
    values = TreeExplainer(scaled, background).shap_values(pd.DataFrame(X, columns=list("abcde")))
    np.testing.assert_allclose(values, shapley(worth)[..., 0], rtol=0, atol=1e-9)


def test_slopes_between_points_of_a_table() -> None:
    points, values = np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.5, 0.5])
    curve = MarginFunction.of(Step("interpolation", points=tuple(points), values=tuple(values)))
    margins = np.array([-2.0, 0.0, 0.25, 0.75, 1.0, 2.0, 3.0, 5.0])
    a, b = margins[:, np.newaxis], margins[np.newaxis]
    value = np.interp(margins, points, values)
    rise, gap = np.subtract.outer(value, value), a - b
    slopes = curve.slope(a, b)
    np.testing.assert_allclose(slopes * gap, rise, rtol=0, atol=1e-15)
    assert slopes[2, 2] == 0.5, "equal margins have the slope of their line"
    assert slopes[0, 0] == slopes[5, 5] == slopes[7, 7] == 0.0
    again = MarginFunction.from_json(curve.to_json())
    assert again == curve
    for wrong in ({"points": (1.0, 1.0), "values": (0.0, 1.0)}, {"points": (0.0,), "values": ()}, {}):
        with pytest.raises(ModelError, match="interpolation"):
            Step("interpolation", **wrong)
    with pytest.raises(ModelError, match="no other function has them"):
        Step("exp", points=(0.0,), values=(0.0,))


def test_a_target_that_is_transformed_by_another_function() -> None:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import PowerTransformer

    model = TransformedTargetRegressor(forest(), transformer=PowerTransformer()).fit(GIVEN.X, GIVEN.y)
    raw = TreeExplainer(model, Z)(X)
    expected = model.regressor_.predict(X)
    np.testing.assert_allclose(raw.values.sum(axis=1) + raw.base_values, expected, rtol=0, atol=1e-12)
    with pytest.raises(UnsupportedModelError, match=r"its link is inverse of PowerTransformer"):
        TreeExplainer(model, Z, model_output="prediction")


def test_each_target_has_its_own_link() -> None:
    from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor

    model = MultiOutputRegressor(hist(loss="poisson")).fit(GIVEN.X, np.abs(GIVEN.pair))
    found = TreeExplainer(model, Z, model_output="prediction")(X)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(X), rtol=1e-9)
    model = MultiOutputClassifier(hist_classifier()).fit(GIVEN.X, GIVEN.class_pair)
    with pytest.raises(UnsupportedModelError, match=r"its link is a link of each target"):
        TreeExplainer(model, Z, model_output="probability")
