"""How a call would be carried out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

from arborshap import _core


@dataclass(frozen=True, slots=True)
class Plan:
    """Which engines a call would use, what it would take, and why.

    Attributes
    ----------
    trees_by_tables
        Trees explained by pattern tables: cost n + m.
    trees_by_pairs
        Trees explained by sparse pairs of patterns: cost n * m, for deep trees and small jobs.
    trees_by_walk
        Trees walked as the paper's algorithms do: no limit on their paths. Without a background, trees walked once for
        each block of rows.
    seconds
        Estimated time on one thread; good for comparing, not a promise.
    bytes
        Estimated memory beyond the rows and the result.
    reason
        Why it was chosen.
    """

    trees_by_tables: int
    trees_by_pairs: int
    trees_by_walk: int
    seconds: float
    bytes: int
    reason: str

    @classmethod
    def of(cls, plan: _core.Plan) -> Self:
        """Copy a plan of the core."""
        return cls(*(getattr(plan, field.name) for field in fields(cls)))

    def __str__(self) -> str:
        """Return the plan in a sentence or two."""
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
