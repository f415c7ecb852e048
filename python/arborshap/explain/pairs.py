"""Rescaled values pair by pair: the values of every pair (x, z) times the mean slope between the two margins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.progress import Report
from arborshap.explain.outputs import ModelOutput
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]

_CHUNK = 2**20  # numbers held at a time, for one block of pairs


class PairGame(Protocol):
    """What computes the values of pairs; an explainer of the native core does, for example."""

    @property
    def n_players(self) -> int:
        """Number of players."""

    @property
    def forest(self) -> _core.Forest:
        """The trees."""

    def explain_pairs(self, rows: Matrix, background: Matrix, *, n_threads: int) -> Array:
        """Compute the Shapley values of every pair: (rows, background rows, players, outputs)."""


class Pairs:
    """The pairs of some rows with a background, computed one block at a time.

    The size of a block depends on the model alone, and each row is summed by itself, so the values of a row do not
    depend on which other rows are explained with it.
    """

    def __init__(self, output: ModelOutput, core: PairGame, background: Matrix, n_threads: int) -> None:
        self._output = output
        self._core = core
        self._background = background
        self._margins = core.forest.margin(background, n_threads)
        self._n_threads = n_threads

    def means(self, rows: Matrix, y: Array | None, shares: Array, report: Report | None) -> Array:
        """Compute Shapley values averaged over the background: (rows, players, outputs)."""
        sums = np.zeros((len(rows), self._core.n_players, self._output.n_outputs))
        for x, others, values in self.blocks(rows, y, report):
            sums[x] += np.einsum("z,zio->io", shares[others], values)
        return sums

    def blocks(self, rows: Matrix, y: Array | None, report: Report | None) -> Iterator[tuple[int, slice, Array]]:
        """Yield all pairs in blocks: a row, a slice of the background, and the values, (block, players, outputs)."""
        margins = self._core.forest.margin(rows, self._n_threads)
        n, m, k = len(rows), len(self._background), self._output.n_margins
        per_pair = k * self._core.n_players + 4 * k * k
        wide = max(1, min(m, 1024, _CHUNK // per_pair))
        tall = max(1, _CHUNK // (per_pair * wide))
        for start in range(0, n, tall):
            for first in range(0, m, wide):
                block, others = slice(start, min(start + tall, n)), slice(first, min(first + wide, m))
                raw = self._core.explain_pairs(rows[block], self._background[others], n_threads=self._n_threads)
                slopes = self._output.slopes(margins[block], self._margins[others], None if y is None else y[block])
                for x in range(start, block.stop):
                    yield x, others, np.einsum("zoj,zij->zio", slopes[x - start], raw[x - start])
                if report is not None:
                    report((start * m + (block.stop - start) * others.stop) / (n * m))
