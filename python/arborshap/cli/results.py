"""Writing values to a file: the names of the columns, and one writer per file format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arborshap.cli.csv_sink import CsvSink
from arborshap.cli.dialect import Dialect
from arborshap.cli.endings import ending_of, is_compressed, is_text
from arborshap.cli.npy import NpySink
from arborshap.cli.parquet import ParquetSink
from arborshap.exceptions import InputError


class Columnar(Protocol):
    """A file that is written in chunks, each given column by column."""

    def write(self, columns: Sequence[Any]) -> None:
        """Append rows, given column by column."""

    def close(self) -> None:
        """Write the end of the file."""


class Results:
    """The output file of `explain`.

    Parameters
    ----------
    file
        Where to write.
    path
        The path, whose ending tells the format.
    dialect
        How cells are written, if the file is CSV.
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
    with_prediction
        Whether the base value and the prediction of each row are written too.
    about
        The metadata of a Parquet file.
    """

    def __init__(
        self,
        file: IO[bytes],
        path: Path,
        dialect: Dialect,
        *,
        players: Sequence[str],
        outputs: Sequence[str] | None,
        ids: Sequence[str],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        ranked: bool,
        with_prediction: bool,
        about: Mapping[str, object],
    ) -> None:
        self._players = np.array(players, dtype=object)
        self._ranked = ranked
        self._pairs = len(shape) - (outputs is not None) == 2
        names = [*ids, *_column_names(players, outputs, shape, ranked=ranked, pairs=self._pairs)]
        if with_prediction:
            ends = _ends(outputs)
            names += [f"{name}{end}" for name in ("base_value", "prediction") for end in ends]
        self._npy = NpySink(file, shape, dtype) if ending_of(path) == ".npy" else None
        self._columns: Columnar | None = None
        if self._npy is None:
            _check_distinct(names)
            if is_text(path):
                self._columns = CsvSink(file, names, dialect, is_compressed=is_compressed(path))
            else:
                self._columns = ParquetSink(file, names, about)

    def write(
        self,
        values: NDArray[Any],
        ids: Sequence[Any],
        players: NDArray[np.int32] | None = None,
        predictions: NDArray[Any] | None = None,
    ) -> None:
        """Append the values of some rows.

        Parameters
        ----------
        values
            The values.
        ids
            The columns that are copied.
        players
            If values are ranked, the players that they belong to.
        predictions
            The base values and the predictions, one column per output each, if they are written too.
        """
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
        if predictions is not None:
            columns += list(predictions.astype(values.dtype).T)
        self._columns.write([*ids, *columns])

    def close(self) -> None:
        """Write the end of the file."""
        (self._npy or self._columns).close()  # type: ignore[union-attr]


def _column_names(
    players: Sequence[str], outputs: Sequence[str] | None, shape: tuple[int, ...], *, ranked: bool, pairs: bool
) -> list[str]:
    ends = _ends(outputs)
    if ranked:
        places = range(1, shape[0] + 1)
        return [f"{kind}_{place}{end}" for place in places for end in ends for kind in ("player", "value")]
    names = list(players)
    if pairs:
        each = list(enumerate(players))
        names = [one if i == j else f"{one} x {other}" for i, one in each for j, other in each[i:]]
    return [name + end for name in names for end in ends]


def _ends(outputs: Sequence[str] | None) -> list[str]:
    return [""] if outputs is None else [f":{output}" for output in outputs]


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
