"""Where an explanation came from: what a report needs besides the values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ArborshapError
from arborshap.explain.coalitions import values_of_each_player
from arborshap.explain.state import State
from arborshap.explain.terms import SumOfTerms
from arborshap.explain.values import pair_values_of, predictions_of, values_of
from arborshap.game.indices import IndexName
from arborshap.result.value_unit import ValueUnit
from arborshap.rows.numbers import Matrix

if TYPE_CHECKING:
    from arborshap.explain.explainer import TreeExplainer

_MOST_MIXED = 10**8
"""Most walks down a tree that a page is worth."""


class Rescaling(NamedTuple):
    """How rows' raw predictions become the explained output, each on its own: both (rows, outputs).

    Attributes
    ----------
    margin
        The raw predictions.
    slope
        The slope of the explained output over the raw prediction there.
    """

    margin: NDArray[np.float64]
    slope: NDArray[np.float64]


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

    @property
    def raw_unit(self) -> ValueUnit:
        """The unit of the raw prediction, which the trees add up to."""
        return ValueUnit.of("raw", self.state.reader.model.link)

    @property
    def needs_labels(self) -> bool:
        """Whether a loss is explained, which depends on labels that are not kept."""
        return self.state.rescaled is not None and self.state.rescaled.output.labels is not None

    def margins(self, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the raw predictions of the rows at these positions: (rows, outputs of the trees)."""
        return self.state.forest.margin(self.matrix[positions], self.state.settings.n_threads)

    def rescaling(self, positions: NDArray[np.intp]) -> Rescaling | None:
        """Return what turns values of the raw prediction into values of the explained output, for some rows.

        ``None`` if the raw prediction is explained, or if an output depends on several margins, as in a softmax.
        """
        output = None if self.state.rescaled is None else self.state.rescaled.output
        if not isinstance(output, SumOfTerms) or any(term.margin != term.output for term in output.terms):
            return None
        margin = self.margins(positions)
        own = [margin[:, term.margin] for term in output.terms]
        slopes = [term.factor(None) * term.curve.slope(m, m) for term, m in zip(output.terms, own, strict=True)]
        return Rescaling(margin, np.stack(slopes, axis=1))

    @property
    def explains_pairs(self) -> bool:
        """Whether values of pairs of players can be computed; those of a softmax cannot."""
        return self.state.rescaled is None or self.state.rescaled.weighted is not None

    def values(self, positions: NDArray[np.intp], index: IndexName) -> NDArray[np.float64]:
        """Compute an index of the explained output for the rows at these positions; the last axis is the outputs."""
        return self._with_outputs(values_of(self.state, self.matrix[positions], index))

    def pair_values(self, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Compute the values of the rows at these positions against each other: (rows, rows, players, outputs)."""
        some = self.matrix[positions]
        return self._with_outputs(pair_values_of(self.state, some, some))

    def main_effects(self, donors: NDArray[np.intp]) -> NDArray[np.float64] | None:
        """Compute the mean prediction with each player alone from some rows, less the expected value.

        `donors` names a row for each point and player. The result is (points, players, outputs); ``None`` if it would
        take long, or if the background that it needs was not kept.
        """
        state = self.state
        mixed_rows = donors.size * max(1, state.n_background) * state.forest.n_trees
        if state.rescaled is not None and mixed_rows > _MOST_MIXED:
            return None
        picked = self.matrix[donors[:, state.columns.players], np.arange(state.forest.n_features)]
        points = np.ascontiguousarray(picked, np.float64)
        try:
            values = values_of_each_player(state, points)
        except ArborshapError:
            return None
        expected = state.core.expected_value if state.rescaled is None else state.rescaled.expected_of_any_row()
        return np.asarray(values - expected)

    def _with_outputs(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values[..., np.newaxis] if self.state.n_outputs == 1 else values

    def __deepcopy__(self, memo: dict[int, Any]) -> Provenance:
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()
