"""Mean predictions as functions of players: coalition values, partial dependence, H statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_choice, whole_number
from arborshap.exceptions import InputError
from arborshap.explain.coalitions import chosen_players, coalition_values_of, refuse_losses
from arborshap.explain.methods.base import Methods
from arborshap.explain.values import of_given_rows, without_single_output
from arborshap.result.curve import Curve, output_position

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.explain.curves import Kind


class CurveMethods(Methods):
    """What the model predicts on average when some players are given."""

    def coalition_values(self, X: Any, players: Any) -> NDArray[np.float64]:
        """Compute what the model would predict on average if it saw only some players of each row.

        Players in the coalition have the row's values; all others have the values of a background row. The prediction
        is averaged over all background rows. For the raw output, this is what the coalition is worth in the game. The
        values of any other output are rescaled values of the raw game (see `TreeExplainer`), not values of these means.

        Parameters
        ----------
        X
            The rows, in any form that `data` may have.
        players
            The players in the coalition, by name or position: a list, or a single player.

        Returns
        -------
        array
            (rows,) or (rows, outputs). As in `values`, a single row has no axis of rows.
        """
        state = self.state
        values = coalition_values_of(state, state.reader.matrix(X), chosen_players(state, players))
        return of_given_rows(X, without_single_output(state, values))

    def partial_dependence(
        self, features: Any = None, *, grid: Any = None, X: Any = None, kind: Kind = "average"
    ) -> Any:
        """Compute the mean prediction over the whole background as a function of one or two players.

        Parameters
        ----------
        features
            A player, by name or position, or a pair of players such as ``("age", "income")``. If omitted, the curves
            of all players are computed at once.
        grid
            Where to compute the curve. ``None``: at one point between any two neighbouring thresholds of the trees,
            which gives the whole step function exactly, or at every category. A number: at this many quantiles of X. A
            list: at these values, where NaN or ``None`` stands for a missing value. For two players, give a pair of
            lists.
        X
            Rows, which quantiles and the curves of single rows need. The curve of a group of columns, or of a raw
            column of a pipeline, is computed at the values of these rows; a grid picks some of them.
        kind
            ``"average"``, ``"individual"`` for the curve of each row of X by itself (ICE), or ``"both"``.

        Returns
        -------
        Curve, or dict of Curve
            `grid_values`, `average` and `individual` have the shapes that scikit-learn's `partial_dependence` returns.
            The curves of all players come in a dict, by their names.
        """
        from arborshap.explain.curves import all_curves_of, curve_of  # noqa: PLC0415 (few callers draw curves)

        checked_choice("kind", kind, ["average", "individual", "both"])
        state = self.state
        rows = None if X is None else state.reader.read(X, "X")
        if rows is not None and len(rows.matrix) == 0:
            raise InputError("X has no rows; give at least one, or leave X out")
        if features is None:
            if kind != "average":
                raise InputError(f"kind={kind!r} is computed for one player, or a pair of players; name them")
            return all_curves_of(state, grid, rows)
        players = chosen_players(state, list(features) if isinstance(features, tuple) else features)
        if len(players) not in (1, 2):
            raise InputError(f"features must be one player or a pair of players, got {features!r}")
        return curve_of(state, players, grid, rows, kind)

    def accumulated_local_effects(self, feature: Any, X: Any, bins: int = 40) -> Curve:
        """Compute how the prediction changes along a column, accumulated step by step (ALE, Apley and Zhu).

        The rows of X are divided into bins by the quantiles of the column. Within each bin, the column of the bin's own
        rows is moved from the lower to the upper edge, and the mean change in the prediction is the local effect of the
        bin. Unlike in partial dependence, no row gets a value that is far from its own, so the curve is meaningful even
        if columns depend on each other. No background is used.

        The categories that occur in X come in the order that the model records, or else in sorted order. The step from
        one category to the next is the mean change over the rows of both. Rows with a missing value are left out.

        Parameters
        ----------
        feature
            A player that is a single column, by name or position.
        X
            The rows, in any form that `data` may have.
        bins
            The most bins. Equal quantiles are merged, so there may be fewer.

        Returns
        -------
        Curve
            `average` at the edges of the bins, or at the categories. The curve is a straight line within a bin, and its
            mean over the rows is 0.
        """
        from arborshap.explain.local_effects import local_effects_of  # noqa: PLC0415 (few callers draw curves)

        state = self.state
        bins = whole_number("bins", bins, 1, 2**31, "a number of bins from 1 up")
        chosen = chosen_players(state, feature)
        if len(chosen) != 1:
            raise InputError(f"feature must be one player, got {feature!r}")
        refuse_losses(state)
        rows = state.reader.read(X, "X")
        if len(rows.matrix) == 0:
            raise InputError("X has no rows; give at least one")
        return local_effects_of(state, chosen[0], rows, bins)

    def h_statistic(self, X: Any) -> NDArray[np.float64]:
        """Compute Friedman's H squared: the share of the variance of a joint effect that is due to interaction.

        Effects are mean predictions over the whole background, at the rows of X.

        Returns
        -------
        array
            (players, players) or (players, players, outputs). Entry (i, j) is the share for the players i and j. The
            diagonal holds the interaction of a player with all others, as a share of the variance of the prediction.
        """
        from arborshap.explain.interaction_share import h_statistic_of  # noqa: PLC0415 (few callers ask)

        state = self.state
        rows = state.reader.matrix(X)
        if len(rows) < 2:
            raise InputError(f"an H statistic is a share of variance, so X needs at least two rows; it has {len(rows)}")
        return without_single_output(state, h_statistic_of(state, rows))

    def plot_h_statistic(
        self, X: Any, *, output: int | str | None = None, max_display: int = 12, ax: Axes | None = None
    ) -> Axes:
        """Draw `h_statistic` as a heat map of pairs, with each player against all others on the diagonal.

        Parameters
        ----------
        X
            The rows, in any form that `data` may have.
        output
            The output to draw, by position or name, if there are several.
        max_display
            The most players to draw: those with the largest shares.
        ax
            Where to draw. The default is a new figure.
        """
        from arborshap.draw.interaction_share import draw_h_statistic  # noqa: PLC0415 (few callers draw)

        state = self.state
        names = None if state.output_names is None else list(state.output_names)
        position = output_position(output, state.n_outputs, names)
        h = self.h_statistic(X)
        h = h if h.ndim == 2 else h[:, :, position]
        return draw_h_statistic(h, self.feature_names, max_display=max_display, ax=ax)
