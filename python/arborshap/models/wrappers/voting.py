"""Voting: the weighted mean of what the members predict."""

from __future__ import annotations

from typing import Any

from arborshap.models.compose import weighted
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported
from arborshap.models.wrappers.members import check_links, combine_members, load_members, shares, used_members


def read_voting_regressor(wrapper: Any) -> Model:
    """Read the weighted mean of regressors whose prediction is the sum of their trees."""
    return _mean(wrapper, "identity", "predict")


def read_voting_classifier(wrapper: Any) -> Model:
    """Read the weighted mean of the class probabilities of forests."""
    if wrapper.voting != "soft":
        raise unsupported(
            wrapper, "with voting='hard' it counts the classes that its members choose; fit it with voting='soft'"
        )
    names = [str(label) for label in wrapper.classes_]
    return _mean(wrapper, "probability", "predict_proba", output_names=names)


def _mean(wrapper: Any, link: str, method: str, **about: Any) -> Model:
    kept = used_members(wrapper)
    names = [name for _, name in kept]
    models = load_members(wrapper, zip(names, wrapper.estimators_, strict=True))
    check_links(wrapper, models, link, names, method)
    weights = None if wrapper.weights is None else [wrapper.weights[at] for at, _ in kept]
    parts = weighted(models, shares(wrapper, weights, len(kept)))
    return combine_members(wrapper, parts, method, link=Link.named(link), **about)
