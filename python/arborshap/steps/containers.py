"""Steps made of steps: ColumnTransformer, FeatureUnion, Pipeline, and results that become frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.steps.step import Fields, Step, width_after
from arborshap.steps.table import CellError, Frame, Sparse, Table, as_array, columns_at, dense, shape_of


@dataclass(frozen=True)
class Parts:
    """Gives some columns to each of several steps, and puts their results side by side.

    Attributes
    ----------
    n_columns
        Number of columns that go in.
    steps
        The steps.
    positions
        The columns that each step gets.
    slices
        Whether each step got its columns as a slice, which numpy does not copy.
    weights
        What the result of each step is multiplied by; NaN for nothing.
    makes
        What becomes of the results: ``"arrays"``, ``"sparse"`` (always), ``"any sparse"`` (if one of them is),
        or ``"frames"`` (if all of them are).
    """

    KIND: ClassVar[str] = "parts"

    n_columns: int
    steps: list[Step]
    positions: list[NDArray[np.int64]]
    slices: list[bool]
    weights: NDArray[np.float64]
    makes: str

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        n, steps = saved.whole("n_columns"), saved.steps("steps")
        positions = saved.arrays("positions", (None,))
        slices, weights = saved.entries("slices"), saved.array("weights", (len(steps),))
        saved.check(len(positions) == len(slices) == len(steps), "positions")
        for step, taken, is_slice in zip(steps, positions, slices, strict=True):
            saved.check(taken.dtype.kind == "i" and bool(((taken >= 0) & (taken < n)).all()), "positions")
            saved.check(step.n_inputs in (None, len(taken)) and isinstance(is_slice, bool), "positions")
        return cls(n, steps, positions, slices, weights, saved.word("makes", MAKES))

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return self.n_columns

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return sum(width_after([step], len(taken)) for step, taken in zip(self.steps, self.positions, strict=True))

    def transform(self, rows: Table) -> Table:
        """Transform the columns of each step."""
        results = []
        for step, positions, is_slice, weight in zip(
            self.steps, self.positions, self.slices, self.weights, strict=True
        ):
            taken: Any = positions.astype(np.intp)
            if is_slice and len(taken):
                taken = slice(int(taken[0]), int(taken[-1]) + 1)
            try:
                result = step.transform(columns_at(rows, taken))
            except CellError as error:
                raise error.at(None if error.column is None else int(positions[error.column])) from error
            results.append(result if np.isnan(weight) else _weighted(result, float(weight)))
        if not results:
            return np.zeros((shape_of(rows)[0], 0))
        return side_by_side(results, self.makes)


MAKES = ("arrays", "sparse", "any sparse", "frames")


def side_by_side(results: Sequence[Table], makes: str) -> Table:
    """Put results side by side as ColumnTransformer and FeatureUnion do."""
    if makes == "frames" and all(isinstance(result, Frame) for result in results):
        frames = [result for result in results if isinstance(result, Frame)]
        columns = [column for frame in frames for column in frame.columns]
        return Frame(columns, frames[0].n_rows, frames[0].keeps_floats)
    if makes == "sparse" or (makes == "any sparse" and any(isinstance(result, Sparse) for result in results)):
        parts = [
            result if isinstance(result, Sparse) else Sparse.of(_finished(result, is_sparse=True)) for result in results
        ]
        return Sparse(np.hstack([part.matrix for part in parts]), np.hstack([part.stored for part in parts]))
    return np.hstack([_finished(result, is_sparse=False) for result in results])


def _finished(result: Table, *, is_sparse: bool) -> NDArray[Any]:
    if isinstance(result, Sparse):
        return result.matrix
    array = as_array(result) if isinstance(result, Frame) else result
    return array.astype(np.float64) if is_sparse and array.dtype.kind == "O" else array


def _weighted(result: Table, weight: float) -> Table:
    if isinstance(result, Sparse):
        return result.replaced(result.matrix * weight)
    if isinstance(result, Frame):
        return Frame([column * weight for column in result.arrays], result.n_rows, result.keeps_floats)
    return result * weight


@dataclass(frozen=True)
class Chain:
    """One step after another."""

    KIND: ClassVar[str] = "chain"

    steps: list[Step]

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        return cls(saved.steps("steps"))

    @property
    def n_inputs(self) -> int | None:
        """Number of columns that go in."""
        return self.steps[0].n_inputs if self.steps else None

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return width_after(self.steps, n_inputs)

    def transform(self, rows: Table) -> Table:
        """Transform rows by all steps."""
        return through(self.steps, rows)


def through(steps: Sequence[Step], rows: Table) -> Table:
    """Let one step after another transform rows."""
    for number, step in enumerate(steps):
        try:
            rows = step.transform(rows)
        except CellError as error:
            raise error if number == 0 else error.at(None) from error
    return rows


@dataclass(frozen=True)
class Framed:
    """Turns the result of a step into a frame, as ``set_output`` asks for."""

    KIND: ClassVar[str] = "framed"

    steps: list[Step]
    keeps_floats: bool

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        steps = saved.steps("steps")
        saved.check(len(steps) == 1, "steps")
        return cls(steps, saved.flag("keeps_floats"))

    @property
    def n_inputs(self) -> int | None:
        """Number of columns that go in."""
        return self.steps[0].n_inputs

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return width_after(self.steps, n_inputs)

    def transform(self, rows: Table) -> Table:
        """Transform rows, and make a frame of the result."""
        found = self.steps[0].transform(rows)
        if isinstance(found, Frame):
            return found
        array = dense(found, "a step that makes frames")
        return Frame([array[:, j] for j in range(array.shape[1])], len(array), self.keeps_floats)


STEPS: tuple[type[Step], ...] = (Parts, Chain, Framed)
