"""Raw rows of any kind, for the steps of a pipeline: all of them, a selection, or mixtures of two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.rows.arrays import as_table
from arborshap.rows.frames import FrameKind, check_width, frame_in_order, frame_library, is_sparse
from arborshap.rows.records import Cells, is_records, table_of_records


@dataclass(frozen=True, slots=True)
class RawRows:
    """Rows before any step of a pipeline.

    Attributes
    ----------
    rows
        A pandas or polars frame, a scipy.sparse matrix or a 2-D array, with its columns in the pipeline's order.
    names, labels, cells, frame_kind
        As in `Rows`.
    """

    rows: Any
    names: list[str] | None
    labels: NDArray[Any] | None
    cells: Callable[[], NDArray[Any]]
    frame_kind: FrameKind | None

    @classmethod
    def read(
        cls, data: Any, what: str, names: Sequence[str] | None, n_columns: int, *, ignore_unknown: bool = False
    ) -> Self:
        """Read rows of any kind, and refuse them if their columns are not the pipeline's."""
        kind = frame_library(data)
        if kind is not None:
            found = frame_in_order(data, kind, what, names, n_columns, ignore_unknown=ignore_unknown)
            frame = _as_pandas(found.frame) if kind == "pyarrow" else found.frame
            return cls(frame, found.own_names, found.labels, lambda: _cells(frame), found.frame_kind)
        if is_sparse(data):
            sparse = data.tocsr()
            check_width(sparse.shape[1], what, n_columns)
            return cls(sparse, None, None, sparse.toarray, None)
        if is_records(data):
            data, names = table_of_records(data, what, names)
        array = as_table(data, what)
        check_width(array.shape[1], what, n_columns)
        return cls(array, None, None, lambda: array, None)

    def as_array(self) -> Any:
        """Return the rows without their names."""
        return self.cells() if frame_library(self.rows) is not None else self.rows

    def as_frame(self, names: Sequence[str] | None) -> Any:
        """Return the rows with the names that the pipeline was fitted on, if there are any and pandas is installed."""
        if names is None or not isinstance(self.rows, np.ndarray):
            return self.rows
        try:
            import pandas
        except ImportError:
            return self.rows
        return pandas.DataFrame(self.rows, columns=list(names)).infer_objects()


def _as_pandas(table: Any) -> Any:
    """Turn a pyarrow table into a pandas frame if pandas is installed."""
    try:
        return table.to_pandas()
    except ImportError:
        return table


def without_arrow(rows: Any) -> Any:
    """Return rows of which mixtures can be made; ``None`` if they are a pyarrow table and pandas is not installed."""
    if frame_library(rows) != "pyarrow":
        return rows
    found = _as_pandas(rows)
    return None if frame_library(found) == "pyarrow" else found


def _cells(frame: Any) -> NDArray[Any]:
    if frame_library(frame) != "pyarrow":
        return np.asarray(frame.to_numpy())
    cells = np.empty((frame.num_rows, frame.num_columns), dtype=object)
    for j, column in enumerate(frame.columns):
        cells[:, j] = column.to_pylist()
    return cells


def some_rows(rows: Any, positions: NDArray[np.intp]) -> Any:
    """Return the rows at these positions."""
    match frame_library(rows):
        case "pandas":
            return rows.iloc[positions]
        case "pyarrow":
            return rows.take(positions)
    return rows[positions]


def chosen_columns(rows: Any, columns: Sequence[int]) -> Any:
    """Return some columns of rows."""
    at = list(columns)
    if isinstance(rows, Cells):
        return Cells([rows.names[j] for j in at], rows.table[:, at])
    match frame_library(rows):
        case None:
            return rows[:, at]
        case "pandas":
            return rows.iloc[:, at]
    names = rows.columns if frame_library(rows) == "polars" else rows.schema.names
    return rows.select([names[j] for j in at])


def stacked_rows(above: Any, below: Any) -> Any:
    """Put rows of the same kind below others; ``None`` if they are not of the same kind."""
    kind = frame_library(above)
    if kind != frame_library(below) or is_sparse(above) or is_sparse(below):
        return None
    if kind is None:
        return np.concatenate([above, below]) if above.dtype.kind == below.dtype.kind else None
    if kind == "pandas" and list(above.dtypes) == list(below.dtypes):
        import pandas

        return pandas.concat([above, below], ignore_index=True)
    return None


def with_gaps(rows: Any) -> Any:
    """Return rows in which a third of the numbers are missing; ``None`` if no column can hold missing numbers."""
    shape = rows.shape
    gaps = np.random.default_rng(1).random(shape) < 1.0 / 3.0
    if isinstance(rows, np.ndarray):
        return np.where(gaps, np.nan, rows) if rows.dtype.kind == "f" else None
    if frame_library(rows) != "pandas" or not any(dtype.kind == "f" for dtype in rows.dtypes):
        return None
    holed = rows.copy()
    for j, dtype in enumerate(rows.dtypes):
        if dtype.kind == "f":
            holed.isetitem(j, rows.iloc[:, j].mask(gaps[:, j]))
    return holed


def mixed_rows(rows: Any, first: NDArray[Any], second: NDArray[Any], from_first: NDArray[np.bool_]) -> Any:
    """Mix pairs of rows: each cell comes from the first or from the second row of the pair.

    Parameters
    ----------
    rows
        Rows of any kind that a pipeline accepts.
    first, second
        The positions of the rows of each pair.
    from_first
        Whether each cell comes from the first row: (pairs, columns).
    """
    taken = np.where(from_first, first[:, np.newaxis], second[:, np.newaxis])
    match frame_library(rows):
        case "pandas":
            # As series they keep their types; of objects, pandas would make text, and turn None into NaN.
            columns = {
                name: rows.iloc[:, j].take(taken[:, j]).reset_index(drop=True) for j, name in enumerate(rows.columns)
            }
            return type(rows)(columns, columns=rows.columns)
        case "polars":
            return type(rows)([rows.to_series(j).gather(taken[:, j]) for j in range(rows.width)])
    if not is_sparse(rows):
        return rows[taken, np.arange(rows.shape[1])]
    ours, theirs = rows[first].tocoo(), rows[second].tocoo()
    mine, other = from_first[ours.row, ours.col], ~from_first[theirs.row, theirs.col]
    data = np.concatenate([ours.data[mine], theirs.data[other]])
    row = np.concatenate([ours.row[mine], theirs.row[other]])
    column = np.concatenate([ours.col[mine], theirs.col[other]])
    return type(rows)((data, (row, column)), shape=(len(first), rows.shape[1]))
