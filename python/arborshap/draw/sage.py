"""The plot of global importance by loss: one bar per player, with its standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arborshap.draw import palette, style
from arborshap.draw.bar import draw_bars, half_intervals, with_others
from arborshap.draw.drawn import shown_and_others

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.sage import SageValues


def draw_sage(sage: SageValues, *, max_display: int, ax: Axes | None) -> Axes:
    """Draw the values as bars, largest first."""
    shown, others = shown_and_others(sage.values, max_display)
    widths, labels = with_others(sage.values, shown, others, style.short_names(sage.feature_names[j] for j in shown))
    colours = [palette.SIZE] * len(shown) + [palette.MISSING] * bool(others)
    errors = half_intervals(sage.standard_error, shown, others) if sage.n_permutations else None
    return draw_bars(ax, labels, widths, colours, style.sizes(widths), f"fall of the mean {sage.loss}", errors)
