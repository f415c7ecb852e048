"""Global importance by loss (SAGE): how much of the model's accuracy is due to each player.

The game is worth how much the mean loss falls if the model sees a coalition of players and the prediction is averaged
over the background for all others. Values are the Shapley values of this one game over all rows. The mean over the
background is exact; only the permutations are sampled, or all coalitions are computed if there are few players.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import factorial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.progress import Report, reporting
from arborshap.explain.coalitions import coalition_values_of
from arborshap.explain.losses import Loss
from arborshap.explain.state import State
from arborshap.result.sage import SageValues
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]

_ALL_COALITIONS = 8
"""Up to this many players, all coalitions are computed, and values are exact."""
_LEAST_PAIRS = 8
"""Pairs of permutations before their spread is believed."""


@dataclass(slots=True)
class _Game:
    """The mean loss of a coalition of players, computed once per coalition.

    Attributes
    ----------
    state, rows
        The explainer, and the rows as the trees see them.
    loss
        The loss of each row.
    shares
        The share of each row in the mean.
    known
        What was computed before.
    """

    state: State
    rows: Matrix
    loss: Loss
    shares: Array
    known: dict[frozenset[int], float] = field(default_factory=dict)

    def __call__(self, players: frozenset[int]) -> float:
        if players not in self.known:
            means = coalition_values_of(self.state, self.rows, sorted(players))
            self.known[players] = float(self.shares @ self.loss(means))
        return self.known[players]


def sage_values_of(
    state: State,
    rows: Matrix,
    loss: Loss,
    weights: Array | None,
    tolerance: float,
    most: int,
    seed: int,
    progress: bool | Report,
) -> SageValues:
    """Compute the values, until the largest standard error is `tolerance` times the spread of the values."""
    shares = np.full(len(rows), 1.0 / len(rows)) if weights is None else weights / weights.sum()
    game = _Game(state, rows, loss, shares)
    # A player that no tree asks for changes nothing, so its value is 0.
    splits = state.forest.feature[state.forest.left >= 0]
    asked = np.unique(state.columns.players[splits]).tolist()
    everybody = frozenset(range(state.columns.n_players))
    rest = everybody - frozenset(asked)
    values, errors = np.zeros(len(everybody)), np.zeros(len(everybody))
    n_permutations = 0
    with reporting(progress) as report:
        if len(asked) <= _ALL_COALITIONS:
            values[asked] = _by_coalitions(lambda players: game(players | rest), asked, report)
        else:
            sample = _Sample(np.random.default_rng(seed), game, np.array(asked), rest)
            values[asked], errors[asked], n_permutations = sample.until(tolerance, most, report)
        if report is not None:
            report(1.0)
    return SageValues(
        values=values,
        standard_error=errors,
        feature_names=list(state.columns.player_names),
        loss=loss.name,
        loss_without=game(frozenset()),
        loss_with=game(everybody),
        n_rows=len(rows),
        n_permutations=n_permutations,
    )


def _by_coalitions(loss: Callable[[frozenset[int]], float], players: list[int], report: Report | None) -> Array:
    """Compute the Shapley values by their definition."""
    n = len(players)
    coalitions = [frozenset(p for k, p in enumerate(players) if bits >> k & 1) for bits in range(2**n)]
    losses = []
    for done, coalition in enumerate(coalitions):
        losses.append(loss(coalition))
        if report is not None:
            report((done + 1) / len(coalitions))
    values = np.zeros(n)
    for bits, coalition in enumerate(coalitions):
        size = len(coalition)
        for k in range(n):
            if not bits >> k & 1:
                weight = factorial(size) * factorial(n - size - 1) / factorial(n)
                values[k] += weight * (losses[bits] - losses[bits | 1 << k])
    return values


@dataclass(slots=True)
class _Sample:
    """Shapley values from random permutations; each is followed by its reverse, which evens out much of the chance."""

    random: np.random.Generator
    game: _Game
    players: NDArray[np.intp]
    rest: frozenset[int]

    def until(self, tolerance: float, most: int, report: Report | None) -> tuple[Array, Array, int]:
        """Return the values, their standard errors and the number of permutations."""
        n = len(self.players)
        total, squares, pairs, done = np.zeros(n), np.zeros(n), 0, 0.0
        while True:
            order = self.random.permutation(n)
            gains = 0.5 * (self._gains(order) + self._gains(order[::-1]))
            pairs, total, squares = pairs + 1, total + gains, squares + gains**2
            values = total / pairs
            errors = np.sqrt(np.maximum(squares / pairs - values**2, 0.0) / max(1, pairs - 1))
            wanted = tolerance * (values.max() - values.min())
            if pairs >= _LEAST_PAIRS and (errors.max() <= wanted or 2 * (pairs + 1) > most):
                return values, errors, 2 * pairs
            if report is not None:
                needed = _LEAST_PAIRS if pairs < 2 else max(_LEAST_PAIRS, pairs * (errors.max() / wanted) ** 2)
                done = max(done, min(0.99, pairs / min(needed, most / 2)))
                report(done)
            # Coalitions of half the players hardly ever come twice.
            if len(self.game.known) > 2**16:
                self.game.known.clear()

    def _gains(self, order: NDArray[np.intp]) -> Array:
        """Compute how much the loss falls as each player joins, in this order."""
        gains = np.zeros(len(order))
        players = self.rest
        before = self.game(players)
        for k in order:
            players = players | {int(self.players[k])}
            after = self.game(players)
            gains[k] = before - after
            before = after
        return gains
