"""The picture of a curve: steps over one player's values, or a map of colours over two players' values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import palette, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.curve import Curve


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
    drawn: dict[str, Any] = {"where": "mid"}
    if curve.individual is not None:
        for row in curve.individual[output]:
            ax.step(x[order], row[order], color=palette.SIZE, alpha=0.15, linewidth=0.7, **drawn)
    if curve.average is not None:
        if texts is not None:
            ax.bar(x, curve.average[output], color=palette.SIZE, width=0.6)
        else:
            ax.step(x[order], curve.average[output][order], color=style.text_colour(), linewidth=1.8, **drawn)
    if curve.missing is not None:
        ax.axhline(curve.missing[output], color=palette.MISSING, linewidth=1.2, linestyle="--", label="missing")
        ax.legend(frameon=False, fontsize=style.TICK)
    _label(ax.set_xticks, x, texts)
    ax.set_xlabel(style.short_name(curve.feature_names[0], 50), fontsize=style.TITLE, parse_math=False)
    ax.set_ylabel(f"mean {curve.unit.name}", fontsize=style.TITLE, parse_math=False)


def _map(curve: Curve, output: int, ax: Axes) -> None:
    (x, x_texts), (y, y_texts) = (_positions(values) for values in curve.grid_values)
    assert curve.average is not None
    mesh = ax.pcolormesh(x, y, curve.average[output].T, shading="nearest", cmap=style.low_to_high())
    bar = ax.figure.colorbar(mesh, ax=ax)
    bar.set_label(f"mean {curve.unit.name}", fontsize=style.TICK)
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
        set_ticks(positions, texts, rotation=30, ha="right")
