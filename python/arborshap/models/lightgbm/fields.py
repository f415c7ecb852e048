"""The lines of LightGBM's model text: keys and values, and values that are lists of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.forest.forest import frozen_copy

_LONGEST_NUMBER = 64


def read_block(lines: Iterable[str], where: str) -> tuple[dict[str, str], str | None]:
    """Read ``key=value`` lines up to the next tree or the end of the trees; return them and that last line."""
    fields: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition("=")
        if key in ("Tree", "end of trees"):
            return fields, line
        if key in fields:
            raise ModelError(f"{where}: {key!r} appears twice")
        if key:
            fields[key] = value
    return fields, None


def field(fields: dict[str, str], key: str, where: str) -> str:
    """Return the value of a key that must be there."""
    if key not in fields:
        raise ModelError(f"{where}: {key!r} is missing; the file is damaged or not a LightGBM model")
    return fields[key]


def numbers(fields: dict[str, str], key: str, where: str, dtype: type[np.number[Any]], n: int) -> NDArray[Any]:
    """Return the numbers of a key, which must be `n`."""
    words = field(fields, key, where).split()
    if len(words) != n:
        raise ModelError(f"{where}: {key} has {len(words)} entries instead of {n}")
    # Python takes a time for a whole number that grows with the square of its length.
    if max(map(len, words), default=0) > _LONGEST_NUMBER:
        raise ModelError(f"{where}: {key} has an entry that is longer than any number")
    try:
        # Python reads numbers several times as fast as NumPy does.
        numbers = (
            np.array(list(map(float, words)), np.float64)
            if dtype is np.float64
            else np.array(list(map(int, words)), np.int64)
        )
    except (ValueError, OverflowError):
        raise ModelError(f"{where}: {key} has an entry that is not a number of the right type") from None
    return frozen_copy(f"{where}: {key}", numbers, dtype)
