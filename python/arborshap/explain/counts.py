"""What is kept of some rows: their counts, and those in the weightings of an output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from arborshap import _core
from arborshap.exceptions import ModelError
from arborshap.explain.parts import WeightedParts


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What is kept of some rows.

    Attributes
    ----------
    native
        The counts, or the distinct rows.
    weighted
        The same in all weightings of an output; ``None`` if the raw prediction alone is explained.
    """

    native: _core.Background
    weighted: WeightedParts | None = None

    def merge(self, other: Self) -> Self:
        """Return the counts of the rows of both."""
        self._check_output(other)
        weighted = None if self.weighted is None else self.weighted.merge(other.weighted)
        return type(self)(self.native.merge(other.native), weighted)

    def subtract(self, part: Self) -> Self:
        """Return the counts without the rows of a part."""
        self._check_output(part)
        weighted = None if self.weighted is None else self.weighted.subtract(part.weighted)
        return type(self)(self.native.subtract(part.native), weighted)

    def _check_output(self, other: Self) -> None:
        if self.weighted is None and other.weighted is not None:
            other.weighted.merge(None)  # which says what is wrong

    def to_bytes(self, texts: dict[str, list[str]]) -> bytes:
        """Return the counts as bytes, with further texts."""
        weighted = {} if self.weighted is None else self.weighted.to_texts()
        return self.native.to_bytes({**texts, **weighted})

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[Self, dict[str, list[str]]]:
        """Read the counts and the texts that `to_bytes` was given."""
        native, texts = _core.Background.from_bytes(data)
        weighted = WeightedParts.from_texts(texts)
        if weighted is not None and weighted.coarse:
            raise ModelError("the saved weightings are those of a deal, not of a background")
        return cls(native, weighted), texts
