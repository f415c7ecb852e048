"""How an explainer computes: which engine, how many threads, how much memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from arborshap._util.checks import checked_memory_limit
from arborshap._util.threads import thread_count


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an explainer, checked once.

    Attributes
    ----------
    engine
        The engine that the caller asked for.
    n_jobs
        The number of threads that the caller asked for, in scikit-learn's sense.
    memory_limit
        Most bytes that tables or a result may take, besides what a call works with and gives back; ``None`` leaves the
        choice to the engine.
    n_threads
        The number of threads that `n_jobs` means on this machine.
    """

    engine: str
    n_jobs: int | None
    memory_limit: int | None
    n_threads: int

    @classmethod
    def of(cls, engine: Any = "auto", n_jobs: Any = None, memory_limit: Any = None) -> Self:
        """Check the caller's settings."""
        return cls(str(engine), n_jobs, checked_memory_limit(memory_limit), thread_count(n_jobs))
