"""Rows dealt out at random: the spread between the deals says how far a mean over all rows may be off.

Counts are kept tree by tree, so they do not tell how much the sum over all trees varies from row to row. The counts of
a few random deals do: what is explained is linear in the counts, so each deal gives a mean over its own rows.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap.exceptions import InputError, ModelError
from arborshap.explain.counts import Counts
from arborshap.explain.parts import WeightedParts
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]

N_DEALS = 30
"""The number of deals: enough for an error that is itself within about an eighth."""
_SEEN = 4096  # rows that decide how a batch is dealt out


@dataclass(frozen=True, slots=True, eq=False)
class Deals:
    """The counts of each deal."""

    counts: tuple[Counts, ...]

    def merge(self, other: Self) -> Self:
        """Merge deal by deal."""
        return type(self)(tuple(ours.merge(theirs) for ours, theirs in zip(self.counts, other.counts, strict=True)))

    def subtract(self, part: Self) -> Self:
        """Subtract deal by deal."""
        try:
            pairs = zip(self.counts, part.counts, strict=True)
            return type(self)(tuple(ours.subtract(theirs) for ours, theirs in pairs))
        except InputError as error:
            raise InputError(
                "the rows of this part were dealt out in another way than those in the background, so the error bars "
                "cannot be updated; subtract the very part that was merged, or make it without error_bars to give up "
                "the error bars"
            ) from error

    def some(self) -> tuple[list[Counts], Array]:
        """Return the deals with rows, and the weight of each."""
        found = [counts for counts in self.counts if counts.native.weight > 0.0]
        return found, np.array([counts.native.weight for counts in found])

    def to_texts(self) -> dict[str, list[str]]:
        """Return the deals as lists of texts, to be saved beside other arrays."""
        texts = {"deals": [b64encode(counts.native.to_bytes({})).decode("ascii") for counts in self.counts]}
        for deal, counts in enumerate(self.counts):
            weighted = {} if counts.weighted is None else counts.weighted.to_texts()
            texts |= {f"{_prefix(deal)}{name}": listed for name, listed in weighted.items()}
        return texts

    @classmethod
    def from_texts(cls, texts: dict[str, list[str]], whole: Counts) -> Self | None:
        """Read the lists that `to_texts` wrote; ``None`` if there are none."""
        if "deals" not in texts:
            return None
        found = []
        for deal, saved in enumerate(texts["deals"][: N_DEALS + 1]):
            own = {
                name.removeprefix(_prefix(deal)): listed
                for name, listed in texts.items()
                if name.startswith(_prefix(deal))
            }
            try:
                native, _ = _core.Background.from_bytes(b64decode(saved, validate=True))
            except ModelError:
                raise
            except ValueError as error:
                raise ModelError(f"the saved deals are not valid: {error}") from error
            found.append(Counts(native, WeightedParts.from_texts(own)))
        kinds = {
            None if counts.weighted is None else (counts.weighted.name, counts.weighted.coarse) for counts in found
        }
        possible = [{None}] if whole.weighted is None else [{None}, {(whole.weighted.name, True)}]
        weight = sum(counts.native.weight for counts in found)
        if len(found) != N_DEALS or kinds not in possible or not np.isclose(weight, whole.native.weight, rtol=1e-9):
            raise ModelError("the saved deals do not fit the saved counts")
        return cls(tuple(found))


def _prefix(deal: int) -> str:
    return f"deal_{deal}."


def deal_out(rows: Matrix) -> NDArray[np.intp]:
    """Return the deal of each row.

    It depends on the batch alone, so that the same batch can be subtracted again, and the deals are of equal size.
    """
    seed = zlib.crc32(np.ascontiguousarray(rows[:_SEEN]).tobytes()) + (len(rows) << 32)
    keys = _mixed(np.arange(len(rows), dtype=np.uint64) + _mixed(np.array([seed], np.uint64)))
    deals = np.empty(len(rows), np.intp)
    deals[np.argsort(keys, kind="stable")] = (np.arange(len(rows)) + seed) % N_DEALS
    return deals


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Turn numbers into others that look random (the finalizer of SplitMix64)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))


def variance_of_mean(means: NDArray[Any], weights: Array) -> NDArray[Any]:
    """Estimate the variance of the mean over all rows from the means of the deals: (deals, ...).

    A single deal is no sample: its rows were asked about, and the variance is 0.
    """
    if len(means) < 2:
        return np.zeros(means.shape[1:])
    shares = (weights / weights.sum()).reshape(-1, *(1,) * (means.ndim - 1))
    relative = means - means[:1]  # so that what does not vary has no error at all
    around = shares * (relative - (shares * relative).sum(axis=0))
    return np.asarray(len(means) / (len(means) - 1) * np.square(around).sum(axis=0))
