"""scikit-survival: survival trees and forests, by their risk score or by time, and boosting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arborshap.exceptions import InputError, ModelError
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.sklearn.common import feature_names_of, margins_of, quiet
from arborshap.models.sklearn.trees import add_tree, new_builder
from arborshap.models.supported import unsupported

CurveName: TypeAlias = Literal["survival", "cumulative_hazard"]

_FORESTS = ("_BaseSurvivalForest", "SurvivalTree")
_REFUSED = {
    "ComponentwiseGradientBoostingSurvivalAnalysis": "its learners are linear, so it is not a sum of trees",
}


def load(model: Any) -> Model:
    """Read the risk score of a fitted model: what its ``predict`` returns."""
    kind = _kind(model)
    if kind == "GradientBoostingSurvivalAnalysis":
        return _read_boosting(model)
    trees = _trees(model)
    if model.low_memory:
        values = [tree.tree_.value[:, 0, 0] for tree in trees]
    else:
        values = [tree.tree_.value[:, tree.is_event_time_, 0].sum(axis=1) for tree in trees]
    return _mean_of(model, trees, values, model.predict, ask_margins=margins_of)


def survival_curve(model: Any, times: ArrayLike | None = None, curve: CurveName = "survival") -> Model:
    """Read a survival forest or tree of scikit-survival by time: one output per point of time.

    Parameters
    ----------
    model : RandomSurvivalForest, ExtraSurvivalTrees, SurvivalTree or ExtraSurvivalTree
        The fitted model. It must have been fitted with ``low_memory=False``, which is the default.
    times : array-like, (n_times,), optional
        The points of time, within the times of training. The default is every distinct time of training.
    curve : {"survival", "cumulative_hazard"}
        What is explained: the probability to survive until each time, or the cumulative hazard.

    Returns
    -------
    Model
        A model that `TreeExplainer` accepts in place of `model`.

    Raises
    ------
    InputError
        If a time lies outside the times of training, or the curve is unknown.
    ModelError
        If the model is not fitted, or was fitted with ``low_memory=True``.
    UnsupportedModelError
        If the model is not a survival forest or tree of scikit-survival.

    Examples
    --------
    >>> from arborshap import TreeExplainer, survival_curve
    >>> explainer = TreeExplainer(survival_curve(forest, [30, 90, 365]), X)  # doctest: +SKIP
    """
    if curve not in ("survival", "cumulative_hazard"):
        raise InputError(f'curve must be "survival" or "cumulative_hazard", not {curve!r}')
    if _kind(model) not in _FORESTS:
        raise unsupported(model, "only the forests and trees of scikit-survival predict a curve as a mean of leaves")
    trees = _trees(model)
    if model.low_memory:
        raise ModelError("the model was fitted with low_memory=True, which keeps no curves; fit it without")
    chosen = np.asarray(model.unique_times_ if times is None else times)
    at = _positions(model.unique_times_, chosen)
    which = 1 if curve == "survival" else 0
    values = [tree.tree_.value[:, at, which] for tree in trees]
    predict = model.predict_survival_function if which else model.predict_cumulative_hazard_function
    return _mean_of(
        model,
        trees,
        [value[:, 0] for value in values] if len(at) == 1 else values,
        lambda rows: predict(rows, return_array=True)[:, at],
        output_names=[f"time {time:g}" for time in chosen.tolist()],
    )


def _positions(known: NDArray[Any], times: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of the step of the curve that each point of time is on."""
    if times.ndim != 1 or not len(times) or times.dtype.kind not in "iuf":
        raise InputError("times must be a list of numbers, at least one")
    low, high = known[0].item(), known[-1].item()
    outside = ~((times >= low) & (times <= high))
    if outside.any():
        wrong = times[int(outside.argmax())]
        raise InputError(f"the time {wrong} is outside the times of training, {low:g} to {high:g}")
    if len(np.unique(times)) < len(times):
        raise InputError("times has a time more than once")
    return np.searchsorted(known, times, side="right") - 1


def _kind(model: Any) -> str:
    """Return the class of scikit-survival that a model descends from, or refuse it."""
    known = (*_FORESTS, "GradientBoostingSurvivalAnalysis")
    names = [cls.__name__ for cls in type(model).__mro__ if cls.__module__.partition(".")[0] == "sksurv"]
    found = next((name for name in names if name in known), None)
    if found is None:
        reason = next((_REFUSED[name] for name in names if name in _REFUSED), "it is not a sum of survival trees")
        raise unsupported(model, reason)
    if not hasattr(model, "tree_" if found == "SurvivalTree" else "estimators_"):
        raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
    return found


def _trees(model: Any) -> list[Any]:
    return list(model.estimators_) if hasattr(model, "estimators_") else [model]


def _mean_of(
    model: Any,
    trees: list[Any],
    values: list[NDArray[np.float64]],
    predict: Callable[[Any], Any],
    output_names: list[str] | None = None,
    **about: Any,
) -> Model:
    n_outputs = 1 if values[0].ndim == 1 else values[0].shape[1]
    builder = new_builder(model.n_features_in_, n_outputs)
    for tree, value in zip(trees, values, strict=True):
        add_tree(builder, tree.tree_, value / len(trees))
    return Model(
        forest=builder.build(feature_names=feature_names_of(model), output_names=output_names),
        library=_library(),
        link=Link.named("identity"),
        raw_predict=quiet(predict, n_outputs),
        **about,
    )


def _read_boosting(model: Any) -> Model:
    """Read boosted trees, each of which dropout may have scaled; only the losses of times have a log link."""
    builder = new_builder(model.n_features_in_, 1)
    scales = getattr(model, "_scale", np.ones(len(model.estimators_)))
    for stage, scale in zip(model.estimators_[:, 0], scales, strict=True):
        add_tree(builder, stage.tree_, model.learning_rate * scale * stage.tree_.value[:, 0, 0])
    is_log = model.loss != "coxph"

    def margins(predict: Callable[[Any], Any], rows: Any) -> Any:
        return np.log(predict(rows)) if is_log else predict(rows)

    return Model(
        forest=builder.build(feature_names=feature_names_of(model)),
        library=_library(),
        link=Link.named("log" if is_log else "identity"),
        raw_predict=quiet(lambda rows: margins(model.predict, rows), 1),
        ask_margins=lambda pipeline, rows: margins(pipeline.predict, rows),
        takes_missing=False,
    )


def _library() -> str:
    import sksurv

    return f"scikit-survival {sksurv.__version__}"
