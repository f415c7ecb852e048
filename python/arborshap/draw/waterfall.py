"""The waterfall plot: how a row's values lead from the base value to its prediction, or from one row to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import palette, style
from arborshap.draw.drawn import Drawn, others_label, shown_and_others, text_of_cells, with_converted
from arborshap.exceptions import InputError
from arborshap.game.indices import is_efficient
from arborshap.result.value_unit import ValueUnit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.explanation import Explanation


def waterfall(explanation: Explanation, *, max_display: int, ax: Axes | None) -> Axes:
    """Draw the way from the base value at the bottom to the prediction at the top."""
    drawn = _one_row(explanation, "waterfall")
    shown, others = shown_and_others(np.abs(drawn.values[0]), max_display)
    labels = drawn.labels(0, shown)
    unit = explanation.unit
    return _draw(drawn, shown, others, labels, ("base value", unit.name), unit, ax)


def contrast(explanation: Explanation, *, max_display: int, ax: Axes | None) -> Axes:
    """Draw the way from z's prediction at the bottom to x's at the top, with the cells of both."""
    if explanation.reference is None:
        raise InputError(
            "plot.contrast draws what explainer.contrast(x, z) returns for one row each; "
            "this explanation has no reference row, so use plot.waterfall"
        )
    drawn = _one_row(explanation, "contrast")
    reference = explanation.reference.reshape(len(drawn.columns))
    shown, others = shown_and_others(np.abs(drawn.values[0]), max_display)
    labels = []
    for j, name in zip(shown, style.short_names(drawn.names[j] for j in shown), strict=True):
        ours = drawn.cell_text(0, drawn.names[j])
        theirs = text_of_cells(reference, drawn.columns_of(drawn.names[j]), drawn.columns)
        change = theirs if ours in (None, theirs) else f"{theirs} → {ours}"
        labels.append(f"{name}: {change}")
    return _draw(drawn, shown, others, labels, ("h(z)", "h(x)"), explanation.unit, ax)


def _one_row(explanation: Explanation, plot: str) -> Drawn:
    if not is_efficient(explanation.index):
        raise InputError(
            f"Banzhaf values do not add up to the prediction, so plot.{plot} cannot draw them; use plot.bar"
        )
    drawn = Drawn.of(explanation, plot)
    if not drawn.one_row:
        raise InputError(f"plot.{plot} draws one row; choose one, such as explanation[0].plot.{plot}()")
    return drawn


def _draw(
    drawn: Drawn,
    shown: list[int],
    others: list[int],
    labels: list[str],
    ends: tuple[str, str],
    unit: ValueUnit,
    ax: Axes | None,
) -> Axes:
    values = drawn.values[0]
    steps = values[shown]
    if others:
        steps = np.append(steps, values[others].sum())
        labels = [*labels, others_label(len(others))]
    base = float(drawn.base[0])
    # The sum grows step by step from the bottom; the top line ends at the prediction.
    stops = base + np.concatenate([np.cumsum(steps[::-1])[::-1], [0.0]])
    n = len(steps)

    ax = style.axes(ax, style.width_for(labels, 7.2), 1.5 + 0.38 * n)
    style.quiet(ax)
    span = float(stops.max() - stops.min()) or 1.0
    ax.set_xlim(stops.min() - 0.16 * span, stops.max() + 0.16 * span)
    for y in range(n):
        ax.add_patch(_arrow(float(stops[y + 1]), float(stops[y]), y, 0.016 * span))
        ax.plot(
            [stops[y], stops[y]], [y - 0.62, y + 0.34], color=style.text_colour(), alpha=0.3, linewidth=0.8, zorder=1
        )
    ax.plot([base, base], [n - 1 - 0.34, n - 0.38], color=style.text_colour(), alpha=0.3, linewidth=0.8, zorder=1)
    _numbers(ax, steps, stops)
    style.row_axis(ax, labels)
    ax.set_ylim(n + 0.1, -1.1)
    low_end, high_end = style.sizes(np.array([base, stops[0]]), of=steps)
    top = float(stops[0])
    for x, height, text in ((base, n - 0.2, f"{ends[0]} {low_end}"), (top, -0.8, f"{ends[1]} {high_end}")):
        whole = with_converted(unit, x, text)
        ax.text(x, height, whole, ha="center", va="center", fontsize=style.TITLE, fontweight="bold")
    ax.set_xlabel(unit.name, fontsize=style.TITLE)
    return ax


def _numbers(ax: Axes, steps: NDArray[Any], stops: NDArray[Any]) -> None:
    """Write the number of each step at the tip of its arrow."""
    for y, (step, text) in enumerate(zip(steps, style.signed(steps), strict=True)):
        ax.annotate(
            text,
            (float(stops[y]), y),
            xytext=(-4 if step < 0 else 4, 0),
            textcoords="offset points",
            ha="right" if step < 0 else "left",
            va="center_baseline",
            fontsize=style.TICK,
        )


def _arrow(start: float, end: float, y: float, head: float) -> Any:
    """Draw a bar from start to end, with a pointed end."""
    from matplotlib.patches import Polygon

    tip = min(head, abs(end - start)) * (1 if end >= start else -1)
    half = 0.34
    corners = [(start, y - half), (end - tip, y - half), (end, y), (end - tip, y + half), (start, y + half)]
    return Polygon(
        corners, closed=True, facecolor=palette.RAISES if end >= start else palette.LOWERS, linewidth=0, zorder=2
    )
