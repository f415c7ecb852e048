"""Contrasts of rows with other rows, and how far values may be off because rows are samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.progress import Report
from arborshap.exceptions import InputError
from arborshap.explain.rescaled import Rescaled
from arborshap.explain.state import State, compiled
from arborshap.explain.values import in_chunks, without_single_output
from arborshap.game.indices import IndexName, order_of_index
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Contrast:
    """The values of some rows against others, as one row.

    Attributes
    ----------
    values
        The mean over all pairs: (1, players[, outputs]).
    base
        The mean prediction of the other rows: (1, outputs).
    standard_error
        How far the means may be off because the rows are samples, in the shape of `values`; ``None`` for two single
        rows.
    """

    values: Array
    base: NDArray[np.float64]
    standard_error: Array | None


def contrast_of(state: State, ours: Matrix, theirs: Matrix) -> Contrast:
    """Compute the mean values of rows against other rows.

    The mean is one over two samples, so its variance is about that of our rows' values, divided by their number, plus
    that of their rows' values, divided by theirs. A side of a single row is no sample: that row was asked about.
    """
    for what, rows in (("x", ours), ("z", theirs)):
        if len(rows) == 0:
            raise InputError(f"{what} has no rows; a contrast needs at least one row on each side")
    values, base = _values_against(state, ours, theirs)
    mean = without_single_output(state, values.mean(axis=0, keepdims=True))
    if len(ours) == len(theirs) == 1:
        return Contrast(mean, base, None)
    variance = _variance_of_mean(values)
    if len(theirs) > 1:
        variance = variance + _variance_of_mean(_values_against(state, theirs, ours)[0])
    return Contrast(mean, base, without_single_output(state, np.sqrt(variance)[np.newaxis]))


def _variance_of_mean(values: Array) -> Array:
    return np.asarray(values.var(axis=0, ddof=1) / len(values) if len(values) > 1 else np.zeros(values.shape[1:]))


def _values_against(state: State, ours: Matrix, theirs: Matrix) -> tuple[Array, NDArray[np.float64]]:
    """Compute the values of rows against other rows, (rows, players, outputs), and the others' mean prediction."""
    settings, output = state.settings, None if state.rescaled is None else state.rescaled.output
    against = compiled(state.reader, settings, theirs)
    if output is None:
        values = against.explain(ours, "shapley", engine=settings.engine, n_threads=settings.n_threads)
        base = against.expected_value[np.newaxis]
    elif output.labels is not None:
        raise InputError("a loss needs labels, but a contrast has none; use pair_values(x, z, y=...)")
    else:
        rescaled = Rescaled.of(output, state.forest, against, theirs, None, settings)
        values = rescaled.explain(ours, None, "shapley", None, False, settings)
        base = rescaled.expected(None, 1)
    return values, base


def standard_error_of(state: State, rows: Matrix, index: IndexName, progress: bool | Report = False) -> Array:
    """Compute how far each value may be off because the background is a sample, in the shape of the values."""
    _check_raw(state)

    def compute(chunk: Matrix, report: Report | None) -> NDArray[np.float64]:
        return state.core.standard_error(chunk, index, n_threads=state.settings.n_threads, progress=report)

    players = (state.columns.n_players,) * order_of_index(index)
    return in_chunks(state, compute, rows, (len(rows), *players, state.n_outputs), None, progress)


def background_size_for(state: State, error: float, rows: Matrix | None) -> int:
    """Return how many background rows give Shapley values of these rows a standard error of at most `error`."""
    _check_raw(state)
    if not (isinstance(error, (int, float, np.number)) and 0.0 < error < np.inf):
        raise InputError(f"error must be a positive number, in the unit of the values; got {error!r}")
    if rows is not None and len(rows) == 0:
        raise InputError("X has no rows; give some rows whose values should be that precise")
    errors = state.core.standard_error(rows, "shapley", n_threads=state.settings.n_threads)
    now = np.sqrt((errors**2).mean(axis=0)).max(initial=0.0)
    return max(1, int(np.ceil(state.n_background * float(now / error) ** 2)))


def _check_raw(state: State) -> None:
    if state.rescaled is not None:
        raise InputError(
            f"standard errors are computed for model_output='raw', not for {state.model_output!r}; use an explainer of "
            "the raw output, or compare explanations against two halves of the background"
        )
