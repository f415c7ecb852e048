"""What flows between the steps of a pipeline: an array, a frame of columns, or a sparse matrix.

scikit-learn computes in the type that the rows come in, and numpy adds numbers in the order in which they lie in
memory. To end in the same bits, each kind of rows becomes an array here exactly as it does there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.rows.frames import frame_library, is_sparse

Array: TypeAlias = NDArray[Any]
Wanted: TypeAlias = Literal["floats", "wide floats", "numbers", "cells"]
"""Which types a step keeps: any float; float64 and float32; any number; anything. All others become float64."""

_KEPT = {"floats": "dfe", "wide floats": "df"}


class CellError(InputError):
    """A cell that a step refuses.

    Attributes
    ----------
    row
        The row.
    column
        The column among those that go into the step; ``None`` if it is not one of the pipeline's own columns.
    why
        What is wrong with the cell, as a sentence without a subject.
    """

    def __init__(self, row: int, column: int | None, why: str) -> None:
        super().__init__(f"row {row}{'' if column is None else f' of column {column}'} {why}")
        self.row, self.column, self.why = row, column, why

    def at(self, column: int | None) -> CellError:
        """Return the same error for another column."""
        return CellError(self.row, column, self.why)


@dataclass(frozen=True)
class Frame:
    """Columns of different types.

    Attributes
    ----------
    columns
        One-dimensional arrays, or the columns of a frame, which are converted when a step needs them.
    n_rows
        Number of rows.
    keeps_floats
        Whether scikit-learn keeps float32 and float16 (pandas) or turns every number into float64 (polars).
    source
        The pandas frame that the columns belong to, if they come from one: it knows how they lie in memory.
    """

    columns: Sequence[Any]
    n_rows: int
    keeps_floats: bool = True
    source: Any = None

    @cached_property
    def arrays(self) -> list[Array]:
        """The columns as arrays: numbers, or objects."""
        return [_cells(column) for column in self.columns]

    def array(self, dtype: Any) -> Array:
        """Return a new array of the columns, which lies in memory as the frame does, in general column by column."""
        if self.source is not None and all(_is_number(kind) for kind in self.source.dtypes):
            return np.array(np.asarray(self.source, dtype))
        out = np.empty((len(self.columns), self.n_rows), dtype)
        for j, column in enumerate(self.arrays):
            out[j] = column
        return out.T


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse matrix, written out: entries that are not stored are zeros in `matrix`."""

    matrix: Array
    stored: NDArray[np.bool_]

    @classmethod
    def of(cls, matrix: Array) -> Sparse:
        """Store what is not zero, as scipy does when it reads a dense matrix."""
        stored = np.asarray(matrix != 0)
        return cls(np.where(stored, matrix, matrix.dtype.type(0)), stored)

    def replaced(self, values: Array) -> Sparse:
        """Replace the stored entries."""
        return Sparse(np.where(self.stored, values, values.dtype.type(0)), self.stored)


Table: TypeAlias = Array | Frame | Sparse


def table_of(rows: Any) -> Table:
    """Read a pandas, polars or pyarrow frame, a scipy.sparse matrix or an array."""
    match frame_library(rows):
        case "pandas":
            return Frame([column for _, column in rows.items()], len(rows), source=rows)
        case "polars":
            return Frame(rows.get_columns(), len(rows), keeps_floats=False)
        case "pyarrow":
            return Frame(rows.columns, rows.num_rows)
    if is_sparse(rows):
        entries = rows.tocoo()
        stored = np.zeros(rows.shape, np.bool_)
        stored[entries.row, entries.col] = True
        return Sparse(rows.toarray(), stored)
    return rows.astype(object) if rows.dtype.kind in "US" else np.asarray(rows)


def shape_of(rows: Table) -> tuple[int, int]:
    """Return the number of rows and of columns."""
    if isinstance(rows, Frame):
        return rows.n_rows, len(rows.columns)
    matrix = rows.matrix if isinstance(rows, Sparse) else rows
    return matrix.shape[0], matrix.shape[1]


def columns_at(rows: Table, positions: Any) -> Table:
    """Select columns by their positions, or by a slice."""
    if isinstance(rows, Frame):
        chosen = range(len(rows.columns))[positions] if isinstance(positions, slice) else positions
        source = None if rows.source is None else rows.source.iloc[:, positions]
        return Frame([rows.columns[j] for j in chosen], rows.n_rows, rows.keeps_floats, source)
    if isinstance(rows, Sparse):
        return Sparse(rows.matrix[:, positions], rows.stored[:, positions])
    return rows[:, positions]


def single_columns(rows: Table) -> list[Array]:
    """Return the columns one by one, each in its own type."""
    if isinstance(rows, Frame):
        if rows.keeps_floats:
            return rows.arrays
        rows = as_array(rows)
    matrix = dense(rows, "categories")
    return [matrix[:, j] for j in range(matrix.shape[1])]


def dense(rows: Array | Sparse, taker: str) -> Array:
    """Return an array, and refuse a sparse matrix, which scikit-learn computes on in another order."""
    if isinstance(rows, Sparse):
        raise InputError(f"a sparse matrix cannot be replayed by {taker}; make the rows or the step before it dense")
    return rows


def as_array(rows: Frame) -> Array:
    """Turn a frame into an array as numpy itself does: booleans beside numbers become objects."""
    dtype = _common(rows)
    kinds = {column.dtype.kind for column in rows.arrays}
    return rows.array(object if rows.keeps_floats and "b" in kinds and len(kinds) > 1 else dtype)


def numbers(rows: Table, wanted: Wanted, taker: str, *, missing: bool = True, infinite: bool = False) -> Array:
    """Turn rows into an array of numbers as scikit-learn does before it computes.

    Parameters
    ----------
    rows
        The rows, which are not changed.
    wanted
        The types that are kept.
    taker
        What to call the step in messages.
    missing
        Whether NaN is allowed.
    infinite
        Whether infinity is allowed.
    """
    given = rows if isinstance(rows, Frame) else dense(rows, taker)
    own = _common(given) if isinstance(given, Frame) else given.dtype
    if wanted in _KEPT:
        is_kept = own.char in _KEPT[wanted] and not (isinstance(given, Frame) and not given.keeps_floats)
        dtype = own if is_kept else np.dtype(np.float64)
    else:
        dtype = np.dtype(np.float64) if own.kind == "O" and wanted == "numbers" else own
    try:
        found = given.array(dtype) if isinstance(given, Frame) else np.array(given, dtype)
    except (TypeError, ValueError) as error:
        raise InputError(f"its columns must hold numbers: {error}") from error
    if found.dtype.kind not in "fiubO":
        raise InputError(f"its columns must hold numbers, not {found.dtype}")
    if found.dtype.kind == "f" and not infinite:
        _check_finite(found, missing)
    return found


def _check_finite(found: Array, missing: bool) -> None:
    wrong = np.isinf(found) if missing else ~np.isfinite(found)
    if wrong.any():
        row, column = (int(place) for place in np.argwhere(wrong)[0])
        what = "missing" if np.isnan(found[row, column]) else "infinite"
        raise CellError(row, column, f"is {what}")


def _is_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "fiu"


def _common(frame: Frame) -> np.dtype[Any]:
    dtypes = [column.dtype for column in frame.arrays]
    if any(dtype.kind not in "fiub" for dtype in dtypes):
        return np.dtype(object)
    return np.result_type(*dtypes) if dtypes else np.dtype(np.float64)


def _cells(column: Any) -> Array:
    """Return a column of a frame as an array: nullable numbers become float64 with NaN."""
    if isinstance(column, np.ndarray):
        return column.astype(object) if column.dtype.kind in "US" else column
    if hasattr(column, "iloc"):
        dtype = column.dtype
        is_nullable = not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "O") in "iufb"
        if is_nullable and type(dtype).__name__ not in ("SparseDtype", "CategoricalDtype"):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return _cells(np.asarray(column))
    if hasattr(column, "type"):  # pyarrow
        if hasattr(column, "combine_chunks") and str(column.type).startswith("dictionary"):
            column = column.combine_chunks()
        if str(column.type).startswith("dictionary"):
            column = column.dictionary_decode()
        return _cells(column.to_numpy(zero_copy_only=False))
    return _cells(column.to_numpy())
