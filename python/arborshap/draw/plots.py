"""Plots of explanations. They need matplotlib, an optional extra that is imported when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arborshap.draw import bar, beeswarm, heatmap, scatter, waterfall

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.explanation import Explanation


class Plots:
    """The plots of an explanation, as `Explanation.plot`.

    Every plot draws into `ax`, or into a new figure if `ax` is omitted, and returns the axes. It neither shows nor
    saves the figure: a notebook shows it anyway, and a script calls ``ax.figure.savefig("plot.png")``. A model with
    several outputs is drawn one output at a time: ``explanation[..., "name"].plot.bar()``.
    """

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation

    def bar(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw how much each player matters: the mean absolute value of its values, or the values of a single row.

        Parameters
        ----------
        max_display
            Most lines to draw. If there are more players, the last line is the sum of their bars.
        ax
            Where to draw.

        Returns
        -------
        Axes
            One bar per player, largest first.
        """
        return bar.bar(self._explanation, max_display=max_display, ax=ax)

    def beeswarm(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw every row's value of every player as a point, coloured by the row's cell.

        Points are grey if the cell cannot be placed between low and high: it is missing or a text, or the player has
        several columns.

        Parameters
        ----------
        max_display
            Most lines to draw. If there are more players, the last line is the sum of their values.
        ax
            Where to draw.

        Returns
        -------
        Axes
            One line of points per player, the most important player on top.
        """
        return beeswarm.beeswarm(self._explanation, max_display=max_display, ax=ax)

    def waterfall(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw how the values of one row, ``explanation[i]``, lead from the base value to its prediction.

        Parameters
        ----------
        max_display
            Most lines to draw. If there are more players, the last line is the sum of their values.
        ax
            Where to draw.

        Returns
        -------
        Axes
            From bottom to top: the base value, one arrow per player, the prediction.
        """
        return waterfall.waterfall(self._explanation, max_display=max_display, ax=ax)

    def contrast(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw the result of `TreeExplainer.contrast`: how the prediction of z becomes that of x.

        Parameters
        ----------
        max_display
            Most lines to draw. If there are more players, the last line is the sum of their values.
        ax
            Where to draw.

        Returns
        -------
        Axes
            From bottom to top: z's prediction, one arrow per player with the cells of z and x, x's prediction.
        """
        return waterfall.contrast(self._explanation, max_display=max_display, ax=ax)

    def scatter(
        self,
        column: str | int,
        *,
        color: str | int | None = "auto",
        interactions: Explanation | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw a player's values against the cells of one of its columns.

        Parameters
        ----------
        column
            The column by its name or position, or a player that has only one column.
        color
            The column, by its name or position, whose cells colour the points, or ``None`` for no colours. ``"auto"``
            takes the player that interacts most. If `interactions` are given, this is exact. Otherwise it is a guess
            from the values alone: the column that best explains how the values spread among rows that are similar in
            `column`.
        interactions
            An explanation of pairs of the same players, such as ``explainer(X[:500], index="taylor")``. It may have
            fewer rows.
        ax
            Where to draw.

        Returns
        -------
        Axes
            One point per row. Missing cells have a lane of their own, dates are in order, and texts are side by side.
        """
        return scatter.scatter(self._explanation, column, color=color, interactions=interactions, ax=ax)

    def heatmap(self, *, max_display: int = 10, order: str = "prediction", ax: Axes | None = None) -> Axes:
        """Draw colours: rows against players, or, for ``index="taylor"`` or ``"interaction"``, players against players.

        For rows, each vertical strip is one row, each line is one player, and the curve above shows the predictions.

        For pairs, main effects are on the diagonal. Below it is the whole effect of each pair, which is the sum of the
        two halves in `values`. For one row, these are signed effects; for several rows, mean absolute effects.

        Parameters
        ----------
        max_display
            Most players to draw, chosen by importance. For rows, the last line is the sum of all others.
        order
            The order of the rows: ``"prediction"``, from the lowest to the highest, or ``"given"``. Pairs have no use
            for it.
        ax
            Where to draw.

        Returns
        -------
        Axes
            One cell per row and player, or one cell per player and per pair.
        """
        return heatmap.heatmap(self._explanation, max_display=max_display, order=order, ax=ax)
