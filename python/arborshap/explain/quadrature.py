"""Mean slopes of the exponential and the logistic function as sums of positive products, by Gauss-Legendre quadrature.

With p_t(a) = exp(t a), or logistic(a)**t logistic(-a)**(1 - t), the mean slope between a and b is the integral of
p_t(a) p_1-t(b) over t from 0 to 1. The nodes lie symmetrically around 1/2, so the functions of the row and those of the
background are the same set. All products are positive, and the error is relative to the slope of each single pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.explain.lowrank import TOLERANCE, Range
from arborshap.models.margin_functions import MarginFunction, Step

Array: TypeAlias = NDArray[np.float64]

_MOST = 64
_LARGEST_EXPONENT = 709.0


@dataclass(frozen=True, slots=True, eq=False)
class Quadrature:
    """A sum of products for rows with any margin against background rows of one panel.

    Attributes
    ----------
    step
        The exponential or logistic step.
    slope
        The slope of everything around it.
    nodes, sizes
        The nodes t, in ascending order, and their weights.
    tops
        The largest logarithm of p_1-t within the panel, for each node.
    bound
        The largest error of a mean slope, relative to the slope itself.
    """

    step: Step
    slope: float
    nodes: Array
    sizes: Array
    tops: Array
    bound: float
    plain: bool = False

    @classmethod
    def of(
        cls, curve: MarginFunction, rows: Range, panel: Range, tolerance: float = TOLERANCE, digits: int = 80
    ) -> Self | None:
        """Prepare the products; ``None`` if the curve is another one, or if the rows' margins are too far apart.

        Parameters
        ----------
        curve
            The curve.
        rows, panel
            The least and the greatest margin of a row, and of a background row.
        tolerance
            The largest error of a slope, relative to the slope itself, before weights are rounded.
        digits
            How many binary digits the weights are rounded to.
        """
        first, *later = curve.steps
        if first.function not in ("exp", "logistic") or any(step.function != "identity" for step in later):
            return None
        low, high = sorted(first.argument(np.array(rows)).tolist())
        if first.function == "exp":
            low, high = (min(end, _LARGEST_EXPONENT) for end in (low, high))
        found = _rule(high - low, tolerance)
        if found is None:
            return None
        nodes, sizes, error = found
        slope = float(np.prod([step.scale for step in curve.steps]))
        ends = np.sort(first.argument(np.array(panel)))
        flat = np.log(1.0 - nodes) - np.log(nodes)  # where p_1-t is largest, if it is logistic
        tops = np.full(len(nodes), ends[1]) if first.function == "exp" else np.clip(flat, *ends)
        tops = _logarithms(first, tops[np.newaxis], 1.0 - nodes)[0]
        least = _logarithms(first, ends[:, np.newaxis], 1.0 - nodes).min(axis=0) - tops
        return cls(first, slope, nodes, sizes, tops, error + 0.5 ** (digits + 1) * float(np.exp(-least.min())))

    @property
    def rank(self) -> int:
        """The number of products."""
        return len(self.nodes)

    def coefficients(self, a: Array) -> Array:
        """Return u for the margins of rows: (rows, rank)."""
        logarithms = _logarithms(self.step, self.step.argument(a)[:, np.newaxis], self.nodes)
        return np.asarray(self.slope * self.sizes * np.exp(logarithms + self.tops))

    def weights(self, b: Array) -> Array:
        """Return v for the margins of the background, from 0 to 1: (rank, background rows)."""
        logarithms = _logarithms(self.step, self.step.argument(b)[:, np.newaxis], 1.0 - self.nodes)
        return np.asarray(np.exp(np.minimum(logarithms - self.tops, 0.0)).T)

    def between(self, rows: Self) -> Array:
        """Return the factors of v[rank - 1 - r] of the rows' panel times v[r] of this panel: the slope is their sum."""
        return np.asarray(self.slope * self.sizes * np.exp(rows.tops[::-1] + self.tops))


def _logarithms(step: Step, arguments: Array, t: Array) -> Array:
    """Compute the logarithm of p_t for arguments of the function, which broadcast with t."""
    if step.function == "exp":
        return np.asarray(arguments * t)
    return np.asarray(-t * np.logaddexp(0.0, -arguments) - (1.0 - t) * np.logaddexp(0.0, arguments))


@lru_cache(maxsize=64)
def _rule(distance: float, tolerance: float = TOLERANCE) -> tuple[Array, Array, float] | None:
    """Find nodes for arguments that are at most so far apart, and the relative error; ``None`` if it takes too many.

    What is integrated is exp(t d), and d is a distance between two arguments.
    """
    # Points as dense as the error's waves; the error grows towards the end.
    distances = np.concatenate([np.linspace(0.0, distance, 400), distance * (1.0 - np.geomspace(1e-4, 1.0, 50))])
    exact = np.divide(-np.expm1(-distances), distances, out=np.ones_like(distances), where=distances > 0.0)
    for n in range(2, _MOST + 1):
        x, w = np.polynomial.legendre.leggauss(n)
        nodes = 0.5 + 0.25 * (x - x[::-1])  # symmetric to the last bit
        sizes = 0.25 * (w + w[::-1])
        error = np.abs(np.exp(-np.outer(distances, nodes)) @ sizes / exact - 1.0).max()
        if error <= tolerance:
            return nodes, sizes, float(error)
    return None
