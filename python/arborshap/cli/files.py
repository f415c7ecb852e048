"""The files of rows that a command reads, opened by their endings."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from arborshap.cli.csv_table import CsvTable
from arborshap.cli.dialect import Dialect
from arborshap.cli.endings import STANDARD, ending_of, is_text
from arborshap.cli.npy import NpyTable
from arborshap.cli.parquet import ParquetTable
from arborshap.cli.table import Table
from arborshap.exceptions import InputError


class Inputs:
    """The files of rows of a command; made by `inputs_of`."""

    def __init__(self, options: argparse.Namespace, copies: ExitStack) -> None:
        self._options, self._copies = options, copies

    def open(self, path: Path, what: str) -> Table:
        """Open a file by its ending; standard input is CSV."""
        if path == STANDARD:
            return CsvTable(path, what, Dialect.of(path, self._options), self._copy_of_standard_input(what))
        if not path.exists():
            raise InputError(f"there is no {what} file {str(path)!r}")
        if not path.is_file():
            raise InputError(f"{what} {str(path)!r} is not a file; give - to read CSV from standard input")
        if is_text(path):
            return CsvTable(path, what, Dialect.of(path, self._options))
        match ending_of(path):
            case ".parquet" | ".pq":
                return ParquetTable(path, what)
            case ".npy":
                return NpyTable(path, what)
        raise InputError(f"{what} {str(path)!r} must end in .csv, .tsv, .csv.gz, .parquet or .npy")

    def _copy_of_standard_input(self, what: str) -> Path:
        """Copy standard input to a file, because rows are read more than once."""
        if sys.stdin.isatty():
            raise InputError(f"{what} '-' is the keyboard; pipe a CSV file into the command")
        copy = Path(self._copies.enter_context(tempfile.TemporaryDirectory())) / "input.csv"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return copy


@contextmanager
def inputs_of(options: argparse.Namespace) -> Iterator[Inputs]:
    """Open files of rows; copies of standard input are removed in the end."""
    with ExitStack() as copies:
        yield Inputs(options, copies)
