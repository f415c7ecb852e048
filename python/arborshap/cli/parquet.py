"""Parquet files, read and written with pyarrow, one batch at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from arborshap.cli.table import Batch, ChosenColumns
from arborshap.exceptions import InputError
from arborshap.rows.frames import check_names


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as missing:
        raise InputError("Parquet files need pyarrow: pip install 'arborshap[parquet]'") from missing
    return pyarrow


class ParquetTable:
    """A Parquet file; its columns keep their types, so categories stay categories."""

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        self._arrow = _pyarrow()
        with self._reading() as file:
            self.names: list[str] | None = check_names(file.schema_arrow.names, f"{what} {str(path)!r}")
            self.n_rows: int | None = file.metadata.num_rows
            self.schema: Any = file.schema_arrow
            self.index = _index_columns(file.schema_arrow)

    def batches(self, columns: ChosenColumns, chunk_rows: int) -> Iterator[Batch]:
        """Read the file from its beginning, at most `chunk_rows` rows at a time."""
        assert self.names is not None
        explained = [self.names[j] for j in columns.order]
        kept = [self.names[j] for j in columns.ids]
        with self._reading() as file:
            batches = file.iter_batches(batch_size=chunk_rows, columns=explained + kept)
            read = 0
            while (batch := self._next(batches)) is not None:
                read += batch.num_rows
                ids = [batch.column(name) for name in kept]
                yield Batch(batch.select(explained), batch.num_rows, ids, read / max(1, self.n_rows or 0))

    def _next(self, batches: Iterator[Any]) -> Any:
        try:
            return next(batches, None)
        except (self._arrow.ArrowException, OSError) as error:
            raise self._unreadable(error) from error

    def _reading(self) -> Any:
        try:
            return self._arrow.parquet.ParquetFile(self.path, pre_buffer=False)
        except (self._arrow.ArrowException, OSError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> InputError:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return InputError(f"{self.what} {str(self.path)!r} cannot be read as Parquet: {reason}")


def _index_columns(schema: Any) -> tuple[str, ...]:
    """List the columns that pandas wrote as the index of a frame, as its own metadata say."""
    try:
        listed = json.loads(schema.metadata[b"pandas"])["index_columns"]
    except (TypeError, KeyError, ValueError):
        return ()
    return tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()


class ParquetSink:
    """Writes chunks of columns; each chunk becomes a row group."""

    def __init__(self, file: IO[bytes], names: Sequence[str], about: Mapping[str, object]) -> None:
        self._file, self._names = file, list(names)
        self._about = {"arborshap": json.dumps(about)}
        self._arrow = _pyarrow()
        self._writer: Any = None

    def write(self, columns: Sequence[Any]) -> None:
        """Append rows, given column by column."""
        table = self._arrow.table(dict(zip(self._names, columns, strict=True)))
        if self._writer is None:
            schema = table.schema.with_metadata(self._about)
            # Values rarely repeat, so a dictionary of them would only cost time.
            texts = [field.name for field in schema if not self._arrow.types.is_floating(field.type)]
            self._writer = self._arrow.parquet.ParquetWriter(self._file, schema, use_dictionary=texts)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        """Write the file's footer."""
        if self._writer is not None:
            self._writer.close()
