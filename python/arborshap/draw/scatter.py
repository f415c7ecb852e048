"""The scatter plot of one column: a player's values against the cells, coloured by the strongest interaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import whole_number
from arborshap.draw import palette, style
from arborshap.draw.beeswarm import shade
from arborshap.draw.cell_axis import distribution, has_dates, positions
from arborshap.draw.drawn import Drawn, numbers_of, value_name
from arborshap.draw.heatmap import pair_effects
from arborshap.exceptions import InputError
from arborshap.game.indices import PAIR_INDICES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.explanation import Explanation


def scatter(
    explanation: Explanation,
    column: str | int,
    *,
    color: str | int | None,
    interactions: Explanation | None,
    ax: Axes | None,
) -> Axes:
    """Draw the values of the player that owns a column against the column's cells."""
    drawn = Drawn.of(explanation, "scatter")
    if drawn.one_row or drawn.cells is None:
        raise InputError(
            "plot.scatter needs several rows and their data; this explanation has only one row, or no data"
        )
    at = _column_number(drawn, column)
    player = drawn.owners[at]
    values = drawn.values[:, drawn.names.index(player)]
    shading = _shading(drawn, player, values, drawn.cells[:, at], color, interactions)

    ax = style.axes(ax, 6.4, 4.2)
    style.quiet(ax, keep=("left", "bottom"))
    x = positions(ax, drawn.cells[:, at])
    distribution(ax, x)
    size = float(np.clip(6000 / len(values), 5, 26))
    dots: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 0.85, "rasterized": len(values) > 2000, "zorder": 3}
    if shading is None:
        ax.scatter(x, values, color=palette.SIZE, **dots)
    else:
        _coloured(ax, x, values, drawn.cells[:, shading], drawn.columns[shading], dots)
    ax.axhline(0, color=style.text_colour(), alpha=0.4, linewidth=0.8, zorder=1)
    ax.grid(axis="y", alpha=0.15, linewidth=0.8, color=style.text_colour())
    ax.set_xlabel(
        style.short_name(column if isinstance(column, str) else drawn.columns[at], 50),
        fontsize=style.TITLE,
        parse_math=False,
    )
    what = value_name(explanation)
    ax.set_ylabel(f"{what} of {style.short_name(player, 20)}", fontsize=style.TITLE, parse_math=False)
    ax.tick_params(labelsize=style.TICK)
    return ax


def _column_number(drawn: Drawn, name: str | int) -> int:
    """Return the position of the column of this name or position, or of the only column of the player of this name."""
    if not isinstance(name, str):
        n = len(drawn.columns)
        name = whole_number("column", name, -(2**62), 2**62, "a name or a position")
        if not -n <= name < n:
            raise InputError(f"there is no column {name}; there are {n} columns, counted from 0")
        return name % n
    if name in drawn.columns:
        return drawn.columns.index(name)
    owned = drawn.columns_of(name)
    if len(owned) == 1:
        return owned[0]
    if owned:
        columns = ", ".join(repr(drawn.columns[column]) for column in owned[:10])
        raise InputError(f"{name!r} has {len(owned)} columns; name the one to draw against: {columns}")
    known = ", ".join(map(repr, drawn.columns[:10]))
    raise InputError(f"there is no column {name!r}; there are {known}{', ...' if len(drawn.columns) > 10 else ''}")


def _shading(
    drawn: Drawn,
    player: str,
    values: NDArray[Any],
    cells: NDArray[Any],
    color: str | int | None,
    interactions: Explanation | None,
) -> int | None:
    """Return the column to colour by: the one that was named, or a column of the player that interacts most."""
    if color is None:
        return None
    if color != "auto":
        return _column_number(drawn, color)
    if interactions is not None:
        strength = _strength_from_pairs(interactions, player, drawn.names)
    else:
        strength = _strength_from_values(drawn, player, values, cells)
    # A group has no single number, so its first column with different numbers represents it.
    candidates = [int(j) for j in np.argsort(-strength, kind="stable") if strength[j] > 0 and drawn.names[j] != player]
    return drawn.columns_of(drawn.names[candidates[0]])[0] if candidates else None


def _strength_from_pairs(interactions: Explanation, player: str, names: list[str]) -> NDArray[np.float64]:
    if interactions.index not in PAIR_INDICES or interactions.values.ndim != 3:
        raise InputError(
            "interactions must be an explanation of pairs of one output, such as explainer(X, index='taylor')"
        )
    if interactions.players_by_axis() != [names, names]:
        raise InputError("interactions must have the same players as the explanation")
    effects = pair_effects(interactions.values, signed=False)
    return np.asarray((effects + effects.T)[names.index(player)])


def _strength_from_values(drawn: Drawn, player: str, values: NDArray[Any], cells: NDArray[Any]) -> NDArray[np.float64]:
    """Estimate how much of the spread of the values, among rows with similar x, follows each other player's column.

    Rows are sorted by x and split into stretches. In each stretch, the absolute covariance of the values with the ranks
    of a column measures how much of their spread follows the column. This cannot tell interactions from correlated
    columns; an explanation of pairs can.
    """
    strength = np.zeros(len(drawn.names))
    order = np.argsort(_ranks(cells), kind="stable")
    n_stretches = int(np.clip(len(order) // 25, 1, 40))
    assert drawn.cells is not None
    for j, name in enumerate(drawn.names):
        for column in drawn.columns_of(name) if name != player else []:
            ranks = _ranks(drawn.cells[:, column])
            total = 0.0
            for rows in np.array_split(order, n_stretches):
                spread = ranks[rows].std()
                if spread > 0:
                    total += abs(((ranks[rows] - ranks[rows].mean()) * values[rows]).sum()) / spread
            strength[j] = max(strength[j], total)
    # Rounding errors are not an interaction.
    strength[strength <= 1e-9 * np.abs(values).sum()] = 0
    return strength


def _ranks(column: NDArray[Any]) -> NDArray[np.float64]:
    """Return ranks from 0 to 1, equal for equal cells; missing cells come first, and texts are sorted."""
    numbers = numbers_of(column)
    keys = np.array([str(cell) for cell in column]) if numbers is None else np.nan_to_num(numbers, nan=-np.inf)
    different, which = np.unique(keys, return_inverse=True)
    return np.asarray(which / max(len(different) - 1, 1))


def _coloured(
    ax: Axes, x: NDArray[Any], values: NDArray[Any], cells: NDArray[Any], name: str, dots: dict[str, Any]
) -> None:
    numbers = numbers_of(cells)
    if numbers is None:
        _coloured_by_text(ax, x, values, cells, name, dots)
        return
    shades = shade(numbers)
    grey = np.ones(len(x), dtype=bool) if shades is None else np.isnan(shades)
    ax.scatter(x[grey], values[grey], color=palette.MISSING, **dots)
    if shades is None or grey.all():
        return
    colours = style.low_to_high()
    ax.scatter(x[~grey], values[~grey], c=shades[~grey], cmap=colours, vmin=0, vmax=1, **dots)
    low, high = np.percentile(numbers[np.isfinite(numbers)], [5, 95])
    ends = [float(low), float(high)]
    texts = [str(np.datetime64(int(day), "D")) if has_dates(cells) else style.number(day) for day in ends]
    style.colour_scale(ax, colours, name, *texts)


def _coloured_by_text(
    ax: Axes, x: NDArray[Any], values: NDArray[Any], cells: NDArray[Any], name: str, dots: dict[str, Any]
) -> None:
    """Return one colour per text for the most frequent texts, and grey for all others."""
    texts = np.array([style.short_cell(cell) for cell in cells])
    different, counts = np.unique(texts, return_counts=True)
    frequent = different[np.argsort(-counts, kind="stable")][: len(palette.CATEGORIES)]
    rest = ~np.isin(texts, frequent)
    if rest.any():
        ax.scatter(x[rest], values[rest], color=palette.MISSING, label="others", **dots)
    for text, colour in zip(frequent, palette.CATEGORIES, strict=False):
        ax.scatter(x[texts == text], values[texts == text], color=colour, label=text, **dots)
    legend = ax.legend(
        title=style.short_name(name),
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=style.TICK,
        markerscale=max(1.0, 5.0 / dots["s"] ** 0.5),
    )
    for label in (*legend.get_texts(), legend.get_title()):
        label.set_parse_math(False)
