"""Reading rows of every kind: arrays, lists, pandas, polars, pyarrow and scipy.sparse, recognised by their modules.

No frame library is imported here unless the caller passes one of its objects. The result is a float32 or float64
matrix, C-contiguous and in native byte order, with one column per model feature in the model's order. A matrix that
already has this form is not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import repeated
from arborshap.exceptions import InputError
from arborshap.rows.arrays import as_array, as_cells, as_table
from arborshap.rows.columns import columns_of
from arborshap.rows.containers import rows_inside
from arborshap.rows.numbers import Matrix, matrix_from_array, matrix_from_columns, matrix_from_sparse
from arborshap.rows.records import Cells, is_records, table_of_records

Encode: TypeAlias = Callable[[Any], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class FrameKind:
    """The kind of frame that rows came in, so that results can be returned in the same kind.

    Attributes
    ----------
    kind
        ``"pandas"``, ``"polars"`` or ``"pyarrow"``.
    index
        The row index of a pandas frame.
    """

    kind: str
    index: Any = None

    def take(self, pick: Any) -> FrameKind:
        """Return the kind for a selection of the rows; a single row has no index."""
        return FrameKind(self.kind, None if self.index is None or isinstance(pick, int) else self.index[pick])


@dataclass(frozen=True)
class Rows:
    """Rows as the trees read them, with the caller's names and labels.

    Attributes
    ----------
    matrix
        The numbers: (rows, features).
    names
        The frame's column names in the order of `matrix`; ``None`` for rows without names.
    labels
        The frame's row labels if it has its own (a pandas index), else ``None``.
    cells
        The cells before the model or its pipeline encoded them; `matrix` if nothing encodes them. It may be a function
        that makes the cells, because a frame's cells cost more than its numbers and most calls do not show them.
    frame_kind
        The kind of frame that the rows came in; ``None`` if they came in none.
    raw
        The rows that features were made from, by a pipeline's steps or by the model's library; ``None`` if the features
        are the columns.
    reordered
        Whether the columns were in another order than the model's.
    """

    matrix: Matrix
    names: list[str] | None
    labels: NDArray[Any] | None
    cells: NDArray[Any] | Callable[[], NDArray[Any]]
    frame_kind: FrameKind | None = None
    raw: Any = None
    reordered: bool = False

    @cached_property
    def shown(self) -> NDArray[Any]:
        """The cells as the caller gave them."""
        return self.cells() if callable(self.cells) else self.cells


@dataclass(frozen=True, slots=True)
class NamedFrame:
    """A frame with its columns in the model's order.

    Attributes
    ----------
    frame
        The frame.
    kind
        The frame's library.
    names
        The names of its columns.
    numbered
        Whether the names are only 0, 1, 2, ..., as in a pandas frame made from a bare array.
    reordered
        Whether the columns were in another order.
    """

    frame: Any
    kind: str
    names: list[str]
    numbered: bool
    reordered: bool

    @property
    def own_names(self) -> list[str] | None:
        """The names of the columns, or ``None`` if they are only numbered."""
        return None if self.numbered else self.names

    @property
    def labels(self) -> NDArray[Any] | None:
        """The labels of the rows, if the frame has its own."""
        return _row_labels(self.frame) if self.kind == "pandas" else None

    @property
    def frame_kind(self) -> FrameKind:
        """The kind of the frame, for frames of results."""
        return FrameKind(self.kind, self.frame.index if self.kind == "pandas" else None)

    def cells(self) -> NDArray[Any]:
        """Return all cells, as objects if their types differ."""
        frame = self.frame.to_pandas() if self.kind == "pyarrow" else self.frame
        return np.asarray(frame.to_numpy())


def read_rows(
    data: Any,
    what: str,
    *,
    names: Sequence[str] | None = None,
    n_features: int | None = None,
    encode: Encode | None = None,
    sparse_zero_is_missing: bool = False,
    spaces_are_underscores: bool = False,
) -> Rows:
    """Read rows of any supported kind.

    Parameters
    ----------
    data
        A matrix, list of lists or of dicts, pandas or polars DataFrame, pyarrow Table or RecordBatch, scipy.sparse
        matrix, XGBoost DMatrix or CatBoost Pool.
    what
        What to call the rows in messages, such as ``"X"`` or ``"data"``.
    names
        The model's column names. The columns of a frame are matched to them by name and put in their order. Rows
        without names are assumed to be in that order already.
    n_features
        The number of columns that the model needs.
    encode
        For a model that recodes its input (category columns, a marker for missing values), the function that does so.
        It gets the frame or matrix with its columns in the model's order.
    sparse_zero_is_missing
        Whether an entry that a sparse matrix does not store is missing (XGBoost, treelite) or zero (all other
        libraries).
    spaces_are_underscores
        Whether the model's names have underscores in place of the spaces of training (LightGBM).

    Returns
    -------
    Rows
        The rows, with their names and labels.

    Raises
    ------
    InputError
        If they cannot be read as numbers, or if their columns are not the model's; the message names the column.
    """
    matrix: Matrix
    if is_records(data):
        data, names = table_of_records(data, what, names)
    if getattr(encode, "takes_text", False) and frame_library(data) is None and not is_sparse(data):
        table = as_cells(data, what)
        check_width(table.shape[1], what, n_features)
        assert encode is not None
        return Rows(_encoded(table, encode, what), None, None, table, raw=table)
    if is_ready(data):
        matrix = data
    elif (kind := frame_library(data)) is not None:
        found = frame_in_order(data, kind, what, names, n_features, spaces_are_underscores=spaces_are_underscores)
        return _read_frame(found, what, encode)
    elif is_sparse(data):
        matrix = matrix_from_sparse(data, what, sparse_zero_is_missing)
    elif (inside := rows_inside(data, what)) is not None:
        matrix, own_names = inside
        if own_names is not None and names is not None:
            matrix = np.require(matrix[:, order_of(own_names, names, what)], matrix.dtype, ["C"])
    else:
        table = as_table(data, what)
        if encode is not None and table.dtype.kind in "OU":
            check_width(table.shape[1], what, n_features)
            cells = Cells.of(table, names) if getattr(encode, "takes_cells", False) else table.astype(object)
            return Rows(_encoded(cells, encode, what), None, None, table)
        matrix = matrix_from_array(table, what, names)
    check_width(matrix.shape[1], what, n_features)
    if encode is None:
        return Rows(matrix, None, None, matrix)
    return Rows(_encoded(matrix, encode, what), None, None, matrix, raw=_made_from(matrix, encode))


def read_some_rows(data: Any, what: str, **options: Any) -> Rows:
    """Read rows, or a single row in a vector, a list of numbers or a pandas Series."""
    rows = as_some_rows(data, what)
    with advice_on_types(data) if options.get("encode") is not None else nullcontext():
        return read_rows(rows, what, **options)


@contextmanager
def advice_on_types(data: Any) -> Iterator[None]:
    """If a row taken from a pandas frame is refused, add that a Series does not keep the columns' types."""
    try:
        yield
    except InputError as error:
        if not _is_series(data):
            raise
        raise InputError(
            f"{error} (a Series does not keep the columns' types; select the row with .iloc[[i]])"
        ) from error


def as_some_rows(data: Any, what: str) -> Any:
    """Turn a single row into a matrix or frame of one row; return anything else as it is."""
    if _is_series(data):
        return data.to_frame().T.infer_objects()  # a row of mixed types is a Series of objects
    if isinstance(data, Mapping):
        return [data]
    if is_one_row(data):
        return as_array(data, what).reshape(1, -1)
    return data


def is_one_row(data: Any) -> bool:
    """Whether data are a single row outside a matrix: a pandas Series, a vector, a list of cells, or a dict."""
    if isinstance(data, np.ndarray):
        return data.ndim == 1 and data.dtype.names is None
    if isinstance(data, (list, tuple)):
        # NumPy cannot tell the dimensions of a list with lists of different lengths, so lists are not given to it.
        return len(data) > 0 and not (isinstance(data[0], (list, tuple, Mapping)) or np.ndim(data[0]))
    is_vector = _root_module(data) == "polars" and type(data).__name__ == "Series"
    return _is_series(data) or isinstance(data, Mapping) or is_vector


def is_sparse(data: Any) -> bool:
    """Whether the data are a scipy.sparse matrix or array."""
    return hasattr(data, "tocsr") and hasattr(data, "toarray")


def check_width(columns: int, what: str, n_columns: int | None) -> None:
    """Refuse rows with more or fewer columns than the model has."""
    if n_columns is not None and columns != n_columns:
        raise InputError(f"{what} has {columns} columns, but the model has {n_columns} features")


def check_none_missing(matrix: NDArray[Any], what: str, names: Sequence[str] | None, library: str) -> None:
    """Refuse missing values if the model's library does, because it defines no prediction for such rows."""
    missing = np.isnan(matrix)
    if missing.any():
        row, column = divmod(int(missing.argmax()), matrix.shape[1])
        called = column if names is None else repr(names[column])
        raise InputError(
            f"{what}: row {row} of column {called} is missing, and {library} refuses such rows for this model; "
            "fill it in as for training"
        )


def column_names(data: Any) -> list[str] | None:
    """Return the names of a frame's columns before it is read; ``None`` for rows without names."""
    kind = frame_library(data)
    if kind is None or _is_numbered(data, kind):
        return None
    return [_text_of(name) for name in (data.schema.names if kind == "pyarrow" else data.columns)]


def column_count(data: Any) -> int | None:
    """Return the number of columns of rows before they are read; ``None`` if they have no two-dimensional shape."""
    shape = getattr(data, "shape", None)
    return int(shape[1]) if isinstance(shape, tuple) and len(shape) == 2 else None


def check_names(names: Iterable[object], what: str) -> list[str]:
    """Return column names as strings, each used once."""
    texts = [_text_of(name) for name in names]
    if twice := repeated(texts):
        raise InputError(f"{what}: the column name {_some(twice)} is used more than once; rename or drop the repeats")
    return texts


def _text_of(name: object) -> str:
    """Return a column's name as text; the parts of a name in a MultiIndex are joined by spaces, as XGBoost does."""
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def is_ready(data: Any) -> bool:
    """Whether rows already are a plain matrix that the engines can use directly."""
    return (
        type(data) is np.ndarray
        and data.ndim == 2
        and data.dtype.char in "df"
        and data.dtype.isnative
        and data.flags.c_contiguous
        and data.flags.aligned
    )


def _made_from(rows: Any, encode: Encode) -> Any:
    """Return the rows if the features are made from them; ``None`` if the features are the columns, recoded."""
    return None if getattr(encode, "sources", None) is None else rows


def _encoded(rows: Any, encode: Encode, what: str) -> Matrix:
    try:
        matrix: Matrix = np.require(encode(rows), np.float64, ["C", "A"])
    except InputError as error:
        raise InputError(f"{what}: {error}") from error
    return matrix


def _root_module(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def frame_library(data: Any) -> str | None:
    """Return the library of a frame or of a subclass ("pandas", "polars", "pyarrow"); None if it is not a frame."""
    for cls in type(data).__mro__:
        match cls.__module__.partition(".")[0], cls.__name__:
            case ("pandas" | "polars") as library, "DataFrame":
                return library
            case "pyarrow", "Table" | "RecordBatch":
                return "pyarrow"
    return None


def _is_series(data: Any) -> bool:
    return _root_module(data) == "pandas" and type(data).__name__ == "Series"


def _is_numbered(frame: Any, kind: str) -> bool:
    """Whether a pandas frame was made from a bare array, so that its columns have numbers and no names."""
    found = frame.columns if kind == "pandas" else ()
    return type(found).__name__ == "RangeIndex" and list(found) == list(range(len(found)))


def frame_in_order(
    frame: Any,
    kind: str,
    what: str,
    names: Sequence[str] | None,
    n_columns: int | None,
    *,
    spaces_are_underscores: bool = False,
    ignore_unknown: bool = False,
) -> NamedFrame:
    """Put a frame's columns in the order of `names`; numbered columns are already in order.

    The columns keep the names that the caller gave them, even if the model spells them in another way.
    """
    found = frame.schema.names if kind == "pyarrow" else frame.columns
    numbered = _is_numbered(frame, kind)
    own_names = check_names(found, what)
    reordered = False
    if names is not None and not numbered:
        spelled = own_names
        if spaces_are_underscores:
            spelled = check_names((name.replace(" ", "_") for name in own_names), what)
        order = order_of(spelled, names, what, ignore_unknown=ignore_unknown)
        reordered = order != sorted(order)
        if reordered or len(order) < len(own_names):
            frame = frame.iloc[:, order] if kind == "pandas" else frame.select([own_names[j] for j in order])
        own_names = [own_names[j] for j in order]
    check_width(len(own_names), what, n_columns)
    return NamedFrame(frame, kind, own_names, numbered, reordered)


def _read_frame(found: NamedFrame, what: str, encode: Encode | None) -> Rows:
    frame, kind = found.frame, found.kind
    matrix: Matrix
    cells: Any = None
    if encode is not None:
        matrix, cells = _encoded(frame, encode, what), found.cells
    elif kind == "pandas" and (dtype := _one_dtype(frame)) is not None:
        matrix = matrix_from_array(frame.to_numpy(dtype), what, found.names)
    else:
        n_rows = frame.num_rows if kind == "pyarrow" else len(frame)
        matrix = matrix_from_columns(columns_of(frame, kind, found.names, what), found.names, what, n_rows)
    return Rows(
        matrix,
        found.own_names,
        found.labels,
        matrix if cells is None else cells,
        found.frame_kind,
        None if encode is None else _made_from(frame, encode),
        reordered=found.reordered,
    )


def _one_dtype(frame: Any) -> np.dtype[Any] | None:
    """Return the common dtype of all columns of a pandas frame, if it is a numeric NumPy dtype."""
    dtypes = set(frame.dtypes)
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    return dtype if isinstance(dtype, np.dtype) and dtype.kind in "fiub" else None


def order_of(own: list[str], names: Sequence[str], what: str, *, ignore_unknown: bool = False) -> list[int]:
    """Return the position in the frame of each of the model's columns; refuse missing and unknown columns."""
    position = {name: j for j, name in enumerate(own)}
    missing = [name for name in names if name not in position]
    known = set(names)
    unknown = [] if ignore_unknown else [name for name in own if name not in known]
    if missing or unknown:
        problems = []
        if missing:
            problems.append(f"has no column {_some(missing)}, which the model needs")
        if unknown:
            problems.append(f"has the column {_some(unknown)}, which the model does not know")
        raise InputError(f"{what} {' and '.join(problems)}")
    return [position[name] for name in names]


def _row_labels(frame: Any) -> NDArray[Any] | None:
    index = frame.index
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return None
    return np.asarray(index)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
