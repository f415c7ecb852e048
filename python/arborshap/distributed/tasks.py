"""The work of a worker on one partition of the rows; an error names the partition."""

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
from arborshap.explain.labels import OutputName
from arborshap.game.groups import Groups
from arborshap.game.indices import IndexName, PlayerIndexName

FAN_IN = 8
"""Number of partial results that one task merges; no machine holds more at a time, however many there are."""

VERIFIED = 1000
"""Number of rows on which the driver compares the trees as read with the model's own library."""


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Add the partition's name to every error of arborshap."""
    try:
        yield
    except ArborshapError as error:
        raise type(error)(f"{where}: {error}") from error


def reader(
    model: Any,
    first_rows: Any,
    groups: Groups | None,
    feature_names: Sequence[str] | None,
    verify: bool,
    model_output: OutputName = "raw",
) -> TreeExplainer:
    """Make an explainer from a few rows, for workers to read all other rows with: they lack the model's library."""
    if len(first_rows) == 0:
        raise InputError("data has no rows; the background needs at least one")
    return TreeExplainer(
        model, first_rows, groups=groups, feature_names=feature_names, verify=verify, model_output=model_output
    )


def background_of(
    sent: ShippedExplainer, rows: Any, weights: Any, where: str, *, error_bars: bool = False
) -> Background:
    """Count one part of the background."""
    with naming(where):
        explainer = sent.explainer()
        if weights is not None:
            if len(weights) != len(rows):
                raise InputError(f"sample_weight has {len(weights)} weights, but there are {len(rows)} rows")
            if not np.any(weights):  # rows of weight 0 do not count, and a part may have no others
                rows, weights = rows[:0], None
        return explainer.background_part(rows, sample_weight=weights, error_bars=error_bars)


def merged(parts: Iterable[Background]) -> Background:
    """Merge parts of a background, in any order."""
    return reduce(Background.merge, parts)


def explained(sent: ShippedExplainer, rows: Any, y: Any, index: IndexName, dtype: Any, where: str) -> Explanation:
    """Explain the rows of one partition."""
    with naming(where):
        return sent.explainer()(rows, y, index=index, dtype=dtype)


def values_of(sent: ShippedExplainer, rows: Any, y: Any, index: IndexName, dtype: Any, where: str) -> NDArray[Any]:
    """Compute the values of one partition, and nothing else."""
    with naming(where):
        return sent.explainer().values(rows, y, index=index, dtype=dtype)


def top_values_of(
    sent: ShippedExplainer, rows: Any, y: Any, k: int, index: PlayerIndexName, dtype: Any, where: str
) -> TopValues:
    """Keep the largest values of each row of one partition."""
    with naming(where):
        explainer = sent.explainer()
        if len(rows) == 0:
            explainer.check_rows(rows)  # even no rows may have the wrong columns
            shape = (0, k) if explainer.n_outputs == 1 else (0, k, explainer.n_outputs)
            return TopValues(np.empty(shape, np.int32), np.empty(shape, checked_dtype(dtype)))
        return explainer.top_values(rows, k, y=y, index=index, dtype=dtype)


def sizes_of(sent: ShippedExplainer, rows: Any, y: Any, weights: Any, index: IndexName, where: str) -> SumOfSizes:
    """Sum the absolute values of one partition."""
    with naming(where):
        explainer = sent.explainer()
        if weights is not None and not np.any(weights):
            explainer.check_rows(rows)
            return SumOfSizes(None, 0.0, len(rows))
        return sum_of_sizes(explainer.value_chunks(rows, y, index=index), weights)


def total_of(parts: Iterable[SumOfSizes]) -> SumOfSizes:
    """Add up sums, in the order in which they arrive."""
    return reduce(SumOfSizes.plus, parts)
