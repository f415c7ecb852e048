"""Steps by thresholds and quantiles: Binarizer, KBinsDiscretizer and QuantileTransformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.steps.step import Fields, OneToOne, Step, WriteStep
from arborshap.steps.table import Sparse, Table, dense, numbers
from arborshap.steps.unsaved import Unsaved


@dataclass(frozen=True)
class Binarized(OneToOne):
    """Whether each number is above a threshold."""

    KIND: ClassVar[str] = "binarized"

    threshold: float

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        return cls(saved.number("threshold"))

    def transform(self, rows: Table) -> Table:
        """Compare every number."""
        if isinstance(rows, Sparse):
            if self.threshold < 0:
                dense(rows, "a Binarizer with a negative threshold")
            found = numbers(rows.matrix, "numbers", "Binarizer", missing=False)
            return Sparse.of((found > self.threshold).astype(found.dtype))
        found = numbers(rows, "numbers", "Binarizer", missing=False)
        return (found > self.threshold).astype(found.dtype)


@dataclass(frozen=True)
class Binned:
    """The bin of each number, as its position or as zeros and a one.

    Attributes
    ----------
    edges
        The inner edges of the bins of each column.
    n_bins
        The number of bins of each column.
    encode
        How a bin is written: ``"ordinal"``, ``"onehot-dense"`` or ``"onehot"`` (sparse).
    dtype
        The type that numbers are turned into first, or ``"own"``.
    """

    KIND: ClassVar[str] = "binned"

    edges: list[NDArray[Any]]
    n_bins: NDArray[np.int64]
    encode: str
    dtype: str

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        edges, n_bins = saved.arrays("edges", (None,)), saved.positions("n_bins")
        saved.check(len(edges) == len(n_bins) and int(n_bins.sum()) < 2**31, "n_bins")
        for inner, n in zip(edges, n_bins, strict=True):
            saved.check(len(inner) == max(0, n - 1), "edges")
        encode = saved.word("encode", ("ordinal", "onehot-dense", "onehot"))
        return cls(edges, n_bins, encode, saved.word("dtype", ("own", "float64", "float32")))

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return len(self.edges)

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return n_inputs if self.encode == "ordinal" else int(self.n_bins.sum())

    def transform(self, rows: Table) -> Table:
        """Find the bin of every number."""
        found = numbers(rows, "wide floats", "KBinsDiscretizer", missing=False)
        if self.dtype != "own":
            found = found.astype(self.dtype)
        for j, inner in enumerate(self.edges):
            found[:, j] = np.searchsorted(inner, found[:, j], side="right")
        if self.encode == "ordinal":
            return found
        starts = np.concatenate([[0], np.cumsum(self.n_bins)])
        ones = np.zeros((len(found), int(starts[-1])), np.bool_)
        ones[np.arange(len(found))[:, np.newaxis], found.astype(np.intp) + starts[:-1]] = True
        matrix = ones.astype(found.dtype)
        return Sparse(matrix, ones) if self.encode == "onehot" else matrix


@dataclass(frozen=True)
class Ranked:
    """Each number as the fraction of training numbers below it, interpolated between quantiles."""

    KIND: ClassVar[str] = "quantiles"

    quantiles: NDArray[Any]
    references: NDArray[Any]

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        references = saved.array("references", (None,))
        saved.check(len(references) > 0, "references")
        return cls(saved.array("quantiles", (len(references), None)), references)

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return int(self.quantiles.shape[1])

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return n_inputs

    def transform(self, rows: Table) -> Table:
        """Rank every number."""
        found = numbers(rows, "floats", "QuantileTransformer")
        for j in range(found.shape[1]):
            quantiles, column = self.quantiles[:, j], found[:, j].copy()
            there = ~np.isnan(column)
            upwards = np.interp(column[there], quantiles, self.references)
            # From above as well, because equal quantiles give another fraction from there.
            downwards = np.interp(-column[there], -quantiles[::-1], -self.references[::-1])
            found[there, j] = 0.5 * (upwards - downwards)
            found[column == quantiles[-1], j] = 1
            found[column == quantiles[0], j] = 0
        return found


def _write_binarizer(binarizer: Any) -> Step:
    return Binarized(float(binarizer.threshold))


def _write_bins(binner: Any) -> Step:
    edges = [np.asarray(edges[1:-1], np.float64) for edges in binner.bin_edges_]
    dtype = "own" if binner.dtype is None else np.dtype(binner.dtype).name
    return Binned(edges, np.array(binner.n_bins_, np.int64), binner.encode, dtype)


def _write_quantiles(transformer: Any) -> Step:
    if transformer.output_distribution != "uniform":
        raise Unsaved(
            "its output_distribution='normal' needs SciPy; use 'uniform', which is the same to trees up to rounding"
        )
    return Ranked(transformer.quantiles_, transformer.references_)


STEPS: tuple[type[Step], ...] = (Binarized, Binned, Ranked)
WRITERS: dict[str, WriteStep] = {
    "Binarizer": _write_binarizer,
    "KBinsDiscretizer": _write_bins,
    "QuantileTransformer": _write_quantiles,
}
