"""Category columns of a frame as the codes a model was trained on, matched by name and never by position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError

Unknown: TypeAlias = Callable[[str, Any], float]
"""What a category the model never saw becomes, given the column's name and the category."""


def column_of(frame: Any, j: int) -> tuple[str, Any]:
    """Return the name and the column at a position of a pandas, polars or pyarrow frame."""
    if hasattr(frame, "iloc"):
        return str(frame.columns[j]), frame.iloc[:, j]
    if hasattr(frame, "schema") and hasattr(frame.schema, "names") and hasattr(frame, "column"):
        name = frame.schema.names[j]
        return name, frame.column(j)
    return str(frame.columns[j]), frame[frame.columns[j]]


def is_category(column: Any) -> bool:
    """Whether a column holds categories rather than numbers."""
    if hasattr(column, "type"):
        return str(column.type).startswith("dictionary")
    return type(column.dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum")


def own_categories(column: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Return a category column's own codes (-1 where missing) and what they stand for."""
    if hasattr(column, "type"):
        column = column.combine_chunks().dictionary_encode() if hasattr(column, "combine_chunks") else column
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return codes.astype(np.int64), column.dictionary.to_pylist()
    if hasattr(column, "cat") and hasattr(column.cat, "categories"):
        return column.cat.codes.to_numpy().astype(np.int64), list(column.cat.categories)
    physical = column.to_physical()
    codes = physical.cast(int).fill_null(-1).to_numpy().astype(np.int64)
    return codes, list(column.cat.get_categories())


def codes_by_name(name: str, column: Any, known: Sequence[Any], unknown: Unknown) -> NDArray[np.float64]:
    """Recode a category column to the model's own codes; a missing entry becomes NaN."""
    codes, categories = own_categories(column)
    position = {category: float(code) for code, category in enumerate(known)}
    table = np.full(len(categories) + 1, np.nan)
    for code in np.unique(codes[codes >= 0]).tolist():
        category = categories[code]
        table[code] = position[category] if category in position else unknown(name, category)
    return table[codes]


def numbers(name: str, column: Any) -> NDArray[np.float64]:
    """Return a plain column's numbers; a missing entry becomes NaN."""
    try:
        if hasattr(column, "iloc"):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), np.float64)
        if hasattr(column, "type"):
            return np.asarray(column.cast("float64").to_numpy(zero_copy_only=False), np.float64)
        return np.asarray(column.cast(float).to_numpy(), np.float64)
    except Exception as error:
        kind = getattr(column, "dtype", getattr(column, "type", "unknown"))
        raise InputError(f"column {name!r} of type {kind} cannot be read as numbers") from error
