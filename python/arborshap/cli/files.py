"""Files of rows, recognised by their endings."""

from __future__ import annotations

from pathlib import Path

from arborshap.cli.csv_table import CsvTable
from arborshap.cli.npy import NpyTable
from arborshap.cli.parquet import ParquetTable
from arborshap.cli.table import Table
from arborshap.exceptions import InputError


def open_table(path: Path, what: str) -> Table:
    """Open a file by its ending."""
    if not path.exists():
        raise InputError(f"there is no {what} file {str(path)!r}")
    if not path.is_file():
        raise InputError(f"{what} {str(path)!r} is not a file")
    match path.suffix.lower():
        case ".csv":
            return CsvTable(path, what)
        case ".parquet" | ".pq":
            return ParquetTable(path, what)
        case ".npy":
            return NpyTable(path, what)
    raise InputError(f"{what} {str(path)!r} must end in .csv, .parquet or .npy")
