"""Outputs other than the raw prediction: probabilities, predictions and losses, as functions of the margins.

The values of one pair of rows sum to h(x) - h(z). Multiplied by the mean slope of g between the two margins, they sum
to g(h(x)) - g(h(z)). For several margins, as in a softmax, the mean slopes along the straight line between the two
points do the same. These are not the values of g(h), whose game would evaluate g at every coalition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from arborshap.exceptions import InputError, UnsupportedModelError
from arborshap.explain.labels import Labels, OutputName
from arborshap.explain.softmax import Softmax
from arborshap.explain.terms import SumOfTerms, Term
from arborshap.models import Model
from arborshap.models.margin_functions import MarginFunction, Step

ModelOutput: TypeAlias = SumOfTerms | Softmax


def output_of(model: Model, name: OutputName, *, has_background: bool) -> ModelOutput | None:
    """Return the function of the margins to explain; ``None`` if the margins themselves are explained.

    Raises
    ------
    UnsupportedModelError
        If the model has no such output.
    InputError
        If there is no background.
    """
    link = model.link
    if name == "raw" or (link.is_raw and (name == "prediction" or (name == "probability" and link.is_probability))):
        return None
    if not has_background:
        raise InputError(f"model_output={name!r} needs a background: give its rows as data")
    if name == "log_loss":
        return _log_loss(model)
    if name == "squared_error":
        return _squared_error(model)
    n_margins = model.forest.n_outputs
    if link.name == "softmax":
        return Softmax(name, n_margins, None)
    if name == "probability" and not link.is_probability:
        raise UnsupportedModelError(
            f"model_output={name!r}: the margins of this {model.library} model do not determine class probabilities "
            f"(its link is {link.name}); use model_output='raw'"
            + (" or 'prediction'" if link.curves and not link.is_raw else "")
        )
    if not link.curves:
        raise UnsupportedModelError(
            f"model_output={name!r}: how the margins of this {model.library} model become its prediction is not known "
            f"or cannot be computed (its link is {link.name}); use model_output='raw'"
        )
    share = 1.0 / n_margins if link.averaged else 1.0
    terms = (Term(k, 0 if link.averaged else k, link.curve(k), share) for k in range(n_margins))
    return SumOfTerms(name, n_margins, 1 if link.averaged else n_margins, tuple(terms))


def _log_loss(model: Model) -> ModelOutput:
    what, library, n_margins, link = "model_output='log_loss'", model.library, model.forest.n_outputs, model.link
    if link.name == "softmax":
        return Softmax("log_loss", n_margins, Labels("class", n_margins, class_names(model)))
    if link.name == "probability":
        raise UnsupportedModelError(
            f"{what}: the trees of this {library} model hold probabilities, and the log loss of a zero "
            "probability is infinite; use model_output='probability'"
        )
    steps: Sequence[Step] = link.curve(0).steps if link.curves else ()
    if [step.function for step in steps] != ["logistic"]:
        raise UnsupportedModelError(
            f"{what}: the margins of this {library} model do not determine class probabilities "
            f"(its link is {link.name}); use model_output='raw'"
        )
    if n_margins > 1:
        raise UnsupportedModelError(
            f"{what}: this {library} model has {n_margins} probabilities that do not sum to 1 (one class against the "
            "rest, or several labels at once), so it has no single log loss; use model_output='probability'"
        )
    # -log of the probability of the true class is softplus(t) - y t.
    scale, shift = steps[0].scale, steps[0].shift
    softplus, line = (MarginFunction.of(Step(function, scale, shift)) for function in ("softplus", "identity"))
    terms = Term(0, 0, softplus), Term(0, 0, line, 0.0, -1.0)
    return SumOfTerms("log_loss", 1, 1, terms, Labels("chance", 2, class_names(model)))


def _squared_error(model: Model) -> ModelOutput:
    link, n_margins = model.link, model.forest.n_outputs
    last = link.curve(0).steps[-1].function if link.curves else "unknown"
    steps: Sequence[Step] = link.curve(0).steps if link.curves else ()
    if model.classes is not None or n_margins > 1 or len(steps) != 1 or last not in ("identity", "exp"):
        raise UnsupportedModelError(
            f"model_output='squared_error' needs a regressor with one output and an identity or log link, but this "
            f"{model.library} model has {n_margins} output{'s' * (n_margins > 1)} and its link is {link.name}"
            + (", and it is a classifier" if model.classes is not None else "")
        )
    # (g - y)**2 is g**2 - 2 y g + y**2.
    scale, shift = steps[0].scale, steps[0].shift
    square = Step("square", scale, shift) if last == "identity" else Step("exp", 2.0 * scale, 2.0 * shift)
    terms = Term(0, 0, MarginFunction.of(square)), Term(0, 0, link.curve(0), 0.0, -2.0)
    return SumOfTerms("squared_error", 1, 1, terms, Labels("number"), adds_squared_label=True)


def class_names(model: Model) -> tuple[Any, ...] | None:
    """Return the labels of the classes; ``None`` if they are 0, 1, 2, ..."""
    labels = () if model.classes is None else tuple(np.asarray(model.classes).tolist())
    return None if labels == tuple(range(len(labels))) else labels
