"""Increasing functions of one margin, such as the logistic function, and their mean slopes between two margins.

The mean slope of g between a and b is (g(a) - g(b)) / (a - b), and the slope g'(a) if a = b. Every function here is
written without cancellation for margins that are close, and without overflow as long as g itself is finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError

Array: TypeAlias = NDArray[np.float64]


def logistic(margins: Array) -> Array:
    """Compute 1 / (1 + exp(-margin)) without overflow at either end."""
    small = np.exp(-np.abs(margins))
    return np.asarray(np.where(margins >= 0.0, 1.0, small) / (1.0 + small))


def logistic_slope(a: Array, b: Array) -> Array:
    """Compute the mean slope of the logistic function."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.asarray(logistic(high) * logistic(-low) * _decline(high - low))


def exp_slope(a: Array, b: Array) -> Array:
    """Compute the mean slope of the exponential function."""
    return np.asarray(np.exp(np.maximum(a, b)) * _decline(np.abs(a - b)))


def softplus_slope(a: Array, b: Array) -> Array:
    """Compute the mean slope of log(1 + exp(margin))."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    gap = high - low
    near = np.log1p(logistic(low) * np.expm1(np.minimum(gap, 1.0)))
    rise = np.where(gap <= 1.0, near, np.logaddexp(0.0, high) - np.logaddexp(0.0, low))
    return np.asarray(np.divide(rise, gap, out=logistic(low), where=gap > 0.0))


def signed_square_slope(a: Array, b: Array) -> Array:
    """Compute the mean slope of sign(margin) * margin**2."""
    total = np.abs(a) + np.abs(b)
    across = np.divide(a * a + b * b, total, out=np.zeros_like(total), where=total > 0.0)
    return np.asarray(np.where((a < 0.0) == (b < 0.0), total, across))


def interpolation_slope(a: Array, b: Array, points: Array, values: Array) -> Array:
    """Compute the mean slope of lines between points, with constants beyond; if a = b, the slope of the line there."""
    a, b = np.broadcast_arrays(a, b)
    lines = np.concatenate([[0.0], np.diff(values) / np.diff(points), [0.0]])
    line = np.searchsorted(points, a, side="right")
    # Within one line, the difference of two close values would lose digits.
    across = (line != np.searchsorted(points, b, side="right")) & (a != b)
    rise = np.interp(a, points, values) - np.interp(b, points, values)
    return np.asarray(np.divide(rise, a - b, out=lines[line], where=across))


def _decline(gap: Array) -> Array:
    """Compute (1 - exp(-gap)) / gap, which is 1 for no gap."""
    return np.divide(-np.expm1(-gap), gap, out=np.ones_like(gap), where=gap > 0.0)


class _Function(NamedTuple):
    value: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]


_FUNCTIONS = {
    "identity": _Function(np.asarray, lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape))),
    "logistic": _Function(logistic, logistic_slope),
    "exp": _Function(np.exp, exp_slope),
    "softplus": _Function(lambda h: np.logaddexp(0.0, h), softplus_slope),
    "signed square": _Function(lambda h: h * np.abs(h), signed_square_slope),
    "square": _Function(np.square, np.add),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a `MarginFunction`: function(scale * h + shift).

    Attributes
    ----------
    function
        ``"identity"``, ``"logistic"``, ``"exp"``, ``"softplus"`` or ``"signed square"``, which all increase,
        ``"square"``, or ``"interpolation"`` between points.
    scale, shift
        What is done to the argument first; the scale is not 0.
    points, values
        For an interpolation, the points in ascending order and the values there.
    """

    function: str
    scale: float = 1.0
    shift: float = 0.0
    points: tuple[float, ...] = ()
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        is_table = self.function == "interpolation"
        if not is_table and self.function not in _FUNCTIONS:
            raise ModelError(f"there is no function {self.function!r}; choose from {', '.join(_FUNCTIONS)}")
        if len(self.points) != len(self.values) or is_table != bool(self.points):
            raise ModelError("an interpolation needs points and as many values, and no other function has them")
        if is_table and not (np.isfinite([*self.points, *self.values]).all() and (np.diff(self.points) > 0).all()):
            raise ModelError("the points of an interpolation must ascend, and they and their values must be finite")
        if not (np.isfinite(self.scale) and np.isfinite(self.shift) and self.scale != 0.0):
            raise ModelError(
                f"a link cannot multiply the margin by {self.scale} and add {self.shift}: both must be finite numbers, "
                "and the first may not be 0"
            )

    def argument(self, margins: Array) -> Array:
        """Return scale * h + shift."""
        return np.asarray(margins * self.scale + self.shift)

    def value(self, margins: Array) -> Array:
        """Evaluate the step."""
        return self._function().value(self.argument(margins))

    def slope(self, a: Array, b: Array) -> Array:
        """Compute the mean slope between a and b."""
        return np.asarray(self.scale * self._function().slope(self.argument(a), self.argument(b)))

    def _function(self) -> _Function:
        if self.function != "interpolation":
            return _FUNCTIONS[self.function]
        points, values = np.array(self.points), np.array(self.values)
        return _Function(lambda h: np.interp(h, points, values), lambda a, b: interpolation_slope(a, b, points, values))


@dataclass(frozen=True, slots=True)
class MarginFunction:
    """A function of one margin: one or several steps, each applied to what the one before it gave.

    For example, the exponential function less 1 is ``MarginFunction.of(Step("exp"), Step("identity", shift=-1.0))``.
    """

    steps: tuple[Step, ...]

    @classmethod
    def of(cls, *steps: Step) -> Self:
        """Make a function of these steps."""
        return cls(steps)

    @classmethod
    def from_json(cls, described: Any) -> Self:
        """Read a function from what `to_json` wrote; raise `ValueError` or `TypeError` if it is not one."""
        return cls(
            tuple(
                Step(str(function), float(scale), float(shift), *(tuple(map(float, numbers)) for numbers in table))
                for function, scale, shift, *table in described
            )
        )

    def to_json(self) -> list[list[Any]]:
        """Describe the function by lists, strings and numbers."""
        return [
            [step.function, step.scale, step.shift, *([step.points, step.values] if step.points else [])]
            for step in self.steps
        ]

    @property
    def is_identity(self) -> bool:
        """Whether the function returns the margin as it is."""
        return all(step == Step("identity") for step in self.steps)

    def value(self, margins: Array) -> Array:
        """Evaluate the function."""
        for step in self.steps:
            margins = step.value(margins)
        return margins

    def slope(self, a: Array, b: Array) -> Array:
        """Compute the mean slope between a and b, which broadcast: the product of the mean slopes of all steps."""
        first, *later = self.steps
        slope = first.slope(a, b)
        for before, step in zip(self.steps, later, strict=False):
            a, b = before.value(a), before.value(b)
            slope = slope * step.slope(a, b)
        return slope


IDENTITY = MarginFunction.of(Step("identity"))
