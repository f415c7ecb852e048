"""Rows without types: lists of dicts, and tables whose cells are Python objects, such as JSON or a CSV file gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.rows.numbers import is_missing


@dataclass(frozen=True, slots=True)
class Cells:
    """A table of Python objects with the names of its columns, for a model that recodes categories.

    Attributes
    ----------
    names
        The names of the columns, or their positions if they have no names.
    table
        The cells: (rows, columns).
    """

    names: Sequence[str | int]
    table: NDArray[Any]

    @classmethod
    def of(cls, table: NDArray[Any], names: Sequence[str] | None = None) -> Cells:
        """Name the columns of a table; without names, by their positions."""
        known = names is not None and len(names) == table.shape[1]
        return cls(names if known and names is not None else range(table.shape[1]), table.astype(object, copy=False))


def is_records(data: Any) -> bool:
    """Whether rows are a list of dicts."""
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(row, Mapping) for row in data)


def table_of_records(data: Any, what: str, names: Sequence[str] | None) -> tuple[NDArray[Any], list[str]]:
    """Turn a list of dicts into a table with its columns in the order of `names`, or of the first dict."""
    wanted = [str(name) for name in (data[0] if names is None else names)]
    table = np.empty((len(data), len(wanted)), dtype=object)
    for i, row in enumerate(data):
        cells = {str(name): cell for name, cell in row.items()}
        missing = [name for name in wanted if name not in cells]
        unknown = sorted(cells.keys() - set(wanted))
        if missing or unknown:
            lacks = f"has no {', '.join(map(repr, missing[:5]))}" if missing else ""
            has = f"has {', '.join(map(repr, unknown[:5]))}, which the model does not know" if unknown else ""
            raise InputError(f"{what}: row {i} {' and '.join(filter(None, (lacks, has)))}")
        table[i] = [cells[name] for name in wanted]
    return table, wanted


def codes_of_cells(name: str | int, cells: Sequence[Any], known: Sequence[Any]) -> NDArray[np.float64]:
    """Return the code of each cell of a category column whose cells have no types.

    A text is a category's name. A number is a code if all categories are text; otherwise it could be a code or a
    category, so it is refused.
    """
    by_text = {f"{category:g}": float(code) for code, category in enumerate(known) if isinstance(category, float)}
    by_text |= {str(category): float(code) for code, category in enumerate(known)}
    only_text = all(isinstance(category, str) for category in known)
    codes = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if is_missing(cell):
            continue
        is_name = isinstance(cell, (str, bool, np.bool_))
        code = by_text.get(str(cell)) if is_name else _as_code(cell, len(known)) if only_text else None
        if code is None:
            advice = "" if is_name or only_text else f"; give the category as text, such as {str(known[0])!r}"
            raise InputError(
                f"row {row} of column {name!r} is {str(cell)[:40]!r}, which is not one of the categories of training: "
                f"{_listed(known)}{advice}"
            )
        codes[row] = code
    return codes


def _as_code(cell: Any, n_categories: int) -> float | None:
    try:
        code = float(cell)
    except (TypeError, ValueError):
        return None
    return code if code.is_integer() and 0 <= code < n_categories else None


def _listed(known: Sequence[Any]) -> str:
    shown = ", ".join(repr(category) for category in known[:10])
    return shown if len(known) <= 10 else f"{shown} and {len(known) - 10} more"
