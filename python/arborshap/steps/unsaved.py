"""Steps that cannot be saved, and trials that find out how scikit-learn computes a step."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.steps.step import Step


class Unsaved(InputError):
    """A step that cannot be written as plain data. The message says why."""


def asked(transformer: Any, rows: NDArray[Any]) -> NDArray[Any]:
    """Let a fitted transformer transform an array, whatever names it was fitted with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of missing names and of unknown categories
        found = transformer.transform(rows.copy())  # with copy=False it would change them
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def same_bits(ours: NDArray[Any], theirs: NDArray[Any]) -> bool:
    """Whether two arrays have the same type and the same numbers, where all NaN count as one."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    if ours.dtype.kind != "f":
        return bool(np.array_equal(ours, theirs))
    missing = np.isnan(ours)
    same = (ours == theirs) & (np.signbit(ours) == np.signbit(theirs))
    return bool(np.array_equal(missing, np.isnan(theirs)) and (same | missing).all())


def like_its_own(transformer: Any, candidates: Iterable[Step], rows: Iterable[NDArray[Any]]) -> Step:
    """Return the first candidate that gives the transformer's own numbers on some rows.

    Versions of scikit-learn compute the same formula in different ways, which differ in the last bit. What a version
    does is therefore found out by a trial and not by its number.
    """
    trials = [(some, asked(transformer, some)) for some in rows]
    for candidate in candidates:
        with np.errstate(all="ignore"):
            if all(same_bits(np.asarray(candidate.transform(some)), own) for some, own in trials):
                return candidate
    raise Unsaved("this version of scikit-learn computes it in a way that arborshap does not know")
