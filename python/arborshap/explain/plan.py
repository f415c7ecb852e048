"""The plan of a call: which engines would do it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

from arborshap import _core


@dataclass(frozen=True, slots=True)
class Plan:
    """Which engines a call would use, what it would cost, and why.

    Attributes
    ----------
    trees_by_tables
        Number of trees explained by pattern tables, at a cost of n + m for n rows and m background rows.
    trees_by_pairs
        Number of trees explained by sparse pairs of patterns, at a cost of n * m; this suits deep trees and small jobs.
    trees_by_walk
        Number of trees walked as in the paper's algorithms, which puts no limit on the length of their paths. Without a
        background, a tree is walked once for each block of rows.
    seconds
        Estimated time on one thread. It serves to compare plans; it is not a promise.
    bytes
        Estimated memory beyond the rows and the result.
    reason
        Why this plan was chosen.
    """

    trees_by_tables: int
    trees_by_pairs: int
    trees_by_walk: int
    seconds: float
    bytes: int
    reason: str

    @classmethod
    def of(cls, plan: _core.Plan) -> Self:
        """Copy a plan of the native core."""
        return cls(*(getattr(plan, field.name) for field in fields(cls)))

    def __str__(self) -> str:
        """Describe the plan in a sentence or two."""
        ways = [
            f"{count} {'tree' if count == 1 else 'trees'} by {way}"
            for count, way in (
                (self.trees_by_tables, "pattern tables"),
                (self.trees_by_pairs, "sparse pairs"),
                (self.trees_by_walk, "the traversal"),
            )
            if count
        ]
        took = f"about {self.seconds:.2g} s on one thread and {self.bytes / 2**20:.0f} MiB"
        return f"{', '.join(ways) or 'nothing to do'}: {took}; {self.reason}."
