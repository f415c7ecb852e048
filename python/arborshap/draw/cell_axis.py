"""The horizontal axis of a scatter plot: where the cells of one column are drawn."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import palette, style
from arborshap.draw.drawn import are_booleans, numbers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_TICKS = 25
"""Most texts below the plot; more would overlap."""
_FEW = 10
"""Most different numbers that each get a tick and whose points are spread sideways, so that they can be told apart."""
_BINS = 40


def positions(ax: Axes, cells: NDArray[Any]) -> NDArray[np.float64]:
    """Return where to draw the rows: numbers as they are, missing cells in their own lane, texts side by side."""
    numbers = numbers_of(cells)
    sideways = np.random.default_rng(0).uniform(-1.0, 1.0, len(cells))  # the same picture every time
    if numbers is None:
        return _side_by_side(ax, cells) + 0.28 * sideways
    if has_dates(cells):
        _date_axis(ax)
    missing = ~np.isfinite(numbers)
    present = numbers[~missing]
    different = np.unique(present)
    if len(different) <= _FEW < len(present) or (are_booleans(cells) and len(present)):
        gap = float(np.diff(different).min()) if len(different) > 1 else 1.0
        numbers = numbers + 0.2 * gap * sideways
        if are_booleans(cells):
            ax.set_xticks([0, 1], ["False", "True"])
        elif not has_dates(cells) and np.allclose(np.diff(different), gap):
            ax.set_xticks(different, [style.number(value) for value in different])
    if not missing.any():
        return numbers
    low, high = (float(present.min()), float(present.max())) if len(present) else (0.0, 1.0)
    width = (high - low) or 1.0
    lane = low - (0.35 if len(different) <= _FEW else 0.12) * width
    if len(different) > _FEW and not has_dates(cells):
        # The lane has no place on the scale of numbers, so no number is written below it.
        ax.xaxis.set_major_formatter(lambda at, _: "" if at < low - 0.06 * width else style.number(at))
    return np.where(missing, _lane(ax, lane, width) + 0.034 * width * sideways, numbers)


def distribution(ax: Axes, x: NDArray[np.float64]) -> None:
    """Draw faint bars at the foot of the plot that show how many rows are where."""
    counts, edges = np.histogram(x, bins=_BINS)
    ax.bar(
        edges[:-1],
        0.1 * counts / max(1, counts.max()),
        np.diff(edges),
        align="edge",
        transform=ax.get_xaxis_transform(),
        color=palette.MISSING,
        alpha=0.3,
        linewidth=0,
        zorder=0,
    )


def has_dates(cells: NDArray[Any]) -> bool:
    """Whether a column holds dates."""
    return any(map(style.is_date, cells))


def _side_by_side(ax: Axes, cells: NDArray[Any]) -> NDArray[np.intp]:
    texts = np.array([style.short_cell(cell) for cell in cells])
    different, which = np.unique(texts, return_inverse=True)
    crowded = len(different) > 6 or max(map(len, different)) > 10
    turned: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    labelled = range(0, len(different), 1 + len(different) // _MOST_TICKS)
    ax.set_xticks(labelled, [different[j] for j in labelled], parse_math=False, **turned)
    return which


def _lane(ax: Axes, lane: float, width: float) -> float:
    """Draw the lane of missing cells; return where it is."""
    ax.axvspan(lane - 0.05 * width, lane + 0.05 * width, color=palette.MISSING, alpha=0.15, linewidth=0)
    ax.annotate(
        "missing",
        (lane, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        fontsize=style.NOTE,
        alpha=0.8,
    )
    return lane


def _date_axis(ax: Axes) -> None:
    """Write a few short dates below the plot; long ones would overlap."""
    dates: Any = import_module("matplotlib.dates")  # matplotlib.dates has no types
    locator = dates.AutoDateLocator(maxticks=7)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
