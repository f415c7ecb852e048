"""Groups of columns whose members get values of their own: the tree that they form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import is_whole
from arborshap.exceptions import InputError
from arborshap.game.groups import Groups, players_from

Nested: TypeAlias = Mapping[str, Any]
"""Groups inside groups: ``{"name": [columns]}`` or ``{"name": {"name": [columns], ...}, ...}``."""


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A tree over the members.

    Attributes
    ----------
    members : array of int32
        The member that each feature of the model belongs to.
    n_members
        The number of members.
    parent : array of int32
        The node that each member, and then each group, is in. Groups have higher numbers than what is in them, and the
        root has the highest.
    ordered : array of bool
        For each group, and last for the root, whether what is in it joins in order.
    """

    members: NDArray[np.int32]
    n_members: int
    parent: NDArray[np.int32]
    ordered: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        within: Groups | Nested | None,
        names: Sequence[str],
        owners: Sequence[int],
        members: NDArray[np.int32],
        *,
        ordered: bool = False,
        also: Sequence[str] = (),
    ) -> Self:
        """Read groups of columns, which may be nested.

        Parameters
        ----------
        within
            Nested dicts, or groups in any of the forms that an explainer takes. ``None``: those of `owners`.
        names
            The names of the columns, which are the members.
        owners
            The group of each column in the explainer.
        members
            The column that each feature of the model belongs to.
        ordered
            Whether groups join in the order of `within`, and all columns that are not named after them.
        also
            Other names of the columns, which are known too unless one of `names` is the same.
        """
        if isinstance(within, Mapping):
            tree = _tree_of(within, names, also)
        elif ordered:
            raise InputError(
                "ordered=True needs groups that have an order; give them as within={'first': [columns], ...}"
            )
        else:
            players = owners if within is None else players_from(within, names, len(names))[0].tolist()
            tree = [[j for j, player in enumerate(players) if player == group] for group in range(max(players) + 1)]
        named = set(_leaves(tree))
        rest = [j for j in range(len(names)) if j not in named]
        if not ordered:
            return cls._of_tree([*tree, *rest], len(names), members)
        hierarchy = cls._of_tree([*tree, rest] if rest else tree, len(names), members)
        hierarchy.ordered[-1] = True
        return hierarchy

    @classmethod
    def _of_tree(cls, tree: list[Any], n_members: int, members: NDArray[np.int32]) -> Self:
        """Number the groups, inner ones first; what stands directly in the root gets a group, to keep its place."""
        parent: dict[int, int] = {}
        next_number = n_members

        def number(node: Any) -> int:
            nonlocal next_number
            inside = [node] if not isinstance(node, list) else [at if is_whole(at) else number(at) for at in node]
            own = next_number
            next_number += 1
            parent.update(dict.fromkeys(inside, own))
            return own

        for block in [number(block) for block in tree]:
            parent[block] = next_number
        n_nodes = next_number
        found = np.array([parent[node] for node in range(n_nodes)], np.int32)
        return cls(members, n_members, found, np.zeros(n_nodes + 1 - n_members, np.bool_))


def _leaves(tree: Any) -> Iterable[int]:
    if not isinstance(tree, list):
        yield tree
        return
    for node in tree:
        yield from _leaves(node)


def _tree_of(within: Nested, names: Sequence[str], also: Sequence[str]) -> list[Any]:
    positions = {name: j for known in (also, names) for j, name in enumerate(known)}
    try:
        return _read(within, positions, names, set(), "within")
    except RecursionError:
        raise InputError("within has too many groups inside groups, or a group that contains itself") from None


def _read(
    groups: Mapping[Any, Any], positions: dict[str, int], names: Sequence[str], seen: set[int], where: str
) -> list[Any]:
    """Read nested dicts into nested lists of positions."""
    tree = []
    for name, inside in groups.items():
        at = f"{where}[{name!r}]"
        if isinstance(inside, Mapping):
            found = _read(inside, positions, names, seen, at)
        elif isinstance(inside, (str, bytes)) or not isinstance(inside, Iterable):
            raise InputError(f"{at} must be a list of columns, or a dict of further groups; got {inside!r}")
        else:
            found = [_position(column, positions, names, seen, at) for column in inside]
        if not found:
            raise InputError(f"{at} is empty; name at least one column, or leave the group out")
        tree.append(found)
    return tree


def _position(column: Any, positions: dict[str, int], names: Sequence[str], seen: set[int], where: str) -> int:
    if isinstance(column, str) and column in positions:
        at = positions[column]
    elif is_whole(column) and 0 <= column < len(names):
        at = int(column)
    else:
        last = len(names) - 1
        raise InputError(f"{where} names {column!r}; columns are {list(names)}, or positions from 0 to {last}")
    if at in seen:
        raise InputError(f"{where}: column {column!r} is in two groups; name it once")
    seen.add(at)
    return at
