"""Showing the progress of a long call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
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
            yield _Percent()
            print(file=sys.stderr)
            return
        with tqdm(
            total=100, unit="%", desc="arborshap", bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        ) as bar:
            yield lambda fraction: bar.update(100 * fraction - bar.n)
            bar.update(100 - bar.n)


class _Percent:
    """A line with the share that is done and the time that is left, for people without tqdm."""

    def __init__(self) -> None:
        self._start = perf_counter()

    def __call__(self, fraction: float) -> None:
        left = f", {human_seconds(_left(perf_counter() - self._start, fraction))} left" if 0.0 < fraction < 1.0 else ""
        print(f"\rarborshap: {fraction:4.0%}{left:<20}", end="", file=sys.stderr, flush=True)


def _left(elapsed: float, fraction: float) -> float:
    return elapsed * (1.0 - fraction) / fraction


def human_seconds(seconds: float) -> str:
    """Return a time as people say it: ``"9 ms"``, ``"1.5 s"``, ``"4 min"``, ``"2.5 h"``."""
    for size, least, unit in ((3600.0, 5400.0, "h"), (60.0, 90.0, "min"), (1.0, 1.0, "s"), (0.001, 0.001, "ms")):
        if seconds >= least:
            number = seconds / size
            return f"{number:.0f} {unit}" if number >= 9.95 else f"{number:.2g} {unit}"
    return "less than 1 ms"
