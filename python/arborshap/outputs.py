"""Probabilities and losses: the values of every pair (x, z), rescaled to what the pair's margins become.

A margin's Shapley values of one pair sum to h(x) - h(z). Multiplied by the mean slope of g between the two, they sum to
g(h(x)) - g(h(z)). With several margins, as of a softmax, the mean slopes along the straight line between the two do the
same. These are not the Shapley values of g(h): that game would ask for g at every coalition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._checks import check_fits, checked_dtype
from arborshap._numbers import Matrix
from arborshap._progress import Report, reporting
from arborshap.exceptions import InputError, UnsupportedModelError
from arborshap.models._model import Model

Array: TypeAlias = NDArray[np.float64]
OutputName: TypeAlias = Literal["raw", "probability", "log_loss"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_SPREAD = 4.0
"""How far apart the margins may drift over one panel of the quadrature; 16 nodes are then exact to rounding."""
_CHUNK = 2**20  # numbers held at a time for a block of pairs


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
        What the logistic function multiplies the margin by.
    n_margins
        Margins of a row.
    labels
        What the classes are called, where that is not their numbers.
    """

    is_loss: bool
    is_softmax: bool
    steepness: float
    n_margins: int
    labels: list[Any] | None

    @property
    def name(self) -> OutputName:
        """What a caller asks for it by."""
        return "log_loss" if self.is_loss else "probability"

    @property
    def n_outputs(self) -> int:
        """Numbers that g gives for a row: one per margin, or one loss."""
        return 1 if self.is_loss else self.n_margins

    def of(self, margins: Array, y: Array | None) -> Array:
        """Compute g: (rows, outputs). For a loss, `y` has one label per row, or one for all."""
        margins = margins * self.steepness
        if not self.is_loss:
            return _softmax(margins) if self.is_softmax else _logistic(margins)
        assert y is not None
        if not self.is_softmax:
            return np.asarray(np.logaddexp(0.0, margins) - np.reshape(y, (-1, 1)) * margins)
        largest = margins.max(axis=1, keepdims=True)
        total = np.log(np.exp(margins - largest).sum(axis=1, keepdims=True)) + largest
        classes = np.broadcast_to(y.astype(np.intp), len(margins))
        return np.asarray(total - np.take_along_axis(margins, classes[:, np.newaxis], axis=1))

    def slopes(self, ours: Array, theirs: Array, y: Array | None) -> Array:
        """Mean slopes of g between the margins of rows and of others: (rows, others, outputs, margins)."""
        shape = (len(ours), len(theirs), self.n_margins)
        start = np.broadcast_to(theirs * self.steepness, shape)
        end = np.broadcast_to((ours * self.steepness)[:, np.newaxis, :], shape)
        diagonal = np.eye(self.n_margins)
        if not self.is_softmax:
            mean = _logistic_slope(start, end) if y is None else _softplus_slope(start, end) - y[:, None, None]
            return np.asarray(mean[..., np.newaxis] * diagonal * self.steepness)
        start, end = start.reshape(-1, self.n_margins), end.reshape(-1, self.n_margins)
        if y is not None:
            mean = _softmax_means(start, end, two_by_two=False).reshape(shape)
            return np.asarray(mean - diagonal[y.astype(np.intp), np.newaxis, :])[:, :, np.newaxis, :]
        product = _softmax_means(start, end, two_by_two=True)
        return np.asarray(product.sum(axis=2, keepdims=True) * diagonal - product).reshape(*shape, self.n_margins)

    def checked_labels(self, y: Any, n_rows: int) -> Array | None:
        """Turn the caller's labels into numbers: of the class, or for two classes anything from 0 to 1."""
        if not self.is_loss:
            check_no_labels(y)
            return None
        if y is None:
            raise InputError("model_output='log_loss' needs y, the true label of each row")
        given = np.asarray(y)
        if given.shape != (n_rows,):
            raise InputError(f"y has shape {given.shape}, but there are {n_rows} rows; give one label per row")
        if self.labels is not None:
            number = {label: float(i) for i, label in enumerate(self.labels)}
            unknown = next((i for i, label in enumerate(given.tolist()) if label not in number), None)
            if unknown is not None:
                raise InputError(f"y of row {unknown} is {given[unknown]!r}; the classes are {self.labels}")
            return np.array([number[label] for label in given.tolist()], np.float64)
        if given.dtype.kind not in "fiub":
            raise InputError(f"y must be numbers, since the model does not know its classes' names; got {given.dtype}")
        labels = given.astype(np.float64)
        if self.is_softmax:
            wrong = ~np.isin(labels, np.arange(self.n_margins))
            allowed = f"the classes are numbered from 0 to {self.n_margins - 1}"
        else:
            wrong = ~((labels >= 0.0) & (labels <= 1.0))
            allowed = "labels are 0 or 1, or a chance in between"
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"y of row {row} is {labels[row]:g}; {allowed}")
        return labels


def check_no_labels(y: Any) -> None:
    """Refuse labels where nothing is done with them."""
    if y is not None:
        raise InputError("y is what a loss is measured by; it goes with model_output='log_loss' only")


def output_of(model: Model, name: OutputName, engine: str, *, has_background: bool) -> ModelOutput | None:
    """Return what a model's margins are to be turned into; ``None`` where they are explained as they are.

    Raises
    ------
    UnsupportedModelError
        If the model has no such output.
    InputError
        If there is no background, or an engine is forced that does not give the values of pairs.
    """
    if name == "raw" or (name == "probability" and model.link == "probability"):
        return None
    if not has_background:
        raise InputError(f"model_output={name!r} rescales the values of pairs of rows: give data, the background")
    if engine not in ("auto", "traversal"):
        raise InputError(f"model_output={name!r} needs the values of every pair, which engine={engine!r} does not give")
    asked, library, n_margins = f"model_output={name!r}", model.library, model.forest.n_outputs
    if name == "log_loss" and model.link == "probability":
        raise UnsupportedModelError(
            f"{asked}: the trees of this {library} model hold probabilities, and the log loss of one that is 0 is "
            "infinite; explain model_output='probability'"
        )
    if model.link not in ("logistic", "softmax"):
        raise UnsupportedModelError(
            f"{asked}: this {library} model has no class probabilities that follow from its margin "
            f"(its link: {model.link}); explain model_output='raw'"
        )
    if name == "log_loss" and model.link == "logistic" and n_margins > 1:
        raise UnsupportedModelError(
            f"{asked}: this {library} model has {n_margins} probabilities that do not sum to 1 (one class against the "
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


class Rescaled:
    """The values of a function of the margins against a background, a block of pairs at a time.

    Sums run over the background in blocks whose size depends on the model alone, and row by row, so that a row's values
    do not depend on which rows are explained with it.

    Attributes
    ----------
    output
        The function.
    background
        The rows z.
    shares
        What each of them counts for in the mean; together 1.
    """

    def __init__(
        self,
        output: ModelOutput,
        forest: _core.Forest,
        core: _core.Explainer,
        n_players: int,
        background: Matrix,
        shares: Array | None,
        n_threads: int,
    ) -> None:
        self.output = output
        self._forest = forest
        self._core = core
        self._n_players = n_players
        self.background = background
        self._margins = forest.margin(background, n_threads)
        self.shares = np.full(len(background), 1.0 / max(1, len(background))) if shares is None else shares
        self._n_threads = n_threads

    def against(self, others: Matrix) -> Rescaled:
        """Return the same function against other rows, of equal weights."""
        return Rescaled(self.output, self._forest, self._core, self._n_players, others, None, self._n_threads)

    def expected(self, y: Any, n_rows: int) -> Array:
        """Return the mean of the function over the background, for each of some rows: (rows, outputs)."""
        numbers = self.output.checked_labels(y, n_rows)
        if numbers is None:
            return np.broadcast_to(self.shares @ self.output.of(self._margins, None), (n_rows, self.output.n_outputs))
        labels, which = np.unique(numbers, return_inverse=True)
        means = [self.shares @ self.output.of(self._margins, np.array([label])) for label in labels]
        return np.reshape(means, (len(labels), 1))[which]

    def expected_of_any_row(self) -> Array:
        """Return that mean where it is the same for all rows: (outputs,)."""
        if self.output.is_loss:
            raise InputError(
                "the expected loss depends on a row's label: see base_values of explainer(X, y), one for each row"
            )
        return np.asarray(self.expected(None, 1)[0])

    def explain(
        self, rows: Matrix, y: Any, index: str, dtype: Any, progress: bool | Report, limit: int | None
    ) -> NDArray[Any]:
        """Compute values averaged over the background: (rows, players, outputs)."""
        if index != "shapley":
            raise InputError(
                f"the {index} index of a probability or a loss is not defined here: only the Shapley values of pairs "
                "of rows are rescaled; explain model_output='raw'"
            )
        kind, labels = checked_dtype(dtype), self.output.checked_labels(y, len(rows))
        shape = (len(rows), self._n_players, self.output.n_outputs)
        check_fits(shape, np.dtype(np.float64), limit)
        sums = np.zeros(shape)
        with reporting(progress) as report:
            for x, others, values in self._pairs(rows, labels, report):
                sums[x] += np.einsum("z,zio->io", self.shares[others], values)
        return sums.astype(kind, copy=False)

    def explain_pairs(
        self, rows: Matrix, y: Any, dtype: Any, progress: bool | Report, limit: int | None
    ) -> NDArray[Any]:
        """Compute values of every pair: (rows, background rows, players, outputs)."""
        kind, labels = checked_dtype(dtype), self.output.checked_labels(y, len(rows))
        shape = (len(rows), len(self.background), self._n_players, self.output.n_outputs)
        check_fits(shape, kind, limit)
        every = np.empty(shape, kind)
        with reporting(progress) as report:
            for x, others, values in self._pairs(rows, labels, report):
                every[x, others] = values
        return every

    def contrast(self, ours: Matrix, theirs: Matrix) -> tuple[Array, Array]:
        """Compute values against other rows, and the mean of the function over those: (1, outputs)."""
        if self.output.is_loss:
            raise InputError("a contrast has no label to measure a loss by; pair_values(x, z, y=...) takes one")
        against = self.against(theirs)
        return against.explain(ours, None, "shapley", np.float64, False, None), against.expected(None, 1)

    def _pairs(self, rows: Matrix, y: Array | None, report: Report | None) -> Iterator[tuple[int, slice, Array]]:
        """Go through all pairs: a row, a block of the background, and the values, (block, players, outputs)."""
        margins = self._forest.margin(rows, self._n_threads)
        n, m, k = len(rows), len(self.background), self.output.n_margins
        numbers_a_pair = k * self._n_players + 4 * k * k
        wide = max(1, min(m, 1024, _CHUNK // numbers_a_pair))
        tall = max(1, _CHUNK // (numbers_a_pair * wide))
        for start in range(0, n, tall):
            for first in range(0, m, wide):
                block, others = slice(start, min(start + tall, n)), slice(first, min(first + wide, m))
                raw = self._core.explain_pairs(rows[block], self.background[others], n_threads=self._n_threads)
                slopes = self.output.slopes(margins[block], self._margins[others], None if y is None else y[block])
                for x in range(start, block.stop):
                    yield x, others, np.einsum("zoj,zij->zio", slopes[x - start], raw[x - start])
                if report is not None:
                    report((start * m + (block.stop - start) * others.stop) / (n * m))


def _logistic(margins: Array) -> Array:
    """Compute 1 / (1 + exp(-margin)), where neither end overflows."""
    small = np.exp(-np.abs(margins))
    return np.asarray(np.where(margins >= 0.0, 1.0, small) / (1.0 + small))


def _softmax(margins: Array) -> Array:
    powers = np.exp(margins - margins.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _logistic_slope(a: Array, b: Array) -> Array:
    """Divide the difference of two logistic values by that of their arguments, without loss where these are close."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    gap = high - low
    share = np.divide(-np.expm1(-gap), gap, out=np.ones_like(gap), where=gap > 0.0)
    return np.asarray(_logistic(high) * _logistic(-low) * share)


def _softplus_slope(a: Array, b: Array) -> Array:
    """Do the same for log(1 + exp(margin))."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    gap = high - low
    near = np.log1p(_logistic(low) * np.expm1(np.minimum(gap, 1.0)))
    rise = np.where(gap <= 1.0, near, np.logaddexp(0.0, high) - np.logaddexp(0.0, low))
    return np.asarray(np.divide(rise, gap, out=_logistic(low), where=gap > 0.0))


def _softmax_means(start: Array, end: Array, *, two_by_two: bool) -> Array:
    """Average over the straight line between margins: a softmax, (n, k), or the products of two of its entries.

    The products, (n, k, k), are zero where an entry would meet itself: entries sum to 1, so the others tell those.

    The softmax has its poles where the margins' imaginary parts are pi apart, so that panels over which margins drift
    apart by no more than `_SPREAD` leave Gauss-Legendre a wide strip without any.
    """
    n, k = start.shape
    change = end - start
    panels = np.maximum(1, np.ceil((change.max(axis=1) - change.min(axis=1)) / _SPREAD)).astype(np.intp)
    means = np.zeros((n, k, k) if two_by_two else (n, k))
    for count in np.unique(panels).tolist():
        of_count = np.flatnonzero(panels == count)
        # Margins first and pairs last: every step is then one long loop, the same for a pair whatever stands beside it.
        a, b = start[of_count].T.copy(), change[of_count].T.copy()
        sums = np.zeros((k, *a.shape) if two_by_two else a.shape)
        for panel in range(count):
            for node, weight in zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True):
                p = a + b * ((panel + 0.5 * (1.0 + node)) / count)
                p = np.exp(p - p.max(axis=0))
                p /= reduce(np.add, p)
                weighted = p * (0.5 * weight / count)
                if two_by_two:
                    for j in range(1, k):
                        sums[j, :j] += p[:j] * weighted[j]
                else:
                    sums += weighted
        means[of_count] = sums.T
    return means + means.swapaxes(1, 2) if two_by_two else means
