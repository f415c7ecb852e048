"""Links: how the margins of a model become what its library predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from arborshap.models.margin_functions import IDENTITY, MarginFunction, Step

_FUNCTIONS = {
    "identity": "identity",
    "probability": "identity",
    "logistic": "logistic",
    "log": "exp",
    "softplus": "softplus",
    "signed square": "signed square",
}


@dataclass(frozen=True, slots=True)
class Link:
    """How margins become the library's prediction.

    Attributes
    ----------
    name
        ``"identity"``, ``"logistic"`` (of each margin separately), ``"softmax"``, ``"log"``, or ``"probability"`` if
        the margin is a probability already. Any other word names a link, and ``"unknown"`` a link that the model does
        not tell.
    curves
        The function that turns a margin into a prediction: one for all margins, or one per margin. Empty if the
        prediction is no such function, as for a softmax or an unknown link.
    averaged
        Whether there is a single prediction, the mean over all margins of what the curves give. Otherwise there is one
        prediction per margin.
    """

    name: str
    curves: tuple[MarginFunction, ...] = ()
    averaged: bool = False

    @classmethod
    def named(cls, name: str, steepness: float = 1.0) -> Self:
        """Return the link of this name; `steepness` is the factor by which it multiplies the margin first."""
        function = _FUNCTIONS.get(name)
        return cls(name, () if function is None else (MarginFunction.of(Step(function, steepness)),))

    @classmethod
    def from_json(cls, described: Any) -> Self:
        """Read a link from what `to_json` wrote; raise `ValueError`, `TypeError` or `KeyError` if it is not a link."""
        curves = tuple(MarginFunction.from_json(curve) for curve in described["curves"])
        return cls(str(described["name"]), curves, bool(described["averaged"]))

    def to_json(self) -> dict[str, Any]:
        """Describe the link by a dictionary, lists, strings and numbers."""
        return {"name": self.name, "curves": [curve.to_json() for curve in self.curves], "averaged": self.averaged}

    @property
    def is_probability(self) -> bool:
        """Whether the curves give probabilities of classes."""
        last = self.curves[0].steps[-1].function if self.curves else ""
        return bool(self.curves) and (self.name == "probability" or last in ("logistic", "interpolation"))

    def curve(self, margin: int) -> MarginFunction:
        """Return the curve of one margin."""
        return self.curves[margin if len(self.curves) > 1 else 0]

    @property
    def is_raw(self) -> bool:
        """Whether the prediction is the margins themselves."""
        return not self.averaged and all(curve == IDENTITY for curve in self.curves) and bool(self.curves)


UNKNOWN = Link("unknown")
