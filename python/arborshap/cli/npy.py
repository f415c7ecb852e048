"""NumPy's .npy files: memory-mapped for reading, written a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.cli.table import Batch, ChosenColumns
from arborshap.exceptions import InputError

_HEADER = 192
"""Bytes before the numbers: a multiple of 64 that holds any shape, because the shape is known only at the end."""


class NpyTable:
    """A .npy file of one matrix, with its columns in the model's order."""

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        self.names: list[str] | None = None
        self.index: tuple[str, ...] = ()
        try:
            with np.errstate(over="ignore"):  # a damaged file may claim a huge shape
                self._matrix: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
        except (ValueError, OverflowError, TokenError) as error:
            raise InputError(f"{what} {str(path)!r} cannot be read as .npy: {error}") from error
        if self._matrix.ndim != 2:
            raise InputError(f"{what} {str(path)!r} has shape {self._matrix.shape}; rows must be a 2-D matrix")
        self.n_rows: int | None = len(self._matrix)

    def batches(self, columns: ChosenColumns, chunk_rows: int) -> Iterator[Batch]:
        """Read `chunk_rows` rows at a time."""
        n = len(self._matrix)
        if self._matrix.shape[1] != len(columns.order):
            raise InputError(
                f"{self.what} {str(self.path)!r} has {self._matrix.shape[1]} columns, "
                f"but the model has {len(columns.order)} features"
            )
        for start in range(0, n, chunk_rows):
            rows = np.array(self._matrix[start : start + chunk_rows])
            yield Batch(rows, len(rows), [], (start + len(rows)) / n)


class NpySink:
    """Writes chunks of numbers to a .npy file whose length is not known in advance."""

    def __init__(self, file: IO[bytes], row_shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._file, self._row_shape = file, row_shape
        self._dtype = dtype.newbyteorder("<")
        self._n = 0
        self._write_header()

    def write(self, values: NDArray[Any]) -> None:
        """Append rows."""
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self._n += len(values)

    def close(self) -> None:
        """Write the number of rows into the header."""
        self._file.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        shape = (self._n, *self._row_shape)
        text = repr({"descr": self._dtype.str, "fortran_order": False, "shape": shape})
        padded = text.encode("ascii").ljust(_HEADER - 11) + b"\n"
        self._file.write(b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded)
