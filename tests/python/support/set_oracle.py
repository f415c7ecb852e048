"""Indices of sets of players, semivalues and values of members of groups, by their definitions.

Everything is a sum over all coalitions of worths, which `support.oracle.worths` takes from the model's own prediction.
Nothing here comes from arborshap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, permutations
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Set = tuple[int, ...]

BERNOULLI = (1.0, -1 / 2, 1 / 6, 0.0, -1 / 30, 0.0)


def sets_up_to(n_players: int, order: int) -> list[Set]:
    """Return all sets of 1 to `order` players."""
    return [players for size in range(1, order + 1) for players in combinations(range(n_players), size)]


def indices_of(worth: Array, index: str, order: int) -> dict[Set, Array]:
    """Compute an index of all sets of up to `order` players; each is (rows, outputs)."""
    return INDICES[index](worth, len(worth).bit_length() - 1, order)


def semivalue(worth: Array, weights: Sequence[float]) -> Array:
    """Compute a semivalue from the weight of a coalition by its size: (rows, players, outputs)."""
    n = len(worth).bit_length() - 1
    return np.stack([weighted_changes(worth, (i,), lambda size: weights[size]) for i in range(n)], axis=1)


def weighted_changes(worth: Array, players: Set, weight: Callable[[int], float]) -> Array:
    """Sum the joint change by these players over the coalitions of all others, weighted by size."""
    changes = joint_changes(worth, players)
    weights = [weight(coalition.bit_count()) for coalition in range(len(changes))]
    return np.asarray(np.tensordot(weights, changes, axes=1))


def joint_changes(worth: Array, players: Set) -> Array:
    """Return the joint change (the discrete derivative) when these players join each coalition of the others."""
    n = len(worth).bit_length() - 1
    changes = worth.reshape((2,) * n + worth.shape[1:])
    for player in players:
        changes = np.diff(changes, axis=n - 1 - player)
    return np.asarray(changes.reshape(-1, *worth.shape[1:]))


def bits(players: Iterable[int]) -> int:
    """Return the number of a coalition."""
    return sum(1 << i for i in players)


def _sii(worth: Array, n: int, order: int) -> dict[Set, Array]:
    def weight(players: Set) -> Callable[[int], float]:
        size = len(players)
        return lambda s: factorial(s) * factorial(n - s - size) / factorial(n - size + 1)

    return {players: weighted_changes(worth, players, weight(players)) for players in sets_up_to(n, order)}


def _bii(worth: Array, n: int, order: int) -> dict[Set, Array]:
    def weight(players: Set) -> Callable[[int], float]:
        return lambda _: 0.5 ** (n - len(players))

    return {players: weighted_changes(worth, players, weight(players)) for players in sets_up_to(n, order)}


def _stii(worth: Array, n: int, order: int) -> dict[Set, Array]:
    def of(players: Set) -> Array:
        if len(players) < order:
            return np.asarray(joint_changes(worth, players)[0])
        return weighted_changes(worth, players, lambda s: order / n / comb(n - 1, s))

    return {players: of(players) for players in sets_up_to(n, order)}


def _k_sii(worth: Array, n: int, order: int) -> dict[Set, Array]:
    plain = _sii(worth, n, order)
    found = {players: np.zeros(worth.shape[1:]) for players in plain}
    for other, value in plain.items():
        for size in range(1, len(other) + 1):
            for players in combinations(other, size):
                found[players] += BERNOULLI[len(other) - size] * value
    return found


def _fsii(worth: Array, n: int, order: int) -> dict[Set, Array]:
    """Solve the weighted least squares problem that defines the index, with all and no players matched exactly."""
    sets = sets_up_to(n, order)
    coalitions = np.arange(1 << n)
    masks = np.array([bits(players) for players in sets])
    design = (coalitions[:, np.newaxis] & masks == masks).astype(np.float64)
    target = (worth - worth[0]).reshape(1 << n, -1)
    weight = np.zeros(1 << n)
    for c in coalitions[1:-1]:
        size = int(c).bit_count()
        weight[c] = 1.0 / (comb(n, size) * size * (n - size))
    # The last line is the Lagrange condition that the full coalition is matched.
    whole = design[-1]
    system = np.block([[design.T @ (weight[:, np.newaxis] * design), whole[:, np.newaxis]], [whole, np.zeros(1)]])
    right = np.concatenate([design.T @ (weight[:, np.newaxis] * target), target[-1:]])
    solution = np.linalg.lstsq(system, right, rcond=None)[0]
    return {players: solution[at].reshape(worth.shape[1:]) for at, players in enumerate(sets)}


INDICES: dict[str, Callable[[Array, int, int], dict[Set, Array]]] = {
    "SII": _sii,
    "k-SII": _k_sii,
    "STII": _stii,
    "FSII": _fsii,
    "BII": _bii,
}


def members(worth: Array, tree: Any, *, ordered: bool = False) -> Array:
    """Compute the values of members of nested groups from the orderings that keep groups together.

    `tree` nests lists of players, such as ``[[0, 1], [2, [3, 4]], 5]``. All orderings in which the players of each list
    follow each other are equally likely; with `ordered`, the outermost list keeps its order.
    """
    n = len(worth).bit_length() - 1
    total = np.zeros((worth.shape[1], n, worth.shape[2]))
    orderings = list(_orderings(tree, keep=ordered))
    for ordering in orderings:
        coalition = 0
        for player in ordering:
            total[:, player] += worth[coalition | 1 << player] - worth[coalition]
            coalition |= 1 << player
    return np.asarray(total / len(orderings))


def _orderings(tree: Any, *, keep: bool = False) -> Iterable[tuple[int, ...]]:
    if not isinstance(tree, list):
        yield (tree,)
        return
    for blocks in [tree] if keep else permutations(tree):
        yield from _joined([list(_orderings(block)) for block in blocks])


def _joined(choices: list[list[tuple[int, ...]]]) -> Iterable[tuple[int, ...]]:
    if not choices:
        yield ()
        return
    for first in choices[0]:
        for rest in _joined(choices[1:]):
            yield (*first, *rest)
