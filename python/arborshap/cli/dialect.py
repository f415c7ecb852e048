"""How cells are written in CSV files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from arborshap.cli.endings import ending_of
from arborshap.exceptions import InputError


@dataclass(frozen=True, slots=True)
class Dialect:
    """What separates cells, and the decimal point."""

    sep: str = ","
    decimal: str = "."

    @classmethod
    def of(cls, path: Path, options: argparse.Namespace) -> Self:
        """Return the dialect of a file: as asked for, or else tabs for .tsv and commas for all others."""
        sep = options.sep or ("\t" if ending_of(path).startswith(".tsv") else ",")
        if sep == options.decimal:
            raise InputError(f"{sep!r} cannot separate cells and be the decimal point; give --sep ';', for example")
        return cls(sep, options.decimal)

    def numbers(self, cells: Sequence[str]) -> list[float]:
        """Read numbers as Python does; raise `ValueError` if one is none."""
        together = "".join(cells)
        if "_" in together:  # Python reads 1_000 as a number, but in CSV it is not one
            raise ValueError("_")
        if self.decimal == ".":
            return list(map(float, cells))
        if "." in together:  # it may separate thousands, or be a decimal point after all
            raise ValueError(".")
        return [float(cell.replace(self.decimal, ".")) for cell in cells]
