"""CSV files, read a few rows at a time; if a cell is not a number, the error says where it is."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.cli.table import Batch, ChosenColumns
from arborshap.exceptions import InputError
from arborshap.rows.frames import check_names

_WORDS = {"": np.nan, "na": np.nan, "n/a": np.nan, "null": np.nan, "none": np.nan, "true": 1.0, "false": 0.0}
"""Cells that are allowed besides the numbers that Python reads as a float."""


class CsvTable:
    """A CSV file in UTF-8: commas between cells, names in the first line, numbers below."""

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        self.n_rows: int | None = None  # known only at the end
        with self._open() as (_, lines):
            header = next(lines, None)
        if not header:
            raise InputError(f"{what} {str(path)!r} is empty; a CSV file must begin with a line of column names")
        names = check_names((name.strip() for name in header), f"{what} {str(path)!r}")
        _check_header(names, f"{what} {str(path)!r}")
        self.names: list[str] | None = names

    def batches(self, columns: ChosenColumns, chunk_rows: int) -> Iterator[Batch]:
        """Read the file from its beginning, `chunk_rows` rows at a time."""
        assert self.names is not None
        size = max(1, os.path.getsize(self.path))
        take, take_ids = _picker(columns.order), _picker(columns.ids)
        with self._open() as (position, lines):
            next(lines)
            start = 0
            values: list[list[float]] = []
            ids: list[Sequence[str]] = []
            empty_line = False
            for cells in lines:
                if not cells:
                    empty_line = True
                    continue
                row = start + len(values)
                if empty_line and len(self.names) == 1:  # with one column it may be a missing cell
                    raise InputError(
                        f"{self._at(row, lines)}: there is an empty line before it; write NA for a missing cell"
                    )
                if len(cells) != len(self.names):
                    at = self._at(row, lines)
                    raise InputError(
                        f"{at}: there are {len(cells)} cells, but the header has {len(self.names)} columns"
                    )
                values.append(self._numbers(take(cells), columns, row, lines))
                if columns.ids:
                    ids.append(take_ids(cells))
                if len(values) == chunk_rows:
                    yield self._batch(values, ids, columns, position() / size)
                    start, values, ids = row + 1, [], []
            if values:
                yield self._batch(values, ids, columns, 1.0)

    def _batch(self, values: list[list[float]], ids: list[Sequence[str]], columns: ChosenColumns, done: float) -> Batch:
        matrix: NDArray[np.float64] = np.array(values, dtype=np.float64).reshape(len(values), len(columns.order))
        kept: list[Any] = [list(column) for column in zip(*ids, strict=True)]
        return Batch(matrix, len(matrix), kept, min(done, 1.0))

    def _numbers(self, cells: Sequence[str], columns: ChosenColumns, row: int, lines: _Lines) -> list[float]:
        try:
            if "_" not in "".join(cells):  # Python reads 1_000 as a number, but in CSV it is not one
                return list(map(float, cells))
        except ValueError:
            pass
        assert self.names is not None
        names = (self.names[j] for j in columns.order)
        return [self._number(cell, name, row, lines) for cell, name in zip(cells, names, strict=True)]

    def _number(self, cell: str, name: str, row: int, lines: _Lines) -> float:
        word = cell.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        try:
            if "_" not in word:
                return float(word)
        except ValueError:
            pass
        shown = repr(cell if len(cell) <= 40 else cell[:37] + "...")
        raise InputError(f"{self._at(row, lines)}, column {name!r}: {shown} is not a number")

    def _at(self, row: int, lines: _Lines) -> str:
        return f"{self.what} {str(self.path)!r}, row {row} (line {lines.line_num} of the file)"

    def _open(self) -> _Lines:
        return _Lines(self.path, self.what)


class _Lines:
    """The file's lines as lists of cells, with errors that name the file."""

    def __init__(self, path: Path, what: str) -> None:
        self._where = f"{what} {str(path)!r}"
        self._bytes = path.open("rb")
        # Strict, because an unclosed quote would otherwise swallow all rows below it silently.
        self._cells = csv.reader(io.TextIOWrapper(self._bytes, encoding="utf-8-sig", newline=""), strict=True)

    def __enter__(self) -> tuple[Callable[[], int], _Lines]:
        return self._bytes.tell, self

    def __exit__(self, *_: object) -> None:
        self._bytes.close()

    @property
    def line_num(self) -> int:
        return self._cells.line_num

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> list[str]:
        line = self.line_num + 1  # where the row begins; quoted cells may span many lines
        try:
            return next(self._cells)
        except UnicodeDecodeError as error:
            raise InputError(f"{self._where} is not text in UTF-8, after line {self.line_num}") from error
        except csv.Error as error:
            unclosed = "; a quote is opened and never closed" if "end of data" in str(error) else ""
            raise InputError(f"{self._where}, in the row that begins on line {line}: {error}{unclosed}") from error


def _check_header(names: list[str], where: str) -> None:
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        raise InputError(f"{where} has one column, {names[0]!r}; separate columns by commas")
    numbered = names == [str(j) for j in range(len(names))]
    if not numbered and all(map(_is_number, names)):
        raise InputError(f"{where} begins with numbers; its first line must name the columns")


def _picker(positions: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda cells: [cells[position] for position in positions]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
