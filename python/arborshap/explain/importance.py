"""Importance over many rows: how much each player, or pair of players, matters, without holding all values.

Values are computed for a few rows at a time and folded into the result, so a million rows and 200 players take the
memory of one such chunk. The entry points are `TreeExplainer.importance`, `interaction_importance` and `top_values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_dtype, checked_weights, whole_number
from arborshap._util.progress import Report, reporting
from arborshap.exceptions import InputError
from arborshap.explain.state import State
from arborshap.explain.values import values_of
from arborshap.game.indices import IndexName, order_of_index
from arborshap.result.importance import TopValues

Array = NDArray[Any]

_CHUNK = 2**22
"""Number of values computed at a time: 32 MiB of float64, and still enough rows for every core."""


@dataclass(frozen=True, slots=True, eq=False)
class SumOfSizes:
    """The sum of |value| over some rows. Sums over different rows add up, and an importance is their mean.

    Attributes
    ----------
    total
        The (weighted) sum, in the shape of one row's values; ``None`` if there were no rows.
    weight
        The sum of the rows' weights; without weights, the number of rows.
    n_rows
        The number of rows.
    """

    total: Array | None
    weight: float
    n_rows: int

    def plus(self, other: SumOfSizes) -> SumOfSizes:
        """Add the sum over other rows."""
        totals = [total for total in (self.total, other.total) if total is not None]
        total = totals[0] + totals[1] if len(totals) == 2 else totals[0] if totals else None
        return SumOfSizes(total, self.weight + other.weight, self.n_rows + other.n_rows)

    def mean(self) -> Array:
        """Return the mean: the sum divided by the weight."""
        if self.total is None:
            raise InputError("X has no rows; importance is a mean over rows")
        return np.asarray(self.total / self.weight)


def sum_of_sizes(chunks: Iterable[Array], sample_weight: Any) -> SumOfSizes:
    """Sum the absolute values of chunks of rows; there may be no chunks. The chunks are overwritten."""
    weights = _weights(sample_weight)
    total: Array | None = None
    n_rows = 0
    for values in chunks:
        np.abs(values, out=values)
        start, n_rows = n_rows, n_rows + len(values)
        if weights is None:
            of_chunk = values.sum(axis=0)
        elif n_rows > len(weights):
            raise InputError(f"sample_weight has {len(weights)} weights, but X has more rows; give one weight per row")
        else:
            of_chunk = np.tensordot(weights[start:n_rows], values, axes=1)
        total = of_chunk if total is None else total + of_chunk
        del values  # or it would still be there while the next chunk is computed
    if total is not None and weights is not None and len(weights) != n_rows:
        raise InputError(f"sample_weight has {len(weights)} weights, but X has {n_rows} rows; give one weight per row")
    return SumOfSizes(total, float(n_rows if weights is None else weights.sum()), n_rows)


def top_values(chunks: Iterable[Array], k: int, dtype: Any) -> TopValues:
    """Keep the `k` largest values of each row, from values that arrive in chunks of rows."""
    kind = checked_dtype(dtype)
    found: list[TopValues] = []
    for values in chunks:
        players = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(values, players, axis=1)
        found.append(TopValues(players.astype(np.int32), kept.astype(kind, copy=False)))
    if not found:
        raise InputError("X has no rows; give at least one")
    return TopValues(np.concatenate([top.players for top in found]), np.concatenate([top.values for top in found]))


def number_of_players(k: Any, n_players: int) -> int:
    """Return `k`, the number of values to keep per row, if it is from 1 to the number of players."""
    return whole_number("k", k, 1, n_players, f"a number of players, from 1 to {n_players}")


def value_chunks(state: State, X: Any, y: Any, index: IndexName, progress: bool | Report) -> Iterator[Array]:
    """Compute the values of a few rows at a time, over all rows or over all batches in turn."""
    labels = None if y is None else np.asarray(y)
    batches = _batches(X)
    n_rows = 0
    if batches is None:
        with reporting(progress) as report:
            for values in _chunks_of(state, X, "X", labels, index, report):
                n_rows += len(values)
                yield values
                del values  # or it would still be there while the next chunk is computed
            if report is not None:
                report(1.0)
    elif progress is not False:
        raise InputError("progress cannot be shown for an iterator of batches, whose length is not known; leave it out")
    else:
        for i, batch in enumerate(batches):
            rest = None if labels is None else labels[n_rows:]
            for values in _chunks_of(state, batch, f"batch {i} of X", rest, index, None):
                n_rows += len(values)
                yield values
                del values  # as above
    if labels is not None and len(labels) != n_rows:
        raise InputError(f"y has {len(labels)} labels, but X has {n_rows} rows; give one label per row")


def _batches(X: Any) -> Iterator[Any] | None:
    """Return an iterator if X is an iterator of batches of rows, and ``None`` if X is rows."""
    is_reader = hasattr(X, "read_next_batch")  # pyarrow's RecordBatchReader, which is iterable but no iterator
    return iter(X) if is_reader or hasattr(X, "__next__") else None


def _chunks_of(
    state: State, rows: Any, what: str, labels: Array | None, index: IndexName, report: Report | None
) -> Iterator[Array]:
    matrix = state.reader.read(rows, what).matrix
    values_per_row = state.columns.n_players ** order_of_index(index) * state.n_outputs
    step = max(1, _CHUNK // max(1, values_per_row))
    for start in range(0, len(matrix), step):
        chunk = slice(start, min(start + step, len(matrix)))
        y = None if labels is None else labels[chunk]
        yield values_of(state, matrix[chunk], index, y=y)
        if report is not None:
            report(chunk.stop / len(matrix))


def _weights(sample_weight: Any) -> NDArray[np.float64] | None:
    """Check the weights alone; the number of rows is known only after all of them were read."""
    if sample_weight is not None and not hasattr(sample_weight, "__len__"):
        raise InputError(f"sample_weight must be one number per row, got {sample_weight!r}")
    return checked_weights(sample_weight, 0 if sample_weight is None else len(sample_weight))
