"""Predictions of a coalition: some players from the row, all others from the background."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.explain.state import State
from arborshap.forest.linear import LinearForest
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]

_CHUNK = 2**22
"""Number of cells of mixed rows that are held at a time."""
_SECONDS_PER_STEP = 2.7e-9
"""What a background row takes per split on its walk, measured; only the choice of a way depends on it."""


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
            raise InputError(f"{player!r} is not a player: give a name, or a position from 0 to {len(names) - 1}")
    if len(set(chosen)) < len(chosen):
        raise InputError(f"players has a player more than once: {players!r}; name each player once")
    return chosen


def refuse_losses(state: State) -> None:
    """Raise `InputError` if a loss is explained: it has a label for each row, and a mixed row has none."""
    if state.rescaled is not None and state.rescaled.output.labels is not None:
        raise InputError("a loss needs the label of each row, but a mixed row has none; use another model_output")


def coalition_values_of(state: State, rows: Matrix, players: list[int]) -> Array:
    """Compute the mean prediction with these players from each row and all others from the background: (rows, outputs).

    The raw prediction costs rows plus background rows. A function of the margin must be evaluated for every mixed row,
    so other outputs cost rows times background rows.
    """
    if state.rescaled is not None:
        return _means_of_mixed_rows(state, rows, players)
    n_threads = state.settings.n_threads
    in_coalition = np.isin(state.columns.players, players)
    if in_coalition.all():
        return state.forest.margin(rows, n_threads)
    if not in_coalition.any():
        return np.broadcast_to(state.core.expected_value, (len(rows), state.n_outputs)).copy()
    if state.n_background == 0:
        return _path_dependent(state, rows, in_coalition)
    if len(players) == 1:
        return values_of_each_player(state, rows, players)[:, 0]
    if len(players) == 2:
        return np.asarray(state.core.couple_values(rows, players[0], players[1:], n_threads=n_threads)[0])
    if len(players) == state.columns.n_players - 1:
        (missing,) = set(range(state.columns.n_players)) - set(players)
        return state.core.values_without(rows, n_threads=n_threads)[:, missing]
    members = np.isin(np.arange(state.columns.n_players), players).tolist()
    return state.core.coalition_values(rows, members, n_threads=n_threads)


def values_of_each_player(state: State, rows: Matrix, players: list[int] | None = None) -> Array:
    """Compute what each of some players, or of all, is worth alone: (rows, players, outputs)."""
    chosen = list(range(state.columns.n_players)) if players is None else players
    if state.rescaled is None and _has_cheap_main_effects(state, len(rows)):
        return np.asarray(state.core.expected_value + _main_effects(state, rows)[:, chosen])
    if state.rescaled is None and state.n_background:
        return state.core.single_values(rows, chosen, n_threads=state.settings.n_threads)
    return np.stack([coalition_values_of(state, rows, [player]) for player in chosen], axis=1)


def _path_dependent(state: State, rows: Matrix, in_coalition: NDArray[np.bool_]) -> Array:
    """Compute the same without a background, as a game of two players: the coalition, and all others."""
    n_threads = state.settings.n_threads
    core = state.core.with_players(np.where(in_coalition, 0, 1).astype(np.int32), 2, n_threads=n_threads)
    main = core.explain(rows, "taylor", engine="auto", n_threads=n_threads)[:, 0, 0]
    return np.asarray(state.core.expected_value + main)


def _has_cheap_main_effects(state: State, n_rows: int) -> bool:
    """Whether the main effects of all players are looked up in tables in less time than the background takes to walk.

    They are if the background was counted before and the trees are small. Without a background nothing walks.
    """
    if isinstance(state.forest, LinearForest):
        return False
    plan = state.core.plan(n_rows, "taylor", state.settings.engine)
    if n_rows * state.columns.n_players**2 * state.n_outputs > _CHUNK or plan.trees_by_tables < state.forest.n_trees:
        return False
    leaves = np.add.reduceat(state.forest.left < 0, state.forest.tree_offsets[:-1])
    steps = state.n_background * float((np.log2(leaves) ** 2).sum())
    return state.n_background == 0 or plan.seconds < _SECONDS_PER_STEP * steps


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
