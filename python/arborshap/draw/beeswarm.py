"""The beeswarm: one point per row and player, placed by its value and coloured by the row's cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import palette, style
from arborshap.draw.drawn import Drawn, numbers_of, others_label, shown_and_others, value_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.explanation import Explanation

_BINS = 100
"""Number of columns of points across the plot, for which there is about enough room."""


def beeswarm(explanation: Explanation, *, max_display: int, ax: Axes | None) -> Axes:
    """Draw every row's value of every player."""
    drawn = Drawn.of(explanation, "beeswarm")
    shown, others = shown_and_others(np.abs(drawn.values).mean(axis=0), max_display)
    lines = [drawn.values[:, j] for j in shown]
    labels = style.short_names(drawn.names[j] for j in shown)
    if others:
        lines.append(drawn.values[:, others].sum(axis=1))
        labels.append(others_label(len(others)))

    ax = style.axes(ax, style.width_for(labels, 7.6), 1.3 + 0.44 * len(labels))
    style.quiet(ax)
    low, high = min(float(line.min()) for line in lines), max(float(line.max()) for line in lines)
    if low == high == 0:
        low, high = -1.0, 1.0
    size = float(np.clip(16 * (1000 / len(drawn.values)) ** 0.5, 6, 20))
    colours, any_numbers = style.low_to_high(), False
    for y, line in enumerate(lines):
        heights = y + spread(line, low, high)
        shade = _shade(drawn, drawn.names[shown[y]]) if y < len(shown) else None
        grey = np.ones(len(line), dtype=bool) if shade is None else np.isnan(shade)
        dots: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": len(line) > 500, "zorder": 3}
        # Points without a number come first, so that they never hide the others.
        ax.scatter(line[grey], heights[grey], color=palette.MISSING, **dots)
        if shade is not None and not grey.all():
            any_numbers = True
            ax.scatter(line[~grey], heights[~grey], c=shade[~grey], cmap=colours, vmin=0, vmax=1, **dots)
    style.row_axis(ax, labels)
    margin = 0.04 * max(high - low, np.finfo(float).tiny)
    ax.set_xlim(min(low, 0) - margin, max(high, 0) + margin)
    ax.axvline(0, color=style.text_colour(), alpha=0.5, linewidth=0.8, zorder=1)
    ax.set_xlabel(value_name(explanation), fontsize=style.TITLE)
    if any_numbers:
        style.colour_scale(ax, colours, "the row's own value")
    return ax


def spread(x: NDArray[Any], low: float, high: float) -> NDArray[np.float64]:
    """Return how far to move each point up or down, so that points with about the same x do not overlap."""
    width = max(high - low, np.finfo(float).tiny)
    bins = np.clip(((x - low) / width * _BINS).astype(np.intp), 0, _BINS - 1)
    order = np.argsort(bins, kind="stable")
    counts = np.bincount(bins, minlength=_BINS)
    first = np.cumsum(counts) - counts
    place = np.arange(len(x)) - first[bins[order]]  # 0, 1, 2, ... within the bin
    steps = np.where(place % 2 == 0, -(place // 2), (place + 1) // 2)  # 0, 1, -1, 2, -2, ...
    step = min(0.12, 0.84 / max(int(counts.max()), 1))
    offsets = np.empty(len(x))
    offsets[order] = steps * step
    return offsets


def _shade(drawn: Drawn, player: str) -> NDArray[np.float64] | None:
    """Return each row's cell as a share, from 0 (low) to 1 (high); ``None`` if the cells have no order."""
    columns = drawn.columns_of(player)
    if drawn.cells is None or len(columns) != 1:
        return None
    numbers = numbers_of(drawn.cells[:, columns[0]])
    return None if numbers is None else shade(numbers)


def shade(numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Scale numbers to a range from 0 (low) to 1 (high); a few outliers do not use up the colours."""
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return None
    low, high = np.percentile(finite, [5, 95])
    if low == high:
        low, high = finite.min(), finite.max()
    if low == high:
        return np.where(np.isnan(numbers), np.nan, 0.5)
    return np.asarray(np.clip((numbers - low) / (high - low), 0, 1))
