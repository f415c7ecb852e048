"""What a worker does with one part of the rows; an error says which part it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap import Background, Explanation, TopValues, TreeExplainer
from arborshap._util.checks import checked_dtype
from arborshap.distributed.shipped import ShippedExplainer
from arborshap.exceptions import ArborshapError, InputError
from arborshap.explain.importance import SumOfSizes, sum_of_sizes
from arborshap.game.groups import Groups
from arborshap.game.indices import IndexName, PlayerIndexName

FAN_IN = 8
"""Partial results merged by one task: a machine never holds more of them, however many parts there are."""

VERIFIED = 1000
"""Rows that the driver takes to hold the trees as read against the model's own library."""


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Name the part in every error of ours."""
    try:
        yield
    except ArborshapError as error:
        raise type(error)(f"{where}: {error}") from error


def reader(
    model: Any, first_rows: Any, groups: Groups | None, feature_names: Sequence[str] | None, verify: bool
) -> TreeExplainer:
    """Make an explainer of a few rows, with which workers read all others: they have no library of the model."""
    if len(first_rows) == 0:
        raise InputError("data has no rows; the background needs at least one")
    return TreeExplainer(model, first_rows, groups=groups, feature_names=feature_names, verify=verify)


def background_of(sent: ShippedExplainer, rows: Any, weights: Any, where: str) -> Background:
    """Count one part of the background."""
    with naming(where):
        explainer = sent.explainer()
        if weights is not None:
            if len(weights) != len(rows):
                raise InputError(f"sample_weight has {len(weights)} weights for {len(rows)} rows")
            if not np.any(weights):  # without weight rows count nothing, and a part may well have no others
                rows, weights = rows[:0], None
        return explainer.background_part(rows, sample_weight=weights)


def merged(parts: Iterable[Background]) -> Background:
    """Merge parts, in any order."""
    return reduce(Background.merge, parts)


def explained(sent: ShippedExplainer, rows: Any, y: Any, index: IndexName, dtype: Any, where: str) -> Explanation:
    """Explain one part."""
    with naming(where):
        return sent.explainer()(rows, y, index=index, dtype=dtype)


def values_of(sent: ShippedExplainer, rows: Any, y: Any, index: IndexName, dtype: Any, where: str) -> NDArray[Any]:
    """Explain one part, and leave out all but the values."""
    with naming(where):
        return sent.explainer().values(rows, y, index=index, dtype=dtype)


def top_values_of(
    sent: ShippedExplainer, rows: Any, y: Any, k: int, index: PlayerIndexName, dtype: Any, where: str
) -> TopValues:
    """Keep the largest values of each row of one part."""
    with naming(where):
        explainer = sent.explainer()
        if len(rows) == 0:
            explainer.check_rows(rows)  # they may still have the wrong columns
            shape = (0, k) if explainer.n_outputs == 1 else (0, k, explainer.n_outputs)
            return TopValues(np.empty(shape, np.int32), np.empty(shape, checked_dtype(dtype)))
        return explainer.top_values(rows, k, y=y, index=index, dtype=dtype)


def sizes_of(sent: ShippedExplainer, rows: Any, y: Any, weights: Any, index: IndexName, where: str) -> SumOfSizes:
    """Add up the sizes of the values of one part."""
    with naming(where):
        explainer = sent.explainer()
        if weights is not None and not np.any(weights):
            explainer.check_rows(rows)
            return SumOfSizes(None, 0.0, len(rows))
        return sum_of_sizes(explainer.value_chunks(rows, y, index=index), weights)


def total_of(parts: Iterable[SumOfSizes]) -> SumOfSizes:
    """Add up parts, in the order they come in."""
    return reduce(SumOfSizes.plus, parts)
