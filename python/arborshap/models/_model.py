"""What a loader hands over: the forest, and what the library knows about its own inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.forest import Forest


@dataclass(frozen=True, slots=True)
class Model:
    """A model of any library in the common format.

    Attributes
    ----------
    forest
        The trees.
    library
        Who made it, e.g. ``"xgboost 3.2.0"`` (or ``"xgboost JSON"`` for a file).
    link
        How the margin becomes the library's prediction: ``"identity"``, ``"logistic"`` (of each output by itself),
        ``"softmax"``, ``"log"``, or ``"probability"`` where the margin is one already. Any other word names a link
        that nothing here computes, and ``"unknown"`` one that nobody knows.
    steepness
        What a logistic link multiplies the margin by.
    classes
        The labels that a classifier's classes stand for, in the order of their numbers; ``None`` where labels are
        those numbers, or not known.
    raw_predict
        For a live model, the library's own raw prediction of a float matrix, shape (rows, outputs), used to
        verify ours; ``None`` for a file. The matrix is the one the trees see, after `encode`.
    tolerance
        How far, relative to the size of the margins, the library's own arithmetic may be from float64.
    encode
        For a model that recodes its input by itself (category columns, a marker for missing values), turns what the
        user gave, a frame or a float matrix with its columns in the model's order, into the float matrix the trees
        see; ``None`` where columns are plain numbers.
    takes_missing
        Whether the library predicts rows with missing values at all.
    """

    forest: Forest
    library: str
    link: str = "unknown"
    steepness: float = 1.0
    classes: NDArray[Any] | None = None
    raw_predict: Callable[[NDArray[Any]], NDArray[np.float64]] | None = None
    tolerance: float = 1e-9
    encode: Callable[[Any], NDArray[np.float64]] | None = None
    takes_missing: bool = True


def class_names(classes: NDArray[Any] | None, n_outputs: int) -> list[str] | None:
    """Call the outputs of a classifier after its classes, where it has one for each; of two it has but one."""
    return [str(label) for label in classes] if classes is not None and len(classes) == n_outputs > 1 else None
