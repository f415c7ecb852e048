"""Rows as the members of a composition see them, if they see them differently: features for each way to see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.models.recoding import describe
from arborshap.rows.categories import column_of
from arborshap.rows.columns import numbers
from arborshap.rows.frames import check_none_missing
from arborshap.rows.raw import RawRows, chosen_columns
from arborshap.rows.records import Cells


@dataclass(frozen=True)
class View:
    """What some members of a composition make of a row.

    Attributes
    ----------
    encode
        What they do to their columns; ``None`` if these are plain numbers.
    columns
        The columns of the whole that they see, in order.
    sources
        The columns of the whole that each of their features depends on.
    library
        Their library, to be named in errors.
    takes_missing
        Whether they predict rows with missing values.
    """

    encode: Callable[[Any], NDArray[np.float64]] | None
    columns: tuple[int, ...]
    sources: tuple[frozenset[int], ...]
    library: str
    takes_missing: bool

    def __call__(self, rows: Any, n_columns: int, names: Sequence[str] | None) -> NDArray[np.float64]:
        """Return the features of these members; `names` are those of all columns."""
        seen = rows if self.columns == tuple(range(n_columns)) else chosen_columns(rows, self.columns)
        takes_cells = self.encode is None or getattr(self.encode, "takes_cells", False)
        if takes_cells and isinstance(seen, np.ndarray) and seen.dtype.kind in "OU":
            seen = Cells.of(seen, None if names is None else [names[column] for column in self.columns])
        features = _plain(seen) if self.encode is None else self.encode(seen)
        if not self.takes_missing:
            check_none_missing(features, "for some members", None, self.library)
        return features

    def is_like(self, other: View) -> bool:
        """Whether the two always make the same features of a row."""
        if (self.columns, self.sources) != (other.columns, other.sources):
            return False
        try:
            return self.encode is other.encode or describe(self.encode) == describe(other.encode)
        except InputError:  # a function of the user's own
            return False


@dataclass(frozen=True)
class JoinedRecoding:
    """Turns rows into the features of all members, side by side.

    Attributes
    ----------
    views
        The different ways in which members see a row.
    n_columns
        Number of columns of a row.
    column_names
        Names of the columns, if the model records them.
    """

    views: tuple[View, ...]
    n_columns: int
    column_names: tuple[str, ...] | None
    kind: ClassVar[str] = "recodings of members"
    takes_text: ClassVar[bool] = True
    why_joined: ClassVar[str] = (
        "a member of the model makes features from several columns at once, in a step of its pipeline or as statistics "
        "of categories (CatBoost's max_ctr_complexity)"
    )

    @cached_property
    def sources(self) -> list[frozenset[int]]:
        """The columns that each feature depends on."""
        return [sources for view in self.views for sources in view.sources]

    @property
    def text_columns(self) -> list[int]:
        """The columns of categories, as far as the members tell."""
        found = set()
        for view in self.views:
            own = getattr(getattr(view.encode, "recoding", view.encode), "text_columns", ())
            found |= {view.columns[column] for column in own}
        return sorted(found)

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        """Recode rows."""
        return np.column_stack([view(rows, self.n_columns, self.column_names) for view in self.views])

    def inputs(self, feature: int) -> dict[int, int]:
        """Return where the columns of a feature stand among the features, from which `made` makes it again."""
        view, encode, first = self._maker(feature)
        return {view.columns[column]: first + place for column, place in encode.inputs(feature - first).items()}

    def made(self, feature: int, columns: dict[int, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return a feature of rows that are mixed of others, given what stands there for each of its columns."""
        view, encode, first = self._maker(feature)
        own = {view.columns.index(column): cells for column, cells in columns.items()}
        remade: NDArray[np.float64] = encode.made(feature - first, own)
        return remade

    def _maker(self, feature: int) -> tuple[View, Any, int]:
        """Return the view that has a feature, what makes it, and where the features of the view begin."""
        first = 0
        for view in self.views:
            if feature < first + len(view.sources):
                break
            first += len(view.sources)
        if not hasattr(view.encode, "made"):
            raise InputError(
                "a step of a member's pipeline makes features of several columns at once, and only what CatBoost "
                "combines can be told apart; let every step treat one column at a time"
            )
        return view, view.encode, first

    def as_trained(self, rows: Any) -> Any:
        """Return rows as the model's library takes them: as a frame if it was fitted on one."""
        raw = RawRows.read(rows, "rows", self.column_names, self.n_columns)
        return raw.as_array() if self.column_names is None else raw.as_frame(self.column_names)

    def describe(self) -> dict[str, Any]:
        """Return a description that JSON can hold."""
        return {
            "n_columns": self.n_columns,
            "column_names": self.column_names,
            "views": [
                {
                    "recoding": describe(view.encode),
                    "columns": view.columns,
                    "sources": [sorted(sources) for sources in view.sources],
                    "library": view.library,
                    "takes_missing": view.takes_missing,
                }
                for view in self.views
            ],
        }


def _plain(rows: Any) -> NDArray[np.float64]:
    """Return columns of plain numbers."""
    if isinstance(rows, np.ndarray):
        return rows.astype(np.float64)
    width = rows.table.shape[1] if isinstance(rows, Cells) else rows.shape[1]
    return np.column_stack([numbers(*column_of(rows, j)).astype(np.float64) for j in range(width)])
