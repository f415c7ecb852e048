"""The style of all plots: colours, axes, and texts that fit. Nothing here changes matplotlib's global settings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import whole_number
from arborshap.draw.palette import LOWERS, MIDDLE, RAISES, SIZE
from arborshap.rows.numbers import is_missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

LABEL, TITLE, TICK, NOTE = 12, 11, 10, 9
"""Sizes of type, in points: names of players, names of axes, numbers and scales, remarks."""

_LONGEST_NAME, _LONGEST_CELL = 30, 18
_MINUS = "\N{MINUS SIGN}"


def pyplot() -> Any:
    """Import matplotlib, or say what to install."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'arborshap[plots]'") from None
    return pyplot


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or those of a new figure of this size in inches."""
    plt = pyplot()
    if ax is not None:
        return ax
    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
    return ax


def width_for(labels: list[str], least: float) -> float:
    """Return the width in inches of a figure with these labels, so that long labels do not shrink the plot."""
    return least + 0.09 * max(0, max(map(len, labels)) - 12)


def quiet(ax: Axes, *, keep: tuple[str, ...] = ("bottom",)) -> None:
    """Remove the tick marks and the frame, except for some of its sides."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in keep)
        spine.set_alpha(0.4)
    ax.tick_params(length=0)
    ax.tick_params(axis="x", labelsize=TICK)
    ax.set_axisbelow(True)


def row_axis(ax: Axes, labels: list[str]) -> None:
    """Label the rows 0, 1, ... from the top down, with faint lines to follow."""
    ax.set_yticks(range(len(labels)), labels, fontsize=LABEL, parse_math=False)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="y", alpha=0.18, linewidth=0.8, linestyle=(0, (1, 3)), color=text_colour())


def text_colour() -> Any:
    """Return the colour of text in the user's own style, light or dark."""
    return pyplot().rcParams["text.color"]


def side_colour(values: NDArray[Any]) -> list[str]:
    """Return the colours of values by their sign."""
    return [LOWERS if value < 0 else RAISES for value in values]


def low_to_high() -> Colormap:
    """Return the colours for the cells of a column, from low to high."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("low to high", [LOWERS, MIDDLE, RAISES])


def around_zero() -> Colormap:
    """Return the colours for values on both sides of zero, which is white."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("around zero", ["#1d5a93", LOWERS, "#f7f7f7", RAISES, "#a8431a"])


def from_zero() -> Colormap:
    """Return the colours for sizes, from zero, which is white."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("from zero", ["#f7f7f7", "#c9a3d1", SIZE, "#5a2467"])


def colour_scale(ax: Axes, colours: Colormap, label: str, low: str = "low", high: str = "high") -> Axes:
    """Draw a thin colour scale to the right of the axes, which keep their size."""
    plt = pyplot()
    scale = ax.inset_axes((1.02, 0.1, 0.014, 0.8))
    bar = ax.figure.colorbar(plt.cm.ScalarMappable(cmap=colours), cax=scale, ticks=[0, 1])
    bar.ax.set_yticklabels([low, high], fontsize=TICK, parse_math=False)
    bar.ax.tick_params(length=0)
    bar.set_label(short_name(label, 44), fontsize=TITLE, labelpad=2, parse_math=False)
    bar.outline.set_visible(False)
    return scale


def short_name(name: str, longest: int = _LONGEST_NAME) -> str:
    """Return a name on one line; if it is too long, shorten its middle, because names differ at the ends."""
    line = " ".join(str(name).split())
    if len(line) <= longest:
        return line
    tail = (longest - 1) // 2
    return f"{line[: longest - 1 - tail]}…{line[len(line) - tail :]}"


def short_names(names: Iterable[str], longest: int = _LONGEST_NAME) -> list[str]:
    """Return names on one line each; those that would look alike are shortened around where they begin to differ."""
    lines = [" ".join(str(name).split()) for name in names]
    alike: dict[str, set[str]] = {}
    for line in lines:
        alike.setdefault(short_name(line, longest), set()).add(line)
    differ = {text: _shared_start(min(those), max(those)) for text, those in alike.items() if len(those) > 1}
    shortened = [(line, short_name(line, longest)) for line in lines]
    return [_around(line, differ[text], longest) if text in differ else text for line, text in shortened]


def _shared_start(first: str, last: str) -> int:
    """Return the number of letters with which the first and the last of sorted lines begin, and so do all between."""
    return next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))


def _around(line: str, at: int, longest: int) -> str:
    """Shorten a line to its beginning and what stands at a position, from the beginning of the word there."""
    head = (longest - 2) // 3
    start = at
    while start > max(head, at - 6) and line[start - 1].isalnum():
        start -= 1
    room = longest - head - 1
    rest = line[start:]
    return f"{line[:head]}…{rest if len(rest) <= room else f'{rest[: room - 1]}…'}"


def short_cell(cell: Any) -> str:
    """Format a cell of a row in few characters."""
    if is_missing(cell):
        return "missing"
    if isinstance(cell, (bool, np.bool_)):
        return str(bool(cell))
    if isinstance(cell, (int, float, np.integer, np.floating)):
        return number(float(cell))
    if is_date(cell):
        return str(cell).replace("T", " ")[:16].removesuffix(" 00:00")  # to the minute, or only the day at midnight
    return short_name(str(cell), _LONGEST_CELL)


def is_date(cell: Any) -> bool:
    """Whether a cell is a date or a time of Python, NumPy or pandas."""
    return isinstance(cell, (date, np.datetime64))


def number(value: float) -> str:
    """Format a number as people write it: at most four significant digits, and an exponent only far from one."""
    size = abs(value)
    if not np.isfinite(value):
        shown = f"{value}"
    elif value == int(value) and size < 1e6:
        shown = f"{int(value):,}"
    elif 1e-4 <= size < 1e6:
        digits = max(0, 3 - floor(log10(size)))
        shown = f"{value:,.{digits}f}"
        shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    else:
        shown = f"{value:.3g}"
    return shown.replace("-", _MINUS)


def signed(values: NDArray[Any]) -> list[str]:
    """Format values with their signs, all with as many decimals as the largest needs for three digits."""
    return [text if text[0] == _MINUS or not text.strip("0.") else f"+{text}" for text in sizes(values)]


def sizes(values: NDArray[Any], of: NDArray[Any] | None = None) -> list[str]:
    """Format values with as many decimals as the largest value, or the largest of `of`, needs for three digits."""
    scale = values if of is None else of
    largest = float(np.abs(scale[np.isfinite(scale)]).max(initial=0.0))
    if largest == 0:
        return [number(float(value)) for value in values]
    if not 1e-3 <= largest < 1e7:
        return [("0" if value == 0 else f"{value:.1e}").replace("-", _MINUS) for value in values]
    digits = max(0, 2 - floor(log10(largest)))
    # A value that rounds to zero has no sign.
    return [f"{round(float(value), digits) + 0.0:,.{digits}f}".replace("-", _MINUS) for value in values]


def checked_max_display(max_display: int) -> int:
    """Return how many players to show, at least one."""
    return whole_number("max_display", max_display, 1, 2**31, "a number of players from 1 up")
