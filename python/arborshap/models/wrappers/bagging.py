"""Bagging: the mean of models that may each see only some of the columns, and lack some of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from arborshap.models.compose import Part, weighted
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.wrappers.members import check_links, combine_members, load_members


def read_bagging_regressor(wrapper: Any) -> Model:
    """Read the mean of regressors whose prediction is the sum of their trees."""
    models = load_members(wrapper, enumerate(wrapper.estimators_))
    check_links(wrapper, models, "identity", range(len(models)), "predict")
    return combine_members(wrapper, _with_columns(wrapper, _mean(models)), "predict", link=Link.named("identity"))


def read_bagging_classifier(wrapper: Any) -> Model:
    """Read the mean of class probabilities, or of scores if the members are boosted and so are no probabilities."""
    models = load_members(wrapper, enumerate(wrapper.estimators_))
    names = [str(label) for label in wrapper.classes_]
    if any(model.link.name != "probability" for model in models) and hasattr(wrapper, "decision_function"):
        parts = _with_columns(wrapper, _mean(models))
        named = names if len(parts[0].weights) == len(names) else None
        return combine_members(
            wrapper, parts, "decision_function", link=Link.named("mean of scores"), output_names=named
        )
    check_links(wrapper, models, "probability", range(len(models)), "predict_proba")
    parts = []
    for model, member in zip(models, wrapper.estimators_, strict=True):
        # Labels are the positions of classes, and the sample of a member may lack some.
        weights = np.zeros((len(names), model.forest.n_outputs))
        weights[np.asarray(member.classes_, np.intp), np.arange(model.forest.n_outputs)] = 1.0 / len(models)
        parts.append(Part(model, weights))
    return combine_members(
        wrapper, _with_columns(wrapper, parts), "predict_proba", link=Link.named("probability"), output_names=names
    )


def read_selected(wrapper: Any) -> Model:
    """Read a model behind a selection of columns, as recursive feature elimination leaves it."""
    (model,) = load_members(wrapper, [("estimator_", wrapper.estimator_)])
    part = Part(model, np.eye(model.forest.n_outputs), np.flatnonzero(wrapper.support_))
    return combine_members(
        wrapper,
        [part],
        None,
        link=model.link,
        classes=model.classes,
        output_names=model.forest.output_names,
    )


def _mean(models: list[Model]) -> list[Part]:
    return weighted(models, np.full(len(models), 1.0 / len(models)))


def _with_columns(wrapper: Any, parts: list[Part]) -> list[Part]:
    """Add the columns that each member sees, unless it sees all of them in order."""
    everything = np.arange(wrapper.n_features_in_)
    return [
        part if np.array_equal(columns, everything) else Part(part.model, part.weights, np.asarray(columns, np.intp))
        for part, columns in zip(parts, wrapper.estimators_features_, strict=True)
    ]
