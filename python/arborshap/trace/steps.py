"""What a walk leaves behind: the splits and leaves it came to, and their edges."""

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
        The node it leads to.
    type
        ``"X"`` if x alone flows through it, ``"Z"`` if z alone does, ``"F"`` if both flow, ``"B"`` if both are blocked.
    followed
        Whether the walk went this way. It does not where every leaf below would contribute nothing.
    n_below
        Nodes in the child's subtree, the child included.
    """

    child: int
    type: EdgeType
    followed: bool
    n_below: int


@dataclass(frozen=True, slots=True)
class Split:
    """A split that the walk came to.

    Attributes
    ----------
    node, parent, depth
        Its number in the tree, that of the split above (``None`` for the root), and how many splits are above it.
    s_x, s_z
        The sets S_X and S_Z on arrival, as names of players in the order they joined.
    feature, player
        The column that it tests, and the player that owns it.
    test
        What sends a row left, in words.
    threshold, categories
        The same as a number or as a set of category codes; one of the two is ``None``.
    missing_goes
        Where a missing value goes; ``None`` where the model reads NaN as zero.
    x, z
        The cells of the two rows in that column, as they were given.
    scenario
        1: x and z go the same way. 2: they part, and the player is in S_X or S_Z already, so only one way keeps the
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
    """A leaf that the walk came to.

    Attributes
    ----------
    node, parent, depth
        Its number in the tree, that of the split above (``None`` for the root), and how many splits are above it.
    s_x, s_z
        The sets S_X and S_Z as names of players. Only the coalition S_X, of all coalitions of the two sets, ends up
        in this leaf.
    value
        The leaf's value, one number for each of `Trace.outputs`.
    weight_x, weight_z
        What a player gets of the value: W(k - 1, d) in S_X and, with a minus, W(k, d) in S_Z, for k players in S_X and
        d in both sets together. 0 where the set is empty.
    contributions
        What the leaf adds to each player's phi, one number for each of `Trace.outputs`.
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
