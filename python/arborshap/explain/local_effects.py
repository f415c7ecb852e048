"""Accumulated local effects: how the prediction changes along a column, step by step, among the rows that are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.explain.axes import Positions, columns_of_player, quantile_ranks, splits_by_category
from arborshap.explain.state import State
from arborshap.explain.values import predictions_of
from arborshap.result.curve import Curve
from arborshap.rows.frames import Rows
from arborshap.rows.numbers import Matrix, is_missing

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Levels:
    """The points between which a column is changed.

    Attributes
    ----------
    shown
        The points.
    donors
        For each point, a row of X that has this value.
    rows
        The rows whose value is not missing.
    level
        For each of them, its category, or the upper edge of its bin.
    ordered
        Whether the points are edges of bins of numbers; otherwise they are categories.
    """

    shown: NDArray[Any]
    donors: Positions
    rows: Positions
    level: Positions
    ordered: bool


def local_effects_of(state: State, player: int, rows: Rows, bins: int) -> Curve:
    """Accumulate the local effects of one column over the rows: (outputs, points), centred over the rows."""
    name = state.columns.player_names[player]
    owned = columns_of_player(state, player)
    if len(owned) != 1:
        raise InputError(
            f"the player {name!r} is {len(owned)} columns, which have no order to accumulate effects along; use "
            "partial_dependence with X"
        )
    column = rows.shown[:, owned[0]]
    levels = _levels(state, player, column, bins, name)
    differences, counts = _differences(state, player, rows, levels)
    accumulated = np.concatenate([np.zeros((1, state.n_outputs)), np.cumsum(differences, axis=0)])
    if levels.ordered:
        # The curve is a line between two edges, so the mean over a bin is taken to be that of its edges.
        means = 0.5 * (accumulated[:-1] + accumulated[1:]) if len(counts) else accumulated
        centre = np.average(means, axis=0, weights=counts if len(counts) else None)
    else:
        centre = np.average(accumulated, axis=0, weights=np.bincount(levels.level, minlength=len(accumulated)))
    return Curve(
        feature_names=[name],
        grid_values=[levels.shown],
        average=(accumulated - centre).T,
        individual=None,
        missing=None,
        output_names=None if state.output_names is None else list(state.output_names),
        unit=state.unit,
        observed=[column[levels.rows]],
        accumulated=True,
    )


def _levels(state: State, player: int, column: NDArray[Any], bins: int, name: str) -> _Levels:
    rows = np.array([i for i, cell in enumerate(column.tolist()) if not is_missing(cell)], np.intp)
    if len(rows) == 0:
        raise InputError(f"the column {name!r} of X has no values that are not missing")
    cells = column[rows]
    order = _order_of_categories(state, player, cells)
    if order is None:
        numbers = cells.astype(np.float64)
        edges = np.unique(np.sort(numbers)[quantile_ranks(len(numbers), bins)])
        donors = rows[[int(np.flatnonzero(numbers == edge)[0]) for edge in edges]]
        # A bin is open below and closed above; the smallest values belong to the first bin.
        level = np.maximum(np.searchsorted(edges, numbers, side="left"), min(1, len(edges) - 1))
        return _Levels(edges, donors, rows, level, ordered=True)
    of_category = {category: k for k, category in enumerate(order)}
    level = np.array([of_category[cell] for cell in cells.tolist()], np.intp)
    donors = rows[[int(np.flatnonzero(level == k)[0]) for k in range(len(order))]]
    shown = np.empty(len(order), object)
    shown[:] = order
    if all(isinstance(category, (int, float)) for category in order):
        shown = shown.astype(np.float64)
    return _Levels(shown, donors, rows, level, ordered=False)


def _order_of_categories(state: State, player: int, cells: NDArray[Any]) -> list[Any] | None:
    """Return the categories that occur, in the model's order if it records one, else sorted; ``None`` for numbers."""
    features = np.flatnonzero(state.columns.players == player)
    recorded = None
    if not state.reader.makes_features and len(features):
        recorded = state.reader.categories[int(features[0])]
    present = list(dict.fromkeys(cells.tolist()))
    if recorded is not None:
        rank = {category: k for k, category in enumerate(recorded)}
        return sorted(present, key=lambda category: rank.get(category, len(rank)))
    try:
        cells.astype(np.float64)
    except (TypeError, ValueError):
        return sorted(present, key=str)
    if not state.reader.makes_features and any(splits_by_category(state.forest, int(f)) for f in features):
        return sorted(present)
    return None


def _differences(state: State, player: int, rows: Rows, levels: _Levels) -> tuple[Array, Array]:
    """Compute the mean change of the prediction from each point to the next, and how many rows it is a mean over."""
    n_steps = len(levels.shown) - 1
    sums, counts = np.zeros((n_steps, state.n_outputs)), np.zeros(n_steps)
    if n_steps == 0:
        return sums, counts
    changes = [(levels.rows, levels.level)]
    if not levels.ordered:
        # A row of a category changes from the category before it, and to the one after it.
        changes.append((levels.rows, levels.level + 1))
    for of_rows, upper in changes:
        inside = (upper > 0) & (upper <= n_steps)
        some, step = of_rows[inside], upper[inside] - 1
        above, below = (_with_value_of(state, player, rows, some, levels.donors[step + up]) for up in (1, 0))
        np.add.at(sums, step, above - below)
        np.add.at(counts, step, 1.0)
    return sums / counts[:, np.newaxis], counts


def _with_value_of(state: State, player: int, rows: Rows, some: Positions, donors: Positions) -> Array:
    """Predict some rows with a player's features from other rows: (rows, outputs)."""
    features = state.columns.players == player
    mixed: Matrix = rows.matrix[some]
    mixed[:, features] = rows.matrix[donors][:, features]
    predicted = predictions_of(state, mixed)
    assert predicted is not None  # losses were refused before
    return predicted
