"""Categories that a model knows by their texts: each has the code of its place in a list."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError, ModelError
from arborshap.rows.categories import cells_in, column_of
from arborshap.rows.columns import numbers
from arborshap.rows.numbers import is_missing
from arborshap.rows.records import Cells


@dataclass(frozen=True, slots=True)
class VocabularyRecoding:
    """Turns categories, given as text, whole numbers or truth values, into their codes.

    Attributes
    ----------
    categories
        Per feature, the texts of its categories in the order of their codes; ``None`` for a numeric feature.
    unknown
        The code of any other category; ``None`` if it is refused.
    missing
        The text that stands for a missing category.
    never_missing
        The features whose categories may not be missing, because the library itself would take them for another one.
    """

    categories: list[list[str] | None]
    unknown: float | None
    missing: str
    never_missing: list[int] = field(default_factory=list)

    kind: ClassVar[str] = "texts of categories"
    takes_cells: ClassVar[bool] = True

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        """Recode rows."""
        if isinstance(rows, np.ndarray):
            rows = Cells.of(rows)
        return np.column_stack([self._column(j, *column_of(rows, j)) for j in range(len(self.categories))])

    def describe(self) -> dict[str, Any]:
        """Return a description that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_description(cls, described: dict[str, Any], n_features: int) -> Self:
        """Read such a description, which may have been tampered with."""
        lists, never = described.get("categories"), described.get("never_missing")
        unknown, missing = described.get("unknown"), described.get("missing")
        fits = isinstance(lists, list) and len(lists) == n_features and all(map(_is_vocabulary, lists))
        fits = fits and isinstance(missing, str) and (unknown is None or isinstance(unknown, (int, float)))
        fits = fits and isinstance(never, list) and all(isinstance(j, int) for j in never)
        if not fits:
            raise ModelError("the saved texts of categories do not fit the model's columns")
        assert isinstance(lists, list)
        assert isinstance(never, list)
        return cls(lists, None if unknown is None else float(unknown), str(missing), never)

    def _column(self, j: int, name: str, column: Any) -> NDArray[np.float64]:
        known = self.categories[j]
        if known is None:
            return np.asarray(numbers(name, column), np.float64)
        code_of = {text: float(code) for code, text in enumerate(known)}
        codes = np.empty(len(column))
        for row, cell in enumerate(cells_in(column)):
            if not is_missing(cell) and cell != self.missing:
                codes[row] = self._code(cell, code_of, row, name)
                continue
            if j in self.never_missing:
                raise InputError(
                    f"row {row} of column {name!r} is missing, and for some frames the model's library itself takes a "
                    "missing category for another one; give such cells a category of their own before training"
                )
            codes[row] = np.nan
        return codes

    def _code(self, cell: Any, code_of: dict[str, float], row: int, name: str) -> float:
        for text in _texts(cell):
            if text in code_of:
                return code_of[text]
        if not isinstance(cell, (str, bytes, bool, int, float, np.generic)):
            raise InputError(f"row {row} of column {name!r} is {str(cell)[:40]!r}, but the column holds categories")
        if self.unknown is None:
            raise InputError(
                f"row {row} of column {name!r} is {str(cell)[:40]!r}, which did not occur in training, and the model's "
                "library itself would take it for another category; set it to missing instead"
            )
        return self.unknown


def _is_vocabulary(listed: Any) -> bool:
    return listed is None or (isinstance(listed, list) and all(isinstance(text, str) for text in listed))


def _texts(cell: Any) -> list[str]:
    """Return the texts that a cell may have had in training: a matrix of floats has no other whole numbers."""
    if isinstance(cell, bytes):
        return [cell.decode("utf-8", "replace")]
    texts = [str(cell)]
    if isinstance(cell, (bool, np.bool_)):
        texts.append(str(cell).lower())
    elif isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        texts.append(str(int(cell)))
    return texts
