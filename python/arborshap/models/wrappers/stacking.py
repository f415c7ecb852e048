"""Stacking with a linear model on top: its coefficients are the weights of the members' trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.models.compose import Part, side_by_side
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported
from arborshap.models.wrappers.members import check_links, combine_members, load_members, used_members

_LINKS = {"predict": "identity", "predict_proba": "probability"}


def read_stacking_regressor(wrapper: Any) -> Model:
    """Read the linear model's prediction as a weighted sum of all members' trees."""
    return _stacked(wrapper, "predict", link=Link.named("identity"))


def read_stacking_classifier(wrapper: Any) -> Model:
    """Read the linear model's ``decision_function`` as a weighted sum of all members' trees."""
    if isinstance(wrapper.classes_, list):
        raise unsupported(wrapper, "it was fitted on several targets; fit one for each with MultiOutputClassifier")
    many = len(wrapper.classes_) > 2
    return _stacked(
        wrapper,
        "decision_function",
        link=Link.named(_link(wrapper.final_estimator_, len(wrapper.classes_))),
        classes=wrapper.classes_,
        output_names=[str(label) for label in wrapper.classes_] if many else None,
    )


def _stacked(wrapper: Any, method: str, **about: Any) -> Model:
    if wrapper.passthrough:
        raise unsupported(wrapper, "with passthrough=True its final estimator reads the columns, too; fit it without")
    kept = [name for _, name in used_members(wrapper)]
    models = load_members(wrapper, zip(kept, wrapper.estimators_, strict=True))
    chosen = []
    for name, model, used in zip(kept, models, wrapper.stack_method_, strict=True):
        if used != "decision_function":  # else the score, which is the sum of the trees
            check_links(wrapper, [model], _LINKS[used], [name], used)
        outputs = range(model.forest.n_outputs)
        # Of the probabilities of two classes, only the second is used.
        chosen.append(outputs[1:] if used == "predict_proba" and len(wrapper.classes_) == 2 else outputs)
    coefficients, intercept = _linear(wrapper, method, sum(map(len, chosen)))
    parts = [Part(part.model, coefficients @ part.weights) for part in side_by_side(models, chosen)]
    return combine_members(wrapper, parts, method, base=intercept, **about)


def _linear(wrapper: Any, method: str, n_inputs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the coefficients, (outputs, inputs), and the intercepts of the final estimator, if it is linear."""
    final = wrapper.final_estimator_
    coefficients = np.atleast_2d(np.asarray(getattr(final, "coef_", np.nan), np.float64))
    predict = getattr(final, method, None)
    if coefficients.shape[1] == n_inputs and predict is not None:
        intercept = np.broadcast_to(np.asarray(final.intercept_, np.float64), len(coefficients))
        tried = np.random.default_rng(0).normal(size=(8, n_inputs))
        found = np.asarray(predict(tried)).reshape(len(tried), -1)
        expected = tried @ coefficients.T + intercept
        if found.shape == expected.shape and np.allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max()):
            return coefficients, intercept
    raise unsupported(
        wrapper,
        f"its final estimator {type(final).__name__} is not a linear model of what its members predict; fit it with a "
        "linear one, such as RidgeCV or LogisticRegression",
    )


def _link(final: Any, n_classes: int) -> str:
    """Find out how the final estimator turns scores into probabilities."""
    if not hasattr(final, "predict_proba") or not hasattr(final, "coef_"):
        return "unknown"
    tried = np.random.default_rng(0).normal(size=(8, final.coef_.shape[1]))
    score, probability = final.decision_function(tried), final.predict_proba(tried)
    if n_classes == 2:
        return "logistic" if np.allclose(probability[:, 1], 1.0 / (1.0 + np.exp(-score))) else "unknown"
    powers = np.exp(score)
    return "softmax" if np.allclose(probability, powers / powers.sum(axis=1, keepdims=True)) else "unknown"
