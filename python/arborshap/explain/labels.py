"""The outputs that can be explained, by name, and the labels of rows, which a loss needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import check_unmasked
from arborshap.exceptions import InputError

OutputName: TypeAlias = Literal["raw", "prediction", "probability", "log_loss", "squared_error"]
MODEL_OUTPUTS: tuple[OutputName, ...] = ("raw", "prediction", "probability", "log_loss", "squared_error")


@dataclass(frozen=True, slots=True)
class Labels:
    """Which labels a loss takes.

    Attributes
    ----------
    kind
        ``"class"``: the position of a class. ``"chance"``: one of two classes, or anything from 0 to 1 in between.
        ``"number"``: any number.
    n_classes
        The number of classes; 0 for numbers.
    classes
        The labels of the classes; ``None`` if they are 0, 1, 2, ...
    """

    kind: Literal["class", "chance", "number"]
    n_classes: int = 0
    classes: tuple[Any, ...] | None = None

    def checked(self, y: Any, n_rows: int, output: OutputName) -> NDArray[np.float64]:
        """Turn the caller's labels into numbers; `output` names what is explained in messages."""
        if y is None:
            what = "value" if self.kind == "number" else "label"
            raise InputError(f"model_output={output!r} needs y, the true {what} of each row")
        given = as_labels(y)
        assert given is not None
        if given.shape != (n_rows,):
            raise InputError(f"y has shape {given.shape}, but there are {n_rows} rows; give one label per row")
        if self.classes is not None:
            code = {label: float(i) for i, label in enumerate(self.classes)}
            unknown = next((i for i, label in enumerate(given.tolist()) if label not in code), None)
            if unknown is not None:
                raise InputError(f"y of row {unknown} is {given[unknown]!r}; the classes are {list(self.classes)}")
            return np.array([code[label] for label in given.tolist()], np.float64)
        if given.dtype.kind not in "fiub":
            why = ", because the model has no class names" if self.kind != "number" else ""
            raise InputError(f"y must be numbers{why}; got {given.dtype}")
        labels = given.astype(np.float64)
        if self.kind == "class":
            wrong = ~np.isin(labels, np.arange(self.n_classes))
            allowed = f"the classes are numbered from 0 to {self.n_classes - 1}"
        elif self.kind == "chance":
            wrong = ~((labels >= 0.0) & (labels <= 1.0))
            allowed = "labels are 0, 1 or a probability in between"
        else:
            wrong, allowed = ~np.isfinite(labels), "it must be a finite number"
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"y of row {row} is {labels[row]:g}; {allowed}")
        return labels


def as_labels(y: Any) -> NDArray[Any] | None:
    """Return labels as an array, of numbers if all are numbers; the label of a single row may stand alone."""
    if y is None:
        return None
    check_unmasked("y", y)
    try:
        given = np.atleast_1d(np.asarray(y))
    except ValueError as error:
        raise InputError("y must be one label per row, but its entries have different lengths") from error
    if given.dtype.kind == "O" and all(isinstance(label, (int, float, np.number, np.bool_)) for label in given.flat):
        return np.array(given.tolist())
    return given


def check_no_labels(y: Any) -> None:
    """Raise `InputError` if labels are given where they have no use."""
    if y is not None:
        raise InputError("y is only used with model_output='log_loss' or 'squared_error'; leave it out")
