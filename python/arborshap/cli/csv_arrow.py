"""Plain CSV files, read by pyarrow if it is installed: the same numbers as cell by cell, several times faster.

What pyarrow might read otherwise is left to the reader that goes cell by cell: quotes, other words than numbers, rows
of other lengths.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.cli.dialect import Dialect
from arborshap.cli.endings import is_compressed
from arborshap.cli.table import Batch, ChosenColumns

_BLOCK = 2**22
_LOOKED_AT = 50
"""Rows that tell which columns hold truth values."""

_MISSING = ["", "NA", "na", "N/A", "n/a", "null", "NULL", "Null", "None", "none", "NONE", "NaN", "nan", "NAN"]
_TRUE, _FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]


class NotPlain(Exception):
    """The file must be read cell by cell, from the rows on that have not been returned yet."""


def arrow_batches(
    path: Path, dialect: Dialect, n_columns: int, columns: ChosenColumns, chunk_rows: int
) -> Iterator[Batch]:
    """Read numbers, `chunk_rows` rows at most at a time; raise `NotPlain` where another reader must go on."""
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv
    except ImportError as missing:
        raise NotPlain from missing
    if not _is_plain(path):
        raise NotPlain
    truths = _truth_columns(path, dialect, columns.order)
    names = [str(j) for j in range(n_columns)]
    types = {str(j): pa.bool_() if j in truths else pa.float64() for j in columns.order}
    types |= {str(j): pa.string() for j in columns.ids}
    try:
        with pa.input_stream(str(path), compression="gzip" if is_compressed(path) else None) as stream:
            reader = arrow_csv.open_csv(
                stream,
                read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=1, block_size=_BLOCK),
                parse_options=arrow_csv.ParseOptions(delimiter=dialect.sep, quote_char=False),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=[str(j) for j in dict.fromkeys([*columns.order, *columns.ids])],
                    null_values=_MISSING,
                    true_values=_TRUE,
                    false_values=_FALSE,
                    strings_can_be_null=False,
                    decimal_point=dialect.decimal,
                ),
            )
            size = max(1, path.stat().st_size)
            for block in reader:
                done = 0.5 if is_compressed(path) else min(1.0, stream.tell() / size)
                for start in range(0, block.num_rows, chunk_rows):
                    part = block.slice(start, chunk_rows)
                    ids = [part.column(str(j)) for j in columns.ids]
                    yield Batch(_matrix(part, columns.order), part.num_rows, ids, done)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise NotPlain from error


def _matrix(part: Any, order: list[int]) -> NDArray[np.float64]:
    import pyarrow as pa

    matrix = np.empty((part.num_rows, len(order)))
    for place, j in enumerate(order):
        column = part.column(str(j))
        if column.type == pa.bool_():
            column = column.cast(pa.float64())
        values = column.to_numpy(zero_copy_only=False)
        if np.count_nonzero(np.isnan(values)) != column.null_count:
            raise NotPlain  # pyarrow also takes nan(1) for a number
        matrix[:, place] = values
    return matrix


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if is_compressed(path) else path.open("rb")  # type: ignore[return-value]


def _is_plain(path: Path) -> bool:
    """Whether a file has no quotes, and no line that ends in a carriage return alone."""
    last = b""
    with _opened(path) as file:
        try:
            while block := file.read(_BLOCK):
                lone = b"\r" in block and b"\r" in (last + block).replace(b"\r\n", b"").rstrip(b"\r")
                if lone or b'"' in block or b"\0" in block:
                    return False
                last = block[-1:]
        except (OSError, EOFError):
            return False
    return last != b"\r"


def _truth_columns(path: Path, dialect: Dialect, order: list[int]) -> set[int]:
    """Return the columns whose first cells are truth values or missing."""
    with _opened(path) as file:
        try:
            lines = [line.decode("utf-8-sig") for line in islice(file, _LOOKED_AT)]
        except (UnicodeDecodeError, OSError, EOFError):
            return set()
    rows = list(csv.reader(lines, delimiter=dialect.sep))[1:]
    found = set()
    for j in order:
        cells = {row[j] for row in rows if len(row) > j} - set(_MISSING)
        if cells and cells <= {*_TRUE, *_FALSE}:
            found.add(j)
    return found
