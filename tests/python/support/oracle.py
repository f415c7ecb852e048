"""The indices by their definitions: sums over all coalitions of the game, played with the model's own prediction.

Nothing here comes from arborshap. In the game of a row x against a background, a coalition of players is worth the
(weighted) mean, over the background rows z, of the prediction for the row with the coalition's columns from x and all
other columns from z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Predict = Callable[[Any], Any]

ENGINES = ("traversal", "pattern", "counts", "sparse", "auto")
"""Every engine there is: what holds must hold for each."""


def worths(
    predict: Predict, X: ArrayLike, Z: ArrayLike, players: Sequence[int] | None = None, weights: Array | None = None
) -> Array:
    """Return the worth of every coalition, whose bit i stands for player i: (coalitions, rows of X, outputs)."""
    rows, background = np.asarray(X, np.float64), np.asarray(Z, np.float64)
    player_of = np.arange(rows.shape[1]) if players is None else np.asarray(players)
    n_coalitions = 1 << (int(player_of.max(initial=-1)) + 1)
    from_x = (np.arange(n_coalitions)[:, np.newaxis] >> player_of) & 1 == 1
    hybrids = np.where(from_x[:, np.newaxis, np.newaxis, :], rows[:, np.newaxis, :], background)
    flat = hybrids.reshape(-1, rows.shape[1])
    predicted = np.asarray(predict(flat), np.float64).reshape(n_coalitions, len(rows), len(background), -1)
    return np.asarray(np.average(predicted, axis=2, weights=weights))


def frame_worths(predict: Predict, X: Any, Z: Any, owners: Sequence[int]) -> Array:
    """Return the same for frames, which are mixed column by column; `owners` has the player of each column."""
    n_players = max(owners) + 1
    worth = []
    for coalition in range(1 << n_players):
        of_rows = []
        for row in range(len(X)):
            mixed = Z.copy()
            for j, name in enumerate(X.columns):
                if coalition >> owners[j] & 1:
                    mixed[name] = X[name].iloc[[row] * len(mixed)].array  # with its type
            of_rows.append(np.asarray(predict(mixed), np.float64).reshape(len(mixed), -1).mean(axis=0))
        worth.append(of_rows)
    return np.array(worth)


def shapley(worth: Array) -> Array:
    """Compute Shapley values: (rows, players, outputs)."""
    p = _n_players(worth)

    def weight(size: int) -> float:
        return factorial(size) * factorial(p - size - 1) / factorial(p)

    return np.stack([_derivative(worth, [i], weight) for i in range(p)], axis=1)


def banzhaf(worth: Array) -> Array:
    """Compute Banzhaf values: (rows, players, outputs)."""
    p = _n_players(worth)
    return np.stack([_derivative(worth, [i], lambda _: 0.5 ** (p - 1)) for i in range(p)], axis=1)


def taylor(worth: Array) -> Array:
    """Compute Shapley-Taylor indices: (rows, players, players, outputs).

    Main effects are on the diagonal; each other entry is the sum of W(|S|, d) times the derivative.
    """
    p = _n_players(worth)

    def weight(size: int) -> float:
        return factorial(size) * factorial(p - size - 1) / factorial(p)

    matrix = _pairs(worth, weight)
    for i in range(p):
        matrix[:, i, i] = worth[1 << i] - worth[0]
    return matrix


def interaction(worth: Array) -> Array:
    """Compute Shapley interaction indices: (rows, players, players, outputs).

    Half of each index is on either side of the diagonal, which holds the rest of the Shapley values.
    """
    p = _n_players(worth)

    def weight(size: int) -> float:
        return 0.5 * factorial(size) * factorial(p - size - 2) / factorial(p - 1)

    matrix = _pairs(worth, weight)
    left = shapley(worth) - matrix.sum(axis=2)
    for i in range(p):
        matrix[:, i, i] = left[:, i]
    return matrix


INDICES: dict[str, Callable[[Array], Array]] = {
    "shapley": shapley,
    "banzhaf": banzhaf,
    "taylor": taylor,
    "interaction": interaction,
}


def _n_players(worth: Array) -> int:
    return len(worth).bit_length() - 1


def _pairs(worth: Array, weight: Callable[[int], float]) -> Array:
    p = _n_players(worth)
    matrix = np.zeros((worth.shape[1], p, p, worth.shape[2]))
    for i in range(p):
        for j in range(i):
            matrix[:, i, j] = matrix[:, j, i] = _derivative(worth, [i, j], weight)
    return matrix


def _derivative(worth: Array, players: Sequence[int], weight: Callable[[int], float]) -> Array:
    """Sum the joint change by these players over the coalitions of all others, weighted by the coalition's size."""
    marked = sum(1 << i for i in players)
    total = np.zeros(worth.shape[1:])
    for coalition in range(len(worth)):
        if coalition & marked == 0:
            change = sum(sign * worth[coalition | joining] for joining, sign in _signed_subsets(players))
            total += weight(coalition.bit_count()) * change
    return total


def _signed_subsets(players: Sequence[int]) -> Iterator[tuple[int, int]]:
    for choice in range(1 << len(players)):
        chosen = [i for k, i in enumerate(players) if choice >> k & 1]
        yield sum(1 << i for i in chosen), (-1) ** (len(players) - len(chosen))
