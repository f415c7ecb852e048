"""Values, as arrays, of rows that were already read."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import check_fits, checked_dtype
from arborshap._util.progress import Report, reporting
from arborshap.explain.labels import check_no_labels
from arborshap.explain.state import State
from arborshap.game.indices import IndexName, order_of_index
from arborshap.rows.frames import is_one_row
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[Any]

_CHUNK = 2**25
"""Number of float64 values computed at a time for a float32 result, so that all of them are never held as float64."""


def values_of(
    state: State,
    rows: Matrix,
    index: IndexName,
    dtype: Any = np.float64,
    progress: bool | Report = False,
    y: Any = None,
) -> Array:
    """Compute the values of an index: (rows, players[, players][, outputs])."""
    settings, kind = state.settings, checked_dtype(dtype)
    if state.rescaled is not None:
        values = state.rescaled.explain(rows, y, index, kind, progress, settings)
        return without_single_output(state, values)
    check_no_labels(y)
    state.reader.verify(rows, "X")  # without a background, these may be the first rows to verify the model on

    def compute(chunk: Matrix, report: Report | None) -> NDArray[np.float64]:
        return state.core.explain(chunk, index, engine=settings.engine, n_threads=settings.n_threads, progress=report)

    players = (state.columns.n_players,) * order_of_index(index)
    return in_chunks(state, compute, rows, (len(rows), *players, state.n_outputs), kind, progress)


def pair_values_of(
    state: State,
    rows: Matrix,
    others: Matrix | None,
    dtype: Any = np.float64,
    progress: bool | Report = False,
    y: Any = None,
) -> Array:
    """Compute the Shapley values of every pair: (rows, reference rows, players[, outputs])."""
    kind = checked_dtype(dtype)
    if state.rescaled is not None:
        every = state.rescaled.explain_pairs(rows, others, y, kind, progress, state.settings)
        return without_single_output(state, every)
    check_no_labels(y)
    n_others = state.n_background if others is None else len(others)

    def compute(chunk: Matrix, report: Report | None) -> NDArray[np.float64]:
        return state.core.explain_pairs(chunk, others, n_threads=state.settings.n_threads, progress=report)

    shape = (len(rows), n_others, state.columns.n_players, state.n_outputs)
    return in_chunks(state, compute, rows, shape, kind, progress)


def base_values_of(state: State, n_rows: int, y: Any) -> NDArray[np.float64]:
    """Return the base value of each row, from which its values are measured: (rows, outputs)."""
    base = np.empty((n_rows, state.n_outputs))
    base[:] = state.core.expected_value if state.rescaled is None else state.rescaled.expected(y, n_rows)
    return base


def predictions_of(state: State, rows: Matrix) -> NDArray[np.float64] | None:
    """Return the sum of base value and values, (rows, outputs); ``None`` for a loss, which needs labels."""
    margins = state.forest.margin(rows, state.settings.n_threads)
    if state.rescaled is None:
        return margins
    return None if state.rescaled.output.labels is not None else state.rescaled.output.of(margins, None)


def without_single_output(state: State, values: Array) -> Array:
    """Drop the axis of outputs if there is only one output."""
    return values.reshape(values.shape[:-1]) if state.n_outputs == 1 else values


def of_given_rows(X: Any, values: Array) -> Array:
    """Drop the axis of rows if X is a single row that is not in a matrix."""
    return np.asarray(values[0]) if is_one_row(X) else values


def in_chunks(
    state: State,
    compute: Callable[[Matrix, Report | None], NDArray[np.float64]],
    rows: Matrix,
    shape: tuple[int, ...],
    dtype: np.dtype[Any] | None,
    progress: bool | Report,
) -> Array:
    """Compute all rows at once, or in chunks that are each narrowed to float32 before the next is computed.

    Methods whose callers cannot choose a dtype pass ``None``, and get float64.
    """
    kind = check_fits(shape, dtype, state.settings.memory_limit)
    if 0 in shape:
        return without_single_output(state, np.empty(shape, kind))
    if progress is False and kind == np.float64:  # the fast way for a single row: nothing to report or narrow
        return without_single_output(state, compute(rows, None))
    with reporting(progress) as report:
        if kind == np.float64:
            values: Array = compute(rows, report)
        else:
            values = np.empty(shape, kind)
            step = max(1, _CHUNK // prod(shape[1:]))
            for start in range(0, len(rows), step):
                chunk = rows[start : start + step]
                values[start : start + step] = compute(chunk, share_of(report, start, len(chunk), len(rows)))
        if report is not None:
            report(1.0)
    return without_single_output(state, values)


def share_of(report: Report | None, start: int, length: int, total: int) -> Report | None:
    """Turn the fraction done of one chunk into the fraction done of the whole."""
    return None if report is None else lambda fraction: report((start + fraction * length) / total)
