"""Plots of explanations, with matplotlib: an optional extra, imported when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arborshap.draw import bar, beeswarm, heatmap, scatter, waterfall

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.explanation import Explanation


class Plots:
    """What `Explanation.plot` offers.

    Every plot draws into `ax`, or into a new figure if that is left out, and returns the axes. Nothing is shown or
    saved: a notebook shows the figure by itself, a script does ``ax.figure.savefig("plot.png")``. A model with several
    outputs is drawn one output at a time: ``explanation[..., "name"].plot.bar()``.
    """

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation

    def bar(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw how much each player matters: the mean size of its values, or for a single row the values themselves.

        Parameters
        ----------
        max_display
            Lines to draw at most; the last one is then all other players, their bars put together.
        ax
            Where to draw.

        Returns
        -------
        Axes
            A bar for each player, largest first.
        """
        return bar.bar(self._explanation, max_display=max_display, ax=ax)

    def beeswarm(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw every row's value of every player as a point, coloured by what the row has there.

        Grey points have no place between low and high: the cell is missing, a text, or the player has several columns.

        Parameters
        ----------
        max_display
            Lines to draw at most; the last one is then the sum of all other players' values.
        ax
            Where to draw.

        Returns
        -------
        Axes
            A line of points for each player, the one that matters most on top.
        """
        return beeswarm.beeswarm(self._explanation, max_display=max_display, ax=ax)

    def waterfall(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw how the values of one row, ``explanation[i]``, lead from the base value to its prediction.

        Parameters
        ----------
        max_display
            Lines to draw at most; the last one is then the sum of all other players' values.
        ax
            Where to draw.

        Returns
        -------
        Axes
            From the bottom up: the base value, an arrow for each player, the prediction.
        """
        return waterfall.waterfall(self._explanation, max_display=max_display, ax=ax)

    def contrast(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw what `TreeExplainer.contrast` returns: how the prediction of z becomes that of x.

        Parameters
        ----------
        max_display
            Lines to draw at most; the last one is then the sum of all other players' values.
        ax
            Where to draw.

        Returns
        -------
        Axes
            From the bottom up: z's prediction, an arrow for each player with what z and x have, x's prediction.
        """
        return waterfall.contrast(self._explanation, max_display=max_display, ax=ax)

    def scatter(
        self,
        column: str,
        *,
        color: str | None = "auto",
        interactions: Explanation | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw a player's values against what the rows have in a column of it.

        Parameters
        ----------
        column
            The column, or a player that has only one.
        color
            The column whose cells colour the points, or ``None`` for none. ``"auto"`` takes the player that interacts
            most: exactly so, if `interactions` are given. Otherwise it is a guess from the values alone, the column
            that goes along most with the spread of the values among rows that are alike in `column`.
        interactions
            An explanation of pairs of the same players, such as ``explainer(X[:500], index="taylor")``; it may have
            fewer rows.
        ax
            Where to draw.

        Returns
        -------
        Axes
            A point for each row. Missing cells stand in a lane of their own, dates in order, texts side by side.
        """
        return scatter.scatter(self._explanation, column, color=color, interactions=interactions, ax=ax)

    def heatmap(self, *, max_display: int = 10, ax: Axes | None = None) -> Axes:
        """Draw the effects of players and pairs, from an explanation with ``index="taylor"`` or ``"interaction"``.

        Main effects are on the diagonal. Below it is the whole effect of each pair, both of the halves that `values`
        has. For one row these are effects with their signs; for several, the mean of their sizes.

        Parameters
        ----------
        max_display
            Players to draw at most, those that matter most.
        ax
            Where to draw.

        Returns
        -------
        Axes
            A cell for each player and pair.
        """
        return heatmap.heatmap(self._explanation, max_display=max_display, ax=ax)
