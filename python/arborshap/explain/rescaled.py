"""Values of a function of the margins: the values of every pair (x, z), rescaled to the function's difference.

Averages over a background cost n + m if the function is a sum of curves of single margins, and n * m if it is not, as
for a softmax. The values of every pair by itself are computed pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.checks import check_fits
from arborshap._util.progress import Report, reporting
from arborshap.exceptions import InputError
from arborshap.explain.labels import check_no_labels
from arborshap.explain.outputs import ModelOutput
from arborshap.explain.pairs import Pairs
from arborshap.explain.parts import WeightedParts, weighted_by_parts
from arborshap.explain.settings import Settings
from arborshap.explain.terms import SumOfTerms
from arborshap.explain.weighted import Compute, Weighted, weighted_by_rows
from arborshap.forest import Forest
from arborshap.forest.linear import LinearForest
from arborshap.game.indices import IndexName, order_of_index
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Rescaled:
    """The values of a function of the margins against a background.

    Attributes
    ----------
    output
        The function.
    forest
        The trees.
    core
        The explainer of the margins against the same background.
    background
        The background rows z; ``None`` if the background came in parts.
    shares
        The weight of each background row in the mean; they sum to 1.
    weighted
        The background in several weightings; ``None`` if values are averaged pair by pair.
    parts
        The counts of a background that came in parts.
    weight
        The weight of a background that came in parts.
    """

    output: ModelOutput
    forest: Forest
    core: _core.Explainer
    background: Matrix | None
    shares: Array
    weighted: Weighted | None
    parts: WeightedParts | None = None
    weight: float = 1.0

    @classmethod
    def of(
        cls,
        output: ModelOutput,
        forest: Forest,
        core: _core.Explainer,
        background: Matrix,
        shares: Array | None,
        settings: Settings,
    ) -> Self:
        """Prepare values against these rows; without `shares`, all rows weigh the same."""
        if shares is None:
            shares = np.full(len(background), 1.0 / max(1, len(background)))
        weighted = None
        if isinstance(output, SumOfTerms) and len(background) and not isinstance(forest, LinearForest):
            weighted = weighted_by_rows(output, forest, core, background, shares, settings)
        rescaled = cls(output, forest, core, background, shares, weighted)
        rescaled.check_engine(settings.engine)
        return rescaled

    @classmethod
    def of_parts(
        cls,
        output: ModelOutput,
        forest: Forest,
        core: _core.Explainer,
        weight: float,
        parts: WeightedParts,
        settings: Settings,
    ) -> Self:
        """Prepare values against a background of this weight that was counted in parts."""
        weighted = weighted_by_parts(output, forest, core, weight, parts, settings)
        return cls(output, forest, core, None, np.ones(0), weighted, parts, weight)

    def check_engine(self, engine: str) -> None:
        """Raise `InputError` if the engine does not compute the values of pairs, but these are needed."""
        if self.weighted is None and engine not in ("auto", "traversal"):
            raise InputError(
                f"engine={engine!r} cannot compute model_output={self.output.name!r} of this model, which is averaged "
                "pair by pair; use engine='auto'"
            )

    def checked_labels(self, y: Any, n_rows: int) -> Array | None:
        """Turn the caller's labels into numbers, or check that there are none."""
        if self.output.labels is None:
            check_no_labels(y)
            return None
        return self.output.labels.checked(y, n_rows, self.output.name)

    def expected(self, y: Any, n_rows: int) -> Array:
        """Return the mean of the function over the background for each of `n_rows` rows: (rows, outputs)."""
        coded = self.checked_labels(y, n_rows)
        if self.weighted is not None:
            return self.weighted.expected(coded, n_rows)
        margins = self.forest.margin(self._rows(None), 1)
        if coded is None:
            return np.broadcast_to(self.shares @ self.output.of(margins, None), (n_rows, self.output.n_outputs))
        labels, which = np.unique(coded, return_inverse=True)
        means = [self.shares @ self.output.of(margins, np.array([label])) for label in labels]
        return np.reshape(means, (len(labels), 1))[which]

    def expected_of_any_row(self) -> Array:
        """Return the mean of the function over the background, if it is the same for all rows: (outputs,)."""
        if self.output.labels is not None:
            raise InputError(
                "the expected loss depends on the label of a row; use explainer(X, y).base_values, one per row"
            )
        return np.asarray(self.expected(None, 1)[0])

    def explain(
        self,
        rows: Matrix,
        y: Any,
        index: IndexName,
        dtype: np.dtype[Any] | None,
        progress: bool | Report,
        settings: Settings,
    ) -> NDArray[Any]:
        """Compute the values of an index averaged over the background: (rows, players[, players], outputs)."""
        labels = self.checked_labels(y, len(rows))
        shape = (len(rows), *(self.core.n_players,) * order_of_index(index), self.output.n_outputs)
        kind = check_fits(shape, dtype, settings.memory_limit)
        with reporting(progress) as report:
            if self.weighted is not None:
                return self.weighted.explain(rows, labels, index, np.empty(shape, kind), settings, report)
            if index == "shapley":
                pairs = Pairs(self.output, self.core, self._rows(None), settings.n_threads)
                return pairs.means(rows, labels, self.shares, report).astype(kind, copy=False)
        raise self._only_by_pairs(f"index={index!r}")

    def combine(
        self,
        rows: Matrix,
        y: Any,
        compute: Compute,
        cells: tuple[int, ...],
        what: str,
        progress: bool | Report,
        settings: Settings,
    ) -> Array:
        """Compute values that are linear in the background, (rows, cells, outputs), by what `compute` finds."""
        labels, shape = self.checked_labels(y, len(rows)), (len(rows), *cells, self.output.n_outputs)
        check_fits(shape, None, settings.memory_limit)
        if self.weighted is None:
            raise self._only_by_pairs(what)
        with reporting(progress) as report:
            return np.asarray(self.weighted.combine(rows, labels, compute, np.empty(shape), settings, report))

    def _only_by_pairs(self, what: str) -> InputError:
        """Say why only Shapley values can be computed, and what to do instead."""
        why = "its curve is not smooth"
        if not isinstance(self.output, SumOfTerms):
            why = "it depends on the margins of all classes at once (a softmax)"
        elif isinstance(self.forest, LinearForest):
            why = "the leaves of its trees hold linear functions"
        return InputError(
            f"{what} cannot be computed for model_output={self.output.name!r} of this model: {why}, so every pair of "
            "rows is rescaled by itself, which is done for Shapley values only. Use model_output='raw', which explains "
            "the margins, or shap_values"
        )

    def explain_pairs(
        self,
        rows: Matrix,
        others: Matrix | None,
        y: Any,
        dtype: np.dtype[Any],
        progress: bool | Report,
        settings: Settings,
    ) -> NDArray[Any]:
        """Compute the Shapley values of every pair: (rows, background rows, players, outputs)."""
        labels = self.checked_labels(y, len(rows))
        others = self._rows(others)
        shape = (len(rows), len(others), self.core.n_players, self.output.n_outputs)
        every = np.empty(shape, check_fits(shape, dtype, settings.memory_limit))
        with reporting(progress) as report:
            blocks = Pairs(self.output, self.core, others, settings.n_threads).blocks(rows, labels, report)
            for x, some, values in blocks:
                every[x, some] = values
        return every

    def _rows(self, others: Matrix | None) -> Matrix:
        """Return the reference rows, which are the background by default."""
        found = self.background if others is None else others
        if found is None:
            raise InputError("only the counts of the background were kept, not its rows; give the reference rows Z")
        return found
