"""Jobs of peers in a process of their own, which ends if a job takes too long or too much memory."""

import multiprocessing
import os
import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

COMPARED = 1000
"""Rows whose values are sent back."""
SHARE = 0.6
"""Of the machine's memory that a job may take."""


class Failed(Exception):
    """A peer could not do its job; the message says why, as the rest of a sentence that begins with its name."""


class Apart:
    """One peer after another, in a process that is started when it is needed."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        """Seconds after which a job is given up."""
        self._process: Any = None
        self._pipe: Any = None

    def measure(self, peer: str, model: Any, background: Array, rows: Array) -> tuple[float, float, Array]:
        """Return the seconds of construction and of values, and the values of the first rows."""
        if self._process is None:
            self._start()
        self._pipe.send((peer, model, background, rows))
        if not self._pipe.poll(self._limit):
            self.end()
            raise Failed(f"takes longer than {self._limit:.0f} s")
        try:
            found = self._pipe.recv()
        except EOFError:
            self.end()
            raise Failed("ends the process, for want of memory") from None
        if isinstance(found, str):
            raise Failed(found)
        return tuple(found)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe.recv()  # everything is loaded

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _work(pipe: Any) -> None:
    from contenders import PEERS
    from measuring import measure
    from workloads import boosted, cached, normal_rows

    small = cached("apart-6-5-20", "xgboost", lambda: boosted(20, 5, 6))
    for peer in ("shap", "woodelf"):
        measure(PEERS["shapley"][peer], small, normal_rows(10, 20, 1), normal_rows(10, 20, 2), most=1)
    _limit_memory()
    pipe.send("ready")
    while True:
        peer, model, background, rows = pipe.recv()
        try:
            found = measure(PEERS["shapley"][peer], model, background, rows, most=1)
            pipe.send((found.construct, found.explain, np.asarray(found.values)[:COMPARED]))
        except MemoryError:
            pipe.send("takes too much memory")
        except Exception as error:  # noqa: BLE001 - whatever it is, the picture has no point there
            pipe.send(f"raises {type(error).__name__}")


def _limit_memory() -> None:
    """Ask for errors instead of a machine without memory."""
    if sys.platform == "linux":
        import resource

        most = int(SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
