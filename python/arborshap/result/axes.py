"""The axes of an explanation's values, and what can be selected along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import is_whole
from arborshap.exceptions import InputError

Selector: TypeAlias = int | str | slice | Sequence[int] | Sequence[str] | NDArray[Any] | EllipsisType
Pick: TypeAlias = int | slice | NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an explanation's values.

    Attributes
    ----------
    kind
        What lies along it: ``"row"``, ``"player"`` or ``"output"``.
    names
        The names along it; empty for rows, which have labels and no names to select by.
    """

    kind: Literal["row", "player", "output"]
    names: list[str]

    def take(self, pick: Pick) -> Axis:
        """Return the axis of what was picked along it."""
        if self.kind == "row":
            return self
        chosen = np.atleast_1d(np.arange(len(self.names))[pick])
        return Axis(self.kind, [self.names[i] for i in chosen])


def pick_along(selector: Selector, axis: Axis, length: int) -> Pick:
    """Turn names, masks and negative numbers into what an array can be indexed by on one axis."""
    if isinstance(selector, slice):
        return selector
    if isinstance(selector, str):
        return _number_of(selector, axis)
    if is_whole(selector):
        if not -length <= selector < length:
            raise IndexError(f"{axis.kind} {selector} of {length}")
        return int(selector) % length
    wanted = np.asarray(selector)
    if wanted.ndim == 1 and wanted.dtype.kind == "U":
        return np.array([_number_of(str(name), axis) for name in wanted], dtype=np.intp)
    if wanted.ndim == 1 and wanted.dtype.kind == "b" and len(wanted) == length:
        return np.flatnonzero(wanted)
    if wanted.ndim == 1 and (wanted.dtype.kind in "iu" or wanted.size == 0):
        if wanted.size and not (-length <= wanted.min() and wanted.max() < length):
            raise IndexError(f"{axis.kind} {wanted[(wanted < -length) | (wanted >= length)][0]} of {length}")
        return wanted.astype(np.intp)
    raise IndexError(f"{axis.kind}s are selected by numbers, names, a slice or a mask of length {length}")


def _number_of(name: str, axis: Axis) -> int:
    if axis.kind == "row":
        raise IndexError(f"rows have no names to select {name!r} by; use their numbers")
    if name not in axis.names:
        raise InputError(f"no {axis.kind} is called {name!r}; there are {', '.join(map(repr, axis.names[:10]))}")
    return axis.names.index(name)


def output_labels(names: Sequence[str] | None, n_outputs: int) -> list[str]:
    """Return the outputs' names, or their numbers if they have no names."""
    return [str(k) for k in range(n_outputs)] if names is None else list(names)
