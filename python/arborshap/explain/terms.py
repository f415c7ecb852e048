"""Outputs that are sums over the margins: each term is a curve of one margin, times a number that may depend on y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.explain.labels import Labels, OutputName
from arborshap.models.margin_functions import MarginFunction

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Term:
    """(constant + per_label * y) * curve(margin), added to one of the outputs."""

    margin: int
    output: int
    curve: MarginFunction
    constant: float = 1.0
    per_label: float = 0.0

    def factor(self, y: Array | None) -> Array:
        """Return what the curve is multiplied by: one number per label, or one number without labels."""
        return np.asarray(self.constant if y is None else self.constant + self.per_label * y)


@dataclass(frozen=True, slots=True)
class SumOfTerms:
    """A function of the margins that is a sum of terms: probabilities, means of a log link, losses.

    Attributes
    ----------
    name
        The name by which a caller asks for it.
    n_margins, n_outputs
        Number of margins and of outputs per row.
    terms
        The terms.
    labels
        Which labels are valid, for a loss; ``None`` if it needs no labels.
    adds_squared_label
        Whether y**2 is added as well.
    """

    name: OutputName
    n_margins: int
    n_outputs: int
    terms: tuple[Term, ...]
    labels: Labels | None = None
    adds_squared_label: bool = False

    def of(self, margins: Array, y: Array | None) -> Array:
        """Compute the outputs: (rows, outputs). For a loss, `y` holds one label per row, or one label for all rows."""
        return self.put_together([term.curve.value(margins[:, term.margin]) for term in self.terms], len(margins), y)

    def put_together(self, curves: list[Array], n_rows: int, y: Array | None) -> Array:
        """Compute the outputs from the curve of each term: (rows, outputs)."""
        outputs = np.zeros((n_rows, self.n_outputs))
        for term, curve in zip(self.terms, curves, strict=True):
            outputs[:, term.output] += term.factor(y) * curve
        if self.adds_squared_label and y is not None:
            outputs += np.square(y)[:, np.newaxis]
        return outputs

    def slopes(self, ours: Array, theirs: Array, y: Array | None) -> Array:
        """Compute the mean slopes between the margins of rows and of others: (rows, others, outputs, margins)."""
        slopes = np.zeros((len(ours), len(theirs), self.n_outputs, self.n_margins))
        for term in self.terms:
            slope = term.curve.slope(ours[:, np.newaxis, term.margin], theirs[np.newaxis, :, term.margin])
            slopes[:, :, term.output, term.margin] += term.factor(y).reshape(-1, 1) * slope
        return slopes
