"""The ordered list of sets of players, as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import palette, style
from arborshap.draw.bar import draw_bars, with_others
from arborshap.draw.drawn import shown_and_others

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.interactions import Interactions


def set_list(
    interactions: Interactions, values: NDArray[np.float64], *, signed: bool, max_display: int, ax: Axes | None
) -> Axes:
    """Draw one bar per set, longest first; what the rest sums up to comes last."""
    shown, others = shown_and_others(np.abs(values), max_display)
    names = interactions.names
    labels = [set_label(names[at]) for at in shown]
    widths, labels = with_others(values, shown, others, labels)
    if others:
        labels[-1] = f"{len(others)} other sets"
    what = f"{interactions.index} of order {interactions.order}, {interactions.unit.name}"
    grey = [palette.MISSING] * bool(others)
    if signed:
        colours = style.side_colour(values[shown]) + grey
        return draw_bars(ax, labels, widths, colours, style.signed(widths), what)
    return draw_bars(ax, labels, widths, [palette.SIZE] * len(shown) + grey, style.sizes(widths), f"mean size, {what}")


def set_label(names: tuple[str, ...]) -> str:
    """Return the names of a set on one line."""
    longest = max(8, 46 // len(names))
    return " × ".join(style.short_name(name, longest) for name in names)  # noqa: RUF001 (a sign, not a letter)
