"""What a model's library does to rows before its trees see them, as plain data that can be saved.

Each class here is a function: it takes a frame or float matrix with its columns in the model's order, and returns the
float matrix that the trees see.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.models.cut_names import WRONG, first_unsure, settled
from arborshap.rows.categories import (
    categories_of,
    cells_in,
    codes_by_name,
    column_of,
    has_text,
    is_category,
    position_codes,
)
from arborshap.rows.columns import numbers
from arborshap.rows.records import Cells, codes_of_cells

Category: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class XGBoostRecoding:
    """Turns category columns of a frame into the codes of training, and the wrapper's ``missing=`` marker into NaN.

    Names of categories that XGBoost itself wrote wrongly are mended by the first frame that shows what they were.

    Attributes
    ----------
    categories
        Per feature, the categories that its codes stand for, if the model records them.
    missing
        The marker; NaN if there is none.
    unsure
        The features whose names XGBoost may have written wrongly, until rows tell.
    """

    categories: list[list[Any] | None]
    missing: float = math.nan
    unsure: list[int] = field(default_factory=list)

    takes_cells: ClassVar[bool] = True

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        """Recode rows."""
        rows = _named_cells(rows)
        if isinstance(rows, np.ndarray):
            matrix = rows.astype(np.float64)
        else:
            matrix = np.column_stack([self._column(j, *column_of(rows, j)) for j in range(len(self.categories))])
        if not math.isnan(self.missing):
            # XGBoost converts values to float32 before it compares them.
            matrix[matrix.astype(np.float32) == np.float32(self.missing)] = np.nan
        return matrix

    def _column(self, j: int, name: str, column: Any) -> NDArray[np.float64]:
        known = self.categories[j]
        if known is None:
            return position_codes(name, column) if is_category(column) else numbers(name, column)
        if is_category(column):
            known = self._settled(j, name, known, categories_of(column))
            return codes_by_name(name, column, known, _refuse)
        if has_text(column):
            cells = cells_in(column)
            return codes_of_cells(name, cells, self._settled(j, name, known, cells))
        raise InputError(f"column {name!r} held categories in training; give it a category type here too, or give text")

    def _settled(self, j: int, name: str, known: list[Any], shown: list[Any]) -> list[Any]:
        """Return the names of a feature's categories; mend them if the names that are shown tell what they were."""
        if j not in self.unsure:
            return known
        found = settled(known, shown)
        if found is not None:
            self.categories[j] = found
            self.unsure.remove(j)
            return found
        sure = known[: first_unsure(known)]
        for category in shown:
            if isinstance(category, str) and category not in sure:
                raise InputError(f"column {name!r}: it is not known which code {category!r} has in the model. {WRONG}")
        return known


@dataclass(frozen=True, slots=True)
class LightGBMRecoding:
    """Turns category columns of a frame, in order, into the codes of training, by the category's name.

    Attributes
    ----------
    n_features
        Number of columns of a row.
    categories
        The categories that the codes of each category column stand for, in the order of those columns.
    category_columns
        The positions of these columns, as far as the model records them.
    """

    n_features: int
    categories: list[list[Any]]
    category_columns: list[int]

    takes_cells: ClassVar[bool] = True

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        """Recode rows."""
        rows = _named_cells(rows)
        if isinstance(rows, np.ndarray):
            return rows.astype(np.float64)
        columns = [column_of(rows, j) for j in range(self.n_features)]
        found = [j for j, (_, column) in enumerate(columns) if self._holds_categories(j, column)]
        self._check_category_columns(columns, found)
        known = dict(zip(found, self.categories, strict=True))
        return np.column_stack([self._column(known.get(j), *named) for j, named in enumerate(columns)])

    def _column(self, known: list[Any] | None, name: str, column: Any) -> NDArray[np.float64]:
        if known is None:
            return numbers(name, column)
        if is_category(column):
            # LightGBM itself treats an unknown category as missing.
            return codes_by_name(name, column, known, lambda *_: np.nan)
        return codes_of_cells(name, cells_in(column), known)

    def _holds_categories(self, j: int, column: Any) -> bool:
        if len(self.category_columns) == len(self.categories) and has_text(column):
            return j in self.category_columns
        return is_category(column) or (has_text(column) and any(isinstance(cell, str) for cell in cells_in(column)))

    def _check_category_columns(self, columns: list[tuple[str, Any]], found: list[int]) -> None:
        """Refuse another number of category columns than in training, as LightGBM does, and name them."""
        needed = len(self.categories)
        if len(found) == needed:
            return
        names = ", ".join(repr(columns[j][0]) for j in found) or "none"
        message = f"the model was trained with {needed} category columns, but the category columns here are: {names}"
        # Ordered categories count as numbers in training, and numbers may be declared categories. The columns at fault
        # are then not known.
        if len(self.category_columns) == needed:
            wrong = [repr(columns[j][0]) for j in sorted(set(self.category_columns) ^ set(found))]
            message += f"; give {', '.join(wrong)} the same type as in training"
        raise InputError(message)


@dataclass(frozen=True, slots=True)
class OrdinalRecoding:
    """Turns categories, in columns of any type or in a matrix, into their positions; unknown ones become missing.

    HistGradientBoosting does the same; this class does not need scikit-learn.

    Attributes
    ----------
    categories
        Per feature, its categories in order; ``None`` for a numeric feature.
    """

    categories: list[list[Any] | None]

    takes_cells: ClassVar[bool] = True

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        """Recode rows."""
        if isinstance(rows, np.ndarray):
            if rows.dtype.kind != "O" and any(known and _is_text(known) for known in self.categories):
                raise InputError(TEXT_IN_A_MATRIX)
            columns = [(str(j), rows[:, j]) for j in range(rows.shape[1])]
        else:
            columns = [column_of(rows, j) for j in range(len(self.categories))]
        return np.column_stack(
            [self._column(known, *named) for known, named in zip(self.categories, columns, strict=True)]
        )

    def _column(self, known: list[Any] | None, name: str, column: Any) -> NDArray[np.float64]:
        if not isinstance(column, np.ndarray) and known is not None and is_category(column):
            return codes_by_name(name, column, known, lambda *_: np.nan)
        if known is not None and _is_text(known):
            position = {category: float(code) for code, category in enumerate(known)}
            cells = cells_in(column)
            return np.array([position.get(cell, np.nan) if isinstance(cell, str) else np.nan for cell in cells])
        values = numbers(name, column)
        if known is None:
            return values
        if np.isinf(values).any():
            raise InputError(f"column {name!r} holds categories, so it cannot contain infinity")
        in_order = np.array(known, np.float64)
        at = np.searchsorted(in_order, values).clip(max=len(known) - 1)
        return np.where(in_order[at] == values, at.astype(np.float64), np.nan)


TEXT_IN_A_MATRIX = "the model was fitted on categories that are not numbers; give a frame that holds them"


BY_NAME = {
    "categories of XGBoost": XGBoostRecoding,
    "categories of LightGBM": LightGBMRecoding,
    "positions of categories": OrdinalRecoding,
}


def known_categories(encode: Callable[[Any], Any] | None, n_features: int) -> list[list[Any] | None]:
    """Return the categories that the codes of each column stand for, if the model records them."""
    recoding: Any = getattr(encode, "recoding", encode)
    lists = getattr(recoding, "categories", None)
    if isinstance(lists, list) and not isinstance(recoding, LightGBMRecoding):
        return lists
    known: list[list[Any] | None] = [None] * n_features
    if isinstance(recoding, LightGBMRecoding) and len(recoding.category_columns) == len(recoding.categories):
        for column, categories in zip(recoding.category_columns, recoding.categories, strict=True):
            known[column] = categories
    return known


def text_columns(encode: Callable[[Any], Any] | None, n_columns: int) -> dict[int, list[Any]]:
    """Return the columns whose categories are given as text if rows have no types, with the categories if known."""
    recoding: Any = getattr(encode, "recoding", encode)
    if hasattr(recoding, "text_columns"):
        return {column: [] for column in recoding.text_columns}
    takes_numbers = isinstance(recoding, OrdinalRecoding)  # numbers are its categories themselves, and not codes
    known = enumerate(known_categories(encode, n_columns))
    return {j: listed for j, listed in known if listed is not None and (_is_text(listed) or not takes_numbers)}


def describe(encode: Callable[[Any], Any] | None) -> dict[str, Any] | None:
    """Return a description of a recoding that JSON can hold, or refuse a recoding that has none."""
    if encode is None:
        return None
    recoding: Any = getattr(encode, "recoding", encode)
    if hasattr(recoding, "describe"):  # a library's own, which is not listed here
        return {"kind": recoding.kind, **recoding.describe()}
    name: str
    kind: type[XGBoostRecoding | LightGBMRecoding | OrdinalRecoding]
    for name, kind in BY_NAME.items():
        if isinstance(recoding, kind):
            described = asdict(recoding)
            for known in described["categories"]:
                for category in known or ():
                    if not isinstance(category, Category):
                        raise InputError(
                            f"the model's category {category!r} is a {type(category).__name__}, but only strings and "
                            "numbers can be saved; pickle the explainer instead"
                        )
            return {"kind": name, **described}
    raise InputError("the model recodes its rows with a custom function, which cannot be saved; pickle the explainer")


def _named_cells(rows: Any) -> Any:
    """Give the columns of an array of objects their positions as names."""
    return Cells.of(rows) if isinstance(rows, np.ndarray) and rows.dtype.kind == "O" else rows


def _is_text(known: list[Any]) -> bool:
    return any(isinstance(category, str) for category in known)


def _refuse(name: str, category: Any) -> float:
    raise InputError(f"column {name!r}: the category {category!r} did not occur in training; set it to missing instead")
