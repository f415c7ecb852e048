"""Predictions of a coalition: some players from the row, all others from the background."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.explain.state import State
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]

_CHUNK = 2**22
"""Number of cells of mixed rows that are held at a time."""


def chosen_players(state: State, players: Any) -> list[int]:
    """Return the positions of the players that are given by name or position, alone or in a list."""
    names = state.columns.player_names
    wanted = [players] if isinstance(players, (str, int, np.integer)) else players
    if not isinstance(wanted, Iterable):
        raise InputError(f"players must be names or positions of players, got {players!r}")
    chosen = []
    for player in wanted:
        if isinstance(player, str):
            if player not in names:
                raise InputError(f"there is no player {player!r}; the players are {list(names)}")
            chosen.append(names.index(player))
        elif isinstance(player, (int, np.integer)) and not isinstance(player, bool) and 0 <= player < len(names):
            chosen.append(int(player))
        else:
            raise InputError(f"{player!r} is no player: give a name, or a position from 0 to {len(names) - 1}")
    if len(set(chosen)) < len(chosen):
        raise InputError(f"players has {players!r}, in which a player stands twice; name each player once")
    return chosen


def refuse_losses(state: State) -> None:
    """Raise `InputError` if a loss is explained: it has a label for each row, and a mixed row has none."""
    if state.rescaled is not None and state.rescaled.output.labels is not None:
        raise InputError("a loss has a label for each row, and a mixed row has none; use another model_output")


def coalition_values_of(state: State, rows: Matrix, players: list[int]) -> Array:
    """Compute the mean prediction with these players from each row and all others from the background: (rows, outputs).

    For the raw prediction this is a game of two players, the coalition and all others: the main effect of the first is
    what the coalition is worth. Two players fit into small tables, however deep the trees are. A function of the margin
    must be evaluated for every mixed row, so other outputs cost rows times background rows.
    """
    if state.rescaled is not None:
        return _means_of_mixed_rows(state, rows, players)
    settings = state.settings
    in_coalition = np.isin(state.columns.players, players)
    if in_coalition.all():
        return state.forest.margin(rows, settings.n_threads)
    base = np.broadcast_to(state.core.expected_value, (len(rows), state.n_outputs))
    if not in_coalition.any():
        return base.copy()
    if len(players) == 1 and _has_cheap_main_effects(state, len(rows)):
        return np.asarray(base + _main_effects(state, rows)[:, players[0]])
    sides = np.where(in_coalition, 0, 1).astype(np.int32)
    core = state.core.with_players(sides, 2, n_threads=settings.n_threads)
    main = core.explain(rows, "taylor", engine="auto", n_threads=settings.n_threads)[:, 0, 0]
    return np.asarray(base + main)


def values_of_each_player(state: State, rows: Matrix) -> Array:
    """Compute what each player is worth alone, as a coalition of one: (rows, players, outputs)."""
    if state.rescaled is None and _has_cheap_main_effects(state, len(rows)):
        return np.asarray(state.core.expected_value + _main_effects(state, rows))
    everybody = range(state.columns.n_players)
    return np.stack([coalition_values_of(state, rows, [player]) for player in everybody], axis=1)


def _has_cheap_main_effects(state: State, n_rows: int) -> bool:
    """Whether the main effects of all players are cheaper than a game of two players for one of them.

    They are if tables serve all trees, because the background has been counted for these already.
    """
    plan = state.core.plan(n_rows, "taylor", state.settings.engine)
    few = n_rows * state.columns.n_players**2 * state.n_outputs <= _CHUNK
    return few and plan.trees_by_tables == state.forest.n_trees


def _main_effects(state: State, rows: Matrix) -> Array:
    """Compute the main effects of all players, the diagonal of the Shapley-Taylor indices: (rows, players, outputs)."""
    settings = state.settings
    pairs = state.core.explain(rows, "taylor", engine=settings.engine, n_threads=settings.n_threads)
    return np.asarray(np.diagonal(pairs, axis1=1, axis2=2).transpose(0, 2, 1))


def _means_of_mixed_rows(state: State, rows: Matrix, players: list[int]) -> Array:
    rescaled = state.rescaled
    assert rescaled is not None
    refuse_losses(state)
    background, shares = rescaled.background, rescaled.shares
    if background is None:
        raise InputError(
            f"model_output={state.model_output!r} needs every mixed row, but this background came in parts and kept no "
            "rows; give the rows as data, or use model_output='raw'"
        )
    kept = np.isin(state.columns.players, players)
    out = np.empty((len(rows), state.n_outputs))
    step = max(1, _CHUNK // max(1, background.size))
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        mixed = np.where(kept, some[:, np.newaxis, :], background[np.newaxis])
        margins = state.forest.margin(mixed.reshape(-1, mixed.shape[2]), state.settings.n_threads)
        outputs = rescaled.output.of(margins, None).reshape(len(some), len(background), -1)
        out[start : start + step] = np.einsum("z,xzo->xo", shares, outputs)
    return out


def h_statistic_of(state: State, rows: Matrix) -> Array:
    """Compute Friedman's H squared: pairs of players, and on the diagonal each player against all others."""
    n_players = state.columns.n_players
    everybody = list(range(n_players))

    def centred(players: list[int]) -> Array:
        values = coalition_values_of(state, rows, players)
        return np.asarray(values - values.mean(axis=0))

    def share(part: Array, whole: Array) -> Array:
        """Return the variance of a part as a share of that of the whole; 0 if nothing varies beyond rounding."""
        top, bottom = (part**2).sum(axis=0), (whole**2).sum(axis=0)
        tiny = len(rows) * (1e-12 * scale) ** 2
        return np.where(bottom > tiny, np.where(top > tiny, top, 0.0) / np.where(bottom > tiny, bottom, 1.0), 0.0)

    each = values_of_each_player(state, rows)
    alone = np.moveaxis(each - each.mean(axis=0), 1, 0)
    whole = centred(everybody)
    scale = np.abs(state.forest.margin(rows, state.settings.n_threads)).max(initial=1e-300)
    h = np.zeros((n_players, n_players, state.n_outputs))
    for i in everybody:
        others = centred([j for j in everybody if j != i])
        h[i, i] = share(whole - alone[i] - others, whole)
        for j in range(i):
            pair = centred([i, j])
            h[i, j] = h[j, i] = share(pair - alone[i] - alone[j], pair)
    return h
