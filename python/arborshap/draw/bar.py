"""The bar plot: the mean absolute value of each player's values, or the values of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborshap.draw import style
from arborshap.draw.drawn import Drawn, others_label, shown_and_others, value_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.explanation import Explanation


def bar(explanation: Explanation, *, max_display: int, ax: Axes | None) -> Axes:
    """Draw one bar per player, longest first."""
    drawn = Drawn.of(explanation, "bar")
    lengths = drawn.values[0] if drawn.one_row else np.abs(drawn.values).mean(axis=0)
    shown, others = shown_and_others(np.abs(lengths), max_display)
    if drawn.one_row:
        labels = [drawn.label(0, drawn.names[j]) for j in shown]
    else:
        labels = [style.short_name(drawn.names[j]) for j in shown]
    widths = lengths[shown]
    colours = style.side_colour(widths) if drawn.one_row else [style.LOWERS] * len(shown)
    if others:
        labels.append(others_label(len(others)))
        widths = np.append(widths, lengths[others].sum())
        colours.append(style.NEUTRAL)

    ax = style.axes(ax, style.width_for(labels, 6.6), 1.1 + 0.36 * len(labels))
    style.quiet(ax)
    ax.barh(range(len(labels)), widths, height=0.68, color=colours)
    texts = style.signed(widths) if drawn.one_row else style.sizes(widths)
    for y, (width, text) in enumerate(zip(widths, texts, strict=True)):
        ax.annotate(
            text,
            (width, y),
            xytext=(-5 if width < 0 else 5, 0),
            textcoords="offset points",
            ha="right" if width < 0 else "left",
            va="center_baseline",
            fontsize=9,
        )
    style.row_axis(ax, labels)
    ax.grid(visible=False)
    low, high = min(float(widths.min()), 0.0), max(float(widths.max()), 0.0)
    if low == high:
        high = 1.0
    room = 0.16 * (high - low)  # for the numbers at the ends of the bars
    ax.set_xlim(low - room if low < 0 else 0, high + room if high > 0 else 0)
    ax.axvline(0, color=style.text_colour(), alpha=0.5, linewidth=0.8)
    what = value_name(explanation)
    ax.set_xlabel(what if drawn.one_row else f"mean size of the {what}", fontsize=10)
    return ax
