"""The plot of H statistics: a heat map of pairs of players."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw.heatmap import draw_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_h_statistic(h: NDArray[Any], names: list[str], *, max_display: int, ax: Axes | None) -> Axes:
    """Draw the H squared of each pair below the diagonal, and that of each player against all others on it."""
    return draw_pairs(
        np.tril(h),
        names,
        "H\u00b2: share of the variance that is interaction",
        signed=False,
        max_display=max_display,
        ax=ax,
        note="diagonal: a player with all others; below: pairs",
    )
