"""Work that is counted instead of timed, so that the result is the same on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any


class TooMuchWorkError(AssertionError):
    """More work was done than is allowed."""


@contextmanager
def lines_at_most(allowed: int) -> Iterator[None]:
    """Fail as soon as this block has run more lines of Python.

    Loops in C or Rust are not counted; the tests of memory cover what they take.
    """
    run = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal run
        run += event == "line"
        if run > allowed:
            raise TooMuchWorkError(f"more than {allowed:,} lines were run")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
    if run > allowed:  # and somebody caught the error
        raise TooMuchWorkError(f"more than {allowed:,} lines were run")


def lines_in_proportion(content: bytes) -> AbstractContextManager[None]:
    """Fail if the block does more work than reading each byte of a file takes, plus a constant."""
    return lines_at_most(20_000 + 40 * len(content))


def calls_of(function: Any, *arguments: Any) -> int:
    """Return how many functions, in Python or in C, a call runs, including itself."""
    counted = 0

    def profile(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return counted - 1  # putting the old profile back is one more
