"""The axes of an explanation's values, and selection along them."""

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
        What lies along the axis: ``"row"``, ``"player"`` or ``"output"``.
    names
        The names along the axis; empty for rows, which cannot be selected by name.
    """

    kind: Literal["row", "player", "output"]
    names: list[str]

    def take(self, pick: Pick) -> Axis:
        """Return the axis of what was picked along this one."""
        if self.kind == "row":
            return self
        chosen = np.atleast_1d(np.arange(len(self.names))[pick])
        return Axis(self.kind, [self.names[i] for i in chosen])


def pick_along(selector: Selector, axis: Axis, length: int) -> Pick:
    """Turn names, masks and negative positions into an index that NumPy understands on one axis."""
    if isinstance(selector, slice):
        return selector
    if isinstance(selector, str):
        return _position_of(selector, axis)
    if is_whole(selector):
        if not -length <= selector < length:
            raise IndexError(f"there is no {axis.kind} {selector}; there are {length}")
        return int(selector) % length
    selected = np.asarray(selector)
    if selected.ndim == 1 and selected.dtype.kind == "U":
        return np.array([_position_of(str(name), axis) for name in selected], dtype=np.intp)
    if selected.ndim == 1 and selected.dtype.kind == "b" and len(selected) == length:
        return np.flatnonzero(selected)
    if selected.ndim == 1 and (selected.dtype.kind in "iu" or selected.size == 0):
        if selected.size and not (-length <= selected.min() and selected.max() < length):
            beyond = selected[(selected < -length) | (selected >= length)][0]
            raise IndexError(f"there is no {axis.kind} {beyond}; there are {length}")
        return selected.astype(np.intp)
    raise IndexError(f"select {axis.kind}s by positions, names, a slice or a mask of length {length}")


def _position_of(name: str, axis: Axis) -> int:
    if axis.kind == "row":
        raise IndexError(f"rows cannot be selected by a name such as {name!r}; use their positions")
    if name not in axis.names:
        raise InputError(f"no {axis.kind} is called {name!r}; there are {', '.join(map(repr, axis.names[:10]))}")
    return axis.names.index(name)


def output_labels(names: Sequence[str] | None, n_outputs: int) -> list[str]:
    """Return the names of the outputs, or "0", "1", ... if they have no names."""
    return [str(k) for k in range(n_outputs)] if names is None else list(names)
