"""Friedman's H squared: which share of the variance of a joint effect is interaction."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.explain.coalitions import coalition_values_of, values_of_each_player
from arborshap.explain.state import State
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]


def h_statistic_of(state: State, rows: Matrix) -> Array:
    """Compute H squared of pairs of players, and on the diagonal that of each player against all others."""
    n_players = state.columns.n_players
    everybody = list(range(n_players))
    whole = _centred(coalition_values_of(state, rows, everybody))
    each = _centred(values_of_each_player(state, rows))
    rest = _without_each(state, rows)
    tiny = len(rows) * (1e-12 * np.abs(state.forest.margin(rows, state.settings.n_threads)).max(initial=1e-300)) ** 2
    h = np.zeros((n_players, n_players, state.n_outputs))
    for i in everybody:
        h[i, i] = _share(whole - each[:, i] - rest[:, i], whole, tiny)
        later = everybody[i + 1 :]
        for j, pair in zip(later, _pairs(state, rows, i, later), strict=True):
            together = _centred(pair)
            h[i, j] = h[j, i] = _share(together - each[:, i] - each[:, j], together, tiny)
    return h


def _centred(values: Array) -> Array:
    return np.asarray(values - values.mean(axis=0))


def _share(part: Array, whole: Array, tiny: float) -> Array:
    """Return the variance of a part as a share of that of the whole; 0 if nothing varies beyond rounding."""
    top, bottom = (part**2).sum(axis=0), (whole**2).sum(axis=0)
    return np.where(bottom > tiny, np.where(top > tiny, top, 0.0) / np.where(bottom > tiny, bottom, 1.0), 0.0)


def _without_each(state: State, rows: Matrix) -> Array:
    """Compute what all players but one are worth, centred: (rows, players, outputs)."""
    n_players = state.columns.n_players
    if state.rescaled is None and state.n_background:
        return _centred(state.core.values_without(rows, n_threads=state.settings.n_threads))
    others = [[j for j in range(n_players) if j != i] for i in range(n_players)]
    return _centred(np.stack([coalition_values_of(state, rows, players) for players in others], axis=1))


def _pairs(state: State, rows: Matrix, player: int, others: list[int]) -> Array | list[Array]:
    """Compute what one player and each of some others are worth together: (others, rows, outputs)."""
    if state.rescaled is None and state.n_background and others:
        return state.core.couple_values(rows, player, others, n_threads=state.settings.n_threads)
    return [coalition_values_of(state, rows, [player, other]) for other in others]
