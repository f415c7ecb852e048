"""Values of more rows than memory could hold: chunks of values, importances, the largest values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_choice
from arborshap._util.progress import Report
from arborshap.explain.importance import SumOfSizes, number_of_players, sum_of_sizes, top_values, value_chunks
from arborshap.explain.methods.base import Methods
from arborshap.game.indices import (
    INDICES,
    PAIR_INDICES,
    PLAYER_INDICES,
    IndexName,
    PairIndexName,
    PlayerIndexName,
    order_of_index,
)
from arborshap.result.axes import output_labels
from arborshap.result.importance import Importance, TopValues


class StreamMethods(Methods):
    """Values that are computed for a few rows at a time and then discarded."""

    def value_chunks(
        self, X: Any, y: Any = None, *, index: IndexName = "shapley", progress: bool | Report = False
    ) -> Iterator[NDArray[Any]]:
        """Compute the values of a few rows at a time, so that the values of all rows are never in memory together.

        X may also be an iterator of batches of rows. The caller may overwrite each array that is yielded.
        """
        checked_choice("index", index, INDICES)
        return value_chunks(self.state, X, y, index, progress)

    def importance(
        self,
        X: Any,
        y: Any = None,
        *,
        index: IndexName = "shapley",
        sample_weight: Any = None,
        progress: bool | Report = False,
    ) -> Importance:
        """Compute how much each player matters over many rows: the mean absolute value of its values.

        Values are computed for a few rows at a time and then discarded, so X may have any number of rows.

        Parameters
        ----------
        X
            The rows, in any form that `data` may have, or an iterator of batches of such rows.
        y
            The label of each row, for a loss only.
        index
            The index whose absolute values are averaged; see `__call__`.
        sample_weight
            The weight of each row of X. If omitted, all weights are equal.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        Importance
            The means and the names; ``.ranked()`` sorts them.
        """
        chunks = self.value_chunks(X, y, index=index, progress=progress)
        return self.importance_of(sum_of_sizes(chunks, sample_weight), index)

    def importance_of(self, total: SumOfSizes, index: IndexName) -> Importance:
        """Turn sums of absolute values, from one call or added up over a cluster, into an importance."""
        mean = total.mean()
        several = mean.ndim > order_of_index(index)
        outputs = output_labels(self.output_names, mean.shape[-1]) if several else None
        state = self.state
        return Importance(mean, self.feature_names, index, total.n_rows, outputs, state.model_output, state.unit)

    def interaction_importance(
        self,
        X: Any,
        *,
        index: PairIndexName = "taylor",
        sample_weight: Any = None,
        progress: bool | Report = False,
    ) -> Importance:
        """Compute how much each pair of players matters over many rows, without a rows x players x players array.

        This is `importance` for the Shapley-Taylor (``"taylor"``) or the Shapley interaction index (``"interaction"``).
        """
        checked_choice("index", index, PAIR_INDICES)
        return self.importance(X, index=index, sample_weight=sample_weight, progress=progress)

    def top_values(
        self,
        X: Any,
        k: int,
        *,
        y: Any = None,
        index: PlayerIndexName = "shapley",
        dtype: Any = np.float64,
        progress: bool | Report = False,
    ) -> TopValues:
        """Compute the `k` values with the largest absolute value in each row, and the players they belong to.

        Parameters
        ----------
        X
            The rows, in any form that `data` may have, or an iterator of batches of such rows.
        k
            Number of values to keep per row.
        y
            The label of each row, for a loss only.
        index
            ``"shapley"`` or ``"banzhaf"``.
        dtype
            float64, or float32 to halve the memory of a large result.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        TopValues
            ``players`` (positions in `feature_names`) and ``values``, both (rows, k) or (rows, k, outputs).
        """
        checked_choice("index", index, PLAYER_INDICES)
        k = number_of_players(k, self.state.columns.n_players)
        return top_values(self.value_chunks(X, y, index=index, progress=progress), k, dtype)
