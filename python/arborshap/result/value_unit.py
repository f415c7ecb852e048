"""The unit of an explanation's numbers: what base values and values add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.models.link import Link
from arborshap.models.margin_functions import IDENTITY, MarginFunction, Step


@dataclass(frozen=True, slots=True)
class ValueUnit:
    """What the numbers of an explanation are, as far as the model tells.

    Attributes
    ----------
    name
        What a base value and values add up to, such as ``"log-odds"``, ``"probability"`` or ``"prediction"``.
    becomes
        What the model's library turns this sum into, such as ``"probability"``; ``None`` if the sum is the prediction
        itself, or if the link is not computed here.
    curve
        The function of one sum that it becomes; ``None`` if `becomes` is ``None``, or if it takes the sums of all
        outputs, as a softmax does.
    """

    name: str = "model output"
    becomes: str | None = None
    curve: MarginFunction | None = None

    @classmethod
    def of(cls, model_output: str, link: Link | None = None) -> ValueUnit:
        """Name the unit of a model output, given the model's link; without a link, the model is not known."""
        if model_output in ("log_loss", "squared_error"):
            return cls(model_output.replace("_", " "))
        if model_output == "probability" or (link is not None and link.name == "probability"):
            return cls("probability")
        if model_output == "prediction":
            is_probability = link is not None and (link.is_probability or link.name == "softmax")
            return cls("probability" if is_probability else "prediction")
        if link is None:
            return cls()
        if link.name == "softmax":
            return cls("raw prediction", "probability")
        if len(link.curves) != 1 or link.averaged:
            return cls("raw prediction")
        curve = link.curves[0]
        if curve == IDENTITY:
            return cls("prediction")
        plain = {Step("logistic"): "log-odds", Step("exp"): "log of the prediction"}
        name = plain.get(curve.steps[0], "raw prediction") if len(curve.steps) == 1 else "raw prediction"
        return cls(name, "probability" if link.is_probability else "prediction", curve)

    def converted(self, sums: Any) -> NDArray[np.float64] | None:
        """Turn sums of base values and values into what they become; ``None`` if one sum alone does not tell."""
        if self.curve is None:
            return None
        with np.errstate(over="ignore"):  # to infinity, which is what the library returns too
            return self.curve.value(np.asarray(sums, np.float64))
