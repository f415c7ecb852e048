"""Outputs other than the raw prediction: probabilities and losses, as functions of the margins.

The Shapley values of one pair sum to h(x) - h(z). Multiplied by the mean slope of g between the two margins, they sum
to g(h(x)) - g(h(z)). For several margins, as in a softmax, the mean slopes along the straight line between the two
points do the same. These are not the Shapley values of g(h), whose game would evaluate g at every coalition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError, UnsupportedModelError
from arborshap.explain.links import logistic, logistic_slope, softmax, softmax_means, softplus_slope
from arborshap.models import Model

Array: TypeAlias = NDArray[np.float64]
OutputName: TypeAlias = Literal["raw", "probability", "log_loss"]
MODEL_OUTPUTS: tuple[OutputName, ...] = ("raw", "probability", "log_loss")


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """A function g of a row's margins, and of its label if g is a loss.

    Attributes
    ----------
    is_loss
        Whether g is the log loss rather than the probabilities.
    is_softmax
        Whether the margins share one softmax; if not, each has a logistic function of its own.
    steepness
        The factor by which the logistic function multiplies the margin.
    n_margins
        Number of margins per row.
    labels
        The labels of the classes; ``None`` if they are 0, 1, 2, ...
    """

    is_loss: bool
    is_softmax: bool
    steepness: float
    n_margins: int
    labels: list[Any] | None

    @property
    def name(self) -> OutputName:
        """The name by which a caller asks for g."""
        return "log_loss" if self.is_loss else "probability"

    @property
    def n_outputs(self) -> int:
        """Number of outputs of g per row: one per margin, or one loss."""
        return 1 if self.is_loss else self.n_margins

    def of(self, margins: Array, y: Array | None) -> Array:
        """Compute g: (rows, outputs). For a loss, `y` holds one label per row, or one label for all rows."""
        margins = margins * self.steepness
        if not self.is_loss:
            return softmax(margins) if self.is_softmax else logistic(margins)
        assert y is not None
        if not self.is_softmax:
            return np.asarray(np.logaddexp(0.0, margins) - np.reshape(y, (-1, 1)) * margins)
        largest = margins.max(axis=1, keepdims=True)
        total = np.log(np.exp(margins - largest).sum(axis=1, keepdims=True)) + largest
        classes = np.broadcast_to(y.astype(np.intp), len(margins))
        return np.asarray(total - np.take_along_axis(margins, classes[:, np.newaxis], axis=1))

    def slopes(self, ours: Array, theirs: Array, y: Array | None) -> Array:
        """Compute the mean slopes of g between the margins of rows and of others: (rows, others, outputs, margins)."""
        shape = (len(ours), len(theirs), self.n_margins)
        start = np.broadcast_to(theirs * self.steepness, shape)
        end = np.broadcast_to((ours * self.steepness)[:, np.newaxis, :], shape)
        diagonal = np.eye(self.n_margins)
        if not self.is_softmax:
            mean = logistic_slope(start, end) if y is None else softplus_slope(start, end) - y[:, None, None]
            return np.asarray(mean[..., np.newaxis] * diagonal * self.steepness)
        start, end = start.reshape(-1, self.n_margins), end.reshape(-1, self.n_margins)
        if y is not None:
            mean = softmax_means(start, end, two_by_two=False).reshape(shape)
            return np.asarray(mean - diagonal[y.astype(np.intp), np.newaxis, :])[:, :, np.newaxis, :]
        product = softmax_means(start, end, two_by_two=True)
        return np.asarray(product.sum(axis=2, keepdims=True) * diagonal - product).reshape(*shape, self.n_margins)

    def checked_labels(self, y: Any, n_rows: int) -> Array | None:
        """Turn the caller's labels into numbers: the position of the class, or anything from 0 to 1 for two classes."""
        if not self.is_loss:
            check_no_labels(y)
            return None
        if y is None:
            raise InputError("model_output='log_loss' needs y, the true label of each row")
        given = np.asarray(y)
        if given.shape != (n_rows,):
            raise InputError(f"y has shape {given.shape}, but there are {n_rows} rows; give one label per row")
        if self.labels is not None:
            code = {label: float(i) for i, label in enumerate(self.labels)}
            unknown = next((i for i, label in enumerate(given.tolist()) if label not in code), None)
            if unknown is not None:
                raise InputError(f"y of row {unknown} is {given[unknown]!r}; the classes are {self.labels}")
            return np.array([code[label] for label in given.tolist()], np.float64)
        if given.dtype.kind not in "fiub":
            raise InputError(f"y must be numbers, because the model has no class names; got {given.dtype}")
        labels = given.astype(np.float64)
        if self.is_softmax:
            wrong = ~np.isin(labels, np.arange(self.n_margins))
            allowed = f"the classes are numbered from 0 to {self.n_margins - 1}"
        else:
            wrong = ~((labels >= 0.0) & (labels <= 1.0))
            allowed = "labels are 0, 1 or a probability in between"
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"y of row {row} is {labels[row]:g}; {allowed}")
        return labels


def check_no_labels(y: Any) -> None:
    """Raise `InputError` if labels are given where they have no use."""
    if y is not None:
        raise InputError("y is only used with model_output='log_loss'; leave it out")


def output_of(model: Model, name: OutputName, engine: str, *, has_background: bool) -> ModelOutput | None:
    """Return the function of the margins to explain; ``None`` if the margins themselves are explained.

    Raises
    ------
    UnsupportedModelError
        If the model has no such output.
    InputError
        If there is no background, or if the forced engine does not compute the values of pairs.
    """
    if name == "raw" or (name == "probability" and model.link == "probability"):
        return None
    if not has_background:
        raise InputError(f"model_output={name!r} needs a background: give its rows as data")
    if engine not in ("auto", "traversal"):
        raise InputError(f"engine={engine!r} cannot compute model_output={name!r}; use engine='auto'")
    what, library, n_margins = f"model_output={name!r}", model.library, model.forest.n_outputs
    if name == "log_loss" and model.link == "probability":
        raise UnsupportedModelError(
            f"{what}: the trees of this {library} model hold probabilities, and the log loss of a zero "
            "probability is infinite; explain model_output='probability'"
        )
    if model.link not in ("logistic", "softmax"):
        raise UnsupportedModelError(
            f"{what}: the margins of this {library} model do not determine class probabilities "
            f"(its link is {model.link}); explain model_output='raw'"
        )
    if name == "log_loss" and model.link == "logistic" and n_margins > 1:
        raise UnsupportedModelError(
            f"{what}: this {library} model has {n_margins} probabilities that do not sum to 1 (one class against the "
            "rest, or several labels at once), so it has no single log loss; explain model_output='probability'"
        )
    labels = None if model.classes is None else np.asarray(model.classes).tolist()
    return ModelOutput(
        is_loss=name == "log_loss",
        is_softmax=model.link == "softmax",
        steepness=model.steepness,
        n_margins=n_margins,
        labels=None if labels == list(range(len(labels or ()))) else labels,
    )
