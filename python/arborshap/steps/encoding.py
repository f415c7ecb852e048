"""Encoders of categories: OneHotEncoder, OrdinalEncoder and TargetEncoder.

What an encoder makes of each of its categories, and of one that it does not know, is asked of the fitted encoder
itself. So dropped, infrequent and missing categories need no rules here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.steps.step import Cell, Fields, Step, WriteStep
from arborshap.steps.table import CellError, Sparse, Table, single_columns
from arborshap.steps.unsaved import Unsaved, asked

_UNKNOWN = "a category that no encoder was fitted on \x00"
_SHOWN = 10


class Categories:
    """The categories of one column, and their positions."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = list(cells)
        self._position = {cell: place for place, cell in enumerate(cells) if not _is_nan(cell)}
        self._of_nan = next((place for place, cell in enumerate(cells) if _is_nan(cell)), -1)
        self._numbers: NDArray[Any] | None = None
        if all(isinstance(cell, (int, float)) for cell in cells):
            in_order = np.array([cell for cell in cells if not _is_nan(cell)])
            if in_order.dtype.kind in "iufb" and bool((in_order[1:] > in_order[:-1]).all()):
                self._numbers = in_order

    def positions(self, column: NDArray[Any]) -> NDArray[np.intp]:
        """Return the position of each cell's category; -1 if it is unknown."""
        if self._numbers is None or column.dtype.kind not in "iuf":
            return np.array([self._of(cell) for cell in column.tolist()], np.intp)
        if len(self._numbers) == 0:
            found = np.full(len(column), -1, np.intp)
        else:
            at = np.searchsorted(self._numbers, column).clip(max=len(self._numbers) - 1)
            found = np.where(self._numbers[at] == column, at, -1).astype(np.intp)
        if column.dtype.kind == "f":
            found[np.isnan(column)] = self._of_nan
        return found

    def _of(self, cell: Any) -> int:
        if _is_nan(cell):
            return self._of_nan
        try:
            return self._position.get(cell, -1)
        except TypeError:  # a list, for example
            return -1

    def refused(self, column: int, cells: NDArray[Any], positions: NDArray[np.intp]) -> CellError:
        """Return the error for the first cell that is not one of the categories."""
        row = int((positions < 0).argmax())
        known = ", ".join(repr(cell) for cell in self.cells[:_SHOWN])
        more = f" and {len(self.cells) - _SHOWN} more" if len(self.cells) > _SHOWN else ""
        cell = cells[row].item() if isinstance(cells[row], np.generic) else cells[row]
        shown = "missing" if cell is None or _is_nan(cell) else repr(cell)
        return CellError(row, column, f"is {shown}; the known categories are {known}{more}")


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and math.isnan(cell)


class _Encoder:
    """Columns of categories."""

    categories: list[list[Cell]]

    @cached_property
    def _columns(self) -> list[Categories]:
        return [Categories(cells) for cells in self.categories]

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return len(self.categories)

    def _positions(self, rows: Table, refuses: bool) -> list[NDArray[np.intp]]:
        found = []
        for j, (known, cells) in enumerate(zip(self._columns, single_columns(rows), strict=True)):
            positions = known.positions(cells)
            if refuses and (positions < 0).any():
                raise known.refused(j, cells, positions)
            found.append(positions)
        return found


@dataclass(frozen=True)
class OneHot(_Encoder):
    """Makes columns of zeros and ones.

    Attributes
    ----------
    categories
        The categories of each column.
    codes
        For each column, which of its ones a category sets; the last code is that of an unknown category. -1 sets none.
    widths
        How many columns are made of each column.
    refuses_unknown
        Whether unknown categories are refused.
    dtype
        The type of the ones.
    sparse
        Whether the result is a sparse matrix.
    """

    KIND: ClassVar[str] = "one-hot"

    categories: list[list[Cell]]
    codes: list[NDArray[np.int64]]
    widths: NDArray[np.int64]
    refuses_unknown: bool
    dtype: str
    sparse: bool

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        categories = [saved.cells(cells, "categories") for cells in saved.entries("categories")]
        codes, widths = saved.arrays("codes", (None,)), saved.positions("widths")
        saved.check(len(categories) == len(codes) == len(widths), "codes")
        for cells, code, width in zip(categories, codes, widths, strict=True):
            saved.check(code.dtype.kind == "i" and len(code) == len(cells) + 1, "codes")
            saved.check(bool(((code >= -1) & (code < width)).all()), "codes")
        saved.check(int(widths.sum()) < 2**31, "widths")
        return cls(categories, codes, widths, saved.flag("refuses_unknown"), saved.dtype("dtype"), saved.flag("sparse"))

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return int(self.widths.sum())

    def transform(self, rows: Table) -> Table:
        """Encode every column."""
        positions = self._positions(rows, self.refuses_unknown)
        starts = np.concatenate([[0], np.cumsum(self.widths)])
        n_rows = len(positions[0]) if positions else 0
        ones = np.zeros((n_rows, int(starts[-1])), np.bool_)
        for start, codes, at in zip(starts, self.codes, positions, strict=False):
            code = codes[at]  # -1, unknown, is the last
            ones[np.flatnonzero(code >= 0), start + code[code >= 0]] = True
        matrix = ones.astype(self.dtype)
        return Sparse(matrix, ones) if self.sparse else matrix


@dataclass(frozen=True)
class Encoded(_Encoder):
    """Turns each category into numbers.

    Attributes
    ----------
    categories
        The categories of each column.
    values
        For each column, the numbers of each category: (categories + 1, numbers). The last row is for unknown ones.
    refuses_unknown
        Whether unknown categories are refused.
    dtype
        The type of the numbers.
    """

    KIND: ClassVar[str] = "encoded"

    categories: list[list[Cell]]
    values: list[NDArray[Any]]
    refuses_unknown: bool
    dtype: str

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        categories = [saved.cells(cells, "categories") for cells in saved.entries("categories")]
        values = saved.arrays("values", (None, None))
        saved.check(len(categories) == len(values), "values")
        for cells, numbers in zip(categories, values, strict=True):
            saved.check(len(numbers) == len(cells) + 1, "values")
        return cls(categories, values, saved.flag("refuses_unknown"), saved.dtype("dtype"))

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return sum(values.shape[1] for values in self.values)

    def transform(self, rows: Table) -> Table:
        """Encode every column."""
        positions = self._positions(rows, self.refuses_unknown)
        n_rows = len(positions[0]) if positions else 0
        out = np.empty((n_rows, sum(values.shape[1] for values in self.values)), self.dtype)
        start = 0
        for values, at in zip(self.values, positions, strict=True):
            out[:, start : start + values.shape[1]] = values[at]
            start += values.shape[1]
        return out


def _trial(encoder: Any) -> tuple[list[list[Cell]], NDArray[Any], bool]:
    """Ask an encoder for each of its categories: return them, the results, and whether it refuses unknown ones.

    Row r of the results belongs to category r of each column, and the last row to unknown categories.
    """
    known = [_plain(categories) for categories in encoder.categories_]
    longest = max(map(len, known), default=0)
    rows = np.empty((longest, len(known)), dtype=object)
    for j, cells in enumerate(known):
        for place in range(longest):
            rows[place, j] = cells[min(place, len(cells) - 1)]
    results = asked(encoder, rows)
    try:
        unknown = asked(encoder, np.full((1, len(known)), _UNKNOWN, dtype=object))
    except ValueError:
        return known, np.concatenate([results, np.zeros_like(results[:1])]), True
    return known, np.concatenate([results, unknown]), False


def _plain(categories: NDArray[Any]) -> list[Cell]:
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in categories.tolist()]
    for cell in cells:
        if not (cell is None or isinstance(cell, (str, int, float, bool))):
            raise Unsaved(f"its category {cell!r} is a {type(cell).__name__}, but only texts and numbers can be saved")
    return cells


def _with_unknown(results: NDArray[Any], n_categories: int) -> NDArray[Any]:
    return np.concatenate([results[:n_categories], results[-1:]])


def _write_one_hot(encoder: Any) -> Step:
    categories, results, refuses = _trial(encoder)
    codes, widths, start = [], [int(width) for width in encoder._n_features_outs], 0
    for cells, width in zip(categories, widths, strict=True):
        ones = _with_unknown(results[:, start : start + width], len(cells)) != 0
        codes.append(np.where(ones.any(axis=1), ones.argmax(axis=1) if width else 0, -1).astype(np.int64))
        start += width
    dtype = np.dtype(encoder.dtype).name
    return OneHot(categories, codes, np.array(widths, np.int64), refuses, dtype, bool(encoder.sparse_output))


def _write_values(encoder: Any) -> Step:
    categories, results, refuses = _trial(encoder)
    width = results.shape[1] // max(1, len(categories))
    values = [_with_unknown(results[:, j * width : (j + 1) * width], len(cells)) for j, cells in enumerate(categories)]
    return Encoded(categories, values, refuses, results.dtype.name)


STEPS: tuple[type[Step], ...] = (OneHot, Encoded)
WRITERS: dict[str, WriteStep] = {
    "OneHotEncoder": _write_one_hot,
    "OrdinalEncoder": _write_values,
    "TargetEncoder": _write_values,
}
