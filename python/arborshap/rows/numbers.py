"""Cells to floats: which cells are numbers, which float type holds them exactly, and errors that name the cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError

Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

EXACT_INTEGER = 2**53
"""float64 holds every integer up to here; beyond, a column of identifiers would be rounded silently."""

_BLOCK = 4096  # rows written at a time, so that this slice of the matrix stays in cache


def matrix_from_array(array: NDArray[Any], what: str, names: Sequence[str] | None) -> Matrix:
    """Turn a 2-D array of any real dtype into a float matrix; copy only if necessary."""
    columns = array.shape[1]
    labels: Sequence[str | int] = names if names is not None and len(names) == columns else range(columns)
    if isinstance(array, np.ma.MaskedArray):
        masked, filled = np.ma.getmaskarray(array), array.filled(0)
        matrix = matrix_from_array(filled, what, names)
        return np.where(masked, matrix.dtype.type(np.nan), matrix)
    if array.dtype.kind == "O":
        return matrix_from_columns([array[:, j] for j in range(columns)], labels, what, len(array))
    if array.dtype.kind not in "fiub":
        raise refused(what, labels[0] if columns else 0, array.dtype)
    at = _first_too_big(array)
    if at is not None:
        row, column = divmod(at, columns)
        raise _too_big(what, labels[column], row, array[row, column])
    return np.require(array, _float_dtype([array.dtype]), ["C", "A"])


def matrix_from_columns(columns: Iterable[NDArray[Any]], names: Sequence[str | int], what: str, n_rows: int) -> Matrix:
    """Put columns of any real dtypes side by side."""
    ready = [floats(column, what, name) for column, name in zip(columns, names, strict=True)]
    matrix = np.empty((n_rows, len(ready)), dtype=_float_dtype(column.dtype for column in ready))
    for start in range(0, n_rows, _BLOCK):
        for j, column in enumerate(ready):
            matrix[start : start + _BLOCK, j] = column[start : start + _BLOCK]
    return matrix


def matrix_from_sparse(sparse: Any, what: str, zero_is_missing: bool) -> Matrix:
    """Turn a scipy.sparse matrix into a dense one; entries that it does not store become zero or NaN."""
    if sparse.ndim != 2:
        raise InputError(f"{what} is a {sparse.ndim}-dimensional sparse array; rows must be a 2-D matrix")
    rows = sparse.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # summing repeated entries would change the caller's matrix
        rows.sum_duplicates()
    entries = rows.tocoo()
    stored: NDArray[Any] = entries.data
    if stored.dtype.kind not in "fiub":
        raise InputError(f"{what} is a sparse matrix of {stored.dtype}; it must hold numbers")
    at = _first_too_big(stored)
    if at is not None:
        raise _too_big(what, int(entries.col[at]), int(entries.row[at]), stored[at])
    absent = np.nan if zero_is_missing else 0.0
    matrix = np.full(rows.shape, absent, dtype=_float_dtype([stored.dtype]))
    matrix[entries.row, entries.col] = stored
    return matrix


def with_missing(filled: NDArray[Any], missing: NDArray[np.bool_], what: str, name: str) -> NDArray[np.float64]:
    """Turn a nullable column of integers into float64, with NaN for missing entries."""
    column = floats(filled, what, name).astype(np.float64)
    column[missing] = np.nan
    return column


def is_missing(cell: Any) -> bool:
    """Whether a cell of any type is missing: None, NaN, or one of pandas' own markers."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    # NaN differs from itself. For a cell of any other type, `!=` may not even return a bool.
    return isinstance(cell, (Real, Decimal, np.datetime64, np.timedelta64)) and bool(cell != cell)


def refused(what: str, name: str | int, dtype: object) -> InputError:
    """Return the error for a column that cannot be read as numbers."""
    return InputError(
        f"{_said(what)}column {name!r} has dtype {dtype}, which is not numeric; encode it as for training"
    )


def _said(what: str) -> str:
    """Return the beginning of a message: the name of the rows, if it is known."""
    return f"{what}: " if what else ""


def _float_dtype(dtypes: Iterable[np.dtype[Any]]) -> np.dtype[Any]:
    """Return float32 if it holds every column exactly, and float64 otherwise."""
    narrow = all(dtype.kind == "f" and dtype.itemsize <= 4 for dtype in dtypes)
    return np.dtype(np.float32 if narrow else np.float64)


def floats(column: NDArray[Any], what: str, name: str | int) -> NDArray[Any]:
    """Turn a column of any real dtype into floats; refuse cells that are not numbers or would be rounded."""
    match column.dtype.kind:
        case "f":
            return column
        case "b":
            return column.astype(np.float64)
        case "i" | "u":
            row = _first_too_big(column)
            if row is not None:
                raise _too_big(what, name, row, column[row])
            return column.astype(np.float64)
        case "O":
            cells = (_number(cell, what, name, row) for row, cell in enumerate(column))
            return np.fromiter(cells, np.float64, count=len(column))
        case _:
            raise refused(what, name, column.dtype)


def _number(cell: Any, what: str, name: str | int, row: int) -> float:
    """Read one cell of an object column: a real number, or a missing value (None, pandas.NA)."""
    if is_missing(cell):
        return float("nan")
    if not isinstance(cell, (Real, Decimal, np.bool_)):
        shown = repr(cell)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        raise InputError(
            f"{_said(what)}row {row} of column {name!r} is {shown}, not a number; encode it as for training"
        )
    if isinstance(cell, Integral) and abs(int(cell)) > EXACT_INTEGER:
        raise _too_big(what, name, row, cell)
    return float(cell)


def _first_too_big(values: NDArray[Any]) -> int | None:
    """Find the first integer, in C order, that float64 would round."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return None
    wrong = (values > EXACT_INTEGER) | (values < -EXACT_INTEGER)
    return int(wrong.argmax()) if wrong.any() else None


def _too_big(what: str, name: str | int, row: int, value: object) -> InputError:
    return InputError(
        f"{_said(what)}row {row} of column {name!r} is {value}, beyond 2**53, where float64 no longer holds every "
        "integer; if you accept rounding, convert the column to float64 yourself"
    )
