"""Values of a function of the margins: the values of every pair (x, z), rescaled to the function's difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.checks import check_fits, checked_dtype
from arborshap._util.progress import Report, reporting
from arborshap.exceptions import InputError
from arborshap.explain.outputs import ModelOutput
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]

_CHUNK = 2**20  # numbers held at a time, for one block of pairs


class Rescaled:
    """The values of a function of the margins against a background, computed for one block of pairs at a time.

    Sums run over the background in blocks whose size depends on the model alone, and separately for each row, so the
    values of a row do not depend on which other rows are explained with it.

    Attributes
    ----------
    output
        The function.
    background
        The background rows z.
    shares
        The weight of each background row in the mean; they sum to 1.
    """

    def __init__(
        self,
        output: ModelOutput,
        forest: _core.Forest,
        core: _core.Explainer,
        n_players: int,
        background: Matrix,
        shares: Array | None,
        n_threads: int,
    ) -> None:
        self.output = output
        self._forest = forest
        self._core = core
        self._n_players = n_players
        self.background = background
        self._margins = forest.margin(background, n_threads)
        self.shares = np.full(len(background), 1.0 / max(1, len(background))) if shares is None else shares
        self._n_threads = n_threads

    def against(self, others: Matrix) -> Rescaled:
        """Return the same function against other rows with equal weights."""
        return Rescaled(self.output, self._forest, self._core, self._n_players, others, None, self._n_threads)

    def expected(self, y: Any, n_rows: int) -> Array:
        """Return the mean of the function over the background for each of `n_rows` rows: (rows, outputs)."""
        coded = self.output.checked_labels(y, n_rows)
        if coded is None:
            return np.broadcast_to(self.shares @ self.output.of(self._margins, None), (n_rows, self.output.n_outputs))
        labels, which = np.unique(coded, return_inverse=True)
        means = [self.shares @ self.output.of(self._margins, np.array([label])) for label in labels]
        return np.reshape(means, (len(labels), 1))[which]

    def expected_of_any_row(self) -> Array:
        """Return the mean of the function over the background, if it is the same for all rows: (outputs,)."""
        if self.output.is_loss:
            raise InputError(
                "the expected loss depends on the label of a row; use explainer(X, y).base_values, one per row"
            )
        return np.asarray(self.expected(None, 1)[0])

    def explain(
        self, rows: Matrix, y: Any, index: str, dtype: Any, progress: bool | Report, limit: int | None
    ) -> NDArray[Any]:
        """Compute Shapley values averaged over the background: (rows, players, outputs)."""
        if index != "shapley":
            raise InputError(
                f"index={index!r} is not defined for a probability or a loss, because only the Shapley values of pairs "
                "of rows are rescaled; use index='shapley' or model_output='raw'"
            )
        kind, labels = checked_dtype(dtype), self.output.checked_labels(y, len(rows))
        shape = (len(rows), self._n_players, self.output.n_outputs)
        check_fits(shape, np.dtype(np.float64), limit)
        sums = np.zeros(shape)
        with reporting(progress) as report:
            for x, others, values in self._pairs(rows, labels, report):
                sums[x] += np.einsum("z,zio->io", self.shares[others], values)
        return sums.astype(kind, copy=False)

    def explain_pairs(
        self, rows: Matrix, y: Any, dtype: Any, progress: bool | Report, limit: int | None
    ) -> NDArray[Any]:
        """Compute the Shapley values of every pair: (rows, background rows, players, outputs)."""
        kind, labels = checked_dtype(dtype), self.output.checked_labels(y, len(rows))
        shape = (len(rows), len(self.background), self._n_players, self.output.n_outputs)
        check_fits(shape, kind, limit)
        every = np.empty(shape, kind)
        with reporting(progress) as report:
            for x, others, values in self._pairs(rows, labels, report):
                every[x, others] = values
        return every

    def contrast(self, ours: Matrix, theirs: Matrix) -> tuple[Array, Array]:
        """Compute values against other rows, and the mean of the function over those rows: (1, outputs)."""
        if self.output.is_loss:
            raise InputError("a contrast has no label, which a loss needs; use pair_values(x, z, y=...)")
        against = self.against(theirs)
        return against.explain(ours, None, "shapley", np.float64, False, None), against.expected(None, 1)

    def _pairs(self, rows: Matrix, y: Array | None, report: Report | None) -> Iterator[tuple[int, slice, Array]]:
        """Yield all pairs in blocks: a row, a slice of the background, and the values, (block, players, outputs)."""
        margins = self._forest.margin(rows, self._n_threads)
        n, m, k = len(rows), len(self.background), self.output.n_margins
        per_pair = k * self._n_players + 4 * k * k
        wide = max(1, min(m, 1024, _CHUNK // per_pair))
        tall = max(1, _CHUNK // (per_pair * wide))
        for start in range(0, n, tall):
            for first in range(0, m, wide):
                block, others = slice(start, min(start + tall, n)), slice(first, min(first + wide, m))
                raw = self._core.explain_pairs(rows[block], self.background[others], n_threads=self._n_threads)
                slopes = self.output.slopes(margins[block], self._margins[others], None if y is None else y[block])
                for x in range(start, block.stop):
                    yield x, others, np.einsum("zoj,zij->zio", slopes[x - start], raw[x - start])
                if report is not None:
                    report((start * m + (block.stop - start) * others.stop) / (n * m))
