"""Where an explanation came from: what a report needs besides the values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.explain.state import State
from arborshap.explain.values import predictions_of
from arborshap.game.indices import IndexName
from arborshap.rows.numbers import Matrix

if TYPE_CHECKING:
    from arborshap.explain.explainer import TreeExplainer


@dataclass(frozen=True, slots=True)
class Provenance:
    """The explainer of some rows, and those rows as its trees read them.

    A copied or sliced explanation keeps its provenance. A pickled explanation does not, because it should stay small
    and readable without the model.

    Attributes
    ----------
    explainer
        The explainer of the rows.
    state
        The state of the explainer at that time.
    rows
        The rows after encoding, in the order of the explanation: (rows, model features), or one row.
    seconds
        How long the explanation took, if that was measured.
    """

    explainer: TreeExplainer
    state: State
    rows: Matrix
    seconds: float | None = None

    def take(self, pick: Any) -> Provenance:
        """Return the provenance of some of the rows."""
        return replace(self, rows=self.rows[pick])

    @property
    def matrix(self) -> Matrix:
        """The rows as a matrix, even if there is only one."""
        return self.rows.reshape(-1, self.rows.shape[-1])

    @property
    def tree_columns(self) -> list[str] | None:
        """Names of the features that the trees see, if these differ from the columns that were given."""
        return self.state.reader.feature_names if self.state.reader.makes_features else None

    @property
    def tree_players(self) -> list[int]:
        """The player of each feature that the trees see."""
        return [int(player) for player in self.state.columns.players]

    def predictions(self) -> NDArray[np.float64] | None:
        """Return the sum of base value and values, (rows, outputs); ``None`` for a loss, which needs labels."""
        return predictions_of(self.state, self.matrix)

    def raw_values(self, positions: NDArray[np.intp], index: IndexName) -> NDArray[np.float64]:
        """Compute an index of the raw prediction for the rows at these positions; the last axis is the outputs."""
        settings, some = self.state.settings, self.matrix[positions]
        return self.state.core.explain(some, index, engine=settings.engine, n_threads=settings.n_threads)

    def raw_pair_values(self, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Compute the values of the rows at these positions against each other: (rows, rows, players, outputs)."""
        some = self.matrix[positions]
        return self.state.core.explain_pairs(some, some, n_threads=self.state.settings.n_threads)

    def __deepcopy__(self, memo: dict[int, Any]) -> Provenance:
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()
