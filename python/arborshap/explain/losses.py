"""The loss of a model's mean predictions: log loss for probabilities, squared error for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.explain.coalitions import refuse_losses
from arborshap.explain.labels import Labels, as_labels
from arborshap.explain.outputs import ModelOutput, class_names, output_of
from arborshap.explain.state import State

Array: TypeAlias = NDArray[np.float64]

_LEAST = 1e-12
"""The least probability in a log loss, which would be infinite for a probability of zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """How far mean predictions are from the labels of rows.

    Attributes
    ----------
    name
        ``"log loss"`` or ``"squared error"``.
    labels
        The label of each row, as numbers: (rows,), or (rows, outputs) for several numbers.
    link
        What turns mean margins into the loss (log loss) or into predictions (squared error); ``None`` if the means
        are predictions already.
    """

    name: str
    labels: Array
    link: ModelOutput | None

    @classmethod
    def of(cls, state: State, y: Any, n_rows: int) -> Self:
        """Choose the loss by what the model predicts, and check the labels."""
        refuse_losses(state)
        model = state.reader.model
        if y is None:
            raise InputError("y is missing: a loss needs the true label of each row of X")
        if not (model.link.is_probability or model.link.name == "softmax"):
            link = None if state.rescaled is not None else output_of(model, "prediction", has_background=True)
            n_outputs = state.n_outputs if link is None else link.n_outputs
            return cls("squared error", _numbers(y, n_rows, n_outputs), link)
        if state.rescaled is None and not model.link.is_raw:
            link = output_of(model, "log_loss", has_background=True)
            assert link is not None  # a log loss is never the margins themselves
            assert link.labels is not None
            return cls("log loss", link.labels.checked(y, n_rows, "log_loss"), link)
        return cls("log loss", _labels(state, y).checked(y, n_rows, "log_loss"), None)

    def __call__(self, means: Array) -> Array:
        """Compute the loss of each row: (rows,)."""
        if self.name == "squared error":
            predicted = means if self.link is None else self.link.of(means, None)
            return np.asarray(np.square(predicted - self.labels).mean(axis=1))
        if self.link is not None:
            return self.link.of(means, self.labels)[:, 0]
        sure = np.clip(means, _LEAST, 1.0)
        if means.shape[1] == 1:
            not_sure = np.clip(1.0 - means[:, 0], _LEAST, 1.0)
            return np.asarray(-self.labels * np.log(sure[:, 0]) - (1.0 - self.labels) * np.log(not_sure))
        picked = np.take_along_axis(sure, self.labels.astype(np.intp)[:, np.newaxis], axis=1)
        return np.asarray(-np.log(picked[:, 0]))


def _labels(state: State, y: Any) -> Labels:
    """Return which labels a model has whose probabilities are averaged."""
    classes = class_names(state.reader.model)
    if state.n_outputs == 1:
        return Labels("chance", 2, classes)
    expected = state.core.expected_value if state.rescaled is None else state.rescaled.expected_of_any_row()
    if abs(float(expected.sum()) - 1.0) > 1e-6:
        raise InputError(
            "the probabilities of this model do not sum to 1 (several targets, or one class against the rest), so it "
            "has no single log loss"
        )
    given = as_labels(y)
    if classes is None and given is not None and given.dtype.kind not in "fiub":
        classes = state.output_names  # all that a saved explainer knows of the classes
    return Labels("class", state.n_outputs, classes)


def _numbers(y: Any, n_rows: int, n_outputs: int) -> Array:
    """Check the true values: one number per row, or one per row and output; (rows, outputs)."""
    shape = (n_rows,) if n_outputs == 1 else (n_rows, n_outputs)
    given = as_labels(y)
    assert given is not None
    try:
        if given.dtype.kind in "cmM":  # which NumPy would turn into numbers
            raise TypeError
        numbers = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("y must be numbers, because the model predicts numbers") from None
    if numbers.shape != shape and numbers.shape != (n_rows, n_outputs):
        raise InputError(f"y has shape {numbers.shape}, but the model predicts {shape}; give one number per prediction")
    wrong = ~np.isfinite(numbers.reshape(n_rows, -1)).all(axis=1)
    if wrong.any():
        raise InputError(f"y of row {int(wrong.argmax())} is not a finite number")
    return numbers.reshape(n_rows, n_outputs)
