"""The picture of a curve: steps over one player's values, or a map of colours over two players' values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import palette, style
from arborshap.exceptions import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.curve import Curve

_MOST_TICKS = 2000
"""Rows that a rug shows, about."""


def draw_curve(curve: Curve, output: int, ax: Axes | None) -> Axes:
    """Draw one output of a curve."""
    ax = style.axes(ax, 6.4, 4.2)
    style.quiet(ax, keep=("left", "bottom"))
    if len(curve.grid_values) == 2:
        _map(curve, output, ax)
    else:
        _steps(curve, output, ax)
    ax.tick_params(labelsize=style.TICK)
    return ax


def _steps(curve: Curve, output: int, ax: Axes) -> None:
    x, texts = _positions(curve.grid_values[0])
    order = np.argsort(x, kind="stable")
    rows = [] if curve.individual is None else curve.individual[output]
    faint = max(0.04, min(0.35, 8.0 / max(1, len(rows))))
    if texts is not None:
        width = 0.3
        for row in rows:
            ax.hlines(row, x - width, x + width, color=palette.SIZE, alpha=faint, linewidth=0.8)
        if curve.average is not None:
            ax.hlines(curve.average[output], x - width, x + width, color=style.text_colour(), linewidth=2.4)
    else:
        # Accumulated effects are lines between the edges of bins; mean predictions of trees are steps.
        drawn: Any = ax.plot if curve.accumulated else partial(ax.step, where="mid")
        for row in rows:
            drawn(x[order], row[order], color=palette.SIZE, alpha=faint, linewidth=0.7)
        if curve.average is not None:
            drawn(x[order], curve.average[output][order], color=style.text_colour(), linewidth=1.8)
        if curve.observed is not None:
            _rug(curve.observed[0], ax)
    if curve.missing is not None:
        ax.axhline(curve.missing[output], color=palette.MISSING, linewidth=1.2, linestyle="--", label="missing")
        ax.legend(frameon=False, fontsize=style.TICK)
    _label(ax.set_xticks, x, texts)
    ax.set_xlabel(style.short_name(curve.feature_names[0], 50), fontsize=style.TITLE, parse_math=False)
    ax.set_ylabel(_what(curve, output), fontsize=style.TITLE, parse_math=False)


def _rug(values: NDArray[Any], ax: Axes) -> None:
    """Draw a tick below the curve for each row, or for some of very many."""
    numbers = values.astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    some = numbers[:: max(1, len(numbers) // _MOST_TICKS)]
    ticks = ax.plot(some, np.full(len(some), 0.02), "|", color=palette.SIZE, alpha=0.35, markersize=8)
    ticks[0].set_transform(ax.get_xaxis_transform())


def _what(curve: Curve, output: int) -> str:
    """Name what the curve shows."""
    names = curve.output_names
    of = "" if names is None or len(names) == 1 else f" of {style.short_name(names[output], 20)}"
    return f"accumulated effect on the {curve.unit.name}{of}" if curve.accumulated else f"mean {curve.unit.name}{of}"


def _map(curve: Curve, output: int, ax: Axes) -> None:
    if curve.average is None:
        raise InputError("a map of two players shows their mean; compute the curve with kind='average' or 'both'")
    (x, x_texts), (y, y_texts) = (_positions(values) for values in curve.grid_values)
    across, up = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    colours = curve.average[output][across][:, up].T
    mesh = ax.pcolormesh(x[across], y[up], colours, shading="nearest", cmap=style.low_to_high())
    if curve.observed is not None and x_texts is None and y_texts is None:
        columns = [column.astype(np.float64) for column in curve.observed]
        some = slice(None, None, max(1, len(columns[0]) // _MOST_TICKS))
        inside = (x.min(), x.max()), (y.min(), y.max())
        ax.plot(columns[0][some], columns[1][some], ".", color="#ffffff", alpha=0.35, markersize=3)
        ax.set_xlim(*inside[0])
        ax.set_ylim(*inside[1])
    bar = ax.figure.colorbar(mesh, ax=ax)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=style.TICK)
    bar.set_label(_what(curve, output), fontsize=style.TITLE, parse_math=False)
    _label(ax.set_xticks, x, x_texts)
    _label(ax.set_yticks, y, y_texts)
    first, second = (style.short_name(name, 50) for name in curve.feature_names)
    ax.set_xlabel(first, fontsize=style.TITLE, parse_math=False)
    ax.set_ylabel(second, fontsize=style.TITLE, parse_math=False)


def _positions(values: NDArray[Any]) -> tuple[NDArray[Any], list[str] | None]:
    """Return where values stand on an axis, and the texts there if they are no numbers."""
    if values.ndim == 1 and values.dtype.kind in "fiu":
        return values.astype(np.float64), None
    texts = [", ".join(map(str, np.atleast_1d(value))) for value in values]
    return np.arange(float(len(texts))), [style.short_name(text, 20) for text in texts]


def _label(set_ticks: Any, positions: NDArray[Any], texts: list[str] | None) -> None:
    if texts is not None and len(texts) <= 40:
        turned = {"rotation": 30, "ha": "right"} if sum(map(len, texts)) > 50 else {}
        set_ticks(positions, texts, **turned)
