"""The columns of frames as arrays of numbers, with NaN for missing cells: one function per library."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.rows.numbers import floats, refused, with_missing


def columns_of(frame: Any, kind: str, names: list[str], what: str) -> Iterable[NDArray[Any]]:
    """Read the columns of a frame one after another; `kind` is the frame's library."""
    columns: Iterable[Any]
    match kind:
        case "pandas":
            columns = (column for _, column in frame.items())
        case "polars":
            columns = frame.get_columns()
        case _:
            columns = frame.columns
    read = _READ[kind]
    for name, column in zip(names, columns, strict=True):
        yield read(column, name, what)


def numbers(name: str, column: Any) -> NDArray[np.float64]:
    """Read one column of a pandas, polars or pyarrow frame, or of a table of cells, as float64."""
    if isinstance(column, np.ndarray):
        return np.asarray(floats(column, "", name), np.float64)
    kind = "pandas" if hasattr(column, "iloc") else "pyarrow" if hasattr(column, "type") else "polars"
    return np.asarray(floats(_READ[kind](column, name, ""), "", name), np.float64)


def _pandas_column(column: Any, name: str, what: str) -> NDArray[Any]:
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return np.asarray(column.to_numpy())
    if type(dtype).__name__ == "SparseDtype":
        return np.asarray(column.array)
    if dtype.kind in "iu":
        filled = column.fillna(0).to_numpy(dtype=np.int64 if dtype.kind == "i" else np.uint64)
        return with_missing(filled, column.isna().to_numpy(), what, name)
    if dtype.kind in "fb":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    raise refused(what, name, dtype)


def _polars_column(column: Any, name: str, what: str) -> NDArray[Any]:
    import polars

    if column.dtype.is_integer():
        return with_missing(column.fill_null(0).to_numpy(), column.is_null().to_numpy(), what, name)
    if column.dtype.is_float():
        return np.asarray(column.to_numpy())
    if column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.Null):
        return np.asarray(column.cast(polars.Float64).to_numpy())
    raise refused(what, name, column.dtype)


def _arrow_column(column: Any, name: str, what: str) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        missing = column.is_null().to_numpy(zero_copy_only=False)
        return with_missing(column.fill_null(0).to_numpy(zero_copy_only=False), missing, what, name)
    if pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if pa.types.is_decimal(column.type) or pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    raise refused(what, name, column.type)


_READ: dict[str, Callable[[Any, str, str], NDArray[Any]]] = {
    "pandas": _pandas_column,
    "polars": _polars_column,
    "pyarrow": _arrow_column,
}
