"""Sets of players, semivalues and members of groups: values that are linear in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.checks import check_fits
from arborshap._util.progress import Report, reporting
from arborshap.exceptions import InputError
from arborshap.explain.labels import check_no_labels
from arborshap.explain.state import State
from arborshap.explain.values import in_chunks, share_of
from arborshap.game.indices import Sets, at_sets
from arborshap.rows.numbers import Matrix

if TYPE_CHECKING:
    from arborshap.game.hierarchy import Hierarchy

Array: TypeAlias = NDArray[np.float64]
Compute: TypeAlias = Callable[[_core.Explainer, Matrix, Report | None], Array]

_CHUNK = 2**24
"""Number of values held at a time if only the largest of each row are kept."""
_NO_PARAMETERS: Array = np.zeros(0)


def set_values(
    state: State, rows: Matrix, index: str, order: int, progress: bool | Report = False, y: object = None
) -> tuple[Sets, Array]:
    """Compute an index of sets of players: the sets, (sets, order), and the values, (rows, sets[, outputs])."""
    sets = state.core.player_sets(order)
    shape, smaller = (len(rows), len(sets), state.n_outputs), "keep only the largest sets of each row with top="
    check_fits(shape, None, state.settings.memory_limit, smaller)

    def compute(core: _core.Explainer, chunk: Matrix, report: Report | None) -> Array:
        values = core.explain_sets(
            chunk, index, _NO_PARAMETERS, order, n_threads=state.settings.n_threads, progress=report
        )
        return values if core is state.core else at_sets(sets, core.player_sets(order), values)

    return sets, _linear(state, rows, compute, len(sets), f"index={index!r}", progress, y)


def largest_set_values(
    state: State,
    rows: Matrix,
    index: str,
    order: int,
    top: int,
    y: NDArray[Any] | None = None,
    progress: bool | Report = False,
) -> tuple[Sets, NDArray[np.intp], Array]:
    """Keep the `top` sets with the largest absolute values of each row, summed over outputs.

    Returns
    -------
    tuple
        All sets, (sets, order); the positions of those that are kept, (rows, top); and their values,
        (rows, top[, outputs]). The largest come first; in a tie, the earlier set.
    """
    if y is not None and len(y) != len(rows):
        raise InputError(f"y has {len(y)} labels, but X has {len(rows)} rows")
    sets = state.core.player_sets(order)
    top = min(top, len(sets))
    several = (state.n_outputs,) if state.n_outputs > 1 else ()
    shape, smaller = (len(rows), top, *several), "keep fewer sets with a smaller top"
    check_fits(shape, None, state.settings.memory_limit, smaller)
    kept, found = np.empty((len(rows), top), np.intp), np.empty(shape)
    with reporting(progress) as report:
        for start, stop in _chunks(len(rows), len(sets) * state.n_outputs, state.settings.memory_limit):
            labels = None if y is None else y[start:stop]
            done = share_of(report, start, stop - start, len(rows)) or False
            _, values = set_values(state, rows[start:stop], index, order, done, labels)
            sizes = np.abs(values).sum(axis=2) if several else np.abs(values)
            largest = np.argsort(-sizes, axis=1, kind="stable")[:, :top]
            kept[start:stop] = largest
            found[start:stop] = np.take_along_axis(values, largest[..., np.newaxis] if several else largest, axis=1)
    return sets, kept, found


def player_values(
    state: State, rows: Matrix, index: str, parameters: Array, progress: bool | Report = False, y: object = None
) -> Array:
    """Compute a value of single players by its parameters: (rows, players[, outputs])."""

    def compute(core: _core.Explainer, chunk: Matrix, report: Report | None) -> Array:
        return core.explain_sets(chunk, index, parameters, 1, n_threads=state.settings.n_threads, progress=report)

    return _linear(state, rows, compute, state.columns.n_players, "this value", progress, y)


def member_values(
    state: State, rows: Matrix, hierarchy: Hierarchy, progress: bool | Report = False, y: object = None
) -> Array:
    """Compute the values of members of groups: (rows, members[, outputs])."""
    n_members, n_threads = hierarchy.n_members, state.settings.n_threads
    as_they_are = np.array_equal(hierarchy.members, state.columns.players)

    def compute(core: _core.Explainer, chunk: Matrix, report: Report | None) -> Array:
        game = core if as_they_are else core.with_players(hierarchy.members, n_members, n_threads=n_threads)
        return game.explain_members(chunk, hierarchy.parent, hierarchy.ordered, n_threads=n_threads, progress=report)

    return _linear(state, rows, compute, n_members, "members of groups", progress, y)


def _linear(
    state: State, rows: Matrix, compute: Compute, cells: int, what: str, progress: bool | Report, y: object
) -> Array:
    """Compute values against the background or, for a function of the margins, against its weightings."""
    if state.rescaled is not None:
        values = state.rescaled.combine(
            rows, y, lambda core, chunk: compute(core, chunk, None), (cells,), what, progress, state.settings
        )
        return values.reshape(values.shape[:-1]) if state.n_outputs == 1 else values
    check_no_labels(y)
    state.reader.verify(rows, "X")
    shape = (len(rows), cells, state.n_outputs)
    return in_chunks(state, lambda chunk, report: compute(state.core, chunk, report), rows, shape, None, progress)


def _chunks(n_rows: int, per_row: int, limit: int | None) -> Iterator[tuple[int, int]]:
    step = max(64, _CHUNK // max(1, per_row))
    if limit is not None:
        step = max(1, min(step, limit // (8 * max(1, per_row))))
    return ((start, min(n_rows, start + step)) for start in range(0, n_rows, step))


def checked_semivalue(weights: object, n_players: int) -> Array:
    """Return the weights of a semivalue as float64: one for each number of other players."""
    try:
        found = np.asarray(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights must be numbers, one for each size of a coalition: {error}") from error
    if found.shape != (n_players,):
        raise InputError(
            f"weights has shape {found.shape}, but {n_players} players need {n_players} weights: weights[s] is the "
            "weight of a coalition of s other players"
        )
    if not np.isfinite(found).all():
        raise InputError(f"weights[{int((~np.isfinite(found)).argmax())}] is not finite")
    return np.ascontiguousarray(found)
