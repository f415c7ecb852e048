"""Calibrated classifiers of two classes: the mean over folds of a function of each fold's own score."""

from __future__ import annotations

from typing import Any

import numpy as np

from arborshap.models.compose import side_by_side
from arborshap.models.link import Link
from arborshap.models.margin_functions import MarginFunction, Step
from arborshap.models.model import Model
from arborshap.models.supported import unsupported
from arborshap.models.wrappers.members import combine_members, load_members

_ROUNDING = 1e-9


def read_calibrated(wrapper: Any) -> Model:
    """Read the score of each fold; ``model_output="prediction"`` explains the mean of the calibrated probabilities."""
    if len(wrapper.classes_) != 2:
        raise unsupported(
            wrapper,
            f"it calibrates {len(wrapper.classes_)} classes one by one and divides by their sum, which is no function "
            "of one score per class; explain the estimator of one of its calibrated_classifiers_",
        )
    folds = wrapper.calibrated_classifiers_
    models = load_members(wrapper, ((f"fold {k}", fold.estimator) for k, fold in enumerate(folds)))
    curves = [_curve(wrapper, fold, model) for fold, model in zip(folds, models, strict=True)]
    parts = side_by_side(models, [[model.forest.n_outputs - 1] for model in models])
    single = len(curves) == 1
    link = Link("calibration" if single else "mean of calibrations", tuple(curves), averaged=not single)
    if any(_jumps(curve.steps[-1]) for curve in curves):
        link = Link("isotonic calibration that tells apart scores that are equal up to rounding")
    return combine_members(
        wrapper,
        parts,
        None,
        link=link,
        classes=wrapper.classes_,
        output_names=None if single else [f"fold {k}" for k in range(len(curves))],
    )


def _jumps(step: Step) -> bool:
    """Whether a table rises between points so close that rounding decides which side a score is on."""
    points = np.array(step.points)
    return bool((np.diff(points) < _ROUNDING * np.abs(points).max(initial=0.0)).any())


def _curve(wrapper: Any, fold: Any, model: Model) -> MarginFunction:
    """Return how the score of a fold becomes a probability of the second class."""
    (calibrator,) = fold.calibrators
    if hasattr(calibrator, "a_"):
        last = Step("logistic", -float(calibrator.a_), -float(calibrator.b_))
    elif hasattr(calibrator, "X_thresholds_"):
        points, values = (np.asarray(table).tolist() for table in (calibrator.X_thresholds_, calibrator.y_thresholds_))
        last = Step("interpolation", points=tuple(points), values=tuple(values))
    else:
        raise unsupported(wrapper, f"its method is {fold.method!r}, but only 'sigmoid' and 'isotonic' are supported")
    # Calibration starts from the score if the estimator has a method for it, and from the probability if not.
    if hasattr(fold.estimator, "decision_function"):
        return MarginFunction.of(last)
    if not model.link.is_probability or model.link.averaged:
        raise unsupported(wrapper, f"how {model.library} computes probabilities is not known (link {model.link.name})")
    return MarginFunction.of(*model.link.curve(model.forest.n_outputs - 1).steps, last)
