"""The heat map of pairs: main effects on the diagonal, the whole effect of each pair below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import style
from arborshap.draw.drawn import check_output, value_name
from arborshap.draw.rows import rows_heatmap
from arborshap.exceptions import InputError
from arborshap.game.indices import PAIR_INDICES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from arborshap.result.explanation import Explanation


def heatmap(explanation: Explanation, *, max_display: int, order: str, ax: Axes | None) -> Axes:
    """Draw players against players if the values belong to pairs, and otherwise rows against players."""
    check_output(explanation, "heatmap")
    players = explanation.players_by_axis()
    if explanation.index not in PAIR_INDICES:
        return rows_heatmap(explanation, max_display=max_display, order=order, ax=ax)
    if len(players) != 2:
        raise InputError("plot.heatmap draws pairs of players, but a single player was selected on one axis")
    if players[0] != players[1]:
        raise InputError("plot.heatmap draws the same players on both axes; choose explanation[:, names, names]")
    one_row = not explanation.has("row")
    effects = pair_effects(explanation.values[np.newaxis] if one_row else explanation.values, signed=one_row)
    what = value_name(explanation)
    return draw_pairs(
        effects,
        explanation.feature_names,
        what if one_row else f"mean size of the {what}",
        signed=one_row,
        max_display=max_display,
        ax=ax,
    )


def draw_pairs(
    effects: NDArray[Any],
    names: list[str],
    what: str,
    *,
    signed: bool,
    max_display: int,
    ax: Axes | None,
    note: str = "diagonal: main effects; below: effects of pairs",
) -> Axes:
    """Draw effects that are on the diagonal and below it, as `pair_effects` returns them."""
    weight = np.abs(effects).sum(axis=0) + np.abs(effects).sum(axis=1) - np.abs(np.diag(effects))
    order = np.argsort(-weight, kind="stable")[: style.checked_max_display(max_display)]
    # A pair's effect is in the row of the less important player, whatever the order of the players.
    whole = effects + np.tril(effects, -1).T
    shown = np.tril(whole[np.ix_(order, order)])
    labels = style.short_names(names[j] for j in order)
    n, left_out = len(labels), len(effects) - len(labels)

    ax = style.axes(ax, 3.2 + 0.64 * n, 2.1 + 0.54 * n)
    style.quiet(ax, keep=())
    masked = np.ma.masked_array(shown, np.triu(np.ones_like(shown, dtype=bool), 1))
    largest = float(np.abs(shown).max()) or 1.0
    colours = style.around_zero() if signed else style.from_zero()
    image = ax.imshow(masked, cmap=colours, vmin=-largest if signed else 0, vmax=largest, aspect="auto")
    ax.set_xticks(
        range(n), labels, rotation=40, ha="right", rotation_mode="anchor", fontsize=style.TITLE, parse_math=False
    )
    ax.set_yticks(range(n), labels, fontsize=style.LABEL, parse_math=False)
    _cells(ax, shown, image, signed)
    scale = ax.inset_axes((0.62, 0.9, 0.36, 0.03))
    bar = ax.figure.colorbar(
        image, cax=scale, orientation="horizontal", ticks=[-largest, 0, largest] if signed else [0, largest]
    )
    bar.ax.set_xticklabels(
        style.sizes(np.array([-largest, 0, largest] if signed else [0, largest])), fontsize=style.NOTE
    )
    bar.ax.tick_params(length=0)
    bar.ax.set_title(what, fontsize=style.NOTE, loc="right")
    bar.outline.set_visible(False)
    more = f"\n{left_out} more players are not shown" if left_out else ""
    ax.set_xlabel(note + more, fontsize=style.NOTE, alpha=0.8)
    return ax


def pair_effects(values: NDArray[Any], *, signed: bool) -> NDArray[np.float64]:
    """Return main effects on the diagonal and the effects of pairs, both halves together, below it.

    Signed effects are for one row only, because over several rows opposite signs would cancel; otherwise the result is
    the mean absolute effect over rows.
    """
    n_rows, n_players = values.shape[:2]
    total = np.zeros((n_players, n_players))
    step = max(1, 2**22 // max(1, n_players**2))  # rows per chunk, so that a large result is not copied as a whole
    for first in range(0, n_rows, step):
        chunk = values[first : first + step]
        whole = np.tril(chunk) + np.tril(np.swapaxes(chunk, 1, 2), -1)
        total += (whole if signed else np.abs(whole)).sum(axis=0, dtype=np.float64)
    return np.asarray(total / n_rows)


def _cells(ax: Axes, shown: NDArray[Any], image: AxesImage, signed: bool) -> None:
    """Write the numbers into the cells if there is room, dark on light and light on dark."""
    n = len(shown)
    if n > 12:
        return
    inside = [(i, j) for i in range(n) for j in range(i + 1)]
    numbers = np.array([shown[i, j] for i, j in inside])
    texts = style.signed(numbers) if signed else style.sizes(numbers)
    for (i, j), text in zip(inside, texts, strict=True):
        red, green, blue, _ = image.to_rgba(shown[i, j])
        light = 0.3 * red + 0.6 * green + 0.1 * blue > 0.6
        ax.text(j, i, text, ha="center", va="center", fontsize=style.NOTE, color="#222222" if light else "white")
