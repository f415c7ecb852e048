"""Libraries whose models are refused as a whole, with the reason."""

from __future__ import annotations

from typing import Any, NoReturn

from arborshap.models.supported import unsupported

_REASONS = {
    "econml": (
        "its causal forests weigh training rows by the leaves they share with a row and solve an equation with these "
        "weights, so their prediction is not a mean of trees; explain the models of a meta-learner instead"
    ),
}


def load(model: Any) -> NoReturn:
    """Refuse the model."""
    found = [name for cls in type(model).__mro__ if (name := cls.__module__.partition(".")[0]) in _REASONS]
    raise unsupported(model, _REASONS[found[0]])
