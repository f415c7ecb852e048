"""Partial dependence: the mean prediction as a function of one or two players, exactly over the whole background."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import check_fits, is_whole
from arborshap.exceptions import InputError
from arborshap.explain.axes import Axis, axis_of, is_one_feature
from arborshap.explain.coalitions import coalition_values_of, refuse_losses, values_of_each_player
from arborshap.explain.state import State
from arborshap.explain.values import predictions_of
from arborshap.result.curve import Curve
from arborshap.rows.frames import Rows
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Literal["average", "individual", "both"]

_CHUNK = 2**22
"""Number of cells of mixed rows that are held at a time."""


def curve_of(state: State, players: list[int], grid: Any, rows: Rows | None, kind: Kind) -> Curve:
    """Compute the curve of one or two players."""
    if kind != "average" and rows is None:
        raise InputError(f"kind={kind!r} needs X, the rows whose own curves are wanted")
    refuse_losses(state)
    axes = [
        axis_of(state, player, of_axis, rows)
        for player, of_axis in zip(players, _per_axis(grid, len(players)), strict=True)
    ]
    shape = tuple(len(axis.read) for axis in axes)
    points = np.zeros((_checked_points(state, shape), state.forest.n_features))
    for axis, at in zip(axes, np.meshgrid(*map(np.arange, shape), indexing="ij"), strict=True):
        points[:, axis.features] = axis.read[at.ravel()]
    average = individual = missing = None
    if kind != "individual":
        values = coalition_values_of(state, points, players)
        average = np.moveaxis(values, 1, 0).reshape(-1, *shape)
        if len(axes) == 1 and state.reader.model.takes_missing and is_one_feature(state, players[0]):
            missing = coalition_values_of(state, np.full((1, points.shape[1]), np.nan), players)[0]
    if kind != "average":
        assert rows is not None
        individual = _individual(state, rows.matrix, axes, points).reshape(-1, len(rows.matrix), *shape)
    return _curve(state, players, axes, average, individual, missing)


def _checked_points(state: State, shape: tuple[int, ...]) -> int:
    """Return the number of points, if they fit into memory."""
    n_points = math.prod(shape)
    try:
        check_fits((n_points, state.forest.n_features), None, state.settings.memory_limit)
    except MemoryError:
        size = " x ".join(f"{n:,}" for n in shape)
        raise MemoryError(f"a curve of {size} points does not fit into memory; give a grid, such as grid=50") from None
    return n_points


def all_curves_of(state: State, grid: Any, rows: Rows | None) -> dict[str, Curve]:
    """Compute the curves of all players at once, by the name of the player."""
    refuse_losses(state)
    players = range(state.columns.n_players)
    axes = [axis_of(state, player, grid, rows) for player in players]
    # Each player is looked at alone, so one row can hold a point of every player; the last row has all values missing.
    points = np.full((max(len(axis.read) for axis in axes) + 1, state.forest.n_features), np.nan)
    for axis in axes:
        points[: len(axis.read), axis.features] = axis.read
    values = values_of_each_player(state, points)
    curves = {}
    for player, axis in zip(players, axes, strict=True):
        takes_missing = state.reader.model.takes_missing and is_one_feature(state, player)
        average = values[: len(axis.read), player].T
        missing = values[-1, player] if takes_missing else None
        curves[state.columns.player_names[player]] = _curve(state, [player], [axis], average, None, missing)
    return curves


def _curve(
    state: State,
    players: list[int],
    axes: list[Axis],
    average: Array | None,
    individual: Array | None,
    missing: Array | None,
) -> Curve:
    observed = [axis.observed for axis in axes if axis.observed is not None]
    return Curve(
        feature_names=[state.columns.player_names[player] for player in players],
        grid_values=[axis.shown for axis in axes],
        average=average,
        individual=individual,
        missing=missing,
        output_names=None if state.output_names is None else list(state.output_names),
        unit=state.unit,
        observed=observed if len(observed) == len(axes) else None,
    )


def _per_axis(grid: Any, n_axes: int) -> list[Any]:
    if n_axes == 1 or grid is None or is_whole(grid):
        return [grid] * n_axes
    if isinstance(grid, str) or not isinstance(grid, Sequence) or len(grid) != n_axes:
        raise InputError("the grid of two players must be a number, or a pair with the values of each player")
    return list(grid)


def _individual(state: State, matrix: Matrix, axes: list[Axis], points: Array) -> Array:
    """Compute the curve of every row by itself: (outputs, rows, points)."""
    n_points = len(points)
    shape, smaller = (len(matrix), n_points, state.n_outputs), "give a smaller grid, such as grid=50"
    check_fits(shape, None, state.settings.memory_limit, smaller)
    out = np.empty((state.n_outputs, len(matrix), n_points))
    step = max(1, _CHUNK // max(1, points.size))
    for start in range(0, len(matrix), step):
        some = matrix[start : start + step]
        mixed = np.repeat(some, n_points, axis=0).astype(np.float64)
        for axis in axes:
            mixed[:, axis.features] = np.tile(points[:, axis.features], (len(some), 1))
        predicted = predictions_of(state, mixed)
        assert predicted is not None  # losses were refused before
        out[:, start : start + step] = predicted.T.reshape(state.n_outputs, len(some), n_points)
    return out
