"""The unit of an explanation's numbers: what base values and values add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Unit:
    """What the numbers of an explanation are, as far as the model tells.

    Attributes
    ----------
    name
        What a base value and values add up to, such as ``"log-odds"``, ``"probability"`` or ``"prediction"``.
    becomes
        What the model's library turns this sum into, such as ``"probability"``; ``None`` if the sum is the prediction
        itself, or if the link is not computed here.
    link
        How the sum becomes that: ``"logistic"``, ``"log"`` or ``"softmax"``; any other word if `becomes` is ``None``.
    steepness
        The factor by which a logistic link multiplies the sum.
    """

    name: str = "model output"
    becomes: str | None = None
    link: str = "unknown"
    steepness: float = 1.0

    @classmethod
    def of(cls, model_output: str, link: str | None = None, steepness: float = 1.0) -> Unit:
        """Name the unit of a model output, given the model's link; without a link, the model is not known."""
        if model_output == "log_loss":
            return cls("log loss")
        if model_output == "probability" or link == "probability":
            return cls("probability")
        if model_output == "prediction":
            return cls("probability" if link in ("logistic", "softmax") else "prediction")
        if link is None:
            return cls()
        match link:
            case "identity":
                return cls("prediction")
            case "logistic":
                return cls("log-odds" if steepness == 1 else "raw prediction", "probability", link, steepness)
            case "softmax":
                return cls("raw prediction", "probability", link)
            case "log":
                return cls("log of the prediction", "prediction", link)
            case _:
                return cls("raw prediction")

    def converted(self, sums: Any) -> NDArray[np.float64] | None:
        """Turn sums of base values and values into what they become; ``None`` if one sum alone does not tell."""
        with np.errstate(over="ignore"):  # to infinity, which is what the library returns too
            if self.link == "logistic":
                return np.asarray(1.0 / (1.0 + np.exp(-self.steepness * np.asarray(sums, np.float64))))
            return np.asarray(np.exp(np.asarray(sums, np.float64))) if self.link == "log" else None
