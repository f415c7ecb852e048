"""Backgrounds in parts, in the unit of a prediction: merged bit for bit, subtracted, sent and saved."""

from __future__ import annotations

import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from arborshap import Background, InputError, ModelError, TreeExplainer
from arborshap.explain import panels, parts
from arborshap.explain.labels import OutputName
from arborshap.models import Link, Model
from support.forests import far_out
from support.models import lightgbm_cases, xgboost_cases
from support.models.case import data

MODELS: dict[str, tuple[Any, Any]] = {
    "probability": ("probability", lambda: lightgbm_cases.train("binary", objective="binary", sigmoid=3.0)),
    "mean": ("prediction", lambda: lightgbm_cases.train("positive", objective="poisson")),
    "log loss": ("log_loss", lambda: xgboost_cases.train("binary", {"objective": "binary:logistic"})),
    "squared error": ("squared_error", lambda: lightgbm_cases.train("y")),
    "one against the rest": (
        "prediction",
        lambda: lightgbm_cases.train("classes", objective="multiclassova", num_class=3),
    ),
}


OUTPUTS: tuple[OutputName, ...] = ("raw", "probability", "log_loss")


@pytest.mark.parametrize("width", [None, 0.25])
@pytest.mark.parametrize("name", MODELS)
def test_parts_are_merged_bit_for_bit(name: str, width: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In narrow panels, too, of which some parts lack some."""
    if width is not None:
        monkeypatch.setattr(panels, "_WIDTHS", dict.fromkeys(("exp", "logistic", "softplus"), width))
        monkeypatch.setattr(panels, "_QUADRATURE_WIDTH", width)
    output, make = MODELS[name]
    model, X = make(), data().X
    weights = np.round(np.random.default_rng(3).uniform(0.0, 3.0, len(X)), 4)
    weights[::7] = 0.0
    labels: dict[str, list[Any]] = {"log_loss": [data().binary[:9]], "squared_error": [data().y[:9]]}
    y = labels.get(output, [])
    cuts = [slice(0, 50), slice(50, 51), slice(51, 51), slice(51, 300)]
    found = [Background(model, X[cut], sample_weight=weights[cut], model_output=output) for cut in cuts]
    whole = TreeExplainer(model, X, sample_weight=weights, model_output=output)
    first: Any = None
    for order in list(permutations(range(4)))[::5]:
        merged = found[order[0]]
        for part in order[1:]:
            merged = merged.merge(found[part])
        sent = Background.from_bytes(merged.to_bytes())
        for background in (merged, sent):
            explanation = TreeExplainer(model, background, model_output=output)(X[:9], *y)
            first = explanation if first is None else first
            np.testing.assert_array_equal(explanation.values, first.values)
            np.testing.assert_array_equal(explanation.base_values, first.base_values)
    expected = whole(X[:9], *y)
    size = np.abs(expected.values).max()
    np.testing.assert_allclose(first.values, expected.values, rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(first.base_values, expected.base_values, rtol=0, atol=1e-10)

    explainer = TreeExplainer(model, merged, model_output=output)
    assert explainer.facts().model_output == output
    assert 0.0 <= explainer.explain_plan(5).bound <= 1e-12
    for again in (TreeExplainer.from_bytes(explainer.to_bytes()), pickle.loads(pickle.dumps(explainer))):
        np.testing.assert_array_equal(again.values(X[:9], *y), first.values)
        np.testing.assert_array_equal(again(X[:9], *y).base_values, first.base_values)
    in_batches = TreeExplainer.from_batches(
        model, [(X[cut], weights[cut]) for cut in cuts if cut.stop > cut.start], model_output=output
    )
    np.testing.assert_array_equal(in_batches.values(X[:9], *y), first.values)
    with pytest.raises(InputError, match="give the reference rows Z"):
        explainer.pair_values(X[:2], **({"y": y[0][:2]} if y else {}))

    # A part that is taken away leaves what was there before.
    left = merged.subtract(found[0]).merge(found[0])
    np.testing.assert_array_equal(TreeExplainer(model, left, model_output=output).values(X[:9], *y), first.values)
    assert TreeExplainer(model, merged).facts().model_output == "raw"


def test_rare_events_keep_their_digits() -> None:
    """All margins of the background are far out, where the logistic function is almost flat."""
    forest, rows = far_out(40.0, -30.0)
    for function in ("logistic", "log"):
        model = Model(forest=forest, library="by hand", link=Link.named(function))
        merged = Background(model, rows[:2], model_output="prediction").merge(
            Background(model, rows[2:], model_output="prediction")
        )
        values = TreeExplainer(model, merged, model_output="prediction").shap_values(rows)
        expected = TreeExplainer(model, rows, model_output="prediction").pair_values(rows).mean(axis=1)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_parts_for_different_outputs_are_refused() -> None:
    model, X = MODELS["probability"][1](), data().X
    plain, linked, loss = (Background(model, X[:50], model_output=output) for output in OUTPUTS)
    assert "for model_output='probability'" in repr(linked)
    for one, other in ((plain, linked), (linked, plain), (linked, loss)):
        with pytest.raises(InputError, match="make all parts for the same output"):
            one.merge(other)
        with pytest.raises(InputError, match="make all parts for the same output"):
            one.subtract(other)
    with pytest.raises(InputError, match="make it, and all its parts, with model_output='probability'"):
        TreeExplainer(model, plain, model_output="probability")
    with pytest.raises(InputError, match="model_output must be"):
        Background(model, X, model_output="chance")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not in"):
        linked.subtract(Background(model, X[50:], model_output="probability"))
    softmax = lightgbm_cases.train("classes", objective="multiclass", num_class=3)
    for make in (
        lambda: Background(softmax, X, model_output="probability"),
        lambda: TreeExplainer(softmax, Background(softmax, X), model_output="probability"),
    ):
        with pytest.raises(InputError, match="of a softmax needs background rows"):
            make()


def test_damaged_weightings_are_refused() -> None:
    model, X = MODELS["probability"][1](), data().X
    whole = parts.WeightedParts.from_texts
    texts = Background(model, X, model_output="probability").weighted
    assert texts is not None
    good = texts.to_texts()
    assert whole({}) is None
    damages: tuple[dict[str, list[str]], ...] = (
        {"weighted_output": ["chance"]},
        {"weighted_output": []},
        {"weightings": good["weightings"][1:]},
        {"weightings": ["0 0 x", *good["weightings"][1:]]},
        {"weighted_counts": ["AAAA", *good["weighted_counts"][1:]]},
        {"weighted_counts": ["?", *good["weighted_counts"][1:]]},
    )
    for wrong in damages:
        with pytest.raises(ModelError):
            whole(good | wrong)
