"""Explaining trees whose leaves hold linear functions, with the engines for constant leaves.

A slope times a column is two games. In the first, the column comes from x: the leaf is worth its slope if the column's
player has joined, and all values are multiplied by the column of x. In the second it comes from z: the leaf is worth
its slope if the player has not joined, and background row z has the weight of its column. One more feature, which is 1
in rows and 0 in the background, says who has joined. So the cost is rows plus background rows, as for any forest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.progress import Report
from arborshap.exceptions import InputError
from arborshap.explain.settings import Settings
from arborshap.forest import Forest
from arborshap.forest.linear import MAGIC, REFUSED, LinearForest
from arborshap.forest.switch import switched
from arborshap.game.indices import IndexName, Sets, at_sets, together
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]
Compute: TypeAlias = Callable[[_core.Explainer, Matrix], Array]


@dataclass(frozen=True, slots=True)
class _Term:
    """A game that is added: with this weight, or with the column of each row, less its centre, if one is named."""

    core: _core.Explainer
    weight: float = 1.0
    column: int | None = None


class LinearCore:
    """Does what an explainer of the native core does, for a forest with linear leaves against background rows.

    Parameters
    ----------
    forest
        The trees.
    players, n_players
        The player of each feature, and the number of players.
    background, shares
        The background rows, and the weight of each in the mean; the weights sum to 1.
    settings
        The threads and the memory limit.
    """

    def __init__(
        self,
        forest: LinearForest,
        players: NDArray[np.int32],
        n_players: int,
        background: Matrix,
        shares: Array,
        settings: Settings,
    ) -> None:
        forest.check(background)
        self.forest, self.players, self.n_players = forest, players, n_players
        self.background = background.astype(np.float64)  # a copy, since the caller's array may change
        self.shares = shares
        self._weights = None if (shares == shares[0]).all() else shares
        self._settings = settings
        # Around its mean, a column is small, and little is lost to rounding.
        self._centre = {column: float(self.shares @ self.background[:, column]) for column in forest.slopes}
        self._constant = self._compiled(forest.around(self._centre), self.background, self._weights)
        self._terms = [term for column in forest.slopes for term in self._terms_of(column)]

    @property
    def n_background(self) -> int:
        """Number of background rows."""
        return len(self.background)

    @property
    def expected_value(self) -> Array:
        """Mean margin over the background, one number per output."""
        expected: Array = self._constant.expected_value.copy()
        for term in self._terms:
            if term.column is None:  # in the background, no player has joined
                expected += term.weight * term.core.expected_value
        return expected

    def explain(
        self, rows: Matrix, index: IndexName, *, engine: str, n_threads: int, progress: Report | None = None
    ) -> Array:
        """Compute an index: (rows, players, outputs), or (rows, players, players, outputs) for an index of pairs."""
        return self._sum(
            rows, lambda core, given: core.explain(given, index, engine=engine, n_threads=n_threads), progress
        )

    def explain_pairs(
        self, rows: Matrix, background: Matrix | None, *, n_threads: int, progress: Report | None = None
    ) -> Array:
        """Compute phi(x, z) for every pair: (rows, background rows, players, outputs)."""
        others = self.background if background is None else background.astype(np.float64)
        self.forest.check(rows)
        self.forest.check(others)
        values = self._constant.explain_pairs(rows, others, n_threads=n_threads)
        for done, (column, centre) in enumerate(self._centre.items(), start=1):
            slopes = self.forest.of_slopes(column)
            for on, weights in ((True, rows[:, np.newaxis, column]), (False, others[np.newaxis, :, column])):
                core = self._compiled(switched(slopes, on=on), _with(others, 0.0), None, column)
                found = core.explain_pairs(_with(rows, 1.0), _with(others, 0.0), n_threads=n_threads)
                values += (weights - centre)[:, :, np.newaxis, np.newaxis] * found
            if progress is not None:
                progress(done / len(self._centre))
        return values

    def coalition_values(
        self, rows: Matrix, members: list[bool], *, n_threads: int, progress: Report | None = None
    ) -> Array:
        """Compute the mean prediction with some players from each row, others from the background: (rows, outputs)."""
        return self._sum(rows, lambda core, given: core.coalition_values(given, members, n_threads=n_threads), progress)

    def single_values(self, rows: Matrix, players: list[int], *, n_threads: int) -> Array:
        """Compute the same for coalitions of one player each: (rows, players, outputs)."""
        return self._sum(rows, lambda core, given: core.single_values(given, players, n_threads=n_threads))

    def couple_values(self, rows: Matrix, player: int, others: list[int], *, n_threads: int) -> Array:
        """Compute the same for coalitions of one player and each of some others: (others, rows, outputs)."""

        def compute(core: _core.Explainer, given: Matrix) -> Array:
            return core.couple_values(given, player, others, n_threads=n_threads).swapaxes(0, 1)

        return self._sum(rows, compute).swapaxes(0, 1)

    def values_without(self, rows: Matrix, *, n_threads: int) -> Array:
        """Compute the same for coalitions of all players but one, for each player in turn: (rows, players, outputs)."""
        return self._sum(rows, lambda core, given: core.values_without(given, n_threads=n_threads))

    def player_sets(self, order: int) -> Sets:
        """List the sets of up to `order` players that share a path in some game."""
        return together(core.player_sets(order) for core in (self._constant, *(term.core for term in self._terms)))

    def explain_sets(
        self,
        rows: Matrix,
        index: str,
        parameters: Array,
        order: int,
        *,
        n_threads: int,
        progress: Report | None = None,
    ) -> Array:
        """Compute an index of sets of players: (rows, sets, outputs)."""
        sets = self.player_sets(order)

        def compute(core: _core.Explainer, given: Matrix) -> Array:
            values = core.explain_sets(given, index, parameters, order, n_threads=n_threads)
            return at_sets(sets, core.player_sets(order), values)

        return self._sum(rows, compute, progress)

    def with_players(self, players: NDArray[np.int32], n_players: int, *, n_threads: int) -> LinearCore:
        """Return an explainer of the same forest against the same background, with other players."""
        settings = replace(self._settings, n_threads=n_threads)
        return LinearCore(self.forest, players, n_players, self.background, self.shares, settings)

    def explain_members(
        self,
        rows: Matrix,
        parent: NDArray[np.int32],
        ordered: NDArray[np.bool_],
        *,
        n_threads: int,
        progress: Report | None = None,
    ) -> Array:
        """Compute the values of members of groups: (rows, players, outputs)."""
        return self._sum(
            rows, lambda core, given: core.explain_members(given, parent, ordered, n_threads=n_threads), progress
        )

    def plan(self, n_rows: int, index: IndexName, engine: str) -> SimpleNamespace:
        """Plan a call; the trees count once, but the costs of all games are added."""
        plans = [core.plan(n_rows, index, engine) for core in (self._constant, *(term.core for term in self._terms))]
        ways = ("trees_by_tables", "trees_by_counts", "trees_by_pairs", "trees_by_walk", "reason")
        return SimpleNamespace(
            **{way: getattr(plans[0], way) for way in ways},
            seconds=sum(plan.seconds for plan in plans),
            bytes=sum(plan.bytes for plan in plans),
        )

    def to_bytes(self, texts: dict[str, list[str]], numbers: dict[str, Array]) -> bytes:
        """Return the explainer of the constants as bytes, with these texts and numbers, the slopes and the rows."""
        columns, nodes, slopes = self.forest.entries()
        added = {
            "slope_columns": columns.astype(np.float64),
            "slope_nodes": nodes.astype(np.float64),
            "slopes": slopes,
            "background": self.background.ravel(),
            "background_shares": self.shares,
        }
        constants = self._compiled(self.forest.constants, self.background, self._weights)
        return MAGIC + constants.to_bytes(texts, {**added, **numbers})

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise InputError(REFUSED)

    def _compiled(
        self, forest: Forest, background: Matrix, weights: Array | None, column: int | None = None
    ) -> _core.Explainer:
        """Compile a forest; with one more feature, which is the column's player's, if a column is named."""
        return _core.Explainer(
            forest.native,
            players=self.players if column is None else np.append(self.players, self.players[column]),
            n_players=self.n_players,
            background=background,
            weights=weights,
            memory_limit=self._settings.memory_limit,
            n_threads=self._settings.n_threads,
        )

    def _terms_of(self, column: int) -> list[_Term]:
        """Return the games of a column: its slope if it comes from x; if it comes from z, above or below its mean."""
        slopes = self.forest.of_slopes(column)
        background = _with(self.background, 0.0)
        terms = [
            _Term(self._compiled(switched(slopes, on=True), background, self._weights, column), column=column),
        ]
        off = switched(slopes, on=False)
        around = self.shares * (self.background[:, column] - self._centre[column])
        for sign in (1.0, -1.0):
            weights = np.maximum(sign * around, 0.0)
            if weights.any():
                core = self._compiled(off, background[weights > 0.0], weights[weights > 0.0], column)
                terms.append(_Term(core, sign * float(weights.sum())))
        return terms

    def _sum(self, rows: Matrix, compute: Compute, progress: Report | None = None) -> Array:
        """Add up what is computed for all games; rows are the first axis."""
        self.forest.check(rows)
        total = compute(self._constant, rows)
        joined = _with(rows, 1.0)
        for done, term in enumerate(self._terms, start=1):
            found = compute(term.core, joined)
            if term.column is None:
                total += term.weight * found
            else:
                factor = np.asarray(rows[:, term.column], np.float64) - self._centre[term.column]
                total += factor.reshape(-1, *(1,) * (found.ndim - 1)) * found
            if progress is not None:
                progress(done / len(self._terms))
        return total


def _with(rows: Matrix, side: float) -> NDArray[Any]:
    """Return rows with one more feature: whether players have joined."""
    return np.column_stack([rows, np.full(len(rows), side)]).astype(np.float64)
