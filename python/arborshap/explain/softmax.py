"""Probabilities and losses of a softmax, whose slopes are matrices: averages along the line between two margins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.explain.labels import Labels, OutputName

Array: TypeAlias = NDArray[np.float64]

_SPREAD = 4.0
"""How far apart margins may drift over one panel of the quadrature; 16 nodes are then exact up to rounding."""


@dataclass(frozen=True, slots=True)
class Softmax:
    """The probabilities of a softmax over all margins, or the log loss of the true class.

    Attributes
    ----------
    name
        The name by which a caller asks for it.
    n_margins
        Number of margins, which is the number of classes.
    labels
        Which labels are valid; ``None`` if probabilities are explained.
    """

    name: OutputName
    n_margins: int
    labels: Labels | None

    @property
    def n_outputs(self) -> int:
        """Number of outputs per row: one per class, or one loss."""
        return 1 if self.labels else self.n_margins

    def of(self, margins: Array, y: Array | None) -> Array:
        """Compute the outputs: (rows, outputs). For a loss, `y` holds one label per row, or one label for all rows."""
        if y is None:
            return softmax(margins)
        largest = margins.max(axis=1, keepdims=True)
        total = np.log(np.exp(margins - largest).sum(axis=1, keepdims=True)) + largest
        classes = np.broadcast_to(y.astype(np.intp), len(margins))
        return np.asarray(total - np.take_along_axis(margins, classes[:, np.newaxis], axis=1))

    def slopes(self, ours: Array, theirs: Array, y: Array | None) -> Array:
        """Compute the mean slopes between the margins of rows and of others: (rows, others, outputs, margins)."""
        shape = (len(ours), len(theirs), self.n_margins)
        start = np.broadcast_to(theirs, shape).reshape(-1, self.n_margins)
        end = np.broadcast_to(ours[:, np.newaxis, :], shape).reshape(-1, self.n_margins)
        diagonal = np.eye(self.n_margins)
        if y is not None:
            mean = softmax_means(start, end, two_by_two=False).reshape(shape)
            return np.asarray(mean - diagonal[y.astype(np.intp), np.newaxis, :])[:, :, np.newaxis, :]
        product = softmax_means(start, end, two_by_two=True)
        return np.asarray(product.sum(axis=2, keepdims=True) * diagonal - product).reshape(*shape, self.n_margins)


def softmax(margins: Array) -> Array:
    """Compute the softmax over the last axis, without overflow."""
    powers = np.exp(margins - margins.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


@cache
def _quadrature() -> list[tuple[float, float]]:
    """Return the nodes and weights of Gauss and Legendre; numpy loads its polynomials at the first call."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    return list(zip(nodes.tolist(), weights.tolist(), strict=True))


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
            for node, weight in _quadrature():
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
