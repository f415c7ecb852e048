"""Missing cells: SimpleImputer and MissingIndicator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.steps.step import DTYPES, Cell, Fields, Step, WriteStep
from arborshap.steps.table import Frame, Table, dense, numbers
from arborshap.steps.unsaved import Unsaved, asked


@dataclass(frozen=True)
class Imputed:
    """Fills in missing cells, drops columns that have nothing to fill in, and marks what was missing.

    Attributes
    ----------
    fill
        What to fill in, per column.
    kept
        The columns that are kept.
    marked
        The columns whose missing cells are marked, in columns that are appended.
    missing
        The cell that counts as missing: NaN, or any other.
    takes
        Which types are kept: floats, any cells, or objects.
    fits_only
        The type of a constant, which must fit into the type of the rows; ``"any"`` if nothing is asked.
    """

    KIND: ClassVar[str] = "imputed"

    fill: list[Cell]
    kept: NDArray[np.int64]
    marked: NDArray[np.int64]
    missing: Cell
    takes: str
    fits_only: str

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        fill = saved.cells(saved.entries("fill"), "fill")
        kept, marked = saved.positions("kept", len(fill)), saved.positions("marked", len(fill))
        missing = saved.cell("missing")
        takes = saved.word("takes", ("floats", "cells", "objects"))
        is_text = any(not isinstance(fill[j], (int, float)) for j in kept)
        saved.check(takes == "objects" or not is_text, "fill")
        return cls(fill, kept, marked, missing, takes, saved.word("fits_only", ("any", *DTYPES)))

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return len(self.fill)

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return len(self.kept) + len(self.marked)

    def transform(self, rows: Table) -> Table:
        """Fill in missing cells."""
        found = _cells(rows, self.takes, self.missing, "SimpleImputer")
        if self.fits_only != "any" and not np.can_cast(self.fits_only, found.dtype, "same_kind"):
            raise InputError(f"its columns are of type {found.dtype}, but in training they were {self.fits_only}")
        mask = is_missing(found, self.missing)
        filled = found if len(self.kept) == found.shape[1] else found[:, self.kept]
        for place, j in enumerate(self.kept):
            filled[mask[:, j], place] = self.fill[j]
        if len(self.marked) == 0:
            return filled
        return np.hstack([filled, mask if len(self.marked) == found.shape[1] else mask[:, self.marked]])


@dataclass(frozen=True)
class Marked:
    """Says which cells are missing."""

    KIND: ClassVar[str] = "marked missing"

    n_columns: int
    marked: NDArray[np.int64]
    missing: Cell
    refuses_others: bool

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        n = saved.whole("n_columns")
        return cls(n, saved.positions("marked", n), saved.cell("missing"), saved.flag("refuses_others"))

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return self.n_columns

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return len(self.marked)

    def transform(self, rows: Table) -> Table:
        """Mark missing cells."""
        found = _cells(rows, "cells", self.missing, "MissingIndicator")
        mask = is_missing(found, self.missing)
        new = sorted(set(np.flatnonzero(mask.any(axis=0)).tolist()) - set(self.marked.tolist()))
        if new and self.refuses_others:
            raise InputError(f"its column {new[0]} has missing cells, but it had none in training")
        return mask if len(self.marked) == self.n_columns else mask[:, self.marked]


def is_missing(cells: NDArray[Any], missing: Cell) -> NDArray[np.bool_]:
    """Compare cells with the marker of missing ones; NaN is found in objects too."""
    if isinstance(missing, float) and math.isnan(missing):
        if cells.dtype.kind in "fO":
            return np.asarray(cells != cells, np.bool_)
        return np.zeros(cells.shape, np.bool_)
    return np.asarray(cells == missing, np.bool_)


def _cells(rows: Table, takes: str, missing: Cell, taker: str) -> NDArray[Any]:
    if takes == "objects":
        given = rows if isinstance(rows, Frame) else dense(rows, taker)
        return given.array(object) if isinstance(given, Frame) else np.array(given, dtype=object)
    takes_missing = isinstance(missing, float) and math.isnan(missing)
    return numbers(rows, "floats" if takes == "floats" else "cells", taker, missing=takes_missing)


def _marker(transformer: Any) -> Cell:
    missing = transformer.missing_values
    missing = missing.item() if isinstance(missing, np.generic) else missing
    if not (missing is None or isinstance(missing, (str, int, float))):
        raise Unsaved(f"its missing_values {missing!r} cannot be saved; use NaN")
    return missing


def _write_imputer(imputer: Any) -> Step:
    statistics, missing = imputer.statistics_, _marker(imputer)
    kept = list(range(len(statistics)))
    if not imputer.keep_empty_features:
        kept = [j for j in kept if not _is_nan(statistics[j])]
    marked = imputer.indicator_.features_ if imputer.add_indicator else []
    is_text, is_constant = imputer._fit_dtype.kind == "O", imputer.strategy == "constant"
    takes = "objects" if is_text else "cells" if imputer.strategy in ("most_frequent", "constant") else "floats"
    # Versions round what they fill in to different types; a row of missing cells shows what this one does.
    filled = asked(imputer, np.full((1, len(statistics)), missing, object if is_text else np.float64))[0]
    fill: list[Cell] = [math.nan] * len(statistics)
    for place, j in enumerate(kept):
        cell = filled[place].item() if isinstance(filled[place], np.generic) else filled[place]
        if not isinstance(cell, (str, int, float)):
            raise Unsaved(f"it fills in {cell!r}, which is neither text nor a number")
        fill[j] = cell
    dtype = getattr(imputer, "_fill_dtype", statistics.dtype)
    fits_only = np.dtype(dtype).name if is_constant and np.dtype(dtype).kind in "fiub" and not is_text else "any"
    return Imputed(fill, np.array(kept, np.int64), np.array(marked, np.int64), missing, takes, fits_only)


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and math.isnan(cell)


def _write_indicator(indicator: Any) -> Step:
    if indicator.sparse is True:
        raise Unsaved("it makes a sparse matrix; set sparse=False")
    n = int(indicator.n_features_in_)
    refuses = bool(indicator.error_on_new and indicator.features == "missing-only")
    return Marked(n, np.array(indicator.features_, np.int64), _marker(indicator), refuses)


STEPS: tuple[type[Step], ...] = (Imputed, Marked)
WRITERS: dict[str, WriteStep] = {"SimpleImputer": _write_imputer, "MissingIndicator": _write_indicator}
