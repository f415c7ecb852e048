"""Showing the progress of a long call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from arborshap.exceptions import InputError

Report: TypeAlias = Callable[[float], object]
"""Called with the fraction done, from 0 to 1."""


@contextmanager
def reporting(progress: bool | Report) -> Iterator[Report | None]:
    """Open what the caller asked for: nothing, the caller's function, or a bar (tqdm's, if tqdm is installed)."""
    if progress is False or progress is None:
        yield None
    elif callable(progress):
        yield progress
    elif progress is not True:
        raise InputError(f"progress must be True, False or a function of the fraction done; got {progress!r}")
    else:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            yield _percent
            print(file=sys.stderr)
            return
        with tqdm(
            total=100, unit="%", desc="arborshap", bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
        ) as bar:
            yield lambda fraction: bar.update(100 * fraction - bar.n)
            bar.update(100 - bar.n)


def _percent(fraction: float) -> None:
    print(f"\rarborshap: {fraction:4.0%}", end="", file=sys.stderr, flush=True)
