"""The mean of an index over a population that was counted: why two populations have different mean predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap.explain.state import State
from arborshap.game.indices import IndexName, order_of_index


@dataclass(frozen=True, slots=True)
class Population:
    """The counted rows of a population, and the state of an explainer against them.

    Attributes
    ----------
    counted
        The counts, or the distinct rows.
    state
        The state of an explainer whose background they are.
    """

    counted: _core.Background
    state: State

    def against(self, other: Population, index: IndexName) -> NDArray[np.float64]:
        """Compute the mean of an index over these rows against another population: (players[, players], outputs)."""
        n_threads = other.state.settings.n_threads
        return other.state.core.explain_population(self.counted, index, n_threads=n_threads)


def mean_change(ours: Population, theirs: Population, index: IndexName) -> NDArray[np.float64]:
    """Compute what moves the mean prediction from one population to another: (players[, players], outputs).

    The value of a player changes its sign if a row and a reference row change places. Half the difference of both
    directions is therefore the same number, and rounding cannot make it differ from 0 for equal populations.
    """
    change = ours.against(theirs, index)
    return change if order_of_index(index) == 2 else 0.5 * (change - theirs.against(ours, index))
