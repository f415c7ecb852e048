"""The columns of frames as arrays of numbers, with NaN for what is missing: one function for each library."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap._numbers import refused, with_missing


def _pandas_columns(frame: Any, names: list[str], what: str) -> Iterable[NDArray[Any]]:
    for name, (_, column) in zip(names, frame.items(), strict=True):
        dtype = column.dtype
        if isinstance(dtype, np.dtype):
            yield column.to_numpy()
        elif type(dtype).__name__ == "SparseDtype":
            yield np.asarray(column.array)
        elif dtype.kind in "iu":
            filled = column.fillna(0).to_numpy(dtype=np.int64 if dtype.kind == "i" else np.uint64)
            yield with_missing(filled, column.isna().to_numpy(), what, name)
        elif dtype.kind in "fb":
            yield column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            raise refused(what, name, dtype)


def _polars_columns(frame: Any, names: list[str], what: str) -> Iterable[NDArray[Any]]:
    import polars

    for name, column in zip(names, frame.get_columns(), strict=True):
        if column.dtype.is_integer():
            yield with_missing(column.fill_null(0).to_numpy(), column.is_null().to_numpy(), what, name)
        elif column.dtype.is_float():
            yield column.to_numpy()
        elif column.dtype.is_numeric() or column.dtype in (polars.Boolean, polars.Null):
            yield column.cast(polars.Float64).to_numpy()
        else:
            raise refused(what, name, column.dtype)


def _arrow_columns(frame: Any, names: list[str], what: str) -> Iterable[NDArray[Any]]:
    import pyarrow as pa

    for j, name in enumerate(names):
        column = frame.column(j)
        if pa.types.is_integer(column.type):
            missing = column.is_null().to_numpy(zero_copy_only=False)
            yield with_missing(column.fill_null(0).to_numpy(zero_copy_only=False), missing, what, name)
        elif pa.types.is_floating(column.type):
            yield column.to_numpy(zero_copy_only=False)
        elif pa.types.is_decimal(column.type) or pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
            yield column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        else:
            raise refused(what, name, column.type)


COLUMNS_OF: dict[str, Callable[[Any, list[str], str], Iterable[NDArray[Any]]]] = {
    "pandas": _pandas_columns,
    "polars": _polars_columns,
    "pyarrow": _arrow_columns,
}
