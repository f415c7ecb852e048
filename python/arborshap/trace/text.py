"""A trace as text: the tree with its typed edges, and the sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from arborshap._util.words import counted
from arborshap.rows.numbers import is_missing
from arborshap.trace.steps import Edge, Leaf, Split

if TYPE_CHECKING:
    from arborshap.trace.trace import Trace

_MOST_LINES, _MOST_NAMES = 120, 8
"""Most lines and names to print: a walk may reach thousands of nodes and players, too many to read."""


def as_text(trace: Trace) -> str:
    """Return a trace as text, with the tree drawn in characters."""
    lines = [
        f"Tree {trace.tree} of {trace.n_trees}: the walk reaches {len(trace.steps)} of {trace.n_nodes} nodes, "
        f"including {len(trace.leaves)} leaves",
        f"h(x) = {numbers(trace.value_x)}, h(z) = {numbers(trace.value_z)}"
        + (f"   [{', '.join(trace.outputs)}]" if len(trace.outputs) > 1 else ""),
        "",
    ]
    return "\n".join(
        [*lines, *_first(_tree_lines(trace), "steps"), "", *_first(_sums(trace), "phi"), _difference(trace)]
    )


def numbers(values: tuple[float, ...]) -> str:
    """Format one number as it is, and several in parentheses."""
    shown = ", ".join(f"{value:.4g}" for value in values)
    return shown if len(values) == 1 else f"({shown})"


def cell_text(cell: Any) -> str:
    """Format a cell of a row: numbers are shortened, and a missing cell is called "missing"."""
    if is_missing(cell):
        return "missing"
    return f"{cell:.4g}" if isinstance(cell, (float, np.floating)) else str(cell)


def set_text(players: tuple[str, ...]) -> str:
    """Format a set of players in braces."""
    return "{" + _some(players) + "}"


def _tree_lines(trace: Trace) -> Iterator[str]:
    steps = {step.node: step for step in trace.steps}
    # Each entry is a node, or an edge that was not followed, with the text before it and before the nodes below it.
    pending: list[tuple[int | Edge, str, str]] = [(trace.steps[0].node, "", "")]
    while pending:
        at, before, below = pending.pop()
        if isinstance(at, Edge):
            yield f"{before}not entered ({counted(at.n_below, 'node')})"
            continue
        step = steps[at]
        yield before + (_split_line(step) if isinstance(step, Split) else _leaf_line(step))
        if isinstance(step, Split):
            for edge, first in ((step.right, False), (step.left, True)):
                fork, rest = ("├", "│") if first else ("└", " ")
                child = edge.child if edge.followed else edge
                pending.append((child, f"{below}{fork}─{edge.type}─ ", f"{below}{rest}    "))


def _split_line(split: Split) -> str:
    owner = "" if split.player == split.feature else f" of {split.player}"
    return (
        f"{split.node}: {split.test}{owner}? x {cell_text(split.x)}, z {cell_text(split.z)}; "
        f"scenario {split.scenario}, S_X {set_text(split.s_x)}, S_Z {set_text(split.s_z)}"
    )


def _leaf_line(leaf: Leaf) -> str:
    shares = _some([f"{player} {signed(share)}" for player, share in leaf.contributions.items()])
    return (
        f"{leaf.node}: leaf {numbers(leaf.value)}, S_X {set_text(leaf.s_x)}, S_Z {set_text(leaf.s_z)}"
        f" -> {shares or 'nothing to share'}"
    )


def signed(values: tuple[float, ...]) -> str:
    """Format numbers with their signs."""
    shown = ", ".join(f"{value:+.4g}" for value in values)
    return shown if len(values) == 1 else f"({shown})"


def _sums(trace: Trace) -> Iterator[str]:
    totals: dict[str, list[tuple[int, tuple[float, ...]]]] = {}
    for leaf in trace.leaves:
        for player, share in leaf.contributions.items():
            totals.setdefault(player, []).append((leaf.node, share))
    for player in (name for name in trace.players if name in totals):
        shares = totals[player]
        total = tuple(float(sum(column)) for column in zip(*(share for _, share in shares), strict=True))
        terms = "  ".join(f"{signed(share)} (leaf {node})" for node, share in shares[:6])
        more = f"  and {len(shares) - 6} more" if len(shares) > 6 else ""
        yield f"phi of {player} = {signed(total)} = {terms}{more}"


def _difference(trace: Trace) -> str:
    difference = tuple(x - z for x, z in zip(trace.value_x, trace.value_z, strict=True))
    return f"together {signed(difference)} = h(x) - h(z)"


def _first(lines: Iterator[str], where: str) -> Iterator[str]:
    yield from islice(lines, _MOST_LINES)
    if next(lines, None) is not None:
        yield f"... and so on; `{where}` holds everything"


def _some(names: Sequence[str]) -> str:
    more = f", {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
