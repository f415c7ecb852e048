"""Arithmetic with explanations: absolute values, sums, means and other summaries along an axis, and plain numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError

if TYPE_CHECKING:
    from arborshap.result.axes import Axis


class Arithmetic:
    """What can be computed from an explanation's values.

    The result is an explanation again, but of numbers that no longer add up to predictions. So it has no provenance,
    and a summary has no data, because no row belongs to it.
    """

    values: NDArray[Any]
    base_values: NDArray[Any]
    feature_names: list[str]
    output_names: list[str] | None
    data: NDArray[Any] | None
    row_labels: NDArray[Any] | None
    reference: NDArray[Any] | None
    standard_error: NDArray[Any] | None
    provenance: Any
    frame_kind: Any
    axes: tuple[Axis, ...]
    adds_up: bool

    __array_priority__ = 100  # so that a NumPy number on the left leaves the operation to the explanation

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the values, so that NumPy functions can be applied to an explanation."""
        if copy:
            return np.array(self.values, dtype=dtype, copy=True)
        return np.asarray(self.values, dtype=dtype)

    @property
    def abs(self) -> Self:
        """The sizes of the values, without their signs."""
        return self._changed(np.abs(self.values))

    def __abs__(self) -> Self:
        return self.abs

    def __neg__(self) -> Self:
        return self._changed(-self.values)

    def __add__(self, number: float) -> Self:
        return self._with(np.add, number)

    __radd__ = __add__

    def __sub__(self, number: float) -> Self:
        return self._with(np.subtract, number)

    def __rsub__(self, number: float) -> Self:
        return (-self)._with(np.add, number)

    def __mul__(self, number: float) -> Self:
        return self._with(np.multiply, number)

    __rmul__ = __mul__

    def __truediv__(self, number: float) -> Self:
        return self._with(np.divide, number)

    @property
    def argsort(self) -> NDArray[np.intp]:
        """The positions that sort the values along the last axis, the least value first."""
        return np.argsort(self.values, axis=-1, kind="stable")

    def sum(self, axis: int | None = None) -> Any:
        """Add the values up along an axis: 0 for the rows, 1 for the players, 2 for the outputs.

        Without an axis, the sum of all values is returned as a number.
        """
        return self._summary(np.sum, axis)

    def mean(self, axis: int | None = None) -> Any:
        """Average the values along an axis, as `sum` adds them up: ``explanation.abs.mean(0)`` ranks the players."""
        return self._summary(np.mean, axis)

    def max(self, axis: int | None = None) -> Any:
        """Return the largest value along an axis; see `sum`."""
        return self._summary(np.max, axis)

    def min(self, axis: int | None = None) -> Any:
        """Return the smallest value along an axis; see `sum`."""
        return self._summary(np.min, axis)

    def percentile(self, q: float, axis: int | None = None) -> Any:
        """Return the percentile `q`, from 0 to 100, of the values along an axis; see `sum`."""
        return self._summary(lambda values, axis: np.percentile(values, q, axis=axis), axis)

    def _with(self, operation: Callable[[Any, Any], Any], number: Any) -> Self:
        if not isinstance(number, Real):
            return NotImplemented  # type: ignore[no-any-return] # Python then raises its own TypeError
        return self._changed(operation(self.values, float(number)))

    def _changed(self, values: NDArray[Any]) -> Self:
        result = copy.copy(self)
        result.values = values
        result.provenance = None
        result.standard_error = None
        result.adds_up = False
        return result

    def _summary(self, summarise: Callable[..., Any], axis: int | None) -> Any:
        if axis is None:
            return float(summarise(self.values, axis=None))
        if isinstance(axis, bool) or axis not in range(-len(self.axes), len(self.axes)):
            named = ", ".join(f"{i} ({axis.kind}s)" for i, axis in enumerate(self.axes))
            raise InputError(f"axis must be one of {named}, or None; got {axis!r}")
        axis %= len(self.axes)
        dropped = self.axes[axis].kind
        if self.values.shape[axis] == 0:
            raise InputError(f"there are no {dropped}s to summarise")
        result = self._changed(summarise(self.values, axis=axis))
        result.axes = self.axes[:axis] + self.axes[axis + 1 :]
        result.data = result.reference = None
        if dropped == "row":
            result.base_values = np.asarray(summarise(self.base_values, axis=0))
            result.row_labels = result.frame_kind = None
        elif dropped == "output":
            result.base_values = np.asarray(summarise(self.base_values, axis=-1))
            result.output_names = None
        elif not any(left.kind == "player" for left in result.axes):
            result.feature_names = ["all players"]
        return result
