"""Rows of every kind come in as the same float matrix, and what cannot is refused with its column named."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.rows.frames import read_rows, read_some_rows

VALUES = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0], [-7.5, 8.0, 1e300], [0.0, 1.0, np.inf]])
NAMES = ["a", "b", "c"]

Maker = Callable[[dict[str, Any]], Any]
FRAMES: list[Any] = [
    pytest.param(pd.DataFrame, id="pandas"),
    pytest.param(pl.DataFrame, id="polars"),
    pytest.param(pa.table, id="pyarrow-table"),
    pytest.param(
        lambda columns: pa.record_batch(pa.table(columns).to_batches()[0].columns, names=list(columns)), id="batch"
    ),
]


def columns_of(values: NDArray[Any]) -> dict[str, Any]:
    return {name: values[:, j] for j, name in enumerate(NAMES)}


# --- arrays -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_ready_matrix_is_not_copied(dtype: Any) -> None:
    matrix = np.ones((3, 2), dtype=dtype)
    assert read_rows(matrix, "X").matrix is matrix


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(np.asfortranarray, id="fortran"),
        pytest.param(lambda v: np.repeat(v, 2, axis=0)[::2], id="strided"),
        pytest.param(lambda v: v.astype(">f8"), id="big-endian"),
        pytest.param(lambda v: v.tolist(), id="list of lists"),
        pytest.param(lambda v: tuple(map(tuple, v)), id="tuples"),
        pytest.param(lambda v: v.astype(object), id="objects"),
        pytest.param(lambda v: np.ma.masked_invalid(np.where(np.isinf(v), 5.0, v)), id="masked"),
        pytest.param(
            lambda v: np.frombuffer(b"\0" + v.tobytes(), dtype=np.uint8)[1:].view(float).reshape(v.shape),
            id="misaligned",
        ),
    ],
)
def test_any_layout_gives_the_same_numbers(make: Callable[[NDArray[Any]], Any]) -> None:
    given = make(VALUES)
    expected = np.where(np.isinf(VALUES), 5.0, VALUES) if isinstance(given, np.ma.MaskedArray) else VALUES
    matrix = read_rows(given, "X").matrix
    np.testing.assert_array_equal(matrix, expected)
    assert type(matrix) is np.ndarray
    assert matrix.dtype == np.float64
    assert matrix.dtype.isnative
    assert matrix.flags.c_contiguous
    assert matrix.flags.aligned


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "uint64", ">i4"])
def test_integers_and_booleans_become_float64(dtype: str) -> None:
    matrix = read_rows(np.array([[0, 1], [1, 0]], dtype=dtype), "X").matrix
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, [[0.0, 1.0], [1.0, 0.0]])


def test_half_precision_becomes_float32() -> None:
    matrix = read_rows(np.array([[0.1]], dtype=np.float16), "X").matrix
    assert matrix.dtype == np.float32
    assert matrix[0, 0] == np.float32(np.float16(0.1))


def test_a_mask_means_missing() -> None:
    masked = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(read_rows(masked, "X").matrix, [[1.0, np.nan], [3.0, 4.0]])


def test_objects_that_are_numbers_are_read() -> None:
    cells = np.array([[1, None, True], [Decimal("0.5"), pd.NA, np.float32(2)]], dtype=object)
    np.testing.assert_array_equal(read_rows(cells, "X").matrix, [[1.0, np.nan, 1.0], [0.5, np.nan, 2.0]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1.0, 2.0], r"X is one-dimensional, of length 2.*pass \[X\]"),
        (np.zeros((2, 2, 2)), r"X has 3 dimensions, shape \(2, 2, 2\)"),
        (3.0, "X is a float, which cannot be read as rows"),
        (None, "X is a NoneType, which cannot be read as rows"),
        (np.array([[1j]]), "column 0 has dtype complex128"),
        (np.array([["a"]]), "column 0 has dtype <U1"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), r"column 0 has dtype datetime64\[D\]"),
        ([[1.0, 2.0], [3.0, "red"]], "row 1 of column 1 is 'red', not a number"),
        ([[1.0, 1j], ["x", 2]], "row 1 of column 0 is 'x'"),
        (np.array([[1.0, "red"]], dtype=object), "row 0 of column 1 is 'red'"),
        (np.array([[1.0, {}]], dtype=object), "row 0 of column 1 is {}"),
        ([[1.0, 2.0], [3.0]], "row 1 has 1 values, but row 0 has 2"),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), "structured array"),
        (np.array([[1, 2**53 + 1]]), r"row 0 of column 1 is 9007199254740993, beyond 2\*\*53"),
        (np.array([[-(2**63)], [5]]), r"row 0 of column 0 is -9223372036854775808, beyond"),
        ([[1, 2**70]], r"row 0 of column 1 is 1180591620717411303424, beyond"),
    ],
)
def test_what_is_not_a_matrix_of_numbers_is_refused(rows: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_rows(rows, "X")


def test_the_largest_exact_integer_is_read() -> None:
    for dtype in (np.int64, object):
        largest = np.array([[2**53, -(2**53)]], dtype=dtype)
        assert read_rows(largest, "X").matrix.tolist() == [[2.0**53, -(2.0**53)]]


def test_the_number_of_columns_is_checked() -> None:
    with pytest.raises(InputError, match="X has 2 columns, but the model has 3 features"):
        read_rows(np.zeros((4, 2)), "X", n_features=3)


def test_a_matrix_is_taken_in_the_models_order_and_its_columns_called_by_the_models_names() -> None:
    with pytest.raises(InputError, match="row 0 of column 'b' is 'red'"):
        read_rows(np.array([[1.0, "red"]], dtype=object), "X", names=["a", "b"])


# --- sparse -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_sparse_zeros_mean_what_the_library_takes_them_to_mean(form: str, kind: Any) -> None:
    sparse = kind(np.array([[0.0, 2.0], [3.0, 0.0]])).asformat(form)
    np.testing.assert_array_equal(read_rows(sparse, "X").matrix, [[0.0, 2.0], [3.0, 0.0]])
    if form not in ("bsr", "dia"):  # these two store zeros of their own
        missing = read_rows(sparse, "X", sparse_zero_is_missing=True).matrix
        np.testing.assert_array_equal(missing, [[np.nan, 2.0], [3.0, np.nan]])


def test_a_stored_zero_is_a_zero_and_repeated_entries_add_up() -> None:
    sparse = scipy.sparse.coo_matrix(([0.0, 1.0, 2.0], ([0, 1, 1], [0, 1, 1])), shape=(2, 2))
    matrix = read_rows(sparse, "X", sparse_zero_is_missing=True).matrix
    np.testing.assert_array_equal(matrix, [[0.0, np.nan], [np.nan, 3.0]])
    assert sparse.nnz == 3
    rows = scipy.sparse.csr_matrix(([1.0, 2.0, 4.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    np.testing.assert_array_equal(read_rows(rows, "X").matrix, [[0.0, 3.0], [4.0, 0.0]])
    assert rows.nnz == 3


def test_sparse_keeps_float32_and_refuses_what_is_no_number() -> None:
    assert read_rows(scipy.sparse.eye_array(2, dtype=np.float32).tocsr(), "X").matrix.dtype == np.float32
    with pytest.raises(InputError, match="sparse matrix of complex128"):
        read_rows(scipy.sparse.eye_array(2, dtype=complex).tocsr(), "X")
    with pytest.raises(InputError, match="row 1 of column 0 is 9007199254740993"):
        read_rows(scipy.sparse.csr_array(np.array([[0, 1], [2**53 + 1, 0]])), "X")
    with pytest.raises(InputError, match="1-dimensional sparse"):
        read_rows(scipy.sparse.coo_array(np.array([1.0, 0.0])), "X")


# --- frames -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", FRAMES)
def test_a_frame_gives_its_numbers_and_names(make: Maker) -> None:
    rows = read_rows(make(columns_of(VALUES)), "X")
    np.testing.assert_array_equal(rows.matrix, VALUES)
    assert rows.matrix.flags.c_contiguous
    assert rows.names == NAMES
    assert rows.labels is None


@pytest.mark.parametrize("make", FRAMES)
def test_columns_are_matched_by_name_and_reordered(make: Maker) -> None:
    columns = columns_of(VALUES)
    shuffled = make({name: columns[name] for name in ["c", "a", "b"]})
    rows = read_rows(shuffled, "X", names=NAMES, n_features=3)
    np.testing.assert_array_equal(rows.matrix, VALUES)
    assert rows.names == NAMES


@pytest.mark.parametrize("make", FRAMES)
def test_a_missing_and_an_unknown_column_are_named(make: Maker) -> None:
    frame = make({"a": [1.0], "z": [2.0]})
    with pytest.raises(InputError, match="X has no column 'b', which the model needs and has the column 'z', which"):
        read_rows(frame, "X", names=["a", "b"], n_features=2)
    with pytest.raises(InputError, match="X has the column 'z', which the model does not know"):
        read_rows(frame, "X", names=["a"], n_features=1)
    with pytest.raises(InputError, match="data has 2 columns, but the model has 3 features"):
        read_rows(frame, "data", n_features=3)


@pytest.mark.parametrize("make", FRAMES)
def test_a_library_that_respells_names_is_followed(make: Maker) -> None:
    frame = make({"mean area": [1.0], "a_b": [2.0]})
    rows = read_rows(frame, "X", names=["a_b", "mean_area"], spaces_are_underscores=True)
    assert rows.matrix.tolist() == [[2.0, 1.0]]
    assert rows.names == ["a_b", "mean area"]
    with pytest.raises(InputError, match="no column 'mean_area'"):
        read_rows(frame, "X", names=["a_b", "mean_area"])
    with pytest.raises(InputError, match="'a_b' is used more than once"):
        read_rows(make({"a b": [1.0], "a_b": [2.0]}), "X", names=["a_b"], spaces_are_underscores=True)


def test_of_many_missing_columns_some_are_named() -> None:
    with pytest.raises(InputError, match="no column 'a', 'b', 'c', 'd', 'e' and 2 more, which"):
        read_rows(pd.DataFrame({"h": [1.0]}), "X", names=list("abcdefgh"))
    with pytest.raises(InputError, match="no column 'a', 'b', 'c', 'd', 'e', which"):
        read_rows(pd.DataFrame({"h": [1.0]}), "X", names=list("abcdeh"))


@pytest.mark.parametrize("make", FRAMES)
def test_float32_columns_stay_and_mixed_ones_widen(make: Maker) -> None:
    narrow = {"a": np.array([0.1, 0.2], np.float32), "b": np.array([1.0, 2.0], np.float32)}
    assert read_rows(make(narrow), "X").matrix.dtype == np.float32
    mixed = read_rows(make({**narrow, "c": np.array([True, False]), "d": np.array([1, 2], np.uint8)}), "X").matrix
    assert mixed.dtype == np.float64
    np.testing.assert_array_equal(mixed[0], [np.float32(0.1), 1.0, 1.0, 1.0])


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("big", [2**53 + 1, -(2**53) - 1])
def test_a_column_of_long_identifiers_is_refused(make: Maker, big: int) -> None:
    with pytest.raises(InputError, match=rf"row 1 of column 'id' is {big}, beyond"):
        read_rows(make({"id": [1, big]}), "X")


@pytest.mark.parametrize("make", FRAMES)
def test_text_and_dates_are_refused_by_name(make: Maker) -> None:
    with pytest.raises(InputError, match=r"column 'colour'.*encode it"):
        read_rows(make({"a": [1.0], "colour": ["red"]}), "X")
    with pytest.raises(InputError, match="column 'day' has dtype"):
        read_rows(make({"a": [1.0], "day": np.array(["2020-01-01"], dtype="datetime64[ns]")}), "X")


def test_nulls_are_missing_values() -> None:
    expected = [[1.0, 1.0, 0.5], [np.nan, np.nan, np.nan]]
    nullable = pd.DataFrame(
        {
            "i": pd.array([1, None], dtype="Int64"),
            "b": pd.array([True, None], dtype="boolean"),
            "f": pd.array([0.5, None], dtype="Float32"),
        }
    )
    columns = {"i": [1, None], "b": [True, None], "f": [0.5, None]}
    for frame in (
        nullable,
        nullable.convert_dtypes(dtype_backend="pyarrow"),
        pl.DataFrame(columns),
        pa.table(columns),
    ):
        np.testing.assert_array_equal(read_rows(frame, "X").matrix, expected)
    for frame in (pl.DataFrame({"n": [None, None]}), pa.table({"n": [None, None]}), pd.DataFrame({"n": [None, None]})):
        assert np.isnan(read_rows(frame, "X").matrix).all()


def test_a_null_does_not_hide_a_long_identifier() -> None:
    values = [None, 2**53 + 1]
    for frame in (
        pd.DataFrame({"id": pd.array(values, dtype="Int64")}),
        pl.DataFrame({"id": values}),
        pa.table({"id": values}),
    ):
        with pytest.raises(InputError, match="row 1 of column 'id' is 9007199254740993"):
            read_rows(frame, "X")
    unsigned = pd.DataFrame({"id": pd.array([None, 2**63 + 5], dtype="UInt64")})
    with pytest.raises(InputError, match="row 1 of column 'id' is 9223372036854775813"):
        read_rows(unsigned, "X")


def test_decimals_are_read() -> None:
    columns = {"price": [Decimal("1.25"), None]}
    for frame in (pl.DataFrame(columns), pa.table(columns), pd.DataFrame(columns)):
        np.testing.assert_array_equal(read_rows(frame, "X").matrix, [[1.25], [np.nan]])


@pytest.mark.parametrize(
    ("frame", "column"),
    [
        (pd.DataFrame({"a": [1.0], "kind": pd.Categorical(["x"])}), "kind"),
        (pd.DataFrame({"a": [1.0], "when": pd.to_datetime(["2020-01-01"], utc=True)}), "when"),
        (pd.DataFrame({"a": [1.0], "mixed": pd.Series([object()], dtype=object)}), "mixed"),
        (pl.DataFrame({"a": [1.0], "kind": pl.Series(["x"], dtype=pl.Categorical)}), "kind"),
        (pl.DataFrame({"a": [1.0], "kind": pl.Series(["x"], dtype=pl.Enum(["x"]))}), "kind"),
        (pl.DataFrame({"a": [1.0], "list": [[1.0]]}), "list"),
        (pa.table({"a": [1.0], "kind": pa.array(["x"]).dictionary_encode()}), "kind"),
    ],
)
def test_columns_that_are_no_numbers_are_refused_by_name(frame: Any, column: str) -> None:
    with pytest.raises(InputError, match=f"column '{column}'"):
        read_rows(frame, "X")


def test_repeated_column_names_are_named() -> None:
    with pytest.raises(InputError, match="the column name 'a' is used more than once"):
        read_rows(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "X")
    with pytest.raises(InputError, match="the column name 'a' is used more than once"):
        read_rows(pa.table([[1.0], [2.0]], names=["a", "a"]), "X")
    with pytest.raises(InputError, match="the column name '1' is used more than once"):
        read_rows(pd.DataFrame([[1.0, 2.0]], columns=[1, "1"]), "X")


def test_a_pandas_frame_without_names_is_taken_in_order() -> None:
    rows = read_rows(pd.DataFrame(VALUES), "X", names=NAMES, n_features=3)
    np.testing.assert_array_equal(rows.matrix, VALUES)
    assert rows.names is None


def test_numbered_columns_are_matched_when_they_were_moved() -> None:
    moved = pd.DataFrame(VALUES)[[2, 0, 1]]
    np.testing.assert_array_equal(read_rows(moved, "X", names=["0", "1", "2"]).matrix, VALUES)


def test_row_labels_are_kept() -> None:
    labelled = pd.DataFrame({"a": [1.0, 2.0]}, index=["first", "second"])
    labels = read_rows(labelled, "X").labels
    assert labels is not None
    assert labels.tolist() == ["first", "second"]
    part = read_rows(pd.DataFrame({"a": [1.0, 2.0, 3.0]})[1:], "X").labels
    assert part is not None
    assert part.tolist() == [1, 2]


def test_a_sparse_pandas_column_is_read() -> None:
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 0.0, 3.0]), "b": pd.arrays.SparseArray([0, 1, 0])})
    np.testing.assert_array_equal(read_rows(frame, "X").matrix, [[0.0, 0.0], [0.0, 1.0], [3.0, 0.0]])


def test_a_frame_of_many_rows_is_read_whole() -> None:
    values = np.arange(30_000.0).reshape(10_000, 3)
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        np.testing.assert_array_equal(read_rows(make(columns_of(values)), "X").matrix, values)


@pytest.mark.parametrize("make", FRAMES[:3])
def test_a_frame_of_no_rows_keeps_its_columns(make: Maker) -> None:
    assert read_rows(make(columns_of(VALUES[:0])), "X").matrix.shape == (0, 3)


def test_a_subclass_of_a_frame_is_a_frame() -> None:
    mine = type("Mine", (pd.DataFrame,), {})
    assert read_rows(mine({"b": [1.0], "a": [2.0]}), "X", names=["a", "b"]).matrix.tolist() == [[2.0, 1.0]]


def test_a_lazy_frame_is_refused_with_advice() -> None:
    with pytest.raises(InputError, match=r"LazyFrame.*collect\(\)"):
        read_rows(pl.LazyFrame({"a": [1.0]}), "X")


# --- encoding and single rows -----------------------------------------------------------------------------------


def test_a_model_that_encodes_gets_the_frame_in_order_and_the_cells_are_kept() -> None:
    seen: list[list[str]] = []

    def encode(frame: Any) -> NDArray[np.float64]:
        seen.append(list(frame.columns))
        return np.column_stack([frame["a"], frame["kind"] == "x"]).astype(np.float64)

    frame = pd.DataFrame({"kind": ["x", "y"], "a": [1.0, 2.0]})
    rows = read_rows(frame, "X", names=["a", "kind"], n_features=2, encode=encode)
    assert seen == [["a", "kind"]]
    assert rows.matrix.tolist() == [[1.0, 1.0], [2.0, 0.0]]
    assert rows.shown.tolist() == [[1.0, "x"], [2.0, "y"]]


def test_a_model_that_encodes_gets_matrices_too() -> None:
    def encode(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(matrix == -999, np.nan, matrix)

    rows = read_rows(np.array([[1.0, -999.0]]), "X", encode=encode)
    np.testing.assert_array_equal(rows.matrix, [[1.0, np.nan]])
    assert rows.shown.tolist() == [[1.0, -999.0]]


@pytest.mark.parametrize(
    "row",
    [
        [1.0, 2.0, 3.0],
        np.array([1, 2, 3]),
        np.array([[1.0, 2.0, 3.0]]),
        pd.Series({"c": 3.0, "a": 1.0, "b": 2.0}),
        pd.DataFrame({"c": [3.0], "a": [1.0], "b": [2.0]}),
        pl.Series([1.0, 2.0, 3.0]),
        scipy.sparse.csr_array(np.array([[1.0, 2.0, 3.0]])),
    ],
)
def test_one_row_may_come_by_itself_where_one_is_meant(row: Any) -> None:
    assert read_some_rows(row, "x", names=NAMES, n_features=3).matrix.tolist() == [[1.0, 2.0, 3.0]]


def test_a_row_of_text_is_refused_by_column() -> None:
    with pytest.raises(InputError, match="row 0 of column 'b' is 'red'"):
        read_some_rows([1.0, "red"], "x", names=["a", "b"], n_features=2)
