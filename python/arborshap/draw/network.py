"""The network of players: discs on a circle, lines for pairs, shaded areas for larger sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import palette, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.interactions import Interactions

_MOST_LINES, _MOST_AREAS = 40, 3
"""Most pairs and most larger sets that are drawn: the largest ones."""


def network(
    interactions: Interactions, values: NDArray[np.float64], *, signed: bool, max_display: int, ax: Axes | None
) -> Axes:
    """Draw the players that matter most, and the sets among them."""
    drawn = Network(interactions, values, style.checked_max_display(max_display), signed=signed)
    ax = style.axes(ax, 7.2, 6.4)
    ax.set_aspect("equal")
    ax.set_axis_off()
    drawn.areas(ax)
    drawn.lines(ax)
    drawn.discs(ax)
    what = f"{interactions.index} of order {interactions.order}, {interactions.unit.name}"
    ax.set_title(what if signed else f"mean size, {what}", fontsize=style.TITLE)
    ax.set_xlim(-1.75, 1.75)
    ax.set_ylim(-1.4, 1.4)
    return ax


class Network:
    """Where players stand, and how strong their sets are."""

    def __init__(
        self, interactions: Interactions, values: NDArray[np.float64], max_display: int, *, signed: bool
    ) -> None:
        sizes = np.zeros(len(interactions.feature_names))
        for players, value in zip(interactions.sets, np.abs(values), strict=True):
            sizes[list(players)] += value / len(players)
        chosen = np.sort(np.argsort(-sizes, kind="stable")[:max_display]).tolist()
        angles = np.pi / 2 - 2 * np.pi * np.arange(len(chosen)) / max(1, len(chosen))
        self._at = {player: (np.cos(a), np.sin(a)) for player, a in zip(chosen, angles, strict=True)}
        self._names = interactions.feature_names
        self._signed = signed
        inside = [
            (players, float(value))
            for players, value in zip(interactions.sets, values, strict=True)
            if value != 0 and all(player in self._at for player in players)
        ]
        self._sets = sorted(inside, key=lambda found: -abs(found[1]))

    def discs(self, ax: Axes) -> None:
        """Draw the players; the area of a disc is the size of the player's own value."""
        own = {players[0]: value for players, value in self._sets if len(players) == 1}
        largest = max((abs(value) for value in own.values()), default=1.0)
        for player, (x, y) in self._at.items():
            value = own.get(player, 0.0)
            area = 60 + 1100 * abs(value) / largest
            ax.scatter(x, y, s=area, color=self._colour(value), edgecolor="white", linewidth=1.2, zorder=4)
            ax.annotate(
                style.short_name(self._names[player], 22),
                (x, y),
                xytext=(22 * x, 22 * y),
                textcoords="offset points",
                ha="center" if abs(x) < 0.15 else ("left" if x > 0 else "right"),
                va="center" if abs(y) < 0.85 else ("bottom" if y > 0 else "top"),
                fontsize=style.LABEL,
                parse_math=False,
                zorder=5,
            )

    def lines(self, ax: Axes) -> None:
        """Draw pairs as lines; width and strength grow with the value."""
        for (first, second), strength, colour in self._strongest(2, 2, _MOST_LINES):
            (x0, y0), (x1, y1) = self._at[first], self._at[second]
            ax.plot(
                [x0, x1],
                [y0, y1],
                color=colour,
                solid_capstyle="round",
                linewidth=0.4 + 7 * strength,
                alpha=0.25 + 0.6 * strength,
                zorder=2,
            )

    def areas(self, ax: Axes) -> None:
        """Draw larger sets as shaded areas between their players."""
        for players, strength, colour in self._strongest(3, 99, _MOST_AREAS):
            corners = np.array([self._at[player] for player in players])
            around = np.arctan2(*(corners - corners.mean(axis=0)).T)
            ax.fill(*corners[np.argsort(around)].T, color=colour, alpha=0.06 + 0.22 * strength, linewidth=0, zorder=1)

    def _strongest(self, low: int, high: int, most: int) -> list[tuple[tuple[int, ...], float, str]]:
        """Return the largest sets of these sizes, each with its strength from 0 to 1 and its colour."""
        found = [(players, value) for players, value in self._sets if low <= len(players) <= high][:most]
        largest = abs(found[0][1]) if found else 1.0
        return [(players, abs(value) / largest, self._colour(value)) for players, value in found]

    def _colour(self, value: float) -> str:
        if value == 0:
            return palette.MISSING
        if not self._signed:
            return palette.SIZE
        return palette.RAISES if value > 0 else palette.LOWERS
