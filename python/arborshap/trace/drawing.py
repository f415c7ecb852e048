"""The drawing of a trace: the tree from left to right, and beside its leaves a grid in which they add up to phi."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import style
from arborshap.exceptions import InputError
from arborshap.trace.steps import Edge, Leaf, Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.trace.trace import Trace

# The paper's green, red, blue and black, in shades that colour-blind readers can tell apart. B is the colour of text.
EDGE_COLOURS = {"X": "#159a70", "Z": "#d1495b", "F": "#2c77b8"}

_COLUMN, _ROW, _CELL = 2.05, 0.42, 0.74
"""Inches: from one split to the next, from one leaf to the next, and the width of a cell of the grid."""


def draw(trace: Trace, output: str | None, max_leaves: int, max_players: int, ax: Axes | None) -> Axes:
    """Draw the tree and the grid."""
    k = _output_position(trace, output)
    picture = _Picture.of(trace, k, max_leaves, max_players)
    width = picture.tree_width + _CELL * (3.4 + len(picture.players)) + 0.3
    height = _ROW * (picture.n_rows + 3.4)
    ax = style.axes(ax, width, height)
    ax.set_xlim(-0.35, width - 0.35)
    ax.set_ylim(picture.n_rows + 1.7, -1.7)
    ax.axis("off")
    for step in picture.drawn:
        if isinstance(step, Split):
            _draw_split(ax, picture, step)
    _draw_grid(ax, picture, k)
    _draw_legend(ax, trace, k)
    return ax


@dataclass(frozen=True, slots=True)
class _Picture:
    """Where everything is drawn: rows count from the top, one per leaf, and columns are depths."""

    trace: Trace
    drawn: list[Split | Leaf]
    leaves: list[Leaf]
    left_out: list[Leaf]
    players: list[str]
    more_players: int
    row: dict[int, float]
    tree_width: float

    @property
    def n_rows(self) -> int:
        return len(self.leaves) + bool(self.left_out)

    @classmethod
    def of(cls, trace: Trace, k: int, max_leaves: int, max_players: int) -> _Picture:
        steps = {step.node: step for step in trace.steps}
        size = {leaf.node: sum(abs(share[k]) for share in leaf.contributions.values()) for leaf in trace.leaves}
        kept = {leaf.node for leaf in sorted(trace.leaves, key=lambda leaf: -size[leaf.node])[: max(1, max_leaves)]}
        drawn = set(kept)
        for node in kept:
            parent = steps[node].parent
            while parent is not None and parent not in drawn:
                drawn.add(parent)
                parent = steps[parent].parent
        leaves = _from_top(trace, steps, drawn)
        row = {leaf.node: float(i) for i, leaf in enumerate(leaves)}
        for step in reversed(trace.steps):  # children come after their split, so in reverse they are placed first
            if isinstance(step, Split) and step.node in drawn:
                places = [row[edge.child] for edge in (step.left, step.right) if edge.child in row]
                row[step.node] = sum(places) / len(places)
        phi = {name: float(np.atleast_1d(trace.phi[i])[_column(trace, k)]) for i, name in enumerate(trace.players)}
        involved = [name for name in trace.players if any(name in leaf.contributions for leaf in trace.leaves)]
        ranked = sorted(involved, key=lambda name: -abs(phi[name]))
        depth = max(steps[node].depth for node in drawn)
        return cls(
            trace=trace,
            drawn=[step for step in trace.steps if step.node in drawn],
            leaves=leaves,
            left_out=[leaf for leaf in trace.leaves if leaf.node not in kept],
            players=ranked[:max_players],
            more_players=max(0, len(ranked) - max_players),
            row=row,
            tree_width=_COLUMN * depth + 0.5,
        )


def _draw_split(ax: Axes, picture: _Picture, split: Split) -> None:
    x, y = _COLUMN * split.depth, picture.row[split.node]
    for edge, side in ((split.left, -1), (split.right, 1)):
        colour = EDGE_COLOURS.get(edge.type, style.text_colour())
        if edge.child in picture.row:
            below = picture.row[edge.child]
            end = x + _COLUMN if _is_split(picture, edge.child) else picture.tree_width
            ax.plot([x, x, end], [y, below, below], color=colour, linewidth=2.2, solid_joinstyle="round", zorder=1)
            ax.annotate(
                edge.type,
                (min(end, x + _COLUMN), below),
                xytext=(-13, 0),
                textcoords="offset points",
                color=colour,
                fontsize=8,
                fontweight="bold",
                ha="center",
                va="center",
                bbox={"boxstyle": "circle,pad=0.12", "facecolor": ax.figure.get_facecolor(), "edgecolor": "none"},
                zorder=2,
            )
        else:
            _draw_stub(ax, x, y, side, edge, colour)
    ax.plot(
        [x], [y], "o", markersize=13, color=ax.figure.get_facecolor(), markeredgecolor=style.text_colour(), zorder=4
    )
    ax.text(x, y, str(split.scenario), fontsize=8, ha="center", va="center", zorder=5)
    owner = "" if split.player == split.feature else f"  ({style.short_name(split.player, 12)})"
    test = split.test.replace(split.feature, style.short_name(split.feature, 16), 1)
    above: dict[str, Any] = {
        "textcoords": "offset points",
        "fontsize": 8.5,
        "va": "bottom",
        "parse_math": False,
        "zorder": 3,
    }
    ax.annotate(style.short_name(test, 26) + owner, (x, y), xytext=(11, 2.5), **above)
    cells = f"x {style.short_cell(split.x)}   z {style.short_cell(split.z)}"
    ax.annotate(cells, (x, y), xytext=(11, -10.5), **{**above, "fontsize": 7.5, "alpha": 0.7})


def _draw_stub(ax: Axes, x: float, y: float, side: int, edge: Edge, colour: Any) -> None:
    """Draw a stub for a branch that the walk does not enter, or that there is no room to draw."""
    end = y + 0.36 * side
    ax.plot([x, x], [y, end], color=colour, linewidth=2.2, linestyle=(0, (1, 1)) if edge.followed else "-", zorder=1)
    ax.plot([x - 0.07, x + 0.07], [end, end], color=colour, linewidth=2.2, zorder=1)
    ax.annotate(
        str(edge.n_below),
        (x, end),
        xytext=(-8, 0),
        textcoords="offset points",
        fontsize=7,
        alpha=0.7,
        ha="right",
        va="center",
    )


def _draw_grid(ax: Axes, picture: _Picture, k: int) -> None:
    """Draw one line per leaf, with its value, the weights W and each player's share; phi is at the bottom."""
    from matplotlib.patches import Rectangle

    x = picture.tree_width + 0.15
    columns = [x + _CELL * (0.5 + i) for i in range(3 + len(picture.players))]
    quiet: dict[str, Any] = {"fontsize": 8.5, "ha": "center", "va": "center", "parse_math": False}
    heads = ["leaf value", "W in S_X", "W in S_Z", *(style.short_name(name, 10) for name in picture.players)]
    for place, head in zip(columns, heads, strict=True):
        ax.text(place, -0.85, head, **{**quiet, "fontsize": 8}, alpha=0.8)
    shares = _shares(picture, k)
    texts = np.array(style.signed(shares.reshape(-1)), dtype=object).reshape(shares.shape)
    for i, leaf in enumerate(picture.leaves):
        ax.text(columns[0], i, style.number(leaf.value[k]), **quiet)
        for place, weight, players in ((1, leaf.weight_x, leaf.s_x), (2, leaf.weight_z, leaf.s_z)):
            ax.text(columns[place], i, f"1/{round(1 / weight):,}" if players and weight > 1e-6 else "·", **quiet)
        for j, name in enumerate(picture.players):
            if name not in leaf.contributions:
                continue
            colour = EDGE_COLOURS["X" if name in leaf.s_x else "Z"]
            corner = (columns[3 + j] - 0.47 * _CELL, i - 0.42)
            ax.add_patch(Rectangle(corner, 0.94 * _CELL, 0.84, facecolor=colour, alpha=0.2, linewidth=0))
            ax.text(columns[3 + j], i, texts[i, j], **quiet)
    if picture.left_out:
        ax.text(columns[1], picture.n_rows - 1, f"{len(picture.left_out)} more leaves", **quiet)
        for j in range(len(picture.players)):
            ax.text(columns[3 + j], picture.n_rows - 1, texts[-2, j], **quiet)
    bottom = picture.n_rows - 0.35
    ax.plot([x, x + _CELL * (3 + len(picture.players))], [bottom, bottom], color=style.text_colour(), linewidth=0.8)
    ax.text(columns[2], picture.n_rows + 0.1, "phi", **{**quiet, "fontweight": "bold"})
    for j in range(len(picture.players)):
        ax.text(columns[3 + j], picture.n_rows + 0.1, texts[-1, j], **{**quiet, "fontweight": "bold"})
    if picture.more_players:
        note = f"{picture.more_players} more players have smaller phi"
        ax.text(columns[-1] + 0.5 * _CELL, picture.n_rows + 1.0, note, **{**quiet, "ha": "right"}, alpha=0.7)


def _shares(picture: _Picture, k: int) -> NDArray[np.float64]:
    """Return the share of each player: per drawn leaf, for all other leaves together, and in total."""
    lines = [[leaf.contributions.get(name, _nothing(k))[k] for name in picture.players] for leaf in picture.leaves]
    others = [
        sum(leaf.contributions.get(name, _nothing(k))[k] for leaf in picture.left_out) for name in picture.players
    ]
    positions = [picture.trace.players.index(name) for name in picture.players]
    phi = picture.trace.phi.reshape(len(picture.trace.players), -1)[positions, _column(picture.trace, k)]
    return np.array([*lines, others, phi.tolist()], dtype=np.float64).reshape(len(lines) + 2, len(picture.players))


def _draw_legend(ax: Axes, trace: Trace, k: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries = {"X": "x flows", "Z": "z flows", "F": "both flow", "B": "both are blocked"}
    handles: list[Any] = [
        Line2D([], [], color=EDGE_COLOURS.get(kind, style.text_colour()), linewidth=2.2, label=f"{kind}  {text}")
        for kind, text in entries.items()
    ]
    handles += [Patch(color=EDGE_COLOURS[kind], alpha=0.2, label=f"in S_{kind}") for kind in "XZ"]
    handles.append(Line2D([], [], linestyle="none", label="circles: scenarios.  stubs: nodes not entered"))
    ax.legend(handles=handles, loc="lower left", ncols=7, frameon=False, fontsize=8, handlelength=1.4, borderaxespad=0)
    value_x, value_z = trace.value_x[k], trace.value_z[k]
    of = f" for {style.short_name(trace.outputs[k])}" if len(trace.outputs) > 1 else ""
    title = (
        f"Tree {trace.tree}{of}:  h(x) {style.number(value_x)},  h(z) {style.number(value_z)},  "
        f"h(x) − h(z) = sum of phi = {style.number(value_x - value_z)}"  # noqa: RUF001 - a minus is what is meant
    )
    ax.text(0, 1, title, transform=ax.transAxes, fontsize=10, fontweight="bold", va="top", parse_math=False)


def _from_top(trace: Trace, steps: dict[int, Split | Leaf], drawn: set[int]) -> list[Leaf]:
    """Return the leaves to draw, left children above right ones."""
    leaves: list[Leaf] = []
    pending = [trace.steps[0].node]
    while pending:
        step = steps[pending.pop()]
        if isinstance(step, Leaf):
            leaves.append(step)
        else:
            pending += [edge.child for edge in (step.right, step.left) if edge.child in drawn]
    return leaves


def _is_split(picture: _Picture, node: int) -> bool:
    return any(step.node == node and isinstance(step, Split) for step in picture.drawn)


def _nothing(k: int) -> tuple[float, ...]:
    return (0.0,) * (k + 1)


def _column(trace: Trace, k: int) -> int:
    """Return the column of `Trace.phi` of the tree's k-th output; phi has one column per output of the model."""
    return trace.output_numbers[k] if trace.phi.ndim == 2 else 0


def _output_position(trace: Trace, output: str | None) -> int:
    if output is None and len(trace.outputs) == 1:
        return 0
    if output is None or output not in trace.outputs:
        names = ", ".join(map(repr, trace.outputs[:10]))
        raise InputError(f"output must be one of the outputs that the tree adds to, {names}; got {output!r}")
    return trace.outputs.index(output)
