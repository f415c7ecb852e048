"""Selectors of columns: VarianceThreshold, SelectKBest, SelectFromModel, RFE and their kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.steps.step import Fields, Step, WriteStep
from arborshap.steps.table import Frame, Sparse, Table, columns_at, numbers
from arborshap.steps.unsaved import asked


@dataclass(frozen=True)
class Selected:
    """Keeps some columns.

    Attributes
    ----------
    n_columns
        Number of columns that go in.
    kept
        The positions of the columns that are kept.
    takes_missing
        Whether missing cells are allowed, and infinite ones with them.
    keeps_frames
        Whether a frame stays a frame.
    """

    KIND: ClassVar[str] = "selected"

    n_columns: int
    kept: NDArray[np.int64]
    takes_missing: bool
    keeps_frames: bool

    @classmethod
    def read(cls, saved: Fields) -> Self:
        """Make the step from its saved fields."""
        n = saved.whole("n_columns")
        return cls(n, saved.positions("kept", n), saved.flag("takes_missing"), saved.flag("keeps_frames"))

    @property
    def n_inputs(self) -> int:
        """Number of columns that go in."""
        return self.n_columns

    def n_outputs(self, n_inputs: int) -> int:
        """Return how many columns are made."""
        return len(self.kept)

    def transform(self, rows: Table) -> Table:
        """Select the columns."""
        if isinstance(rows, Sparse) or (isinstance(rows, Frame) and rows.keeps_floats and self.keeps_frames):
            return columns_at(rows, self.kept)
        mask = np.zeros(self.n_columns, np.bool_)
        mask[self.kept] = True
        return columns_at(numbers(rows, "cells", "a selector", infinite=self.takes_missing, missing=False), mask)


def _write_selector(selector: Any) -> Step:
    n = int(selector.n_features_in_)
    kept = np.array(selector.get_support(indices=True), np.int64)
    try:
        asked(selector, np.full((1, n), np.nan))
        takes_missing = True
    except ValueError:
        takes_missing = False
    return Selected(n, kept, takes_missing, frames_made_by(selector) is not None)


def frames_made_by(transformer: Any) -> str | None:
    """Return the library of the frames that a transformer was told to make; ``None`` if it makes arrays."""
    from sklearn import get_config

    own = getattr(transformer, "_sklearn_output_config", {}).get("transform")
    chosen = own or get_config()["transform_output"]
    return None if chosen == "default" else str(chosen)


STEPS: tuple[type[Step], ...] = (Selected,)
WRITERS: dict[str, WriteStep] = dict.fromkeys(
    (
        "VarianceThreshold",
        "SelectKBest",
        "SelectPercentile",
        "SelectFpr",
        "SelectFdr",
        "SelectFwe",
        "GenericUnivariateSelect",
        "SelectFromModel",
        "RFE",
        "RFECV",
        "SequentialFeatureSelector",
    ),
    _write_selector,
)
