"""The drift plot: what moved the mean prediction over a sequence of periods, stacked above and below zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborshap.draw import palette, style
from arborshap.draw.drawn import others_label, shown_and_others

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.drift import Drift


def draw_drift(drift: Drift, output: int | str | None, max_display: int, ax: Axes | None) -> Axes:
    """Draw one band per player and the sum of all as a line."""
    changes = drift.of_output(drift.values, output, 2)
    if drift.since == "previous":
        changes = changes.cumsum(axis=0)
    changes = np.vstack([np.zeros(changes.shape[1]), changes])
    most = min(style.checked_max_display(max_display), len(palette.CATEGORIES) + 1)
    shown, others = shown_and_others(np.abs(changes).max(axis=0), most)
    bands = list(zip(style.short_names(drift.feature_names[j] for j in shown), changes[:, shown].T, strict=True))
    colours = [*palette.CATEGORIES, palette.MISSING][: len(bands)]
    if others:
        bands.append((others_label(len(others)), changes[:, others].sum(axis=1)))
        colours.append(palette.MISSING)

    ax = style.axes(ax, max(7.0, 3.2 + 0.45 * len(drift.periods)), 4.4)
    style.quiet(ax, keep=("left", "bottom"))
    x = np.arange(len(drift.periods))
    for clip in (np.maximum, np.minimum):
        start = np.zeros(len(x))
        for (name, values), colour in zip(bands, colours, strict=True):
            end = start + clip(values, 0.0)
            label = name if clip is np.maximum else None
            ax.fill_between(x, start, end, color=colour, alpha=0.75, linewidth=0.6, label=label)
            start = end
    ax.plot(x, changes.sum(axis=1), color=style.text_colour(), linewidth=2.0, marker="o", markersize=4, label="sum")
    ax.axhline(0.0, color=style.text_colour(), alpha=0.5, linewidth=0.8)
    legend = ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=style.TICK)
    for text in legend.get_texts():
        text.set_parse_math(False)
    _label_periods(ax, drift.periods)
    what = "mean" if drift.index == "shapley" else "mean (Banzhaf values, which need not add up)"
    ax.set_ylabel(f"change in the {what} {drift.unit.name}", fontsize=style.TITLE, parse_math=False)
    ax.set_title(f"since {style.short_name(drift.periods[0])}", fontsize=style.TITLE, loc="left", parse_math=False)
    ax.tick_params(labelsize=style.TICK)
    return ax


def _label_periods(ax: Axes, periods: list[str]) -> None:
    """Name the periods, or some of them if there are many."""
    step = -(-len(periods) // 14)
    names = [style.short_name(name, 14) for name in periods[::step]]
    turned = any(len(name) > 6 for name in names)
    ax.set_xticks(
        range(0, len(periods), step),
        names,
        rotation=30 if turned else 0,
        ha="right" if turned else "center",
        parse_math=False,
    )
    ax.set_xlim(0, len(periods) - 1)
