"""Writing values to a file: the names of the columns, and one writer per file format."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arborshap.cli.npy import NpySink
from arborshap.cli.parquet import ParquetSink
from arborshap.exceptions import InputError

ENDINGS = (".csv", ".parquet", ".pq", ".npy")


class Columnar(Protocol):
    """A file that is written in chunks, each given column by column."""

    def write(self, columns: Sequence[Any]) -> None:
        """Append rows, given column by column."""

    def close(self) -> None:
        """Write the end of the file."""


class CsvSink:
    """Writes CSV, with as many digits per number as are needed to read back the same number."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow(names)

    def write(self, columns: Sequence[Any]) -> None:
        """Append rows, given column by column."""
        self._writer.writerows(zip(*map(_cells, columns), strict=True))

    def close(self) -> None:
        """Flush the last lines, and leave the file open."""
        self._text.detach()


def _cells(column: Any) -> list[Any]:
    if isinstance(column, np.ndarray) and column.dtype == np.float32:
        column = column.astype(str)  # as float64 it would show digits beyond its precision
    cells: list[Any] = column if isinstance(column, list) else column.tolist()
    return cells


class Results:
    """The output file of `explain`.

    Parameters
    ----------
    file
        Where to write.
    ending
        The ending of the file: one of `ENDINGS`.
    players, outputs
        The names; `outputs` is None for a model with one output.
    ids
        The names of the columns that are copied.
    shape
        The shape of one row's values, as the explainer returns them.
    dtype
        float32 or float64.
    ranked
        Whether the values are the largest of each row, together with the positions of their players.
    about
        The metadata of a Parquet file.
    """

    def __init__(
        self,
        file: IO[bytes],
        ending: str,
        *,
        players: Sequence[str],
        outputs: Sequence[str] | None,
        ids: Sequence[str],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        ranked: bool,
        about: Mapping[str, object],
    ) -> None:
        self._players = np.array(players, dtype=object)
        self._ranked = ranked
        self._pairs = len(shape) - (outputs is not None) == 2
        names = [*ids, *_column_names(players, outputs, shape, ranked=ranked, pairs=self._pairs)]
        self._npy = NpySink(file, shape, dtype) if ending == ".npy" else None
        self._columns: Columnar | None = None
        if self._npy is None:
            _check_distinct(names)
            self._columns = CsvSink(file, names) if ending == ".csv" else ParquetSink(file, names, about)

    def write(self, values: NDArray[Any], ids: Sequence[Any], players: NDArray[np.int32] | None = None) -> None:
        """Append the values of some rows; if values are ranked, `players` holds the players that they belong to."""
        if self._columns is None:
            assert self._npy is not None
            self._npy.write(values)
            return
        if self._pairs:
            values = _upper_triangle(values)
        flat = values.reshape(len(values), -1)
        columns: list[Any] = [flat[:, j] for j in range(flat.shape[1])]
        if players is not None:
            names = self._players[players.reshape(len(values), -1)]
            columns = [both for j, column in enumerate(columns) for both in (names[:, j], column)]
        self._columns.write([*ids, *columns])

    def close(self) -> None:
        """Write the end of the file."""
        (self._npy or self._columns).close()  # type: ignore[union-attr]


def _column_names(
    players: Sequence[str], outputs: Sequence[str] | None, shape: tuple[int, ...], *, ranked: bool, pairs: bool
) -> list[str]:
    ends = [""] if outputs is None else [f":{output}" for output in outputs]
    if ranked:
        places = range(1, shape[0] + 1)
        return [f"{kind}_{place}{end}" for place in places for end in ends for kind in ("player", "value")]
    names = list(players)
    if pairs:
        each = list(enumerate(players))
        names = [one if i == j else f"{one} x {other}" for i, one in each for j, other in each[i:]]
    return [name + end for name in names for end in ends]


def _upper_triangle(values: NDArray[Any]) -> NDArray[Any]:
    """Keep each pair once, with the sum of its two halves, so that a line still adds up to the same."""
    first, second = np.triu_indices(values.shape[1])
    once: NDArray[Any] = values[:, first, second]
    once[:, first != second] *= 2
    return once


def _check_distinct(names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(f"two columns of the output would be called {repeated[0]!r}; give one of them another name")
