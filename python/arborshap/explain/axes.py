"""The points of a player along which a curve is computed: what users see, and what the trees see."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import is_whole
from arborshap.exceptions import InputError
from arborshap.explain.state import State
from arborshap.forest import Forest
from arborshap.forest.forest import NodeFlag
from arborshap.rows.frames import Rows
from arborshap.rows.numbers import is_missing

Array: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Axis:
    """The points of one player.

    Attributes
    ----------
    features
        The positions of the player's features.
    shown
        The points as users know them: (points,), or (points, columns) for a group.
    read
        The features at each point: (points, features).
    observed
        The player's values in the rows X; ``None`` without rows, or for a group.
    """

    features: Positions
    shown: NDArray[Any]
    read: Array
    observed: NDArray[Any] | None


def is_one_feature(state: State, player: int) -> bool:
    """Whether a player is one feature of the trees, whose values can be set at will."""
    return not state.reader.makes_features and int((state.columns.players == player).sum()) == 1


def columns_of_player(state: State, player: int) -> list[int]:
    """Return the columns of a row that belong to a player."""
    return [j for j, owner in enumerate(state.columns.owners) if owner == player]


def axis_of(state: State, player: int, grid: Any, rows: Rows | None) -> Axis:
    """Choose the points of one player."""
    name = state.columns.player_names[player]
    if not is_one_feature(state, player):
        return _axis_of_rows(state, player, grid, rows, name)
    feature = int(np.flatnonzero(state.columns.players == player)[0])
    categories = state.reader.categories[feature]
    if categories is not None:
        shown, read = _categories(list(categories), grid, name)
    else:
        read = _numbers(state.forest, feature, grid, rows, name)
        shown = read
    observed = None if rows is None else _as_numbers(rows.shown[:, columns_of_player(state, player)[0]])
    return Axis(np.array([feature]), shown, read[:, np.newaxis], observed)


def quantile_ranks(n_values: int, n_bins: int) -> Positions:
    """Return the ranks of the smallest values that shares of 0, 1 / n, 2 / n, ... of sorted values do not exceed."""
    n_bins = min(n_bins, n_values)
    return np.maximum(-(-n_values * np.arange(n_bins + 1) // n_bins) - 1, 0)


def splits_by_category(forest: Forest, feature: int) -> bool:
    """Whether some tree asks for the category of a feature."""
    asked = (forest.feature == feature) & (forest.left >= 0) & ((forest.flags & NodeFlag.CATEGORICAL) != 0)
    return bool(asked.any())


def _number_of_quantiles(grid: int) -> int:
    if grid < 2:
        raise InputError(f"grid must be at least 2 quantiles, got {grid}")
    return int(grid)


def _numbers(forest: Forest, feature: int, grid: Any, rows: Rows | None, name: str) -> Array:
    if grid is None:
        return _one_point_per_step(forest, feature)
    if is_whole(grid):
        if rows is None:
            raise InputError("a number of quantiles needs X, the rows whose quantiles are wanted; or give the values")
        n_points = _number_of_quantiles(grid)
        column = rows.matrix[:, feature].astype(np.float64)
        column = column[~np.isnan(column)]
        if len(column) == 0:
            raise InputError(f"the column {name!r} of X has no numbers; give the values of the grid")
        return np.unique(np.quantile(column, np.linspace(0.0, 1.0, n_points)))
    try:
        points = np.asarray(grid, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the grid of {name!r} must be numbers, got {grid!r}") from None
    if points.ndim != 1 or len(points) == 0:
        raise InputError(f"the grid of {name!r} must be a list of numbers, got an array of shape {points.shape}")
    return points


def _categories(categories: list[Any], grid: Any, name: str) -> tuple[NDArray[Any], Array]:
    if isinstance(grid, str):
        raise InputError(f"the grid of {name!r} must be a list of categories, got {grid!r}")
    wanted = categories if grid is None or is_whole(grid) else list(grid)
    codes = {category: float(code) for code, category in enumerate(categories)}
    unknown = next((category for category in wanted if category not in codes and not is_missing(category)), None)
    if unknown is not None:
        raise InputError(f"{unknown!r} is not a category of {name!r}; the categories are {categories}")
    if not wanted:
        raise InputError(f"the grid of {name!r} has no categories; give at least one")
    shown = np.empty(len(wanted), object)
    shown[:] = wanted
    return shown, np.array([codes.get(category, np.nan) for category in wanted])


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


def _axis_of_rows(state: State, player: int, grid: Any, rows: Rows | None, name: str) -> Axis:
    """Choose points among the values of rows, for a player whose features cannot be set at will."""
    if rows is None:
        raise InputError(
            f"the player {name!r} is not a single feature of the trees, so its curve is over the values of rows: give X"
        )
    owned = columns_of_player(state, player)
    features = np.flatnonzero(state.columns.players == player)
    shown = rows.shown[:, owned[0]] if len(owned) == 1 else rows.shown[:, owned]
    if grid is None:
        donors = np.arange(len(shown))
    elif len(owned) > 1:
        raise InputError(
            f"the player {name!r} is {len(owned)} columns, so its points are the rows of X; leave out grid"
        )
    else:
        donors = _donors(shown, grid, name)
    read = rows.matrix[donors][:, features].astype(np.float64)
    if len(owned) > 1:
        return Axis(features, shown[donors], read, None)
    shown = _as_numbers(shown)
    return Axis(features, shown[donors], read, shown)


def _as_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers of a column of a frame with other kinds of columns as numbers; anything else as it is."""
    if column.dtype != object or not all(isinstance(cell, (int, float, np.number)) for cell in column.tolist()):
        return column
    return column.astype(np.float64)


def _donors(column: NDArray[Any], grid: Any, name: str) -> Positions:
    """Return rows that have the wanted values of a column."""
    if not is_whole(grid):
        if isinstance(grid, str) or not hasattr(grid, "__iter__"):
            raise InputError(f"the grid of {name!r} must be a list of values, got {grid!r}")
        first = {None if is_missing(cell) else cell: i for i, cell in reversed(list(enumerate(column.tolist())))}
        wanted = [None if is_missing(value) else value for value in grid]
        unknown = [value for value in wanted if value not in first]
        if unknown:
            raise InputError(
                f"no row of X has {unknown[0]!r} as {name!r}; {name!r} goes through the pipeline, so its values must "
                "come from rows"
            )
        if not wanted:
            raise InputError(f"the grid of {name!r} has no values; give at least one")
        return np.array([first[value] for value in wanted], np.intp)
    n_points = _number_of_quantiles(grid)
    present = np.array([i for i, cell in enumerate(column.tolist()) if not is_missing(cell)], np.intp)
    try:
        numbers = column[present].astype(np.float64)
    except (TypeError, ValueError):
        return present[np.unique(column[present].astype(str), return_index=True)[1]]
    if len(numbers) == 0:
        raise InputError(f"the column {name!r} of X has no numbers; give the values of the grid")
    order = np.argsort(numbers, kind="stable")[quantile_ranks(len(numbers), n_points - 1)]
    return present[order[np.unique(numbers[order], return_index=True)[1]]]
