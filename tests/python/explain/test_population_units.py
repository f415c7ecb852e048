"""Contrasts of populations in the unit of the prediction, by the definition: pair by pair, through the model itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arborshap import Background, ForestBuilder, InputError, ModelError, TreeExplainer
from arborshap.explain import panels, quadrature
from arborshap.explain.parts import WeightedParts
from arborshap.models import Link, Model
from arborshap.models.margin_functions import MarginFunction, Step
from support.forests import far_out
from support.models import lightgbm_cases
from support.models.case import data
from support.oracle import INDICES, worths

X = data().X
BEFORE, AFTER = X[:9], X[9:16]

MODELS: dict[str, tuple[Any, Any, Any]] = {
    "logistic": (
        "probability",
        lambda: lightgbm_cases.train("binary", objective="binary", sigmoid=3.0),
        lambda p: 3.0 * p * (1.0 - p),
    ),
    "exp": ("prediction", lambda: lightgbm_cases.train("positive", objective="poisson"), lambda p: p),
    "three": (
        "prediction",
        lambda: lightgbm_cases.train("classes", objective="multiclassova", num_class=3),
        lambda p: p * (1.0 - p),
    ),
}
"""The output, the model, and the slope of the prediction by the margin, which pairs of equal margins need."""


def _by_definition(model: Any, index: str, slope_at: Any) -> tuple[Any, Any, Any]:
    """Return the mean of rescaled pairs, with the margins and predictions of the library itself."""

    def margin(rows: Any) -> Any:
        return lightgbm_cases.raw_score(model, rows)

    def predict(rows: Any) -> Any:
        return np.reshape(model.predict(rows, num_threads=1), (len(rows), -1))

    total: Any = 0.0
    for z in BEFORE:
        values = INDICES[index](worths(margin, AFTER, z[np.newaxis]))
        rise = margin(AFTER) - margin(z[np.newaxis])
        gain = predict(AFTER) - predict(z[np.newaxis])
        slope = np.divide(gain, rise, out=slope_at(predict(AFTER)), where=np.abs(rise) > 1e-12)
        total = total + (values * slope.reshape(len(AFTER), *(1,) * (values.ndim - 2), -1)).mean(axis=0)
    before, after = (predict(rows).mean(axis=0) for rows in (BEFORE, AFTER))
    return np.squeeze(total / len(BEFORE), axis=-1) if before.shape == (1,) else total / len(BEFORE), before, after


@pytest.mark.parametrize("width", [None, 0.5])
@pytest.mark.parametrize("index", ["shapley", "taylor"])
@pytest.mark.parametrize("name", MODELS)
def test_the_definition(name: str, index: Any, width: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if width is not None:
        monkeypatch.setattr(panels, "_QUADRATURE_WIDTH", width)
    output, make, slope_at = MODELS[name]
    model = make()
    before, after = (Background(model, rows, model_output=output) for rows in (BEFORE, AFTER))
    change = after.contrast(before, index)
    expected, base, mean = _by_definition(model, index, slope_at)
    np.testing.assert_allclose(change.values, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(change.base_values, np.squeeze(base), rtol=1e-12)
    total = change.values.sum(axis=(0, 1) if index == "taylor" else 0)
    np.testing.assert_allclose(total, np.squeeze(mean - base), atol=1e-12)
    assert change.model_output == output
    if index == "shapley":
        assert not before.contrast(Background(model, BEFORE[::-1], model_output=output)).values.any()
        sent = [Background.from_bytes(part.to_bytes()) for part in (before, after)]
        np.testing.assert_array_equal(sent[1].contrast(sent[0], model=model).values, change.values)


def test_weights_and_the_raw_output() -> None:
    output, make, _ = MODELS["logistic"]
    model, weights = make(), np.round(np.linspace(0.0, 2.0, len(AFTER)), 3)
    before = Background(model, BEFORE, model_output=output)
    after = Background(model, AFTER, sample_weight=weights, model_output=output)
    pairs = TreeExplainer(model, BEFORE, model_output=output).pair_values(AFTER).mean(axis=1)
    expected = np.average(pairs, axis=0, weights=weights)
    np.testing.assert_allclose(after.contrast(before).values, expected, atol=1e-13)
    raw = after.contrast(before, model_output="raw")
    assert raw.unit.name == "raw prediction"  # LightGBM's sigmoid is 3 here, so these are no log-odds
    plain = Background(model, AFTER, sample_weight=weights).contrast(Background(model, BEFORE))
    np.testing.assert_array_equal(raw.values, plain.values)


def test_what_cannot_be_compared_is_refused() -> None:
    model = MODELS["logistic"][1]()
    plain, linked = Background(model, X[:50]), Background(model, X[50:], model_output="probability")
    with pytest.raises(InputError, match=r"one Background was made for .*compare them with model_output='raw'"):
        linked.contrast(plain)
    np.testing.assert_array_equal(
        linked.contrast(plain, model_output="raw").values, Background(model, X[50:]).contrast(plain).values
    )
    with pytest.raises(InputError, match="needs more counts"):
        linked.contrast(plain, model_output="probability")
    with pytest.raises(InputError, match="model_output"):
        linked.contrast(plain, model_output="chance")  # type: ignore[arg-type]
    loss = Background(model, X, model_output="log_loss")
    with pytest.raises(InputError, match="needs labels, but a population has none"):
        loss.contrast(loss)
    with pytest.raises(InputError, match="no rows"):
        linked.contrast(Background(model, X[:0], model_output="probability"))
    with pytest.raises(InputError, match="no rows"):
        Background(model, X[:0], model_output="probability").contrast(linked)
    smooth = Model(forest=_stump(2.0), library="by hand", link=Link.named("softplus"))
    part = Background(smooth, X[:9, :1], model_output="prediction")
    with pytest.raises(InputError, match="the link 'softplus'; use model_output='raw'"):
        part.contrast(part)
    assert not part.contrast(part, model_output="raw").values.any()
    far = Model(forest=_stump(600.0), library="by hand", link=Link.named("logistic"))
    part = Background(far, X[:9, :1], model_output="probability")
    with pytest.raises(InputError, match="margins too far apart"):
        part.contrast(part)


def _stump(value: float) -> Any:
    builder = ForestBuilder(1, rule="<=", precision="float64")
    builder.add_tree(
        left=[1, -1, -1], right=[2, -1, -1], feature=[0, -1, -1], threshold=[0.0, 0, 0], value=[0, value, -value]
    )
    return builder.build()


@pytest.mark.parametrize("function", ["exp", "logistic"])
@pytest.mark.parametrize("scale", [1.0, -2.0])
def test_each_slope_keeps_its_digits(function: str, scale: float) -> None:
    """The error is relative to the slope of each single pair, however steep the curve is elsewhere."""
    curve = MarginFunction.of(Step(function, scale, 0.5), Step("identity", 3.0, -1.0))
    rng = np.random.default_rng(0)
    ranges = (-20.0, -8.0), (-8.0, 4.0)
    found = [quadrature.Quadrature.of(curve, (-20.0, 20.0), panel) for panel in ranges]
    a = rng.uniform(-20.0, 20.0, 200)
    b, c = (rng.uniform(*panel, 100) for panel in ranges)
    first, second = found
    assert first is not None
    assert second is not None
    assert first.bound < 1e-12
    exact = curve.slope(a[:, np.newaxis], b[np.newaxis])
    np.testing.assert_allclose(first.coefficients(a) @ first.weights(b), exact, rtol=1e-12)
    pairs = np.einsum("r,ri,rj->ij", first.between(second), second.weights(c)[::-1], first.weights(b))
    np.testing.assert_allclose(pairs, curve.slope(c[:, np.newaxis], b[np.newaxis]), rtol=1e-12)
    assert first.weights(b).min() > 0.0
    assert first.weights(b).max() <= 1.0


def test_rows_of_small_slope_keep_their_digits() -> None:
    """All rows are at the flat end of their panel, where the bound that is reported must hold as well."""
    forest, rows = far_out(9.0, -11.0)
    model = Model(forest=forest, library="by hand", link=Link.named("log"))
    explainer = TreeExplainer(model, Background(model, rows, model_output="prediction"), model_output="prediction")
    expected = TreeExplainer(model, rows, model_output="prediction").pair_values(rows).mean(axis=1)
    error = np.abs(explainer.shap_values(rows) - expected).max() / np.abs(expected).max()
    assert error <= explainer.explain_plan(4).bound + 1e-15


def test_files_of_other_weightings_are_refused() -> None:
    model = MODELS["logistic"][1]()
    weighted = Background(model, X, model_output="probability").weighted
    assert weighted is not None
    texts = weighted.to_texts()
    del texts["weighting_scheme"]
    with pytest.raises(ModelError, match="by another version"):
        WeightedParts.from_texts(texts)
