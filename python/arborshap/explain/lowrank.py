"""Mean slopes as short sums of products, which is what makes rescaled values cost n + m instead of n * m.

The value of a row x is a mean over background rows z of phi(x, z) K(h(x), h(z)), where K is the mean slope of a curve
between two margins. If K(a, b) = sum over r of u_r(a) v_r(b), that is a sum of ordinary values, each against the
background with weights v_r(h(z)), times u_r(h(x)). Such a sum is found by cross approximation: v_r is K(a_r, .) for a
few margins a_r, the pivots, and u(a) solves the equations that make the sum exact at a few margins b_r.

K is smooth, so the error falls geometrically with the number of pivots. It is measured on a grid that is finer than
the one the pivots are chosen from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.models.margin_functions import MarginFunction, Step

Array: TypeAlias = NDArray[np.float64]
Range: TypeAlias = tuple[float, float]
"""The least and the greatest of some margins."""

TOLERANCE = 1e-12
"""How large the error may be, relative to the largest slope between a row's margin and the background's margins."""
_MOST = 64
_DENSITY = 10  # grid points while the distance from a point of interest grows e-fold
_REACH = 20.0  # e-folds, beyond which a few points are enough
_BEYOND = 20
_EVEN = 160  # most points in even steps


class Factors(Protocol):
    """A sum of products: slope(a, b) = sum over r of coefficients(a)[:, r] * weights(b)[r]."""

    @property
    def rank(self) -> int:
        """The number of products."""

    @property
    def bound(self) -> float:
        """The largest error, relative to the largest slope between the row's margin and the background's."""

    @property
    def plain(self) -> bool:
        """Whether the first weight is 1 for all margins."""

    def coefficients(self, a: Array) -> Array:
        """Return u for the margins of rows: (rows, rank)."""

    def weights(self, b: Array) -> Array:
        """Return v for the margins of the background, from 0 to about 1: (rank, background rows)."""


@lru_cache(maxsize=256)
def factors_of(curve: MarginFunction, rows: Range, background: Range) -> Factors | None:
    """Find a sum of products for the mean slopes of a curve; ``None`` if it would need too many products.

    Parameters
    ----------
    curve
        The curve.
    rows
        The least and the greatest margin that a row can have.
    background
        The least and the greatest margin of the background.
    """
    functions = [step.function for step in curve.steps]
    if set(functions) == {"identity"}:
        return _Constant(float(np.prod([step.scale for step in curve.steps])))
    if "signed square" in functions or "interpolation" in functions:
        return None  # they are not smooth
    first = curve.steps[0]
    if functions == ["square"]:
        return _Square(first, *sorted(first.argument(np.array(background)).tolist()))
    if functions == ["softplus"] and first.argument(np.array(background)).sum() > 0.0:
        # softplus(t) = t + softplus(-t): the slopes of softplus(-t), which are small, are then found by themselves.
        rest = _pivoted(MarginFunction.of(Step("softplus", -first.scale, -first.shift)), rows, background)
        return None if rest is None else _Shifted(first.scale, rest)
    return _pivoted(curve, _finite(curve, rows), _finite(curve, background))


@dataclass(frozen=True, slots=True)
class _Constant:
    """The same slope everywhere."""

    slope: float
    rank: int = 1
    bound: float = 0.0
    plain: bool = True

    def coefficients(self, a: Array) -> Array:
        return np.full((len(a), 1), self.slope)

    def weights(self, b: Array) -> Array:
        return np.ones((1, len(b)))


@dataclass(frozen=True, slots=True)
class _Square:
    """The slope of t**2, which is t_a + t_b, times the slope of t = scale * h + shift."""

    step: Step
    low: float
    high: float
    rank: int = 2
    bound: float = 0.0
    plain: bool = True

    def coefficients(self, a: Array) -> Array:
        first = self.step.argument(a) + self.low
        return self.step.scale * np.stack([first, np.full_like(first, self.high - self.low)], axis=1)

    def weights(self, b: Array) -> Array:
        above = self.step.argument(b) - self.low
        share = above / (self.high - self.low) if self.high > self.low else np.zeros_like(above)
        return np.stack([np.ones_like(b), np.clip(share, 0.0, 1.0)])


@dataclass(frozen=True, slots=True)
class _Shifted:
    """A constant slope plus others."""

    slope: float
    rest: Factors
    plain: bool = True

    @property
    def rank(self) -> int:
        return 1 + self.rest.rank

    @property
    def bound(self) -> float:
        return self.rest.bound

    def coefficients(self, a: Array) -> Array:
        return np.column_stack([np.full(len(a), self.slope), self.rest.coefficients(a)])

    def weights(self, b: Array) -> Array:
        return np.vstack([np.ones(len(b)), self.rest.weights(b)])


@dataclass(frozen=True, slots=True, eq=False)
class _Pivoted:
    """A cross approximation. With S[r, j] = v_r(b_j), u solves u S = K(a, b_j); S is kept as lower @ upper."""

    curve: MarginFunction
    pivots: Array
    sizes: Array
    crossings: Array
    lower: Array
    upper: Array
    bound: float = 0.0
    plain: bool = False

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def weights(self, b: Array) -> Array:
        return np.abs(self.curve.slope(self.pivots[:, np.newaxis], b[np.newaxis])) / self.sizes[:, np.newaxis]

    def coefficients(self, a: Array) -> Array:
        # One column at a time: what a row gets must not depend on the other rows, as it might with a matrix product.
        u = self.curve.slope(a[:, np.newaxis], self.crossings[np.newaxis])
        for j in range(self.rank):
            for i in range(j):
                u[:, j] -= u[:, i] * self.upper[i, j]
            u[:, j] /= self.upper[j, j]
        for i in reversed(range(self.rank)):
            for j in range(i + 1, self.rank):
                u[:, i] -= u[:, j] * self.lower[j, i]
        return u


def _pivoted(curve: MarginFunction, rows: Range, background: Range) -> Factors | None:
    a, b = _grid(curve, rows, background, _DENSITY), _grid(curve, background, background, _DENSITY)
    slopes = _relative(np.abs(curve.slope(a[:, np.newaxis], b[np.newaxis])))
    check = _grid(curve, rows, background, 2 * _DENSITY), _grid(curve, background, background, 2 * _DENSITY)
    rest = slopes.copy()
    chosen: list[tuple[Any, Any]] = []
    while len(chosen) < min(_MOST, len(b)):
        i, j = np.unravel_index(int(np.abs(rest).argmax()), rest.shape)
        if rest[i, j] == 0.0:
            break
        chosen.append((i, j))
        rest -= rest[:, j : j + 1] * (rest[i] / rest[i, j])
        rest[i], rest[:, j] = 0.0, 0.0
        if np.abs(rest).max() <= TOLERANCE:
            found = _crossed(curve, a[[i for i, _ in chosen]], b[[j for _, j in chosen]], b)
            bound = _error(found, *check)
            if bound <= TOLERANCE:
                return replace(found, bound=bound)
    return None if chosen else _Constant(0.0)  # slopes so small that all of them underflow


def _crossed(curve: MarginFunction, pivots: Array, crossings: Array, b: Array) -> _Pivoted:
    """Eliminate without further pivoting: the order in which the pivots were chosen is the right one."""
    sizes = np.abs(curve.slope(pivots[:, np.newaxis], b[np.newaxis])).max(axis=1)
    upper = curve.slope(pivots[:, np.newaxis], crossings[np.newaxis]) / sizes[:, np.newaxis]
    upper, lower = np.abs(upper), np.eye(len(pivots))
    for r in range(len(pivots)):
        lower[r + 1 :, r] = upper[r + 1 :, r] / upper[r, r]
        upper[r + 1 :] -= lower[r + 1 :, r : r + 1] * upper[r]
    return _Pivoted(curve, pivots, sizes, crossings, lower, upper)


def _error(found: _Pivoted, a: Array, b: Array) -> float:
    exact = found.curve.slope(a[:, np.newaxis], b[np.newaxis])
    largest = np.abs(exact).max(axis=1)
    error = np.abs(exact - found.coefficients(a) @ found.weights(b)).max(axis=1)
    return float(np.divide(error, largest, out=np.zeros_like(error), where=largest > _TINY).max())


def _relative(slopes: Array) -> Array:
    """Divide each row of a matrix by its largest entry, unless that is next to nothing."""
    largest = slopes.max(axis=1, keepdims=True)
    return np.asarray(np.divide(slopes, largest, out=np.zeros_like(slopes), where=largest > _TINY))


def _finite(curve: MarginFunction, margins: Range) -> Range:
    """Cut off margins at which the curve overflows: no prediction is explained there."""
    first = curve.steps[0]
    low, high = sorted(first.argument(np.array(margins)).tolist())
    if first.function == "exp":
        high, low = min(high, _LARGEST_EXPONENT), min(low, _LARGEST_EXPONENT)
    ends = sorted(((low - first.shift) / first.scale, (high - first.shift) / first.scale))
    return max(ends[0], -_FAR), min(ends[1], _FAR)


_LARGEST_EXPONENT = 709.0
_FAR = 1e300
_TINY = float(np.finfo(np.float64).tiny)


def _grid(curve: MarginFunction, within: Range, background: Range, density: int) -> Array:
    """Choose margins: many near the ends of both ranges and near the bend of the curve, fewer far from them."""
    low, high = within
    width = high - low
    if not width > 0.0:
        return np.array([low])
    first, *later = curve.steps
    unit = 1.0 / abs(first.scale) / max([1.0, *(abs(step.scale) for step in later if step.function == "logistic")])
    nearest = min(unit, width)
    reach = float(np.arcsinh(width / nearest))
    near, far = min(reach, _REACH), max(reach, _REACH)
    folds = np.concatenate([np.linspace(0.0, near, int(density * near) + 2), np.linspace(near, far, _BEYOND)[1:]])
    offsets = nearest * np.sinh(folds)
    anchors = np.array([low, high, *background, -first.shift / first.scale])
    even = np.linspace(low, high, int(min(max(width / unit, 2.0) * density / 4, _EVEN * density / _DENSITY)) + 8)
    points = np.concatenate([np.add.outer(anchors, offsets).ravel(), np.subtract.outer(anchors, offsets).ravel(), even])
    return np.unique(points[(points >= low) & (points <= high)])
