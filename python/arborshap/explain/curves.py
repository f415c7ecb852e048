"""Partial dependence: the mean prediction as a function of one or two players, exactly over the whole background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.explain.coalitions import coalition_values_of, values_of_each_player
from arborshap.explain.state import State
from arborshap.forest import Forest
from arborshap.forest.forest import NodeFlag
from arborshap.result.curve import Curve
from arborshap.rows.frames import Rows
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]
Kind: TypeAlias = Literal["average", "individual", "both"]


@dataclass(frozen=True, slots=True)
class _Axis:
    """The points of one player along which a curve is computed: what users see, and what the trees see."""

    feature: int
    shown: NDArray[Any]
    read: Array


def curve_of(state: State, players: list[int], grid: Any, rows: Rows | None, kind: Kind) -> Curve:
    """Compute the curve of one or two players."""
    names = [state.columns.player_names[player] for player in players]
    features = [np.flatnonzero(state.columns.players == player) for player in players]
    several = state.reader.makes_features or any(len(owned) != 1 for owned in features)
    if kind != "average" and rows is None:
        raise InputError(f"kind={kind!r} needs X, the rows whose own curves are wanted")
    if several:
        return _over_rows(state, players, names, grid, rows, kind)
    matrix = None if rows is None else rows.matrix
    grids = _per_axis(grid, len(players))
    axes = [
        _axis(state, int(owned[0]), of_axis, matrix, name)
        for owned, of_axis, name in zip(features, grids, names, strict=True)
    ]
    points = np.zeros((int(np.prod([len(axis.read) for axis in axes])), state.forest.n_features))
    for axis, values in zip(axes, np.meshgrid(*(axis.read for axis in axes), indexing="ij"), strict=True):
        points[:, axis.feature] = values.ravel()
    shape = tuple(len(axis.read) for axis in axes)
    average = individual = missing = None
    if kind != "individual":
        values = coalition_values_of(state, points, players)
        average = np.moveaxis(values, 1, 0).reshape(-1, *shape)
        if len(axes) == 1 and state.reader.model.takes_missing:
            missing = coalition_values_of(state, np.full((1, points.shape[1]), np.nan), players)[0]
    if kind != "average":
        assert matrix is not None
        individual = _individual(state, matrix, axes, points).reshape(-1, len(matrix), *shape)
    return Curve(
        feature_names=names,
        grid_values=[axis.shown for axis in axes],
        average=average,
        individual=individual,
        missing=missing,
        output_names=None if state.output_names is None else list(state.output_names),
        unit=state.unit,
    )


def all_curves_of(state: State, grid: Any, rows: Rows | None) -> dict[str, Curve]:
    """Compute the curves of all players at once, by the name of the player."""
    players = range(state.columns.n_players)
    features = [np.flatnonzero(state.columns.players == player) for player in players]
    if state.reader.makes_features or any(len(owned) != 1 for owned in features):
        return {name: curve_of(state, [i], grid, rows, "average") for i, name in enumerate(state.columns.player_names)}
    matrix = None if rows is None else rows.matrix
    axes = [
        _axis(state, int(owned[0]), grid, matrix, name)
        for owned, name in zip(features, state.columns.player_names, strict=True)
    ]
    # Each player is looked at alone, so one row can hold a point of every player; the last row has all values missing.
    points = np.full((max(len(axis.read) for axis in axes) + 1, state.forest.n_features), np.nan)
    for axis in axes:
        points[: len(axis.read), axis.feature] = axis.read
    values = values_of_each_player(state, points)
    takes_missing = state.reader.model.takes_missing
    return {
        name: Curve(
            feature_names=[name],
            grid_values=[axis.shown],
            average=values[: len(axis.read), i].T,
            individual=None,
            missing=values[-1, i] if takes_missing else None,
            output_names=None if state.output_names is None else list(state.output_names),
            unit=state.unit,
        )
        for i, (name, axis) in enumerate(zip(state.columns.player_names, axes, strict=True))
    }


def _over_rows(state: State, players: list[int], names: list[str], grid: Any, rows: Rows | None, kind: Kind) -> Curve:
    """Compute the curve of players that are several columns, or features of a pipeline, at the rows' own values."""
    if kind != "average" or grid is not None or rows is None or len(players) > 1:
        raise InputError(
            f"the player {names[0]!r} is not a single feature of the trees, so its curve is over the values of rows: "
            "give X, and leave out grid and kind"
        )
    owned = [j for j, owner in enumerate(state.columns.owners) if owner == players[0]]
    shown = rows.shown[:, owned]
    values = coalition_values_of(state, rows.matrix, players)
    return Curve(
        feature_names=names,
        grid_values=[shown[:, 0] if len(owned) == 1 else shown],
        average=values.T,
        individual=None,
        missing=None,
        output_names=None if state.output_names is None else list(state.output_names),
        unit=state.unit,
    )


def _per_axis(grid: Any, n_axes: int) -> list[Any]:
    if n_axes == 1 or grid is None or isinstance(grid, (int, np.integer)):
        return [grid] * n_axes
    if not isinstance(grid, Sequence) or len(grid) != n_axes:
        raise InputError("the grid of two players must be a number, or a pair with the values of each player")
    return list(grid)


def _axis(state: State, feature: int, grid: Any, matrix: Matrix | None, name: str) -> _Axis:
    categories = state.reader.categories[feature]
    if categories is not None:
        return _category_axis(feature, list(categories), grid, name)
    if grid is None:
        points = _one_point_per_step(state.forest, feature)
        return _Axis(feature, points, points)
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
        if matrix is None:
            raise InputError("a number of quantiles needs X, the rows whose quantiles are wanted; or give the values")
        if grid < 2:
            raise InputError(f"grid must be at least 2 quantiles, got {grid}")
        column = matrix[:, feature].astype(np.float64)
        column = column[~np.isnan(column)]
        if len(column) == 0:
            raise InputError(f"the column {name!r} of X has no numbers; give the values of the grid")
        points = np.unique(np.quantile(column, np.linspace(0.0, 1.0, int(grid))))
        return _Axis(feature, points, points)
    try:
        points = np.asarray(grid, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the grid of {name!r} must be numbers, got {grid!r}") from None
    if points.ndim != 1 or len(points) == 0:
        raise InputError(f"the grid of {name!r} must be a list of numbers, got an array of shape {points.shape}")
    return _Axis(feature, points, points)


def _category_axis(feature: int, categories: list[Any], grid: Any, name: str) -> _Axis:
    wanted = categories if grid is None or isinstance(grid, (int, np.integer)) else list(grid)
    codes = {category: float(code) for code, category in enumerate(categories)}
    unknown = next((category for category in wanted if category not in codes), None)
    if unknown is not None:
        raise InputError(f"{unknown!r} is no category of {name!r}; the categories are {categories}")
    return _Axis(feature, np.array(wanted, object), np.array([codes[category] for category in wanted]))


def _one_point_per_step(forest: Forest, feature: int) -> Array:
    """Return a point between all neighbouring thresholds of a feature, and one beyond each end.

    The curve is constant between thresholds, so these points tell all of it. The categories of a feature without
    recorded names are points of their own.
    """
    of_feature = (forest.feature == feature) & (forest.left >= 0)
    categorical = (forest.flags & NodeFlag.CATEGORICAL) != 0
    cuts = np.unique(forest.threshold[of_feature & ~categorical])
    cuts = cuts[np.isfinite(cuts)]
    sizes = np.diff(forest.category_offsets)
    members = forest.categories[np.repeat(of_feature[forest.category_nodes], sizes)]
    if len(members):
        return np.arange(float(members.max()) + 2.0)
    if len(cuts) == 0:
        return np.zeros(1)
    beyond = max(1e-3 * max(1.0, abs(cuts[0]), abs(cuts[-1])), 0.05 * (cuts[-1] - cuts[0]))
    between = [low + 0.5 * (high - low) for low, high in pairwise(cuts)]
    return np.array([cuts[0] - beyond, *between, cuts[-1] + beyond])


def _individual(state: State, matrix: Matrix, axes: list[_Axis], points: Array) -> Array:
    """Compute the curve of every row by itself: (outputs, rows, points)."""
    n_points = len(points)
    out = np.empty((state.n_outputs, len(matrix), n_points))
    for i, row in enumerate(matrix):
        mixed = np.repeat(row[np.newaxis], n_points, axis=0).astype(np.float64)
        for axis in axes:
            mixed[:, axis.feature] = points[:, axis.feature]
        margins = state.forest.margin(mixed, state.settings.n_threads)
        values = margins if state.rescaled is None else state.rescaled.output.of(margins, None)
        out[:, i] = values.T
    return out
