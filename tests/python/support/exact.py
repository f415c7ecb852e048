"""The indices of hand-fed forests in whole numbers: no rounding anywhere, for paths with any number of players.

Every float64 is a multiple of some power of two, so leaves and weights become whole numbers, and so does the weight of
every coalition once it is multiplied by a large enough factorial. The result is one fraction per value.

A leaf gives its value to a coalition exactly if each player of its path satisfies the path's splits: with the cells of
the row if it is in the coalition, with those of the background row if not. `of_coalitions` is the definition of an
index for these games. `of_pairs` sums the closed form of that definition, and is itself compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import factorial

import numpy as np
from numpy.typing import NDArray

from arborshap import Forest
from arborshap.forest.forest import NodeFlag

Array = NDArray[np.float64]
Exact = NDArray[np.object_]
"""Fractions: (rows, players) or (rows, players, players)."""


@dataclass(frozen=True)
class Leaf:
    value: Fraction
    players: tuple[int, ...]
    splits: tuple[tuple[tuple[int, bool], ...], ...]
    """For each of the players, the nodes of its splits on the path and whether the path goes left there."""


def leaves(forest: Forest, players: Sequence[int] | None = None) -> Iterator[Leaf]:
    """Return every leaf of a forest with one output."""
    player_of = list(range(forest.n_features)) if players is None else list(players)
    for start in forest.tree_offsets[:-1]:
        pending: list[tuple[int, tuple[tuple[int, bool], ...]]] = [(int(start), ())]
        while pending:
            node, path = pending.pop()
            if forest.left[node] < 0:
                of: dict[int, list[tuple[int, bool]]] = {}
                for split in path:
                    of.setdefault(player_of[int(forest.feature[split[0]])], []).append(split)
                splits = tuple(tuple(mine) for mine in of.values())
                yield Leaf(Fraction(float(np.ravel(forest.value[node])[0])), tuple(of), splits)
                continue
            for child, left in ((forest.left[node], True), (forest.right[node], False)):
                pending.append((int(start) + int(child), (*path, (node, left))))


def goes_left(forest: Forest, rows: Array) -> NDArray[np.bool_]:
    """Return whether each row goes left at each node: (rows, nodes). Only plain float64 thresholds are supported."""
    flags = forest.flags
    assert not (flags & ~(NodeFlag.LESS_EQUAL | NodeFlag.DEFAULT_LEFT)).any()
    values = rows[:, forest.feature]
    less = np.where(flags & NodeFlag.LESS_EQUAL != 0, values <= forest.threshold, values < forest.threshold)
    return np.asarray(np.where(np.isnan(values), flags & NodeFlag.DEFAULT_LEFT != 0, less))


def satisfied(leaf: Leaf, left: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows satisfy all splits of each player of the leaf: (rows, players of the leaf)."""
    if not leaf.splits:
        return np.ones((len(left), 0), bool)
    nodes, ways = np.array([split for splits in leaf.splits for split in splits]).T
    firsts = np.cumsum([0, *(len(splits) for splits in leaf.splits[:-1])])
    return np.asarray(np.logical_and.reduceat(left[:, nodes] == ways, firsts, axis=1))


def of_pairs(forest: Forest, X: Array, Z: Array, index: str, weights: Array | None = None) -> Exact:
    """Compute the index of every row against the weighted background."""
    p, pairs = forest.n_features, index in ("taylor", "interaction")
    shares = [Fraction(1)] * len(Z) if weights is None else [Fraction(float(w)) for w in weights]
    left_x, left_z = goes_left(forest, X), goes_left(forest, Z)
    all_leaves = list(leaves(forest))
    most = max((len(leaf.players) for leaf in all_leaves), default=0)
    # Whole numbers from here on: parts of these units.
    value_unit = max((leaf.value.denominator for leaf in all_leaves), default=1)
    share_unit = max(share.denominator for share in shares)
    credit_unit = 2 * factorial(most) << most
    whole_shares = [int(share * share_unit) for share in shares]
    total = np.zeros((len(X), p, p) if pairs else (len(X), p), object)
    for leaf in all_leaves:
        in_x, in_z = satisfied(leaf, left_x), satisfied(leaf, left_z)
        value = int(leaf.value * value_unit)
        for row, x in enumerate(in_x):
            open_to = (in_z | x).all(axis=1)
            for at in np.flatnonzero(open_to):
                z = in_z[at]
                s_x = [leaf.players[i] for i in np.flatnonzero(x & ~z)]
                s_z = [leaf.players[i] for i in np.flatnonzero(z & ~x)]
                if s_x or s_z:
                    _give(index, total[row], s_x, s_z, value * whole_shares[at], credit_unit)
    unit = value_unit * share_unit * credit_unit * sum(shares)
    return np.asarray(np.vectorize(lambda parts: Fraction(parts) / unit, otypes=[object])(total))


def _give(index: str, out: Exact, s_x: list[int], s_z: list[int], worth: int, unit: int) -> None:
    credit = _credits(index, len(s_x), len(s_z), unit)
    if out.ndim == 1:
        out[s_x] += worth * credit["x"]
        out[s_z] += worth * credit["z"]
        return
    for these, those, kind in ((s_x, s_x, "xx"), (s_z, s_z, "zz"), (s_x, s_z, "xz"), (s_z, s_x, "xz")):
        for i in these:
            for j in those:
                if i != j:
                    out[i, j] += worth * credit[kind]
    for these, kind in ((s_x, "x"), (s_z, "z")):
        out[these, these] += worth * credit[kind]


@cache
def _credits(index: str, a: int, b: int, unit: int) -> dict[str, int]:
    """Return each player's credit, in whole units, in a game that only `a` given players out of `a + b` win."""
    k = a + b

    def coalition(size: int, players: int) -> Fraction:
        return Fraction(factorial(size) * factorial(players - size - 1), factorial(players))

    def single(size: int) -> Fraction:
        return Fraction(1, 2 ** (k - 1)) if index == "banzhaf" else coalition(size, k)

    def pair(size: int) -> Fraction:
        return coalition(size, k) if index == "taylor" else coalition(size, k - 1) / 2

    credit = {"x": single(a - 1) if a else Fraction(0), "z": -single(a) if b else Fraction(0)}
    if index in ("taylor", "interaction"):
        credit["xx"] = pair(a - 2) if a > 1 else Fraction(0)
        credit["zz"] = pair(a) if b > 1 else Fraction(0)
        credit["xz"] = -pair(a - 1) if a and b else Fraction(0)
        if index == "taylor":
            credit["x"], credit["z"] = Fraction(a == 1), -Fraction(a == 0)
        else:
            credit["x"] -= max(a - 1, 0) * credit["xx"] + b * credit["xz"]
            credit["z"] -= max(b - 1, 0) * credit["zz"] + a * credit["xz"]
    whole = {kind: share * unit for kind, share in credit.items()}
    assert all(share.denominator == 1 for share in whole.values())
    return {kind: share.numerator for kind, share in whole.items()}


def worths(forest: Forest, X: Array, Z: Array, weights: Array | None = None) -> Exact:
    """Return the worth of every coalition, as fractions: (coalitions, rows)."""
    shares = [Fraction(1)] * len(Z) if weights is None else [Fraction(float(w)) for w in weights]

    def chance(leaf: Leaf, x: NDArray[np.bool_], z: NDArray[np.bool_], coalition: int) -> Fraction:
        joined = np.array([coalition >> player & 1 == 1 for player in leaf.players], bool)
        reached = np.flatnonzero(np.where(joined, x, z).all(axis=1))
        return sum((shares[row] for row in reached), Fraction(0)) / sum(shares, Fraction(0))

    left_x, left_z = goes_left(forest, X), goes_left(forest, Z)
    return _worths(forest, left_x, lambda leaf, x, coalition: chance(leaf, x, satisfied(leaf, left_z), coalition))


def worths_by_cover(forest: Forest, X: Array) -> Exact:
    """Return the same without a background: absent players follow the shares of the training weight."""
    cover = forest.cover
    assert cover is not None
    starts = np.repeat(forest.tree_offsets[:-1], np.diff(forest.tree_offsets))

    def share(node: int, left: bool) -> Fraction:
        ways = [Fraction(float(cover[starts[node] + side[node]])) for side in (forest.left, forest.right)]
        return ways[not left] / sum(ways)

    def chance(leaf: Leaf, x: NDArray[np.bool_], coalition: int) -> Fraction:
        product = Fraction(1)
        for player, mine, splits in zip(leaf.players, x, leaf.splits, strict=True):
            if coalition >> player & 1:
                product *= int(mine)
            else:
                for node, left in splits:
                    product *= share(node, left)
        return product

    return _worths(forest, goes_left(forest, X), chance)


def _worths(
    forest: Forest, left_x: NDArray[np.bool_], chance: Callable[[Leaf, NDArray[np.bool_], int], Fraction]
) -> Exact:
    worth = np.full((1 << forest.n_features, len(left_x)), Fraction(0), object)
    for leaf in leaves(forest):
        for row, x in enumerate(satisfied(leaf, left_x)):
            for coalition in range(len(worth)):
                worth[coalition, row] += leaf.value * chance(leaf, x, coalition)
    return worth


def of_coalitions(worth: Exact, index: str) -> Exact:
    """Compute the index by its definition, from the worth of every coalition."""
    p, n = len(worth).bit_length() - 1, worth.shape[1]

    def derivative(players: Sequence[int], weight: Callable[[int], Fraction]) -> Exact:
        marked = sum(1 << i for i in players)
        total = np.full(n, Fraction(0), object)
        for coalition in range(len(worth)):
            if coalition & marked:
                continue
            change: Exact | int = 0
            for chosen in range(1 << len(players)):
                joining = sum(1 << i for k, i in enumerate(players) if chosen >> k & 1)
                change = change + (-1) ** (len(players) - chosen.bit_count()) * worth[coalition | joining]
            total = total + weight(coalition.bit_count()) * change
        return total

    def coalition_of(players: int) -> Callable[[int], Fraction]:
        return lambda size: Fraction(factorial(size) * factorial(players - size - 1), factorial(players))

    single = (lambda _: Fraction(1, 2 ** (p - 1))) if index == "banzhaf" else coalition_of(p)
    singles = np.stack([derivative([i], single) for i in range(p)], axis=1)
    if index not in ("taylor", "interaction"):
        return singles
    pair = coalition_of(p) if index == "taylor" else (lambda size: coalition_of(p - 1)(size) / 2)
    matrix = np.full((n, p, p), Fraction(0), object)
    for i in range(p):
        for j in range(i):
            matrix[:, i, j] = matrix[:, j, i] = derivative([i, j], pair)
    for i in range(p):
        alone = worth[1 << i] - worth[0]
        matrix[:, i, i] = alone if index == "taylor" else singles[:, i] - matrix[:, i].sum(axis=1)
    return matrix


def errors(values: Array, exact: Exact) -> Array:
    """Return how far each value is from the exact one, rounded only at the end."""
    flat = [float(abs(Fraction(v) - e)) for v, e in zip(values.ravel().tolist(), exact.ravel(), strict=True)]
    return np.array(flat).reshape(values.shape)
