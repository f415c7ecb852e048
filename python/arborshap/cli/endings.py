"""The formats of files, recognised by their endings."""

from __future__ import annotations

from pathlib import Path

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".npy")

STANDARD = Path("-")
"""Standard input or output."""


def ending_of(path: Path) -> str:
    """Return the ending of a file that tells its format; standard input and output are CSV."""
    if path == STANDARD:
        return ".csv"
    ending = path.suffix.lower()
    if ending == ".gz":
        ending = Path(path.stem).suffix.lower() + ending
    return ending


def is_text(path: Path) -> bool:
    """Whether a file holds lines of cells."""
    return ending_of(path).startswith((".csv", ".tsv"))


def is_compressed(path: Path) -> bool:
    """Whether a file is compressed with gzip."""
    return ending_of(path).endswith(".gz")
