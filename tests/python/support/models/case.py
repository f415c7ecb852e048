"""A case of a supported model, and the small data that all cases are trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap import Forest


@dataclass(frozen=True)
class BuiltCase:
    """A trained model with rows to explain and the library's own raw prediction of such rows, (n, outputs)."""

    model: Any
    X: NDArray[np.float64]
    raw_predict: Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Case:
    """A kind of model that is supported; the table of supported models shows `kind` and `what`.

    `tolerance` is how far the library's own arithmetic may be from float64, relative to its largest prediction.
    """

    name: str
    library: str
    kind: str
    what: str
    build: Callable[[], BuiltCase]
    tolerance: float = 1e-9


@dataclass(frozen=True)
class Data:
    """Five columns, one each with missing cells, ties and categories, and targets that depend on them."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    binary: NDArray[np.int64]
    classes: NDArray[np.int64]

    @property
    def pair(self) -> NDArray[np.float64]:
        return np.stack([self.y, self.X[:, 1] - 2.0 * self.y], axis=1)

    @property
    def class_pair(self) -> NDArray[np.int64]:
        return np.stack([self.classes, self.binary], axis=1)

    @property
    def labels(self) -> NDArray[np.int64]:
        return np.stack([self.binary, (self.X[:, 1] > 0).astype(np.int64)], axis=1)

    @property
    def rows(self) -> NDArray[np.float64]:
        return self.X[:60]


def data(*, gaps: bool = True, rows: int = 300) -> Data:
    rng = np.random.default_rng(20240917)
    X = rng.normal(size=(rows, 5))
    X[:, 2] = np.round(2.0 * X[:, 2]) / 2.0
    X[:, 3] = rng.integers(0, 12, rows)
    y = X[:, 0] + 2.0 * (X[:, 1] > 0.3) * X[:, 2] + 1.5 * (X[:, 3] % 3 == 0) - 0.5 * X[:, 4] * (X[:, 0] > 0)
    classes = (X[:, 1] > 0).astype(np.int64) + (X[:, 3] % 4 > 1)
    if gaps:
        X[::7, 0] = np.nan
        X[3::11, 4] = np.nan
    return Data(X, y, (y > 1).astype(np.int64), classes)


def columns_of(predicted: Any) -> NDArray[np.float64]:
    """Return a library's prediction as (rows, outputs); a vector is one output."""
    if isinstance(predicted, list):
        predicted = np.hstack(predicted)
    array = np.asarray(predicted, np.float64)
    return array.reshape(len(array), -1)


def predicted(link: str, raw: NDArray[np.float64], steepness: float = 1.0) -> NDArray[np.float64]:
    """Return the prediction of a model with this link, given its raw prediction."""
    if link == "logistic":
        return np.asarray(1.0 / (1.0 + np.exp(-steepness * raw)))
    if link == "signed square":
        return np.asarray(np.sign(raw) * raw**2)
    if link == "softplus":
        return np.asarray(np.log1p(np.exp(raw)))
    if link == "step":
        return (raw > 0).astype(np.float64)
    if link == "softmax":
        return np.asarray(np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True))
    if link == "log":
        return np.exp(raw)
    assert link in ("identity", "probability"), link
    return raw


def edge_rows(forest: Forest, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make rows with values on the forest's thresholds and one float32 or float64 step to either side."""
    rows: list[NDArray[np.float64]] = []
    forest = getattr(forest, "constants", forest)  # linear trees have the splits of any trees
    leaf = forest.left == -1
    for feature in range(X.shape[1]):  # features that the library makes from columns come after these
        for threshold in np.unique(forest.threshold[~leaf & (forest.feature == feature) & (forest.flags & 32 == 0)]):
            single = np.float32(threshold)
            for value in (
                threshold,
                np.nextafter(threshold, -np.inf),
                np.nextafter(threshold, np.inf),
                np.nextafter(single, np.float32(-np.inf)),
                np.nextafter(single, np.float32(np.inf)),
                # Halfway between two float32 numbers: rounding decides the side.
                (np.float64(single) + np.float64(np.nextafter(single, np.float32(np.inf)))) / 2.0,
            ):
                if abs(value) < np.finfo(np.float32).max:
                    row = X[len(rows) % len(X)].copy()
                    row[feature] = value
                    rows.append(row)
    return np.array(rows).reshape(-1, X.shape[1])
