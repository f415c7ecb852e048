"""Functions that all readers of wrappers share: loading the members, and asking the wrapper itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.models.compose import Part, combine
from arborshap.models.model import Model
from arborshap.models.registry import load
from arborshap.models.sklearn.common import feature_names_of, library_name, quiet
from arborshap.models.supported import unsupported


def load_members(wrapper: Any, members: Iterable[tuple[Any, Any]]) -> list[Model]:
    """Load named members; an error says which wrapper and which member it is about."""
    models = []
    for name, member in members:
        try:
            models.append(load(member))
        except ModelError as error:
            raise type(error)(f"{type(wrapper).__name__}, member {name!r}: {error}") from error
    return models


def used_members(wrapper: Any) -> list[tuple[int, str]]:
    """List the positions and names of the members that were not dropped."""
    is_used = [not (isinstance(member, str) and member == "drop") for _, member in wrapper.estimators]
    return [(at, name) for at, (name, _) in enumerate(wrapper.estimators) if is_used[at]]


def combine_members(wrapper: Any, parts: Sequence[Part], method: str | None, **about: Any) -> Model:
    """Combine the members of a scikit-learn wrapper.

    Parameters
    ----------
    wrapper
        The wrapper.
    parts
        Its members.
    method
        The wrapper's method that returns the outputs, to verify ours; ``None`` if it has none.
    about
        Other arguments of `combine`.
    """
    n_outputs = len(parts[0].weights)
    width = getattr(wrapper, "n_features_in_", None)
    try:
        return combine(
            parts,
            library=library_name(),
            n_columns=parts[0].model.n_columns if width is None else int(width),
            feature_names=feature_names_of(wrapper),
            raw_predict=None if method is None else quiet(getattr(wrapper, method), n_outputs),
            ask_margins=None if method is None else lambda pipeline, rows: getattr(pipeline, method)(rows),
            **about,
        )
    except ModelError as error:
        raise type(error)(f"{type(wrapper).__name__}: {error}") from error


def shares(wrapper: Any, weights: Any, n: int) -> NDArray[np.float64]:
    """Turn the weights of a mean into shares that sum to 1; ``None`` stands for equal weights."""
    given = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    if given.sum() == 0.0:
        raise ModelError(f"{type(wrapper).__name__}: its weights sum to 0, so it has no mean to predict")
    return np.asarray(given / given.sum())


def check_links(wrapper: Any, models: Sequence[Model], link: str, names: Iterable[Any], method: str) -> None:
    """Refuse members whose `method` returns anything but the sum of their trees."""
    for name, model in zip(names, models, strict=True):
        if model.link.name != link:
            raise unsupported(
                wrapper,
                f"it combines what {method} of its members returns. For member {name!r} ({model.library}) this is "
                f"a function of the sum of its trees (its link is {model.link.name}), and a combination of such "
                "functions is not a function of one sum of trees; explain the members one by one",
            )
