"""Panels of margins: which products an output of a model takes, for every row that the model could ever see.

For an exponential or logistic link the products come from `quadrature`: their error is relative to the slope of each
pair, and a population can be compared with another in these weightings. For other curves they come from `lowrank`, with
an error relative to the steepest slope between the row and the panel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.explain.lowrank import Factors, Range, factors_of
from arborshap.explain.outputs import ModelOutput
from arborshap.explain.quadrature import Quadrature
from arborshap.explain.terms import SumOfTerms
from arborshap.forest import Forest
from arborshap.forest.margins import margin_ranges
from arborshap.models.margin_functions import MarginFunction

Array: TypeAlias = NDArray[np.float64]

_WIDTHS = {"exp": 8.0, "logistic": 32.0, "softplus": 32.0}
"""How wide a panel is, by the first function of a curve; other curves have exact sums and need a single panel."""
_QUADRATURE_WIDTH = 24.0
"""How wide a panel is if the products come from a quadrature: the weights in it then keep all their digits."""
_COARSE_WIDTH, _COARSE_TOLERANCE = 16.0, 1e-3
"""The same, and the largest relative error of a slope, for numbers that need only a few digits."""
DIGITS, _COARSE_DIGITS = 80, 32
"""How many binary digits the weights have."""


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """The panels of an output of one model, and the sum of products in each.

    Attributes
    ----------
    output
        The output.
    forest
        The trees.
    ranges
        The least and the greatest margin that a row could have: (margins, 2).
    coarse
        Whether a few digits are enough.
    """

    output: SumOfTerms
    forest: Forest
    ranges: Array
    coarse: bool = False

    @classmethod
    def of(cls, output: ModelOutput, forest: Forest, *, coarse: bool = False) -> Self:
        """Prepare an output that is a sum of terms; refuse any other."""
        if not isinstance(output, SumOfTerms):
            raise InputError(
                f"model_output={output.name!r} of a softmax needs background rows, because its pairs are computed one "
                "by one; give rows to a TreeExplainer instead of a Background, or use model_output='raw'"
            )
        return cls(output, forest, margin_ranges(forest), coarse)

    def numbers(self, term: int, margins: Array) -> NDArray[np.intp]:
        """Return the panel that each margin is in."""
        width = self._width(term)
        if width is None:
            return np.zeros(len(margins), np.intp)
        first = self.output.terms[term].curve.steps[0]
        return np.floor(first.argument(margins) / width + 0.5).astype(np.intp)

    def _width(self, term: int) -> float | None:
        curve, rows = self.output.terms[term].curve, self._range(term)
        if self._quadrature(curve, rows, rows) is None:
            return _WIDTHS.get(curve.steps[0].function)
        return _COARSE_WIDTH if self.coarse else _QUADRATURE_WIDTH

    def _quadrature(self, curve: MarginFunction, rows: Range, panel: Range) -> Quadrature | None:
        if self.coarse:
            return Quadrature.of(curve, rows, panel, _COARSE_TOLERANCE, _COARSE_DIGITS)
        return Quadrature.of(curve, rows, panel)

    @property
    def scale(self) -> float:
        """What a sum of weights is multiplied by. Coarse weights are counted in units of their last digit."""
        return 2.0 ** (DIGITS - _COARSE_DIGITS) if self.coarse else 1.0

    def _range(self, term: int) -> Range:
        low, high = self.ranges[self.output.terms[term].margin].tolist()
        return low, high

    def factors(self, term: int, panel: int) -> Factors:
        """Return the sum of products of a term in one panel."""
        curve = self.output.terms[term].curve
        low, high = rows = self._range(term)
        first, width = curve.steps[0], self._width(term)
        if width is not None:
            ends = sorted(((panel + side) * width - first.shift) / first.scale for side in (-0.5, 0.5))
            low, high = max(low, ends[0]), max(low, min(high, ends[1]))
        found = self._quadrature(curve, rows, (low, high)) or factors_of(curve, rows, (low, high))
        if found is None:
            raise InputError(
                f"model_output={self.output.name!r} of this model needs background rows, because its link has a kink; "
                "give rows instead of a Background"
            )
        return found

    def is_plain(self, term: int) -> bool:
        """Whether the term needs only the background with its own weights, which is counted anyway."""
        functions = {step.function for step in self.output.terms[term].curve.steps}
        return functions == {"identity"} and self.forest.n_outputs == 1


def incomparable(panels: Panels) -> str | None:
    """Say why populations cannot be compared in this unit by their counts; ``None`` if they can."""
    name = panels.output.name
    if panels.output.labels is not None:
        return (
            f"model_output={name!r} needs labels, but a population has none; use model_output='raw', or compare the "
            "losses of rows"
        )
    for t, term in enumerate(panels.output.terms):
        factors = panels.factors(t, 0)
        if not isinstance(factors, Quadrature) and not is_constant(factors):
            function = " of ".join(step.function for step in reversed(term.curve.steps))
            why = "margins too far apart" if function in ("exp", "logistic") else f"the link {function!r}"
            return (
                f"populations cannot be compared by their counts in model_output={name!r}, because this model has "
                f"{why}; use model_output='raw', or compare rows by explainer.contrast(X, Z)"
            )
    return None


def is_constant(factors: Factors) -> bool:
    """Whether the slope is the same everywhere."""
    return factors.plain and factors.rank == 1
