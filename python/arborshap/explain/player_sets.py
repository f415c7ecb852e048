"""The sets of players that an index has values for, as arrays of players."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Sets: TypeAlias = NDArray[np.int32]


def at_sets(wanted: Sets, found: Sets, values: Array) -> Array:
    """Put the values of some sets, (rows, sets, outputs), where these sets stand among others."""
    number = {tuple(players): at for at, players in enumerate(wanted.tolist())}
    spread = np.zeros((len(values), len(wanted), values.shape[2]))
    spread[:, [number[tuple(players)] for players in found.tolist()]] = values
    return spread


def together(lists: Iterable[Sets]) -> Sets:
    """Return the sets of all lists, each once, in the order in which they are first found."""
    found = dict.fromkeys(tuple(players) for sets in lists for players in sets.tolist())
    return np.array(list(found), np.int32)
