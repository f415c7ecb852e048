"""The number of threads that a call may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from arborshap._util.checks import is_whole
from arborshap.exceptions import InputError


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs` in scikit-learn's sense.

    ``None`` and -1 mean every core that this process may use, -2 all cores but one, and so on, but at least one.
    """
    if n_jobs is None:
        return _cores()
    if not is_whole(n_jobs) or n_jobs == 0:
        raise InputError(f"n_jobs must be a whole number other than 0, or None for all cores; got {n_jobs!r}")
    # The native side starts at most a few threads per core, whatever the caller asks for.
    return min(int(n_jobs), 2**16) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


_READING: ContextVar[int] = ContextVar("_READING", default=1)


@contextmanager
def reading_with(n_threads: int) -> Iterator[None]:
    """Let the models that are read in this block use that many threads.

    Readers call each other in many ways, so the number is not handed from one to the next.
    """
    before = _READING.set(n_threads)
    try:
        yield
    finally:
        _READING.reset(before)


def reading_threads() -> int:
    """Return the number of threads that reading a model may use."""
    return _READING.get()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # a container or taskset may allow fewer cores than the machine has
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
