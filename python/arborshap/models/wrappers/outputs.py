"""Wrappers with one model per output: MultiOutputRegressor, MultiOutputClassifier and OneVsRestClassifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arborshap.models.compose import Part, side_by_side
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported
from arborshap.models.wrappers.members import combine_members, load_members


def read_multi_output_regressor(wrapper: Any) -> Model:
    """Read one model per target, with their outputs side by side."""
    models = load_members(wrapper, enumerate(wrapper.estimators_))
    about = _common_link(models)
    method = "predict" if about["link"].name == "identity" else None
    return combine_members(wrapper, side_by_side(models), method, **about)


def read_multi_output_classifier(wrapper: Any) -> Model:
    """Read one classifier per target; as in a forest of several targets, an output is a class of a target."""
    models = load_members(wrapper, enumerate(wrapper.estimators_))
    names = []
    for target, (model, classes) in enumerate(zip(models, wrapper.classes_, strict=True)):
        named = classes if model.forest.n_outputs == len(classes) else classes[1:]
        names += [f"{target}: {label}" for label in named]
    about = _common_link(models)
    method = "predict_proba" if about["link"].name == "probability" else None
    return combine_members(wrapper, side_by_side(models), method, output_names=names, **about)


def read_one_vs_rest(wrapper: Any) -> Model:
    """Read one score per class, as `predict` compares them; they are not normalised as in `predict_proba`."""
    # A class that all training rows have, or none, gets a constant instead of a model.
    constants = {k: float(member.y_[0]) for k, member in enumerate(wrapper.estimators_) if hasattr(member, "y_")}
    members = {k: member for k, member in enumerate(wrapper.estimators_) if k not in constants}
    if not members:
        raise unsupported(wrapper, "all of its members are constants")
    models = load_members(wrapper, [(wrapper.classes_[k], member) for k, member in members.items()])
    n_outputs = len(wrapper.estimators_)
    if n_outputs == 1:  # two classes, and one model that tells them apart
        return models[0]
    parts = []
    for k, model in zip(members, models, strict=True):
        weights = np.zeros((n_outputs, model.forest.n_outputs))
        weights[k, -1] = 1.0
        parts.append(Part(model, weights))
    base = np.array([constants.get(k, 0.0) for k in range(n_outputs)])
    names = [str(label) for label in wrapper.classes_]
    about = _common_link(models)
    if constants or (not wrapper.multilabel_ and about["link"].name in ("probability", "logistic")):
        about = {"link": Link.named("one class against the rest")}
    return combine_members(wrapper, parts, None, base=base, output_names=names, **about)


def _common_link(models: Sequence[Model]) -> dict[str, Any]:
    """Return the links of all outputs, which may differ if each output has its own."""
    first = models[0].link
    if first.name == "softmax" and all(model.link == first for model in models):
        return {"link": Link.named("softmax of each target")}
    if any(model.link.averaged or not model.link.curves for model in models):
        return {"link": first if len(models) == 1 else Link.named("a link of each target")}
    if all(model.link == first for model in models) and len(first.curves) == 1:
        return {"link": first}
    curves = (model.link.curve(k) for model in models for k in range(model.forest.n_outputs))
    return {"link": Link("a link of each target", tuple(curves))}
