"""Values of every column by itself, for a model that splits on combinations of columns.

Such a split depends on several players at once, so no player's bit says where a row goes. But once every player of a
tree has been given a side, x or z, the combination is known, and so is the leaf. So the trees are evaluated for all
sides: 2**k times for a tree of k players, and for every pair of rows. All other trees keep their engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.progress import Report
from arborshap.exceptions import InputError
from arborshap.explain.settings import Settings
from arborshap.forest import Forest
from arborshap.forest.margins import some_trees
from arborshap.game.indices import IndexName, order_of_index
from arborshap.game.shares import shares_of
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]

MOST_PLAYERS = 16
"""A tree of more players would have to be evaluated too often."""
_BLOCK = 2048
"""Pairs of rows that are evaluated together."""
_SECONDS_PER_TREE = 6e-8
"""What evaluating a tree for one mixed row takes, measured; only an estimate depends on it."""


class Remaking(Protocol):
    """Makes features of rows that are mixed of others."""

    def inputs(self, feature: int) -> dict[int, int]:
        """Return where the columns that a feature depends on stand among the features."""

    def made(self, feature: int, columns: dict[int, Array]) -> Array:
        """Return the feature of mixed rows, given what stands there for each of its columns."""


@dataclass(frozen=True, slots=True)
class _Feature:
    """A feature of some trees: the players that it depends on, as positions among those of the trees."""

    number: int
    players: tuple[int, ...]

    def side(self, coalition: int) -> int:
        """Return which of this feature's players are in a coalition, as the bits of a number."""
        return sum((coalition >> player & 1) << bit for bit, player in enumerate(self.players))


@dataclass(frozen=True, slots=True)
class _Part:
    """Trees with combinations that depend on the same players, as a forest of the features that they split on."""

    forest: Forest
    players: tuple[int, ...]
    features: tuple[_Feature, ...]


class Combinations:
    """The game of every column, or group, by itself against a background.

    Parameters
    ----------
    forest
        The trees.
    remaking
        Makes the features that depend on several columns.
    sources
        The columns that each feature depends on.
    owners, n_players
        The player of each column that the model reads, and the number of players.
    background, shares
        The background rows as the trees see them, and the weight of each in the mean; the weights sum to 1.
    settings
        The engine of trees without combinations, the threads and the memory limit.
    """

    def __init__(
        self,
        forest: Forest,
        remaking: Remaking,
        sources: Sequence[frozenset[int]],
        owners: Sequence[int],
        n_players: int,
        background: Matrix,
        shares: Array,
        settings: Settings,
    ) -> None:
        self.n_players = n_players
        self.forest = forest.native
        self._remaking, self._sources, self._owners = remaking, sources, owners
        self._players_of = [tuple(sorted({owners[column] for column in columns})) for columns in sources]
        self._background, self._shares, self._settings = background, shares, settings
        used = [set(tree.feature[~tree.is_leaf].tolist()) for tree in forest.trees]
        mixed = np.array([any(len(self._players_of[f]) > 1 for f in features) for features in used], np.bool_)
        self._plain = some_trees(forest, ~mixed)
        self._core = self._compiled(background)
        self._parts = self._divided(forest, used, mixed)

    def _compiled(self, background: Matrix) -> _core.Explainer:
        """Compile the trees that split on columns of one player at a time."""
        return _core.Explainer(
            self._plain.native,
            players=np.array([players[0] for players in self._players_of], np.int32),
            n_players=self.n_players,
            background=background,
            weights=self._shares,
            memory_limit=self._settings.memory_limit,
            n_threads=self._settings.n_threads,
        )

    def _divided(self, forest: Forest, used: list[set[int]], mixed: NDArray[np.bool_]) -> list[_Part]:
        """Divide the trees with combinations by the players that they depend on."""
        trees_of: dict[tuple[int, ...], list[int]] = {}
        for tree in np.flatnonzero(mixed).tolist():
            players = tuple(sorted({player for f in used[tree] for player in self._players_of[f]}))
            if len(players) > MOST_PLAYERS:
                raise InputError(
                    f"tree {tree} depends on {len(players)} columns or groups together, so it would have to be "
                    f"evaluated 2**{len(players)} times per pair of rows; put some of the columns into one group, or "
                    "train with a smaller max_ctr_complexity or depth"
                )
            trees_of.setdefault(players, []).append(tree)
        return [
            self._part(forest, players, trees, sorted(set().union(*(used[tree] for tree in trees))))
            for players, trees in trees_of.items()
        ]

    def _part(self, forest: Forest, players: tuple[int, ...], trees: list[int], features: list[int]) -> _Part:
        chosen = some_trees(forest, np.isin(np.arange(forest.n_trees), trees))
        narrow = replace(
            chosen,
            n_features=len(features),
            feature=np.where(chosen.left == -1, 0, np.searchsorted(features, chosen.feature)),
            feature_names=None,
        )
        place = {player: position for position, player in enumerate(players)}
        found = [_Feature(f, tuple(place[player] for player in self._players_of[f])) for f in features]
        return _Part(narrow, players, tuple(found))

    def seconds(self, n_rows: int) -> float:
        """Estimate the time on one thread that the trees with combinations take."""
        evaluations = sum(part.forest.n_trees << len(part.players) for part in self._parts)
        return n_rows * len(self._background) * evaluations * _SECONDS_PER_TREE

    def means(self, rows: Matrix, index: IndexName, report: Report | None) -> Array:
        """Compute the values of an index averaged over the background: (rows, players[, players], outputs)."""
        settings = self._settings
        values = self._core.explain(rows, index, engine=settings.engine, n_threads=settings.n_threads)
        for block, others, part, coalition, margins in self._evaluated(rows, self._background, report):
            # One row at a time, so that its values do not depend on the rows that are explained with it.
            mean = np.stack([np.einsum("z,zo->o", self._shares[others], one) for one in margins])
            factors = self._factors(index, part, coalition)
            axes = np.ix_(np.arange(block.start, block.stop), *(np.array(part.players),) * order_of_index(index))
            values[axes] += factors[np.newaxis, ..., np.newaxis] * mean.reshape(len(mean), *(1,) * factors.ndim, -1)
        return values

    def explain_pairs(self, rows: Matrix, background: Matrix, *, n_threads: int) -> Array:
        """Compute the Shapley values of every pair: (rows, background rows, players, outputs)."""
        values = self._core.explain_pairs(rows, background, n_threads=n_threads)
        for block, others, part, coalition, margins in self._evaluated(rows, background, None):
            factors = self._factors("shapley", part, coalition)
            axes = np.ix_(
                np.arange(block.start, block.stop), np.arange(others.start, others.stop), np.array(part.players)
            )
            values[axes] += factors[:, np.newaxis] * margins[:, :, np.newaxis]
        return values

    @staticmethod
    def _factors(index: IndexName, part: _Part, coalition: int) -> Array:
        return shares_of(index, np.array([coalition >> player & 1 == 1 for player in range(len(part.players))]))

    def _evaluated(
        self, rows: Matrix, others: Matrix, report: Report | None
    ) -> Iterator[tuple[slice, slice, _Part, int, Array]]:
        """Yield the margins of all mixed rows: rows, others, trees, a coalition, and (rows, others, outputs)."""
        wide = max(1, min(len(others), _BLOCK))
        tall = max(1, _BLOCK // wide)
        for start in range(0, len(rows), tall):
            block = slice(start, min(start + tall, len(rows)))
            for first in range(0, len(others), wide):
                some = slice(first, min(first + wide, len(others)))
                pairs = _Pairs(self._remaking, self._sources, self._owners, rows[block], others[some])
                for part in self._parts:
                    for coalition in range(1 << len(part.players)):
                        mixed = pairs.mixed(part, coalition)
                        margins = part.forest.native.margin(mixed, self._settings.n_threads)
                        yield block, some, part, coalition, margins.reshape(*pairs.shape, -1)
                if report is not None:
                    report((start * len(others) + (block.stop - start) * some.stop) / (len(rows) * len(others)))


class _Pairs:
    """All pairs of some rows with others, whose features are made for one side after another and kept."""

    def __init__(
        self,
        remaking: Remaking,
        sources: Sequence[frozenset[int]],
        owners: Sequence[int],
        rows: Matrix,
        others: Matrix,
    ) -> None:
        self._remaking, self._sources, self._owners = remaking, sources, owners
        self._rows, self._others = rows, others
        self._made: dict[tuple[int, int], Array] = {}
        self.shape = len(rows), len(others)

    def mixed(self, part: _Part, coalition: int) -> Array:
        """Return the features that a part's trees see, with the coalition's columns from x: (pairs, features)."""
        matrix = np.empty((self.shape[0] * self.shape[1], len(part.features)))
        for column, feature in enumerate(part.features):
            matrix[:, column] = self._feature(feature.number, feature.side(coalition), part, feature.players)
        return matrix

    def _feature(self, number: int, side: int, part: _Part, places: tuple[int, ...]) -> Array:
        found = self._made.get((number, side))
        if found is None:
            from_x = {part.players[place] for bit, place in enumerate(places) if side >> bit & 1}
            found = self._made[number, side] = self._of_pairs(number, from_x)
        return found

    def _of_pairs(self, number: int, from_x: set[int]) -> Array:
        """Return a feature of every pair, if the columns of these players come from x."""
        columns = self._sources[number]
        if len({self._owners[column] for column in columns}) == 1:
            return self._cells(number, bool(from_x))
        inputs = self._remaking.inputs(number)
        given = {column: self._cells(place, self._owners[column] in from_x) for column, place in inputs.items()}
        return self._remaking.made(number, given)

    def _cells(self, number: int, from_x: bool) -> Array:
        """Return the feature of x, or that of z, for every pair."""
        n, m = self.shape
        cells = np.repeat(self._rows[:, number], m) if from_x else np.tile(self._others[:, number], n)
        return np.asarray(cells, np.float64)
