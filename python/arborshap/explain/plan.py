"""The plan of a call: which engines would do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

from arborshap import _core
from arborshap._util.progress import human_seconds
from arborshap._util.words import counted


@dataclass(frozen=True, slots=True)
class Plan:
    """Which engines a call would use, what it would cost, and why.

    Attributes
    ----------
    trees_by_tables
        Number of trees explained by pattern tables, at a cost of n + m for n rows and m background rows. Later calls
        find the tables ready.
    trees_by_counts
        Number of trees explained by ranked counts of patterns, at a cost of n + m; this suits trees that are too deep
        for tables, or whose tables would cost more.
    trees_by_pairs
        Number of trees explained by sparse pairs of patterns, at a cost of n * m; this suits small jobs.
    trees_by_walk
        Number of trees walked as in the paper's algorithms, which puts no limit on the length of their paths. Without a
        background, each tree is walked once per block of rows.
    seconds
        Estimated time on one thread. It serves to compare plans; it is not a promise.
    bytes
        Estimated memory beyond the rows and the result.
    reason
        Why this plan was chosen.
    weightings
        Number of weightings of the background that the values are put together from; 1 for the raw prediction.
    bound
        The largest error of the sum over the weightings, relative to the largest slope of the output between a row and
        the background; 0 if there is no such error. For a log loss against a `Background`, or margins hundreds of units
        apart, it is relative to the largest slope between the row and a whole panel of margins; see docs/outputs.md.
    """

    trees_by_tables: int
    trees_by_counts: int
    trees_by_pairs: int
    trees_by_walk: int
    seconds: float
    bytes: int
    reason: str
    weightings: int = 1
    bound: float = 0.0

    @classmethod
    def of(cls, plan: _core.Plan) -> Self:
        """Copy a plan of the native core."""
        return cls(*(getattr(plan, field.name) for field in fields(cls) if field.name not in ("weightings", "bound")))

    @classmethod
    def of_weightings(cls, plans: Sequence[_core.Plan], bound: float) -> Self:
        """Sum up the plans for several weightings of the same background, which are alike but for their costs."""
        return replace(
            cls.of(plans[0]),
            seconds=sum(plan.seconds for plan in plans),
            bytes=sum(plan.bytes for plan in plans),
            weightings=len(plans),
            bound=bound,
        )

    def __str__(self) -> str:
        """Describe the plan in a sentence or two."""
        ways = [
            f"{counted(count, 'tree')} by {way}"
            for count, way in (
                (self.trees_by_tables, "pattern tables"),
                (self.trees_by_counts, "ranked counts"),
                (self.trees_by_pairs, "sparse pairs"),
                (self.trees_by_walk, "the traversal"),
            )
            if count
        ]
        if self.weightings > 1:
            ways[-1:] = [f"{ways[-1]}, against {self.weightings} weightings of the background"] if ways else []
        time, size = human_seconds(self.seconds), self.bytes / 2**20
        time = time if time.startswith("less") else f"about {time}"
        took = f"{time} on one thread and {f'{size:.0f}' if size >= 1 else 'less than 1'} MiB"
        return f"{', '.join(ways) or 'nothing to do'}: {took}; {self.reason}{self._error()}."

    def _error(self) -> str:
        return f"; mean slopes are exact to {self.bound:.0e}" if self.bound else ""
