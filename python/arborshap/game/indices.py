"""The indices of a game that can be computed, under the names that callers use."""

from __future__ import annotations

from typing import Literal, TypeAlias

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
