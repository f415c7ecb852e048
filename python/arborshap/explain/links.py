"""Links between margins and predictions, and their mean slopes between two margins, without loss of precision."""

from __future__ import annotations

from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_SPREAD = 4.0
"""How far apart margins may drift over one panel of the quadrature; 16 nodes are then exact up to rounding."""


def logistic(margins: Array) -> Array:
    """Compute 1 / (1 + exp(-margin)) without overflow at either end."""
    small = np.exp(-np.abs(margins))
    return np.asarray(np.where(margins >= 0.0, 1.0, small) / (1.0 + small))


def softmax(margins: Array) -> Array:
    """Compute the softmax over the last axis, without overflow."""
    powers = np.exp(margins - margins.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def logistic_slope(a: Array, b: Array) -> Array:
    """Compute the mean slope of the logistic function between a and b, without cancellation if they are close."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    gap = high - low
    share = np.divide(-np.expm1(-gap), gap, out=np.ones_like(gap), where=gap > 0.0)
    return np.asarray(logistic(high) * logistic(-low) * share)


def softplus_slope(a: Array, b: Array) -> Array:
    """Compute the mean slope of log(1 + exp(margin)) between a and b, without cancellation if they are close."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    gap = high - low
    near = np.log1p(logistic(low) * np.expm1(np.minimum(gap, 1.0)))
    rise = np.where(gap <= 1.0, near, np.logaddexp(0.0, high) - np.logaddexp(0.0, low))
    return np.asarray(np.divide(rise, gap, out=logistic(low), where=gap > 0.0))


def softmax_means(start: Array, end: Array, *, two_by_two: bool) -> Array:
    """Average over the straight line between margins: a softmax, (n, k), or products of two of its entries, (n, k, k).

    The products of an entry with itself are left at zero: entries sum to 1, so they follow from the other products.

    The softmax has its poles where the imaginary parts of two margins differ by pi. Panels over which the margins drift
    apart by at most `_SPREAD` therefore leave Gauss-Legendre quadrature a wide strip without poles.
    """
    n, k = start.shape
    change = end - start
    panels = np.maximum(1, np.ceil((change.max(axis=1) - change.min(axis=1)) / _SPREAD)).astype(np.intp)
    means = np.zeros((n, k, k) if two_by_two else (n, k))
    for count in np.unique(panels).tolist():
        of_count = np.flatnonzero(panels == count)
        # With pairs last, each step is one long loop, and a pair's result does not depend on its neighbours.
        a, b = start[of_count].T.copy(), change[of_count].T.copy()
        sums = np.zeros((k, *a.shape) if two_by_two else a.shape)
        for panel in range(count):
            for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
                p = a + b * ((panel + 0.5 * (1.0 + node)) / count)
                p = np.exp(p - p.max(axis=0))
                p /= reduce(np.add, p)
                weighted = p * (0.5 * weight / count)
                if two_by_two:
                    for j in range(1, k):
                        sums[j, :j] += p[:j] * weighted[j]
                else:
                    sums += weighted
        means[of_count] = sums.T
    return means + means.swapaxes(1, 2) if two_by_two else means
