"""Values of sets of players, semivalues, and values of members of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_choice, checked_flag, whole_number
from arborshap._util.progress import Report
from arborshap.exceptions import InputError
from arborshap.explain.labels import as_labels
from arborshap.explain.methods.base import Methods
from arborshap.explain.orders import (
    checked_semivalue,
    largest_set_values,
    member_values,
    player_values,
    set_values,
)
from arborshap.explain.values import base_values_of, of_given_rows
from arborshap.game.groups import Groups
from arborshap.game.indices import MOST_ORDER, SET_INDICES, SetIndexName
from arborshap.result.axes import output_labels

if TYPE_CHECKING:
    from arborshap.game.hierarchy import Nested
    from arborshap.result.interactions import Interactions


class OrderMethods(Methods):
    """Sets of players of any size, other weights of coalitions, and players inside groups."""

    def interactions(
        self,
        X: Any,
        y: Any = None,
        *,
        index: SetIndexName = "k-SII",
        order: int = 2,
        top: int | None = None,
        progress: bool | Report = False,
    ) -> Interactions:
        """Compute interaction values of sets of up to `order` players.

        Only sets of players that share a path of a tree are computed; all other sets have the value 0.

        Parameters
        ----------
        X
            The rows, in any form that `data` may have.
        y
            The label of each row, for a loss only.
        index
            ``"SII"``: Shapley interaction. ``"k-SII"``: the same, aggregated so that all sets sum to h(x) - E h(z).
            ``"STII"``: Shapley-Taylor. ``"FSII"``: faithful Shapley. Both of these have the same sum.
            ``"BII"``: Banzhaf interaction.
        order
            The size of the largest sets, from 1 to 6. Smaller sets are computed as well.
        top
            Keep only this number of sets per row, those with the largest absolute values (summed over the outputs), so
            that memory stays small. The default keeps all sets.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        Interactions
            The sets and their values.
        """
        from arborshap.result.interactions import Interactions  # noqa: PLC0415 (few callers ask for sets of players)

        checked_choice("index", index, SET_INDICES)
        order = whole_number("order", order, 1, MOST_ORDER, f"a number of players from 1 to {MOST_ORDER}")
        state = self.state
        rows = state.reader.read(X, "X", one=True)
        matrix, kept = rows.matrix, None
        if top is None:
            sets, values = set_values(state, matrix, index, order, progress, y)
        else:
            top = whole_number("top", top, 1, 2**31, "a number of sets from 1 up, or None for all")
            sets, kept, values = largest_set_values(state, matrix, index, order, top, as_labels(y), progress)
        base = base_values_of(state, len(values), y)
        several = state.n_outputs > 1
        return Interactions(
            sets=[tuple(player for player in players if player >= 0) for players in sets.tolist()],
            values=values,
            kept=kept,
            base_values=base if several else base[:, 0],
            feature_names=list(state.columns.named_by(rows.names).player_names),
            index=index,
            order=order,
            output_names=output_labels(self.output_names, state.n_outputs) if several else None,
            unit=state.unit,
        )

    def semivalues(
        self, X: Any, weights: Any, y: Any = None, *, progress: bool | Report = False
    ) -> NDArray[np.float64]:
        """Compute a semivalue by its weights: a weighted sum of what each player adds to every coalition of the others.

        Parameters
        ----------
        X
            The rows, in any form that `data` may have.
        weights
            ``weights[s]`` is the weight of a coalition of s other players, so there are as many weights as players. For
            Shapley values of n players it is s! (n - s - 1)! / n!, and for Banzhaf values 1 / 2**(n - 1).
        y
            The label of each row, for a loss only.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        array
            (rows, players) or (rows, players, outputs). As in `values`, a single row has no axis of rows.
        """
        parameters = checked_semivalue(weights, self.state.columns.n_players)
        values = player_values(self.state, self.state.reader.matrix(X), "semivalue", parameters, progress, y)
        return of_given_rows(X, values)

    def beta_shapley_values(
        self, X: Any, alpha: float = 1.0, beta: float = 1.0, *, progress: bool | Report = False
    ) -> NDArray[np.float64]:
        """Compute Beta(alpha, beta)-Shapley values: (rows, players) or (rows, players, outputs).

        A large `alpha` emphasises what players add to small coalitions; a large `beta`, what they add to large ones.
        Beta(1, 1) gives the Shapley values. As in `values`, a single row has no axis of rows.
        """
        parameters = np.array([_positive("alpha", alpha), _positive("beta", beta)])
        return of_given_rows(X, player_values(self.state, self.state.reader.matrix(X), "beta", parameters, progress))

    def owen_values(
        self,
        X: Any,
        within: Groups | Nested | None = None,
        y: Any = None,
        *,
        ordered: bool = False,
        progress: bool | Report = False,
    ) -> NDArray[np.float64]:
        """Compute a value for each column of each group; the columns of a group sum to the group's value.

        Seen from outside, a group joins a coalition as a whole. Inside the group, its columns join one by one.

        Parameters
        ----------
        X
            The rows, in any form that `data` may have.
        within
            The groups; by default those of the explainer (``groups=``). Either ``{"name": [columns]}``, which may be
            nested, ``{"name": {"inner": [columns], ...}, ...}`` (Winter values), or anything else that ``groups=``
            takes, such as the fitted transformer that made the columns. Columns that are not named stand alone.
        y
            The label of each row, for a loss only.
        ordered
            Whether the groups of a dict `within` join in the order in which they are listed, such as causes before
            their effects (asymmetric values). Columns that are not named come last, averaged over all their orders.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        array
            (rows, columns) or (rows, columns, outputs). As in `values`, a single row has no axis of rows.
        """
        from arborshap.game.hierarchy import Hierarchy  # noqa: PLC0415 (few callers divide groups)

        checked_flag("ordered", ordered)
        state = self.state
        if within is None and state.columns.n_players == len(state.columns.names):
            raise InputError("the explainer has no groups; give them as within={'name': [columns], ...}")
        finest = state.reader.ungrouped()
        if finest.n_players < len(finest.names):
            joined = next(name for name in finest.player_names if name not in finest.names)
            raise InputError(
                f"the model mixes the columns {joined} into shared features, so these columns have no values of their "
                "own; use shap_values, which gives them one value together, or explain the fitted estimator behind the "
                "transformers on the features that it sees"
            )
        named, owners = state.columns.called, state.columns.owners
        hierarchy = Hierarchy.of(within, named, owners, finest.players, ordered=ordered, also=finest.names)
        values = member_values(state, state.reader.matrix(X), hierarchy, progress, y)
        if finest.owners != tuple(range(len(finest.names))):
            values = values[:, list(finest.owners)]
        return of_given_rows(X, values)


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0.0 < value < np.inf:
        raise InputError(f"{name} must be a positive number; got {value!r}")
    return float(value)
