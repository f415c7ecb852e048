"""The steps of a walk: the splits and leaves it reached, and their edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

EdgeType: TypeAlias = Literal["X", "Z", "F", "B"]


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from a split to one of its children.

    Attributes
    ----------
    child
        The node that the edge leads to.
    type
        ``"X"`` if only x flows through it, ``"Z"`` if only z does, ``"F"`` if both flow, ``"B"`` if both are blocked.
    followed
        Whether the walk followed the edge. It does not if every leaf below would contribute nothing.
    n_below
        Number of nodes in the child's subtree, the child included.
    """

    child: int
    type: EdgeType
    followed: bool
    n_below: int


@dataclass(frozen=True, slots=True)
class Split:
    """A split that the walk reached.

    Attributes
    ----------
    node, parent
        Its position in the tree, and the position of the split above it (``None`` for the root).
    depth
        Number of splits above it.
    s_x, s_z
        The sets S_X and S_Z on arrival, as names of players in the order they joined.
    feature, player
        The feature that it tests, and the player that owns the feature.
    test
        The condition under which a row goes left, in words.
    threshold, categories
        The same condition as a number or as a set of category codes; one of the two is ``None``.
    missing_goes
        Where a missing value goes; ``None`` if the model reads NaN as zero.
    x, z
        The cells of the two rows in that column, as they were given.
    scenario
        1: x and z go the same way. 2: they part, and the player is already in S_X or S_Z, so only one way keeps the
        sets disjoint. 3: they part at a new player, and the walk goes both ways.
    left, right
        The two edges.
    """

    node: int
    parent: int | None
    depth: int
    s_x: tuple[str, ...]
    s_z: tuple[str, ...]
    feature: str
    player: str
    test: str
    threshold: float | None
    categories: tuple[int, ...] | None
    missing_goes: str | None
    x: Any
    z: Any
    scenario: Literal[1, 2, 3]
    left: Edge
    right: Edge


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf that the walk reached.

    Attributes
    ----------
    node, parent
        Its position in the tree, and the position of the split above it (``None`` for the root).
    depth
        Number of splits above it.
    s_x, s_z
        The sets S_X and S_Z, as names of players. Among all coalitions of the players in the two sets, only the
        coalition S_X ends up in this leaf.
    value
        The leaf's value, one number per entry of `Trace.outputs`.
    weight_x, weight_z
        The share of the value that each player gets: W(k - 1, d) in S_X, and minus W(k, d) in S_Z, for k players in S_X
        and d players in both sets together. The weight of an empty set is 0.
    contributions
        What the leaf adds to each player's phi, one number per entry of `Trace.outputs`.
    """

    node: int
    parent: int | None
    depth: int
    s_x: tuple[str, ...]
    s_z: tuple[str, ...]
    value: tuple[float, ...]
    weight_x: float
    weight_z: float
    contributions: dict[str, tuple[float, ...]]
