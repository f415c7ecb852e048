"""Plots of interactions: a network of players, and an ordered list of sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import whole_number
from arborshap.draw import network, set_list
from arborshap.exceptions import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.interactions import Interactions


class InteractionPlots:
    """The plots of interactions, as `Interactions.plot`.

    Every plot draws into `ax`, or into a new figure if `ax` is omitted, and returns the axes. With `row`, it draws the
    values of that row with their signs; without, the mean absolute values over all rows.
    """

    def __init__(self, interactions: Interactions) -> None:
        self._interactions = interactions

    def network(self, row: int | None = None, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw players on a circle, and their interactions between them.

        Parameters
        ----------
        row
            The position of a row. If omitted, means over all rows are drawn.
        max_display
            Most players to draw: those whose sets have the largest absolute values.
        ax
            Where to draw.

        Returns
        -------
        Axes
            A disc per player, whose area is its own value; a line per pair, and a shaded area per larger set, as strong
            as its value. For a single row, orange raises the prediction and blue lowers it.
        """
        sizes, signed = self._of(row)
        return network.network(self._interactions, sizes, signed=signed, max_display=max_display, ax=ax)

    def sets(self, row: int | None = None, *, max_display: int = 15, ax: Axes | None = None) -> Axes:
        """Draw the sets in the order of their values, largest first, as bars.

        Parameters
        ----------
        row
            The position of a row. If omitted, means over all rows are drawn.
        max_display
            Most lines to draw. If there are more sets, the last line is the sum of the others.
        ax
            Where to draw.

        Returns
        -------
        Axes
            One bar per set.
        """
        values, signed = self._of(row)
        return set_list.set_list(self._interactions, values, signed=signed, max_display=max_display, ax=ax)

    def _of(self, row: int | None) -> tuple[NDArray[np.float64], bool]:
        """Return one number per set, and whether it has a sign."""
        found = self._interactions
        if found.values.ndim == 3:
            raise InputError("a plot shows one output: choose it with interactions.output(...)")
        if not len(found):
            raise InputError("there are no rows to draw")
        if row is None:
            return found.mean_sizes(), False
        row = whole_number("row", row, 0, len(found) - 1, f"the position of a row, from 0 to {len(found) - 1}, or None")
        if found.kept is None:
            return found.values[row], True
        values = np.zeros(len(found.sets))
        values[found.kept[row]] = found.values[row]
        return values, True
