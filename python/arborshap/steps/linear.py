"""Linear maps: PCA and TruncatedSVD."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.steps.step import Fields, Step, WriteStep
from arborshap.steps.table import Sparse, Table, numbers
from arborshap.steps.unsaved import like_its_own


@dataclass(frozen=True)
class Projected:
    """Multiplies rows by a matrix, after or before their centre is moved to zero.

    Attributes
    ----------
    components
        The matrix: (components, columns).
    mean
        The centre, or ``None``.
    scale
        What each component is divided by, or ``None``.
    centre_first
        Whether the centre is subtracted before the product, and not its image after it.
    """

    KIND: ClassVar[str] = "projected"

    components: NDArray[Any]
    mean: NDArray[Any] | None
    scale: NDArray[Any] | None
    centre_first: bool

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        components = saved.array("components", (None, None))
        mean = saved.maybe_array("mean", (components.shape[1],))
        scale = saved.maybe_array("scale", (components.shape[0],))
        return cls(components, mean, scale, saved.flag("centre_first"))

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return int(self.components.shape[1])

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return len(self.components)

    def transform(self, rows: Table) -> Table:
        """Project every row."""
        if isinstance(rows, Sparse) and self.mean is None:
            return self._one_by_one(rows)
        found = numbers(
            rows, "wide floats" if self.mean is not None else "numbers", "PCA or TruncatedSVD", missing=False
        )
        if self.mean is None:
            out = found @ self.components.T
        elif self.centre_first:
            out = (found - self.mean) @ self.components.T
        else:
            out = found @ self.components.T
            out -= self.mean.reshape(1, -1) @ self.components.T
        if self.scale is not None:
            out /= self.scale
        return np.asarray(out)

    def _one_by_one(self, rows: Sparse) -> NDArray[Any]:
        """A sparse product adds one stored entry after another."""
        found = numbers(rows.matrix, "numbers", "TruncatedSVD", missing=False)
        out = np.zeros((len(found), len(self.components)), np.result_type(found, self.components))
        for j in range(found.shape[1]):
            there = rows.stored[:, j]
            out[there] += found[there, j][:, np.newaxis] * self.components[:, j]
        return out


def _write_pca(transformer: Any) -> Step:
    components, mean = transformer.components_, transformer.mean_

    def candidates() -> Iterator[Step]:
        scale = np.sqrt(transformer.explained_variance_) if transformer.whiten else None
        clipped = None if scale is None else np.maximum(scale, np.finfo(scale.dtype).eps)
        yield Projected(components, mean, clipped, centre_first=False)
        yield Projected(components, mean, scale, centre_first=True)

    rows = np.random.default_rng(0).normal(size=(64, components.shape[1])) + mean
    return like_its_own(transformer, candidates(), _some(rows))


def _write_svd(transformer: Any) -> Step:
    rows = np.random.default_rng(0).normal(size=(64, transformer.components_.shape[1]))
    written = Projected(transformer.components_, None, None, centre_first=False)
    # A product depends on how the matrix lies in memory, so what is read again is tried, too.
    return like_its_own(transformer, [written], _some(rows))


def _some(rows: NDArray[np.float64]) -> list[NDArray[Any]]:
    return [rows, rows[:1], rows.astype(np.float32)]


STEPS: tuple[type[Step], ...] = (Projected,)
WRITERS: dict[str, WriteStep] = {"PCA": _write_pca, "TruncatedSVD": _write_svd}
