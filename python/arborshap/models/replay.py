"""The raw columns of a saved pipeline: its steps are plain data, and numpy alone replays them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError, ModelError
from arborshap.models.model import Model
from arborshap.rows.frames import Rows, as_some_rows, frame_library
from arborshap.rows.numbers import Matrix, is_missing, matrix_from_columns
from arborshap.rows.raw import RawRows
from arborshap.steps.step import Fields, Step, Writer, width_after
from arborshap.steps.table import CellError, Frame, Sparse, Table, shape_of, table_of
from arborshap.steps.texts import Texts, missing_text, texts_of
from arborshap.steps.writing import KINDS

_VERSION = 1


@dataclass(frozen=True)
class ReplayedColumns:
    """The raw columns of a pipeline, and steps that need no scikit-learn.

    Attributes
    ----------
    n_columns
        Number of raw columns.
    column_names
        Names of the raw columns, if the pipeline was fitted on a frame.
    wants_array
        Whether the pipeline was fitted on an array, so that frames lose their types.
    steps
        The steps, with their names.
    features
        The names of the features that they make.
    """

    n_columns: int
    column_names: list[str] | None
    wants_array: bool
    steps: list[tuple[str, Step]]
    features: list[str]

    @cached_property
    def texts(self) -> Texts:
        """The raw columns that hold text, with the categories that the steps know."""
        return texts_of([step for _, step in self.steps], self.n_columns)

    def feature_names(self) -> list[str]:
        """Return the names of the features."""
        return list(self.features)

    def players(self, _groups: Any, _names: list[str]) -> tuple[NDArray[np.int32], list[int], list[str]]:
        """Refuse other players than those that were saved: how steps mix columns is not saved."""
        raise InputError(
            "a saved pipeline keeps only the players of its explainer, which has groups; make the explainer again"
        )

    def replayed(self, _: Model) -> ReplayedColumns:
        """Return what can be saved: this object."""
        return self

    def verify(self, rows: Rows, model: Model, what: str, n_threads: int) -> None:
        """Do nothing: a saved pipeline has no library to compare with."""

    def read(self, data: Any, what: str, names: Sequence[str] | None, model: Model, *, one: bool) -> Rows:
        """Read raw rows, and let the steps transform them into what the model reads; as `RawColumns.read`."""
        raw = RawRows.read(as_some_rows(data, what) if one else data, what, names, self.n_columns)
        rows = raw.as_array() if self.wants_array else raw.rows
        features = self.features_of(rows, what, model)
        return Rows(features, raw.names, raw.labels, raw.cells, raw.frame_kind, rows)

    def features_of(self, rows: Any, what: str, model: Model) -> Matrix:
        """Replay the steps, and let the model read what they make."""
        if shape_of(self._typed(rows))[0] == 0:
            return np.empty((0, len(self.features)))
        made = self.made_of(rows, what)
        return model.read(for_the_model(made, model.sparse_zero_is_missing, what), f"{what} (transformed)").matrix

    def made_of(self, rows: Any, what: str) -> Table:
        """Return what the steps make of rows."""
        table = self._typed(rows)
        for number, (name, step) in enumerate(self.steps):
            try:
                table = step.transform(table)
            except CellError as error:
                where = "" if number or error.column is None else f" of column {self._called(error.column)!r}"
                message = f"{what}: the pipeline's step {name!r} refuses row {error.row}{where}, which {error.why}"
                raise InputError(message) from error
            except (TypeError, ValueError, IndexError) as error:
                raise InputError(f"{what}: the pipeline's step {name!r} refuses these rows: {error}") from error
        return table

    def _called(self, column: int) -> str | int:
        return column if self.column_names is None else self.column_names[column]

    def _typed(self, rows: Any) -> Table:
        """Read rows; columns without types become text or numbers, as pandas would make them."""
        if self.wants_array:
            return table_of(rows)
        if isinstance(rows, np.ndarray):
            return Frame([self._typed_column(j, rows[:, j]) for j in range(rows.shape[1])], len(rows))
        if frame_library(rows) == "pyarrow":
            columns = table_of(rows).columns  # type: ignore[union-attr]
            return Frame([self._arrow_column(j, column) for j, column in enumerate(columns)], rows.num_rows)
        return table_of(rows)

    def _typed_column(self, j: int, column: NDArray[Any]) -> NDArray[Any]:
        if column.dtype.kind in "US":
            column = column.astype(object)
        if column.dtype.kind != "O":
            return column
        if j not in self.texts:
            return _inferred(column)
        missing = missing_text(self.texts[j])
        return _objects([missing if is_missing(cell) else cell for cell in column.tolist()])

    def _arrow_column(self, j: int, column: Any) -> Any:
        return self._typed_column(j, _objects(column.to_pylist())) if j in self.texts else column

    def description(self) -> tuple[str, NDArray[np.float64]]:
        """Return the steps as a JSON document, and the vector that holds their arrays."""
        writer = Writer()
        document = {
            "version": _VERSION,
            "n_columns": self.n_columns,
            "column_names": self.column_names,
            "wants_array": self.wants_array,
            "features": self.features,
            "names": [name for name, _ in self.steps],
            "steps": [writer.step(step) for _, step in self.steps],
        }
        return json.dumps(document, allow_nan=False), writer.vector

    @classmethod
    def from_description(cls, text: str, vector: NDArray[np.float64], n_features: int) -> Self:
        """Read such a description, which may have been tampered with."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ModelError("the saved steps of the pipeline are not valid JSON") from error
        version = document.pop("version", None) if isinstance(document, dict) else None
        if version != _VERSION:
            raise ModelError(
                f"the steps of the pipeline have version {version!r}, but this arborshap reads version {_VERSION}; "
                "load them with the arborshap that wrote them, or a newer one"
            )
        fields = Fields({"kind": "pipeline", **document}, vector, KINDS)
        n_columns, wants_array = fields.whole("n_columns"), fields.flag("wants_array")
        columns, features, names = (fields.texts(name) for name in ("column_names", "features", "names"))
        steps = fields.steps("steps")
        fields.done()
        if features is None or names is None or len(names) != len(steps):
            raise fields.damaged("names")
        if len(features) != n_features or width_after(steps, n_columns) != n_features:
            raise ModelError(f"the steps of the pipeline do not make the {n_features} features of the model")
        if columns is not None and len(columns) != n_columns:
            raise fields.damaged("column_names")
        return cls(n_columns, columns, wants_array, list(zip(names, steps, strict=True)), features)


def for_the_model(table: Table, sparse_zero_is_missing: bool | None, what: str) -> NDArray[Any]:
    """Return the array that a model reads: sparse and framed features written out."""
    if isinstance(table, Sparse):
        if sparse_zero_is_missing is None:
            raise InputError(f"{what}: the members of this model read the sparse features of its pipeline differently")
        if not sparse_zero_is_missing:
            return table.matrix
        matrix = table.matrix if table.matrix.dtype.kind == "f" else table.matrix.astype(np.float64)
        return np.where(table.stored, matrix, matrix.dtype.type(np.nan))
    if isinstance(table, Frame):
        if all(column.dtype.kind in "fiub" for column in table.arrays):
            return matrix_from_columns(table.arrays, range(len(table.arrays)), what, table.n_rows)
        return table.array(object)
    return table


def _objects(cells: list[Any]) -> NDArray[Any]:
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


def _inferred(column: NDArray[Any]) -> NDArray[Any]:
    """Turn objects into booleans, integers or floats if all of them are; missing cells make integers floats."""
    cells = column.tolist()
    there = [cell for cell in cells if not is_missing(cell)]
    if not there or not all(isinstance(cell, (bool, int, float, np.number, np.bool_)) for cell in there):
        return column
    are_bools = [isinstance(cell, (bool, np.bool_)) for cell in there]
    if any(are_bools):
        return column.astype(np.bool_) if all(are_bools) and len(there) == len(cells) else column
    if len(there) == len(cells) and all(isinstance(cell, (int, np.integer)) for cell in there):
        try:
            return np.array(cells, np.int64)
        except OverflowError:
            return column
    return np.array([np.nan if is_missing(cell) else cell for cell in cells], np.float64)
