"""Rows in arrays, or in lists that NumPy turns into arrays, before their cells are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError


def as_table(data: Any, what: str) -> NDArray[Any]:
    """Read a 2-D array of any dtype, or anything that NumPy turns into one."""
    array = as_array(data, what)
    _check_two_dimensional(array, data, what)
    return array


def as_cells(data: Any, what: str) -> NDArray[Any]:
    """Read a 2-D array of any dtype, or lists of cells, in which a number beside a text stays a number."""
    if isinstance(data, (list, tuple)) and data and all(isinstance(row, (list, tuple)) for row in data):
        if len({len(row) for row in data}) > 1:
            raise InputError(f"{what} is a list of rows of different lengths")
        cells = np.empty((len(data), len(data[0])), object)
        for at, row in enumerate(data):  # cell by cell, because a cell may itself be a list
            for j, cell in enumerate(row):
                cells[at, j] = cell
        return cells
    return as_table(data, what)


def as_array(data: Any, what: str) -> NDArray[Any]:
    """Read an array, or anything that NumPy turns into one, without checking its shape or dtype."""
    if isinstance(data, np.ma.MaskedArray):
        return data  # NumPy's conversion would drop the mask
    try:
        array = np.asarray(data)
    except (TypeError, ValueError, RuntimeError) as error:
        _check_equal_lengths(data, what)
        raise InputError(f"{what}: a {_type_name(data)} cannot be read as a matrix: {error}") from error
    if array.dtype.kind in "US" and isinstance(data, (list, tuple)):
        return np.asarray(
            data, dtype=object
        )  # one text cell made all cells text; as objects, errors can name that cell
    return array


def _check_equal_lengths(data: Any, what: str) -> None:
    if isinstance(data, (list, tuple)) and all(hasattr(row, "__len__") for row in data):
        for i, row in enumerate(data):
            if len(row) != len(data[0]):
                raise InputError(f"{what}: row {i} has {len(row)} values, but row 0 has {len(data[0])}")


def _check_two_dimensional(array: NDArray[Any], data: Any, what: str) -> None:
    if array.ndim == 2:
        return
    if array.ndim == 0:
        raise InputError(f"{what} is a {_type_name(data)}, which cannot be read as rows; {_advice(data)}")
    if array.dtype.names:
        raise InputError(f"{what} is a structured array; give a plain 2-D array or a DataFrame")
    if array.ndim == 1:
        is_series = type(data).__name__ == "Series"
        row = f"select it with {what}.iloc[[i]]" if is_series else f"pass [{what}]"
        advice = f"for a single row, {row}"
        raise InputError(f"{what} is one-dimensional, of length {len(array)}, but rows must be a 2-D matrix; {advice}")
    raise InputError(f"{what} has {array.ndim} dimensions, shape {array.shape}; rows must be a 2-D matrix")


def _advice(data: object) -> str:
    if type(data).__name__ == "LazyFrame":
        return "call .collect() on it first"
    if type(data).__module__.partition(".")[0] in ("xgboost", "lightgbm", "catboost", "shap"):
        return "give the rows that it was made from"  # a DMatrix, Dataset, Pool, masker
    return "give a 2-D array, list of rows, pandas or polars DataFrame, pyarrow Table or scipy.sparse matrix"


def _type_name(data: object) -> str:
    return f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
