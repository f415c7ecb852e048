"""The bar plot: the mean absolute value of each player's values, or the values of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import palette, style
from arborshap.draw.drawn import Drawn, others_label, shown_and_others, value_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.explanation import Explanation


def bar(explanation: Explanation, *, max_display: int, ax: Axes | None) -> Axes:
    """Draw one bar per player, longest first."""
    drawn = Drawn.of(explanation, "bar")
    what = value_name(explanation)
    if not drawn.one_row:
        return bars_of_sizes(np.abs(drawn.values).mean(axis=0), drawn.names, what, max_display, ax)
    lengths = drawn.values[0]
    shown, others = shown_and_others(np.abs(lengths), max_display)
    labels = drawn.labels(0, shown)
    widths, labels = with_others(lengths, shown, others, labels)
    colours = style.side_colour(lengths[shown]) + [palette.MISSING] * bool(others)
    errors = explanation.standard_error
    half = None if errors is None else half_intervals(errors.reshape(-1), shown, others)
    return draw_bars(ax, labels, widths, colours, style.signed(widths), what, half)


def draw_bars(
    ax: Axes | None,
    labels: list[str],
    widths: NDArray[Any],
    colours: list[str],
    texts: list[str],
    what: str,
    errors: NDArray[Any] | None = None,
) -> Axes:
    """Draw bars from the top down, each with its text at its end; `what` names the axis.

    `errors` are the halves of 95 percent intervals; one that is not known is NaN.
    """
    ax = _axes(ax, labels)
    ax.barh(range(len(labels)), widths, height=0.68, color=colours)
    if errors is None:
        _finish(ax, labels, widths, texts, what)
        return ax
    ax.errorbar(
        widths, range(len(labels)), xerr=errors, fmt="none", ecolor=style.text_colour(), elinewidth=1.2, capsize=3
    )
    ends = widths + np.where(widths < 0, -1.0, 1.0) * np.nan_to_num(errors)
    _finish(ax, labels, ends, texts, f"{what}; bars: 95 percent intervals")
    return ax


def half_intervals(errors: NDArray[Any], shown: list[int], others: list[int]) -> NDArray[Any]:
    """Return half the width of each 95 percent interval; that of a sum of players is not known."""
    return np.append(1.96 * errors[shown], [np.nan] * bool(others))


def bars_of_sizes(
    sizes: NDArray[Any],
    names: list[str],
    what: str,
    max_display: int,
    ax: Axes | None,
    outputs: list[str] | None = None,
) -> Axes:
    """Draw the size of each player: one bar, or one piece per output, of which `sizes` then has a column each."""
    total = sizes if outputs is None else sizes.sum(axis=1)
    shown, others = shown_and_others(total, max_display)
    widths, labels = with_others(total, shown, others, style.short_names(names[j] for j in shown))
    ax = _axes(ax, labels)
    if outputs is None:
        ax.barh(
            range(len(labels)),
            widths,
            height=0.68,
            color=[palette.SIZE] * len(shown) + [palette.MISSING] * bool(others),
        )
    else:
        _stacked(ax, np.stack([with_others(sizes[:, k], shown, others, [])[0] for k in range(len(outputs))]), outputs)
    _finish(ax, labels, widths, style.sizes(widths), f"mean size of the {what}")
    return ax


def with_others(
    lengths: NDArray[Any], shown: list[int], others: list[int], labels: list[str]
) -> tuple[NDArray[Any], list[str]]:
    """Return the lengths and labels of the lines; the last line sums up the players that are not shown."""
    if not others:
        return lengths[shown], labels
    return np.append(lengths[shown], lengths[others].sum()), [*labels, others_label(len(others))]


def _stacked(ax: Axes, pieces: NDArray[Any], outputs: list[str]) -> None:
    """Draw the pieces of all bars, (outputs, lines), and name the outputs; beyond the colours, outputs share grey."""
    start = np.zeros(pieces.shape[1])
    for k, (name, widths) in enumerate(zip(outputs, pieces, strict=True)):
        colour = palette.CATEGORIES[k] if k < len(palette.CATEGORIES) else palette.MISSING
        label = style.short_name(name) if k <= len(palette.CATEGORIES) else None
        ax.barh(range(len(widths)), widths, left=start, height=0.68, color=colour, label=label)
        start = start + widths
    legend = ax.legend(loc="lower right", frameon=False, fontsize=style.TICK)
    for text, k in zip(legend.get_texts(), range(len(outputs)), strict=False):
        text.set_parse_math(False)
        if k == len(palette.CATEGORIES) < len(outputs) - 1:
            text.set_text(f"{len(outputs) - k} others")


def _axes(ax: Axes | None, labels: list[str]) -> Axes:
    ax = style.axes(ax, style.width_for(labels, 6.8), 1.2 + 0.38 * len(labels))
    style.quiet(ax)
    return ax


def _finish(ax: Axes, labels: list[str], widths: NDArray[Any], texts: list[str], what: str) -> None:
    """Write the number at the end of each bar, or of its error bar, the players and the axis."""
    for y, (width, text) in enumerate(zip(widths, texts, strict=True)):
        ax.annotate(
            text,
            (width, y),
            xytext=(-5 if width < 0 else 5, 0),
            textcoords="offset points",
            ha="right" if width < 0 else "left",
            va="center_baseline",
            fontsize=style.TICK,
        )
    style.row_axis(ax, labels)
    ax.grid(visible=False)
    low, high = min(float(widths.min()), 0.0), max(float(widths.max()), 0.0)
    if low == high:
        high = 1.0
    room = 0.16 * (high - low)  # for the numbers at the ends of the bars
    ax.set_xlim(low - room if low < 0 else 0, high + room if high > 0 else 0)
    ax.axvline(0, color=style.text_colour(), alpha=0.5, linewidth=0.8)
    ax.set_xlabel(what, fontsize=style.TITLE)
