"""Writing CSV files, with as many digits per number as are needed to read back the same number."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from arborshap.cli.dialect import Dialect


class CsvSink:
    """Writes CSV in UTF-8, by pyarrow if it is installed, which is several times faster."""

    def __init__(self, file: IO[bytes], names: Sequence[str], dialect: Dialect, *, is_compressed: bool) -> None:
        self._packed = gzip.GzipFile(fileobj=file, mode="wb", mtime=0) if is_compressed else None
        self._file: Any = self._packed or file
        self._dialect = dialect
        self._arrow = _arrow() if dialect.decimal == "." else None
        self._write([names])

    def write(self, columns: Sequence[Any]) -> None:
        """Append rows, given column by column."""
        if self._arrow is None:
            self._write(zip(*map(self._cells, columns), strict=True))
            return
        pa, arrow_csv = self._arrow
        table = pa.table({str(j): column for j, column in enumerate(columns)})
        options = arrow_csv.WriteOptions(include_header=False, delimiter=self._dialect.sep, quoting_style="needed")
        buffer = pa.BufferOutputStream()
        arrow_csv.write_csv(table, buffer, options)
        self._file.write(memoryview(buffer.getvalue()))

    def close(self) -> None:
        """Write the end of the file, and leave it open."""
        if self._packed is not None:
            self._packed.close()

    def _write(self, rows: Any) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self._dialect.sep, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode("utf-8"))

    def _cells(self, column: Any) -> list[Any]:
        is_number = isinstance(column, np.ndarray) and column.dtype.kind == "f"
        if is_number and column.dtype == np.float32:
            column = column.astype(str)  # as float64 it would show digits beyond its precision
        cells: list[Any] = column if isinstance(column, list) else column.tolist()
        if is_number and self._dialect.decimal != ".":
            return [str(cell).replace(".", self._dialect.decimal) for cell in cells]
        return cells


def _arrow() -> Any:
    try:
        import pyarrow
        from pyarrow import csv as arrow_csv
    except ImportError:
        return None
    return pyarrow, arrow_csv
