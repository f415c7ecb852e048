"""CSV files, read a few rows at a time; if a cell is not a number, the error says where it is."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.cli.csv_arrow import NotPlain, arrow_batches
from arborshap.cli.dialect import Dialect
from arborshap.cli.endings import is_compressed
from arborshap.cli.table import Batch, ChosenColumns
from arborshap.exceptions import InputError
from arborshap.rows.frames import check_names

MISSING = ("", "na", "n/a", "null", "none")
"""Cells that are missing, besides those that Python reads as NaN."""

_WORDS = {**dict.fromkeys(MISSING, np.nan), "true": 1.0, "false": 0.0}
"""Cells that are allowed besides numbers."""


_UNNAMED = "Unnamed: 0"
"""What pandas calls a column without a name, which is how it writes the index of a frame."""


class CsvTable:
    """A CSV file in UTF-8: names in the first line, numbers and the texts of categories below.

    Parameters
    ----------
    path
        What to call the file in messages.
    what
        What to call its rows.
    dialect
        What separates cells, and the decimal point.
    source
        The file itself, if it is another: a copy of standard input.
    """

    def __init__(self, path: Path, what: str, dialect: Dialect, source: Path | None = None) -> None:
        self.path, self.what, self._dialect = path, what, dialect
        self._source = path if source is None else source
        self.n_rows: int | None = None  # known only at the end
        self.index: tuple[str, ...] = ()
        with self._open() as (_, lines):
            header = next(lines, None)
        where = f"{what} {str(path)!r}"
        if not header:
            raise InputError(f"{where} is empty; a CSV file must begin with a line of column names")
        if header[0].strip() == "" and len(header) > 1:
            header[0] = _UNNAMED
            self.index = (_UNNAMED,)
        names = check_names((name.strip() for name in header), where)
        _check_header(names, where, dialect)
        self.names: list[str] | None = names

    def batches(self, columns: ChosenColumns, chunk_rows: int) -> Iterator[Batch]:
        """Read the file from its beginning, `chunk_rows` rows at a time."""
        assert self.names is not None
        n_rows = 0
        if not columns.texts and len(self.names) > 1:
            try:
                for batch in arrow_batches(self._source, self._dialect, len(self.names), columns, chunk_rows):
                    yield batch
                    n_rows += batch.n_rows
                return
            except NotPlain:
                pass  # what follows reads it as well, or finds the cell that is wrong
        yield from self._one_by_one(columns, chunk_rows, n_rows)

    def _one_by_one(self, columns: ChosenColumns, chunk_rows: int, skipped: int) -> Iterator[Batch]:
        """Read cell by cell, which takes longer but tells where each of them is."""
        assert self.names is not None
        size = max(1, os.path.getsize(self._source))
        take, take_ids = _picker(columns.order), _picker(columns.ids)
        with self._open() as (position, lines):
            next(lines)
            row = -1
            values: list[list[Any]] = []
            ids: list[Sequence[str]] = []
            empty_line = False
            for cells in lines:
                if not cells:
                    empty_line = True
                    continue
                row += 1
                if empty_line and len(self.names) == 1:  # with one column it may be a missing cell
                    raise InputError(
                        f"{self._at(row, lines)}: there is an empty line before it; write NA for a missing cell"
                    )
                if row < skipped:
                    continue
                if len(cells) != len(self.names):
                    at = self._at(row, lines)
                    raise InputError(
                        f"{at}: there are {len(cells)} cells, but the header has {len(self.names)} columns"
                    )
                values.append(self._cells(take(cells), columns, row, lines))
                if columns.ids:
                    ids.append(take_ids(cells))
                if len(values) == chunk_rows:
                    yield _batch(values, ids, columns, position() / size)
                    values, ids = [], []
            if values:
                yield _batch(values, ids, columns, 1.0)

    def _cells(self, cells: Sequence[str], columns: ChosenColumns, row: int, lines: _Lines) -> list[Any]:
        if not columns.texts:
            try:
                return list(self._dialect.numbers(cells))
            except ValueError:
                pass
        assert self.names is not None
        return [
            _text(cell, columns.texts[place])
            if place in columns.texts
            else self._number(cell, self.names[columns.order[place]], row, lines)
            for place, cell in enumerate(cells)
        ]

    def _number(self, cell: str, name: str, row: int, lines: _Lines) -> float:
        word = cell.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        try:
            return self._dialect.numbers([word])[0]
        except ValueError:
            pass
        shown = repr(cell if len(cell) <= 40 else cell[:37] + "...")
        advice = "; if it has a decimal comma, give --decimal ," if _has_decimal_comma(word, self._dialect) else ""
        raise InputError(f"{self._at(row, lines)}, column {name!r}: {shown} is not a number{advice}")

    def _at(self, row: int, lines: _Lines) -> str:
        return f"{self.what} {str(self.path)!r}, row {row} (line {lines.line_num} of the file)"

    def _open(self) -> _Lines:
        return _Lines(self._source, f"{self.what} {str(self.path)!r}", self._dialect.sep)


class _Lines:
    """The file's lines as lists of cells, with errors that name the file."""

    def __init__(self, path: Path, where: str, sep: str) -> None:
        self._where = where
        self._bytes = path.open("rb")
        plain: IO[bytes] = gzip.GzipFile(fileobj=self._bytes) if is_compressed(path) else self._bytes  # type: ignore[assignment]
        # Strict, because an unclosed quote would otherwise swallow all rows below it silently.
        text = io.TextIOWrapper(plain, encoding="utf-8-sig", newline="")
        self._cells = csv.reader(text, strict=True, delimiter=sep)

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
        except (gzip.BadGzipFile, EOFError) as error:
            raise InputError(f"{self._where} cannot be read as gzip: {error}") from error
        except csv.Error as error:
            unclosed = "; a quote is opened and never closed" if "end of data" in str(error) else ""
            raise InputError(f"{self._where}, in the row that begins on line {line}: {error}{unclosed}") from error


def _batch(values: list[list[Any]], ids: list[Sequence[str]], columns: ChosenColumns, done: float) -> Batch:
    dtype = object if columns.texts else np.float64
    matrix: NDArray[Any] = np.array(values, dtype=dtype).reshape(len(values), len(columns.order))
    kept: list[Any] = [list(column) for column in zip(*ids, strict=True)]
    return Batch(matrix, len(matrix), kept, min(done, 1.0))


def _text(cell: str, categories: Sequence[object]) -> str | float | None:
    """Return a cell of a text column. What is no category may be a word for missing, or a code."""
    if cell in categories:
        return cell
    if cell.strip().lower() in (*MISSING, "nan"):
        return None
    is_code = cell.strip().isdecimal() and len(categories) > 0 and all(isinstance(known, str) for known in categories)
    return float(cell) if is_code else cell


def _has_decimal_comma(word: str, dialect: Dialect) -> bool:
    try:
        return dialect.decimal == "." and "," in word and bool(np.isfinite(float(word.replace(",", "."))))
    except ValueError:
        return False


def _check_header(names: list[str], where: str, dialect: Dialect) -> None:
    other = next((mark for mark in ";,\t|" if mark != dialect.sep and mark in names[0]), None)
    if len(names) == 1 and other is not None:
        mark = "tab" if other == "\t" else f"'{other}'"
        raise InputError(f"{where} has one column, {names[0]!r}; its cells look separated by {mark}: give --sep {mark}")
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
