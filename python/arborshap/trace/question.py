"""The question that one split asks of a row, in Python and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from arborshap.forest.forest import NodeFlag, Tree

_ZERO = float(np.float32(1e-35))
"""LightGBM treats absolute values up to this one as zero."""


@dataclass(frozen=True, slots=True)
class Question:
    """The question that a split asks: left if the value is below the threshold, or in the set of categories.

    Attributes
    ----------
    feature
        The feature that the split tests.
    flags
        How the value is read.
    threshold
        The threshold; ``None`` if the split tests a set of categories.
    categories
        The set of categories; ``None`` if the split tests a threshold.
    """

    feature: int
    flags: NodeFlag
    threshold: float | None
    categories: tuple[int, ...] | None

    @classmethod
    def of_node(cls, tree: Tree, node: int) -> Self:
        """Read the question of a split."""
        flags = NodeFlag(int(tree.flags[node]))
        feature = int(tree.feature[node])
        if flags & NodeFlag.CATEGORICAL:
            return cls(feature, flags, None, tuple(tree.categories[node].tolist()))
        return cls(feature, flags, float(tree.threshold[node]), None)

    def goes_left(self, value: float) -> bool:
        """Whether a row with this value of the feature goes left."""
        with np.errstate(over="ignore"):
            x = float(np.float32(value)) if self.flags & NodeFlag.FLOAT32 else value
        missing = np.isnan(x)
        if missing and self.flags & NodeFlag.NAN_IS_ZERO:
            x, missing = 0.0, False
        if missing or (self.flags & NodeFlag.ZERO_IS_MISSING and abs(x) <= _ZERO):
            return bool(self.flags & NodeFlag.DEFAULT_LEFT)
        if self.threshold is not None:
            return x <= self.threshold if self.flags & NodeFlag.LESS_EQUAL else x < self.threshold
        in_range = 0.0 <= x < 2**32 or (bool(self.flags & NodeFlag.NEGATIVE_FRACTION_IS_ZERO) and -1.0 < x < 0.0)
        inside = in_range and int(x) in (self.categories or ())
        return inside == bool(self.flags & NodeFlag.MEMBERS_LEFT)

    @property
    def missing_goes(self) -> str | None:
        """Where a missing value goes, ``"left"`` or ``"right"``; ``None`` if NaN is read as zero."""
        if self.flags & NodeFlag.NAN_IS_ZERO:
            return None
        return "left" if self.flags & NodeFlag.DEFAULT_LEFT else "right"

    def in_words(self, name: str, known: Sequence[Any] | None = None) -> str:
        """Say what must be true of the column called `name` for a row to go left.

        `known` lists the categories that the codes stand for; without it, the codes themselves are shown.
        """
        if self.threshold is not None:
            return f"{name} {'≤' if self.flags & NodeFlag.LESS_EQUAL else '<'} {self.threshold:.4g}"
        codes = self.categories or ()
        members = [known[code] if known is not None and code < len(known) else code for code in codes[:5]]
        shown = ", ".join(map(str, members)) + (f", {len(codes) - 5} more" if len(codes) > 5 else "")
        return f"{name} {'in' if self.flags & NodeFlag.MEMBERS_LEFT else 'not in'} {{{shown}}}"
