"""Every plot names the unit of its numbers, and the unit is the model's: its own predictions are the witness."""

from __future__ import annotations

import re
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from lightgbm import LGBMClassifier
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier, XGBRegressor

from arborshap import Explanation, ForestBuilder, TreeExplainer
from arborshap.draw import style
from arborshap.models.margin_functions import MarginFunction, Step
from arborshap.result.value_unit import ValueUnit

mpl.use("Agg")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 3))
SCORE = X[:, 0] + X[:, 1] * X[:, 2]
LABELS = (SCORE > 0).astype(int)
SMALL: dict[str, Any] = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}


def stump() -> Any:
    builder = ForestBuilder(3, rule="<=", precision="float64")
    builder.add_tree(left=[1, -1, -1], right=[2, -1, -1], feature=[0, 0, 0], threshold=[0, 0, 0], value=[0, 1, 2])
    return builder.build()


MODELS: dict[str, tuple[Any, ValueUnit]] = {
    "logistic": (
        XGBClassifier(**SMALL).fit(X, LABELS),
        ValueUnit("log-odds", "probability", MarginFunction.of(Step("logistic"))),
    ),
    "steep": (
        LGBMClassifier(**SMALL, sigmoid=2.5, verbose=-1).fit(X, LABELS),
        ValueUnit("raw prediction", "probability", MarginFunction.of(Step("logistic", 2.5))),
    ),
    "forest": (RandomForestClassifier(n_estimators=5, random_state=0).fit(X, LABELS), ValueUnit("probability")),
    "identity": (XGBRegressor(**SMALL).fit(X, SCORE), ValueUnit("prediction")),
    "log": (
        XGBRegressor(**SMALL, objective="count:poisson").fit(X, np.round(np.exp(SCORE))),
        ValueUnit("log of the prediction", "prediction", MarginFunction.of(Step("exp"))),
    ),
    "softmax": (
        XGBClassifier(**SMALL).fit(X, np.digitize(SCORE, [-0.5, 0.5])),
        ValueUnit("raw prediction", "probability"),
    ),
    "unknown": (stump(), ValueUnit("raw prediction")),
}


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    plt.close("all")


def own_prediction(model: Any) -> NDArray[Any]:
    """What the library itself predicts: probabilities of the second class, or numbers."""
    return np.asarray(model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X))


@pytest.mark.parametrize("name", MODELS)
def test_the_unit_is_that_of_the_models_link(name: str) -> None:
    model, unit = MODELS[name]
    explainer = TreeExplainer(model, X)
    explanation = explainer(X)
    assert explanation.unit == explanation[0].unit == explainer.importance(X).unit == unit
    assert TreeExplainer.from_bytes(explainer.to_bytes())(X).unit == unit
    sums = explanation.base_values + explanation.values.sum(axis=1)
    converted = unit.converted(sums)
    assert (converted is not None) == (unit.curve is not None)
    if converted is not None:
        np.testing.assert_allclose(converted, own_prediction(model), rtol=2e-6)


def test_other_outputs_have_units_of_their_own() -> None:
    model = MODELS["logistic"][0]
    assert TreeExplainer(model, X, model_output="probability")(X).unit == ValueUnit("probability")
    assert TreeExplainer(model, X, model_output="log_loss")(X, LABELS).unit == ValueUnit("log loss")
    by_hand = Explanation(np.ones((2, 1)), np.zeros(2), feature_names=["a"])
    assert by_hand.unit == ValueUnit("model output")
    assert by_hand.unit.converted(1.0) is None


def test_a_waterfall_of_log_odds_shows_the_probability_that_the_model_predicts() -> None:
    model = MODELS["logistic"][0]
    row = TreeExplainer(model, X)(X)[7]
    ax = row.plot.waterfall()
    assert ax.get_xlabel() == "log-odds"
    top, bottom = (
        next(text.get_text() for text in ax.texts if word in text.get_text()) for word in ("log-odds", "base")
    )
    assert top.endswith(f"(probability {style.number(own_prediction(model)[7])})")
    shown = re.search(r"base value (\S+) \(probability (\S+)\)", bottom)
    assert shown is not None
    base = float(row.base_values)
    assert float(shown[2]) == pytest.approx(1 / (1 + np.exp(-base)), abs=5e-5)
    assert f"(probability {style.number(own_prediction(model)[7])})" in row._repr_html_()
    assert "log-odds" in row._repr_html_()


@pytest.mark.parametrize(
    ("name", "axis"),
    [
        ("logistic", "Shapley value (log-odds)"),
        ("forest", "Shapley value (probability)"),
        ("identity", "Shapley value (unit of the prediction)"),
        ("log", "Shapley value (log of the prediction)"),
        ("unknown", "Shapley value (raw prediction)"),
    ],
)
def test_every_axis_names_the_unit(name: str, axis: str) -> None:
    model, unit = MODELS[name]
    explainer = TreeExplainer(model, X)
    explanation = explainer(X)
    if explanation.has("output"):
        explanation = explanation[..., 1]
    assert explanation.plot.beeswarm().get_xlabel() == axis
    assert explanation.plot.bar().get_xlabel() == f"mean size of the {axis}"
    assert explanation[0].plot.bar().get_xlabel() == axis
    assert explanation[0].plot.waterfall().get_xlabel() == unit.name
    column = explanation.data_names[0]
    assert explanation.plot.scatter(column).get_ylabel() == f"{axis} of {column}"
    rows = explanation.plot.heatmap()
    assert rows.get_yticklabels()[0].get_text() == unit.name
    assert rows.child_axes[0].get_ylabel() == axis
    assert axis in explanation._repr_html_()
    assert explainer.importance(X).plot().get_xlabel() == f"mean size of the {axis}"
    pairs = explainer(X[:5], index="taylor")
    pairs = pairs[..., 1] if pairs.has("output") else pairs
    effect = axis.replace("Shapley value", "effect")
    scale: Any = pairs.plot.heatmap().child_axes[0]
    assert scale.get_title(loc="right") == f"mean size of the {effect}"
    assert effect in pairs[0]._repr_html_()
