"""The heat map of rows: one column of colours per row, one line per player, and the prediction above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_choice
from arborshap.draw import style
from arborshap.draw.bar import with_others
from arborshap.draw.drawn import Drawn, shown_and_others, value_name
from arborshap.exceptions import InputError
from arborshap.game.indices import is_efficient

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.explanation import Explanation

ORDERS = {"prediction": "from the lowest to the highest prediction", "given": "as given"}
_STRIP = 1.8
"""Height of the strip above the players, in lines."""


def rows_heatmap(explanation: Explanation, *, max_display: int, order: str, ax: Axes | None) -> Axes:
    """Draw every row's values as colours, with the rows from left to right."""
    checked_choice("order", order, list(ORDERS))
    drawn = Drawn.of(explanation, "heatmap")
    if drawn.one_row:
        raise InputError(
            "plot.heatmap draws several rows, or pairs of players: for one row use plot.bar or plot.waterfall, "
            "or explain pairs with explainer(X, index='taylor')"
        )
    shown, others = shown_and_others(np.abs(drawn.values).mean(axis=0), max_display)
    sums = drawn.base + drawn.values.sum(axis=1)
    rows = np.argsort(sums, kind="stable") if order == "prediction" else np.arange(len(sums))
    names = style.short_names(drawn.names[j] for j in shown)
    _, labels = with_others(drawn.values[0], shown, others, names)
    cells = np.stack([with_others(line, shown, others, [])[0] for line in drawn.values[rows]], axis=1)

    ax = style.axes(ax, style.width_for(labels, 8.4), 1.9 + 0.38 * len(labels))
    style.quiet(ax)
    colours = style.around_zero()
    # Colours end at the 99th percentile, so that a few outliers do not make all else pale.
    largest = float(np.percentile(np.abs(cells), 99)) or float(np.abs(cells).max()) or 1.0
    image: dict[str, Any] = {"cmap": colours, "vmin": -largest, "vmax": largest, "aspect": "auto"}
    ax.imshow(cells, extent=(0, len(rows), len(labels) - 0.5, -0.5), interpolation="nearest", **image)
    places: list[float] = list(range(len(labels)))
    if is_efficient(explanation.index):
        places, labels = [-0.6 - _STRIP / 2, *places], [explanation.unit.name, *labels]
        _predictions(ax, sums[rows], drawn.base[rows])
    ax.set_yticks(places, labels, fontsize=style.LABEL, parse_math=False)
    ax.set_ylim(cells.shape[0] - 0.5, min(places) - _STRIP / 2 if places[0] < 0 else -0.5)
    ax.set_xlim(0, len(rows))
    ax.set_xlabel(f"{len(rows):,} rows, {ORDERS[order]}", fontsize=style.TITLE)
    style.colour_scale(ax, colours, value_name(explanation), *style.signed(np.array([-largest, largest])))
    return ax


def _predictions(ax: Axes, sums: NDArray[Any], base: NDArray[Any]) -> None:
    """Draw the predictions as a line in the strip above the players, and the base values as a dotted line."""
    low, high = float(min(sums.min(), base.min())), float(max(sums.max(), base.max()))
    x = np.arange(len(sums)) + 0.5
    for numbers, line in ((base, ":"), (sums, "-")):
        share = (numbers - low) / ((high - low) or 1.0)
        ax.plot(x, -0.7 - (_STRIP - 0.2) * share, color=style.text_colour(), linewidth=1.3, linestyle=line)
    low_text, high_text = style.sizes(np.array([low, high]))
    # In the corners that a rising line leaves free.
    ends: list[tuple[str, float, float, Any]] = [
        (high_text, 0.0, -0.5 - _STRIP, "left"),
        (low_text, 1.0, -0.7, "right"),
    ]
    for text, x_end, height, side in ends:
        where = (x_end * len(sums), height)
        offset = (3 if side == "left" else -3, 0)
        ax.annotate(
            text,
            where,
            xytext=offset,
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=style.NOTE,
            alpha=0.8,
        )
