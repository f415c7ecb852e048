"""The indices of a game that can be computed, under the names that callers use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Sets: TypeAlias = NDArray[np.int32]
"""Sets of players: (sets, order), with -1 in the places left."""

IndexName: TypeAlias = Literal["shapley", "taylor", "interaction", "banzhaf"]
PlayerIndexName: TypeAlias = Literal["shapley", "banzhaf"]
PairIndexName: TypeAlias = Literal["taylor", "interaction"]

PLAYER_INDICES: tuple[PlayerIndexName, ...] = ("shapley", "banzhaf")
"""Indices with one value per player."""
PAIR_INDICES: tuple[PairIndexName, ...] = ("taylor", "interaction")
"""Indices with one value per pair of players."""
_NEED_NOT_ADD_UP = ("banzhaf",)

SetIndexName: TypeAlias = Literal["SII", "k-SII", "STII", "FSII", "BII"]
SET_INDICES: tuple[SetIndexName, ...] = ("SII", "k-SII", "STII", "FSII", "BII")
"""Indices of sets of players of any size."""
MOST_ORDER = 6
"""The most players that a set may have."""

INDICES: tuple[IndexName, ...] = ("shapley", "taylor", "interaction", "banzhaf")


def order_of_index(index: str) -> int:
    """Return how many players one value of the index belongs to: 1 or 2."""
    return 2 if index in PAIR_INDICES else 1


def is_efficient(index: str) -> bool:
    """Whether the values of a row sum to its prediction less the base value: the axiom of efficiency."""
    return index not in _NEED_NOT_ADD_UP


def at_sets(wanted: Sets, found: Sets, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put the values of some sets, (rows, sets, outputs), where these sets stand among others."""
    number = {tuple(players): at for at, players in enumerate(wanted.tolist())}
    spread = np.zeros((len(values), len(wanted), values.shape[2]))
    spread[:, [number[tuple(players)] for players in found.tolist()]] = values
    return spread


def together(lists: Iterable[Sets]) -> Sets:
    """Return the sets of all lists, each once, in the order in which they are first found."""
    found = dict.fromkeys(tuple(players) for sets in lists for players in sets.tolist())
    return np.array(list(found), np.int32)
