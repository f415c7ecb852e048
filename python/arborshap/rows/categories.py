"""Category columns of a frame as the codes of training, matched by the category's name and never by position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.rows.records import Cells

Unknown: TypeAlias = Callable[[str, Any], float]
"""Returns the code of a category that the model never saw, given the column's name and the category."""


def column_of(frame: Any, j: int) -> tuple[str, Any]:
    """Return the name and the column at position `j` of a pandas, polars or pyarrow frame, or of a table of cells."""
    if isinstance(frame, Cells):
        return str(frame.names[j]), frame.table[:, j]
    if hasattr(frame, "iloc"):
        return str(frame.columns[j]), frame.iloc[:, j]
    if hasattr(frame, "schema") and hasattr(frame.schema, "names") and hasattr(frame, "column"):
        name = frame.schema.names[j]
        return name, frame.column(j)
    return str(frame.columns[j]), frame[frame.columns[j]]


def has_text(column: Any) -> bool:
    """Whether a column without a category type holds text, or nothing but missing cells that could stand for text."""
    if isinstance(column, np.ndarray):
        return bool(column.dtype.kind == "O")
    kind = str(column.type if hasattr(column, "type") else column.dtype)
    if kind in ("object", "str", "string", "large_string", "String", "Utf8", "Null", "null"):
        return True
    return hasattr(column, "isna") and bool(column.isna().all())  # a missing category in a row of a pandas frame


def cells_in(column: Any) -> list[Any]:
    """Return the cells of a column of any kind as Python objects."""
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    return list(column.to_list() if hasattr(column, "to_list") else column)


def is_category(column: Any) -> bool:
    """Whether a column holds categories rather than numbers."""
    if hasattr(column, "type"):
        return str(column.type).startswith("dictionary")
    return type(column.dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum")


def position_codes(name: str, column: Any) -> NDArray[np.float64]:
    """Return the codes that a pandas category column itself uses; a missing entry becomes NaN."""
    if not hasattr(column, "iloc"):
        raise InputError(
            f"column {name!r}: the model does not record which categories its codes stand for; "
            "give the codes as numbers, or a pandas category column with the categories in the order of training"
        )
    codes = column.cat.codes.to_numpy().astype(np.float64)
    return np.where(codes < 0, np.nan, codes)


def _distinct(column: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Return the codes and the categories of a category column; the code of a missing entry is -1."""
    if hasattr(column, "iloc"):
        return column.cat.codes.to_numpy().astype(np.int64), list(column.cat.categories)
    code_of: dict[Any, int] = {}
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    codes = [-1 if value is None else code_of.setdefault(value, len(code_of)) for value in values]
    return np.array(codes, np.int64), list(code_of)


def categories_of(column: Any) -> list[Any]:
    """Return the categories of a category column: of a pandas column all in order, of others those that it holds."""
    return _distinct(column)[1]


def codes_by_name(name: str, column: Any, known: Sequence[Any], unknown: Unknown) -> NDArray[np.float64]:
    """Recode a category column to the model's own codes; a missing entry becomes NaN."""
    codes, categories = _distinct(column)
    position = {category: float(code) for code, category in enumerate(known)}
    recoded = np.full(len(categories) + 1, np.nan)
    for code in np.unique(codes[codes >= 0]).tolist():
        category = categories[code]
        recoded[code] = position[category] if category in position else unknown(name, category)
    return recoded[codes]
