"""How much of a model's accuracy is due to each player."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arborshap._util.checks import checked_weights, whole_number
from arborshap._util.progress import Report
from arborshap.exceptions import InputError
from arborshap.explain.methods.base import Methods

if TYPE_CHECKING:
    from arborshap.result.sage import SageValues


class LossMethods(Methods):
    """The loss of the model over labelled rows, divided among the players."""

    def sage_values(
        self,
        X: Any,
        y: Any,
        *,
        tolerance: float = 0.025,
        max_permutations: int = 10_000,
        sample_weight: Any = None,
        seed: int = 0,
        progress: bool | Report = False,
    ) -> SageValues:
        """Compute how much of the model's accuracy over labelled rows is due to each player (SAGE).

        The worth of a coalition is how far the mean loss falls if the model sees the coalition's players in every row
        and averages over the whole background for all others. The loss is the log loss if the model predicts
        probabilities, and the squared error otherwise, averaged over outputs. By default the raw prediction is averaged
        before the link, which costs rows plus background rows per coalition. With ``model_output="probability"`` or
        ``"prediction"``, the link is applied first, which costs rows times background rows.

        If the trees use at most 8 players, all coalitions are computed and values are exact. Otherwise random
        permutations are sampled in pairs, each with its reverse.

        Parameters
        ----------
        X
            The rows, in any form that `data` may have.
        y
            The true label, or the true value, of each row.
        tolerance
            Sampling stops when the largest standard error is at most this share of the spread between the largest and
            the smallest value.
        max_permutations
            Sampling stops after this number of permutations in any case; at least 16.
        sample_weight
            The weight of each row of X. If omitted, all weights are equal.
        seed
            The seed of the permutations: the same seed gives the same values.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        SageValues
            `values`, `standard_error`, the losses with and without all players, ``to_frame()`` and ``plot()``.
        """
        from arborshap.explain.losses import Loss  # noqa: PLC0415 (few callers ask for SAGE values)
        from arborshap.explain.sage import sage_values_of  # noqa: PLC0415 (as above)

        state = self.state
        if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not tolerance > 0.0:
            raise InputError(f"tolerance must be a number above 0, got {tolerance!r}")
        most = whole_number("max_permutations", max_permutations, 16, 2**62, "a number of permutations from 16 up")
        seed = whole_number("seed", seed, 0, 2**62, "a whole number from 0 up")
        rows = state.reader.read(X, "X").matrix
        if len(rows) == 0:
            raise InputError("X has no rows; give at least one")
        weights = checked_weights(sample_weight, len(rows))
        loss = Loss.of(state, y, len(rows))
        return sage_values_of(state, rows, loss, weights, float(tolerance), most, seed, progress)
