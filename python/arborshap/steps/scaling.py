"""Scalers: StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler and Normalizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.steps.step import Fields, OneToOne, Step, WriteStep
from arborshap.steps.table import Sparse, Table, dense, numbers
from arborshap.steps.unsaved import like_its_own

_NORMS = ("l1", "l2", "max")


@dataclass(frozen=True)
class Scaled:
    """Subtracts, divides, multiplies, adds and clips, in this order, with one number per column.

    Attributes
    ----------
    subtract, divide, multiply, add
        One number per column; ``None`` for an operation that is left out.
    clip
        The smallest and the largest result, or nothing.
    in_own_type
        Whether the numbers are rounded to the type of the rows first.
    """

    KIND: ClassVar[str] = "scaled"

    n_columns: int
    subtract: NDArray[Any] | None
    divide: NDArray[Any] | None
    multiply: NDArray[Any] | None
    add: NDArray[Any] | None
    clip: list[float]
    in_own_type: bool

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        n = saved.whole("n_columns")
        arrays = {name: saved.maybe_array(name, (n,)) for name in ("subtract", "divide", "multiply", "add")}
        clip = [float(cell) for cell in saved.cells(saved.entries("clip"), "clip") if isinstance(cell, (int, float))]
        saved.check(len(clip) in (0, 2), "clip")
        return cls(n_columns=n, clip=clip, in_own_type=saved.flag("in_own_type"), **arrays)

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return self.n_columns

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return n_inputs

    def transform(self, rows: Table) -> Table:
        """Scale every column."""
        if isinstance(rows, Sparse):
            return self._sparse(rows)
        found = numbers(rows, "floats", "a scaler")
        with np.errstate(all="ignore"):
            for operation, operand in (
                (np.subtract, self.subtract),
                (np.divide, self.divide),
                (np.multiply, self.multiply),
                (np.add, self.add),
            ):
                if operand is not None:
                    by = operand.astype(found.dtype) if self.in_own_type else operand
                    operation(found, by, out=found, casting="same_kind")
        return self._clipped(found)

    def _clipped(self, found: NDArray[Any]) -> NDArray[Any]:
        if self.clip:
            np.clip(found, found.dtype.type(self.clip[0]), found.dtype.type(self.clip[1]), out=found)
        return found

    def _sparse(self, rows: Sparse) -> Sparse:
        """scikit-learn scales a sparse matrix by the reciprocals, and leaves out what would fill it up."""
        if any(operand is not None for operand in (self.subtract, self.multiply, self.add)):
            dense(rows, "a scaler that moves zero")
        found = numbers(rows.matrix, "floats", "a scaler")
        if self.divide is not None:
            with np.errstate(all="ignore"):
                np.multiply(found, 1.0 / self.divide, out=found, casting="same_kind")
        return rows.replaced(self._clipped(found))


@dataclass(frozen=True)
class Normalized(OneToOne):
    """Divides each row by its norm."""

    KIND: ClassVar[str] = "normalized"

    norm: str

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        return cls(saved.word("norm", _NORMS))

    def transform(self, rows: Table) -> Table:
        """Divide each row by its norm; a row of zeros stays as it is."""
        found = numbers(rows, "floats", "Normalizer", missing=False)
        if self.norm == "l1":
            norms = np.abs(found).sum(axis=1)
        elif self.norm == "l2":
            norms = np.sqrt(np.einsum("ij,ij->i", found, found))
        else:
            norms = np.abs(found).max(axis=1)
        norms[norms < 10 * np.finfo(norms.dtype).eps] = 1.0
        found /= norms[:, np.newaxis]
        return found


def _scaled(n: int, own: bool = False, clip: list[float] | None = None, **operands: Any) -> Scaled:
    arrays = {name: operands.get(name) for name in ("subtract", "divide", "multiply", "add")}
    return Scaled(n, **arrays, clip=clip or [], in_own_type=own)


def write_standard(scaler: Any) -> Step:
    """Write a StandardScaler."""
    mean, scale = scaler.mean_ if scaler.with_mean else None, scaler.scale_ if scaler.with_std else None
    n = int(scaler.n_features_in_)
    candidates = (_scaled(n, own, subtract=mean, divide=scale) for own in (True, False))
    rng = np.random.default_rng(0)
    centre, spread = (0.0 if mean is None else mean), (1.0 if scale is None else scale)
    rows = np.asarray(centre + spread * rng.normal(size=(64, n)))
    return like_its_own(scaler, candidates, (rows, rows.astype(np.float32)))


def _write_min_max(scaler: Any) -> Step:
    clip = [float(bound) for bound in scaler.feature_range] if scaler.clip else None
    return _scaled(int(scaler.n_features_in_), clip=clip, multiply=scaler.scale_, add=scaler.min_)


def _write_max_abs(scaler: Any) -> Step:
    clip = [-1.0, 1.0] if getattr(scaler, "clip", False) else None
    return _scaled(int(scaler.n_features_in_), clip=clip, divide=scaler.scale_)


def _write_robust(scaler: Any) -> Step:
    centre, scale = scaler.center_ if scaler.with_centering else None, scaler.scale_ if scaler.with_scaling else None
    return _scaled(int(scaler.n_features_in_), subtract=centre, divide=scale)


def _write_normalizer(normalizer: Any) -> Step:
    return Normalized(normalizer.norm)


STEPS: tuple[type[Step], ...] = (Scaled, Normalized)
WRITERS: dict[str, WriteStep] = {
    "StandardScaler": write_standard,
    "MinMaxScaler": _write_min_max,
    "MaxAbsScaler": _write_max_abs,
    "RobustScaler": _write_robust,
    "Normalizer": _write_normalizer,
}
