"""The plot of an importance: bars of players, or a heat map of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborshap.draw.bar import bars_of_sizes
from arborshap.draw.drawn import name_of_values
from arborshap.draw.heatmap import draw_pairs
from arborshap.game.indices import PAIR_INDICES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.importance import Importance


def draw_importance(importance: Importance, *, max_display: int, ax: Axes | None) -> Axes:
    """Draw sizes as bars, or those of pairs as a heat map."""
    what = name_of_values(importance.index, importance.model_output, importance.unit)
    names, outputs = importance.feature_names, importance.output_names
    if importance.index not in PAIR_INDICES:
        return bars_of_sizes(importance.values, names, what, max_display, ax, outputs)
    whole = importance.whole_pairs()
    effects = np.tril(whole if outputs is None else whole.sum(axis=-1))
    return draw_pairs(effects, names, f"mean size of the {what}", signed=False, max_display=max_display, ax=ax)
