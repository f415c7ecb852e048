"""The walk itself: Algorithm 2 of the paper, recording every step. The engines do the same faster, without a record."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import whole_number
from arborshap.exceptions import InputError
from arborshap.forest import Forest
from arborshap.rows.frames import Rows
from arborshap.trace.question import Question
from arborshap.trace.steps import Edge, EdgeType, Leaf, Split
from arborshap.trace.trace import Trace

_Sets = tuple[tuple[int, ...], tuple[int, ...]]


def walk(
    forest: Forest,
    tree: int,
    x: Rows,
    z: Rows,
    *,
    players: NDArray[np.int32],
    player_names: Sequence[str],
    feature_names: Sequence[str],
    categories: Sequence[Sequence[Any] | None],
) -> Trace:
    """Walk down one tree for the pair (x, z), and record every step.

    Parameters
    ----------
    forest, tree
        The forest, and the position of one of its trees.
    x, z
        One row each.
    players
        The player of each feature: the paper's index map.
    player_names, feature_names
        The names of the players and of the features.
    categories
        The categories that the codes of each feature stand for, if they are known.

    Returns
    -------
    Trace
        The steps and their sum.

    Raises
    ------
    InputError
        If there is no such tree, or if x or z is not exactly one row.
    """
    tree = whole_number("tree", tree, 0, forest.n_trees - 1, f"the position of a tree, from 0 to {forest.n_trees - 1}")
    for what, rows in (("x", x), ("z", z)):
        if len(rows.matrix) != 1:
            raise InputError(f"{what} has {len(rows.matrix)} rows; a trace compares one row with one row")
    walker = _Walker(forest, tree, x, z, players, list(player_names), list(feature_names), categories)
    steps = walker.steps()
    return Trace(
        tree=int(tree),
        n_trees=forest.n_trees,
        players=tuple(player_names),
        outputs=_output_names(forest, walker.outputs),
        output_numbers=tuple(walker.outputs),
        steps=tuple(steps),
        phi=walker.phi[:, 0] if forest.n_outputs == 1 else walker.phi,
        # S_Z is empty in x's own leaf only, and S_X is empty in z's own leaf only.
        value_x=next(step.value for step in steps if isinstance(step, Leaf) and not step.s_z),
        value_z=next(step.value for step in steps if isinstance(step, Leaf) and not step.s_x),
        n_nodes=len(walker.tree),
    )


class _Walker:
    def __init__(
        self,
        forest: Forest,
        tree: int,
        x: Rows,
        z: Rows,
        players: NDArray[np.int32],
        player_names: list[str],
        feature_names: list[str],
        categories: Sequence[Sequence[Any] | None],
    ) -> None:
        self.tree = forest.trees[tree]
        own = self.tree.output
        self.outputs = list(range(forest.n_outputs)) if own is None else [own]
        self.x, self.z = x, z
        self.players, self.player_names, self.feature_names = players, player_names, feature_names
        self.categories = categories
        self.left, self.right = self.tree.left.tolist(), self.tree.right.tolist()
        self.n_below = _subtree_sizes(self.left, self.right)
        self.phi = np.zeros((len(player_names), forest.n_outputs))

    def steps(self) -> list[Split | Leaf]:
        """Return every split and leaf in the order of the recursion; a stack holds the pending branches."""
        found: list[Split | Leaf] = []
        pending: list[tuple[int, int | None, int, _Sets]] = [(0, None, 0, ((), ()))]
        while pending:
            node, parent, depth, sets = pending.pop()
            if self.left[node] == -1:
                found.append(self._leaf(node, parent, depth, sets))
                continue
            split, ways = self._split(node, parent, depth, sets)
            found.append(split)
            pending.extend((child, node, depth + 1, its_sets) for child, its_sets in reversed(ways))
        return found

    def _split(self, node: int, parent: int | None, depth: int, sets: _Sets) -> tuple[Split, list[tuple[int, _Sets]]]:
        """Find the types of both edges, and which of them are followed with which sets; x's way comes first."""
        question = Question.of_node(self.tree, node)
        player = int(self.players[question.feature])
        x_left = question.goes_left(float(self.x.matrix[0, question.feature]))
        z_left = question.goes_left(float(self.z.matrix[0, question.feature]))
        x_child = self.left[node] if x_left else self.right[node]
        z_child = self.left[node] if z_left else self.right[node]
        s_x, s_z = sets
        scenario: Literal[1, 2, 3]
        if x_child == z_child:
            scenario, ways = 1, [(x_child, sets)]
        elif player in s_x:
            scenario, ways = 2, [(x_child, sets)]
        elif player in s_z:
            scenario, ways = 2, [(z_child, sets)]
        else:
            scenario, ways = 3, [(x_child, ((*s_x, player), s_z)), (z_child, (s_x, (*s_z, player)))]
        followed = {child for child, _ in ways}
        name = self.feature_names[question.feature]
        split = Split(
            node=node,
            parent=parent,
            depth=depth,
            s_x=self._names(s_x),
            s_z=self._names(s_z),
            feature=name,
            player=self.player_names[player],
            test=question.in_words(name, self._names_of_codes(question.feature)),
            threshold=question.threshold,
            categories=question.categories,
            missing_goes=question.missing_goes,
            x=self._cell(self.x, question.feature),
            z=self._cell(self.z, question.feature),
            scenario=scenario,
            left=self._edge(self.left[node], x_left, z_left, followed),
            right=self._edge(self.right[node], not x_left, not z_left, followed),
        )
        return split, ways

    def _leaf(self, node: int, parent: int | None, depth: int, sets: _Sets) -> Leaf:
        """Share the leaf's value among the players of its sets, by Theorem 13."""
        s_x, s_z = sets
        in_both = len(s_x) + len(s_z)
        weight_x = _weight(len(s_x) - 1, in_both) if s_x else 0.0
        weight_z = _weight(len(s_x), in_both) if s_z else 0.0
        row = np.atleast_1d(self.tree.value[node])
        self.phi[np.ix_(s_x, self.outputs)] += weight_x * row
        self.phi[np.ix_(s_z, self.outputs)] -= weight_z * row
        value = tuple(row.tolist())
        shares = {self.player_names[player]: tuple(weight_x * v for v in value) for player in s_x}
        shares |= {self.player_names[player]: tuple(-weight_z * v for v in value) for player in s_z}
        return Leaf(node, parent, depth, self._names(s_x), self._names(s_z), value, weight_x, weight_z, shares)

    def _edge(self, child: int, x_flows: bool, z_flows: bool, followed: set[int]) -> Edge:
        types: dict[tuple[bool, bool], EdgeType] = {
            (True, False): "X",
            (False, True): "Z",
            (True, True): "F",
            (False, False): "B",
        }
        return Edge(child, types[x_flows, z_flows], child in followed, self.n_below[child])

    def _names(self, players: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.player_names[player] for player in players)

    def _names_of_codes(self, column: int) -> Sequence[Any] | None:
        """Return the categories that a feature's codes stand for, unless the rows were given as codes."""
        known = self.categories[column] or ()
        for rows in (self.x, self.z):
            code = rows.matrix[0, column]
            if 0 <= code < len(known) and known[int(code)] == self._cell(rows, column):
                return known
        return None

    def _cell(self, rows: Rows, column: int) -> Any:
        """Return the cell as the caller gave it, or as the tree reads it if a pipeline made the feature."""
        return (rows.shown if rows.raw is None else rows.matrix)[0, column]


def _weight(k: int, d: int) -> float:
    """Compute W(k, d) = k! (d - k - 1)! / d!.

    It is the share of orders of d players that start with k given players, followed by one given other player.
    """
    return 1 / (d * comb(d - 1, k))  # whole numbers of Python, which cannot overflow


def _subtree_sizes(left: list[int], right: list[int]) -> list[int]:
    sizes = [1] * len(left)
    order = [0]
    for node in order:  # the list grows during the loop, parents before children
        if left[node] != -1:
            order += [left[node], right[node]]
    for node in reversed(order):
        if left[node] != -1:
            sizes[node] += sizes[left[node]] + sizes[right[node]]
    return sizes


def _output_names(forest: Forest, outputs: list[int]) -> tuple[str, ...]:
    if forest.output_names is not None:
        return tuple(forest.output_names[k] for k in outputs)
    return ("prediction",) if forest.n_outputs == 1 else tuple(str(k) for k in outputs)
