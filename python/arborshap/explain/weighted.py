"""Rescaled values at a cost of n + m: sums of ordinary values against the background in several weightings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.progress import Report
from arborshap.exceptions import InputError
from arborshap.explain.lowrank import Factors, factors_of
from arborshap.explain.settings import Settings
from arborshap.explain.terms import SumOfTerms, Term
from arborshap.forest import Forest
from arborshap.forest.margins import forest_of_margin, margin_ranges
from arborshap.game.indices import IndexName
from arborshap.rows.numbers import Matrix

Array: TypeAlias = NDArray[np.float64]
Compute: TypeAlias = Callable[[_core.Explainer, Matrix], Array]

_CHUNK = 2**22  # values held at a time, besides the result


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """The background in one weighting, for one margin.

    Attributes
    ----------
    core
        The explainer of this margin against the background so weighted.
    total
        The mean of the weights over the background, by which a mean with these weights is multiplied.
    output
        The output that its values are added to.
    """

    core: _core.Explainer
    total: float
    output: int


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """The mean slopes of one term's curve as a sum of products.

    Attributes
    ----------
    term
        The term.
    factors
        The sum of products.
    weightings
        Where the weighting of each product stands in the list of all weightings.
    """

    term: Term
    factors: Factors
    weightings: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """The values of a sum of terms against one background.

    Attributes
    ----------
    output
        What is explained.
    forest
        The trees, with all their margins.
    products
        The terms of the output as sums of products.
    weightings
        The background in all weightings that the products need.
    """

    output: SumOfTerms
    forest: _core.Forest
    products: tuple[Product, ...]
    weightings: tuple[Weighting, ...]

    @property
    def bound(self) -> float:
        """The largest error of a mean slope, relative to the largest slope between the row and the background.

        If the background came in parts and the products do not come from a quadrature, a whole panel of margins takes
        the place of the background.
        """
        return max(product.factors.bound for product in self.products)

    def explain(
        self,
        rows: Matrix,
        y: Array | None,
        index: IndexName,
        into: NDArray[Any],
        settings: Settings,
        report: Report | None,
    ) -> NDArray[Any]:
        """Compute the values of an index, (rows, players[, players], outputs), and write them into an array."""

        def compute(core: _core.Explainer, chunk: Matrix) -> Array:
            return core.explain(chunk, index, engine=settings.engine, n_threads=settings.n_threads)

        return self.combine(rows, y, compute, into, settings, report)

    def combine(
        self,
        rows: Matrix,
        y: Array | None,
        compute: Compute,
        into: NDArray[Any],
        settings: Settings,
        report: Report | None,
    ) -> NDArray[Any]:
        """Combine what `compute` finds against each weighting, (rows, ..., 1), and write it into an array."""
        step = max(1, _CHUNK // max(1, prod(into.shape[1:])))
        for start in range(0, len(rows), step):
            chunk = slice(start, min(start + step, len(rows)))
            coefficients = self._coefficients(rows[chunk], None if y is None else y[chunk], start, settings.n_threads)
            sums = np.zeros((chunk.stop - start, *into.shape[1:]))
            for done, (weighting, factor) in enumerate(zip(self.weightings, coefficients, strict=True), start=1):
                if weighting.total == 0.0:
                    continue
                values = compute(weighting.core, rows[chunk])[..., 0]
                values *= factor.reshape(-1, *(1,) * (values.ndim - 1))
                sums[..., weighting.output] += values
                if report is not None:
                    report((start + (chunk.stop - start) * done / len(self.weightings)) / len(rows))
            into[chunk] = sums
        return into

    def expected(self, y: Array | None, n_rows: int) -> Array:
        """Return the mean of the output over the background for each of `n_rows` rows: (rows, outputs)."""
        return self.output.put_together([np.full(n_rows, self._mean(term)) for term in self.output.terms], n_rows, y)

    def plans(self, n_rows: int, index: IndexName, engine: str) -> list[_core.Plan]:
        """Plan a call with this number of rows: one plan per weighting."""
        return [weighting.core.plan(n_rows, index, engine) for weighting in self.weightings]

    def _coefficients(self, rows: Matrix, y: Array | None, start: int, n_threads: int) -> Array:
        """Return what the values of each weighting are multiplied by: (weightings, rows)."""
        margins = self.forest.margin(rows, n_threads)
        check_finite(self.output, margins, "X", start)
        coefficients = np.zeros((len(self.weightings), len(rows)))
        for product in self.products:
            u = product.factors.coefficients(margins[:, product.term.margin]).T
            coefficients[list(product.weightings)] += product.term.factor(y) * u
        return np.asarray(coefficients * np.array([[weighting.total] for weighting in self.weightings]))

    def _mean(self, term: Term) -> float:
        """Return the mean of a term's curve over the background.

        For any margin a, g(a) - E g(h(z)) is the mean of K(a, h(z)) (a - h(z)), of which each weighting gives a share.
        """
        products = [product for product in self.products if product.term == term]
        places = [place for product in products for place in product.weightings]
        totals = np.array([self.weightings[place].total for place in places])
        means = np.array([float(self.weightings[place].core.expected_value[0]) for place in places])
        a = means[[int(totals.argmax())]]
        u = np.concatenate([product.factors.coefficients(a)[0] for product in products]) * totals
        return float(term.curve.value(a)[0] - (u * (a - means)).sum())


def shared_memory(settings: Settings, n_weightings: int) -> int:
    """Return how many bytes the tables of one weighting may take."""
    whole = _core.available_memory() // 2 if settings.memory_limit is None else settings.memory_limit
    return max(1, whole // max(1, n_weightings))


@dataclass(frozen=True, slots=True, eq=False)
class MarginCores:
    """Compiles explainers of single margins, with the players of an explainer of all margins.

    Attributes
    ----------
    forests
        The trees of each margin that is needed.
    options
        What all explainers have in common: their players, their threads and their share of the memory.
    """

    forests: dict[int, _core.Forest]
    options: dict[str, Any]

    @classmethod
    def of(
        cls, output: SumOfTerms, forest: Forest, plain: _core.Explainer, settings: Settings, n_weightings: int
    ) -> Self:
        """Prepare as many explainers as there are weightings, which share the memory."""
        forests = {term.margin: forest_of_margin(forest, term.margin).native for term in output.terms}
        options = {
            "players": plain.players,
            "n_players": plain.n_players,
            "memory_limit": shared_memory(settings, n_weightings),
            "n_threads": settings.n_threads,
        }
        return cls(forests, options)

    def against_rows(self, margin: int, background: Matrix, weights: Array) -> _core.Explainer:
        """Compile an explainer against weighted rows."""
        return _core.Explainer(self.forests[margin], background=background, weights=weights, **self.options)

    def against_counts(self, margin: int, counts: _core.Background) -> _core.Explainer:
        """Compile an explainer against rows that were counted."""
        return _core.Explainer.from_background(self.forests[margin], counts, **self.options)


def weighted_by_rows(
    output: SumOfTerms,
    forest: Forest,
    plain: _core.Explainer,
    background: Matrix,
    shares: Array,
    settings: Settings,
) -> Weighted | None:
    """Weight the rows of a background; ``None`` if the slopes are no short sum of products.

    Parameters
    ----------
    output
        What is explained.
    forest
        The trees.
    plain
        The explainer of all margins against the background with its own weights.
    background, shares
        The background rows, and the weight of each; they sum to 1.
    settings
        The threads, and the memory that all weightings share.
    """
    margins = forest.native.margin(background, settings.n_threads)
    check_finite(output, margins, "data", 0)
    ranges, counted = margin_ranges(forest), margins[shares > 0.0]
    factors = []
    for term in output.terms:
        low, high = float(counted[:, term.margin].min()), float(counted[:, term.margin].max())
        found = factors_of(term.curve, tuple(ranges[term.margin].tolist()), (low, high))
        if found is None:
            return None
        factors.append(found)
    margin_cores = MarginCores.of(output, forest, plain, settings, sum(found.rank for found in factors))
    weightings: list[Weighting] = []
    shared: dict[int, int] = {}  # where the background without further weights stands, for each margin
    products = []
    for term, found in zip(output.terms, factors, strict=True):
        places = []
        for r, weights in enumerate(found.weights(margins[:, term.margin]) * shares):
            is_plain = found.plain and r == 0
            places.append(shared.get(term.margin, len(weightings)) if is_plain else len(weightings))
            if is_plain:
                shared[term.margin] = places[-1]
            if places[-1] < len(weightings):
                continue
            total = float(weights.sum())
            core = plain
            if total > 0.0 and not (is_plain and forest.n_outputs == 1):
                core = margin_cores.against_rows(term.margin, background, weights)
            weightings.append(Weighting(core, total, term.output))
        products.append(Product(term, found, tuple(places)))
    return Weighted(output, forest.native, tuple(products), tuple(weightings))


def check_finite(output: SumOfTerms, margins: Array, what: str, start: int) -> None:
    """Raise `InputError` if the output of a row overflows."""
    for term in output.terms:
        with np.errstate(over="ignore"):
            finite = np.isfinite(term.curve.value(margins[:, term.margin]))
        if not finite.all():
            row = int(finite.argmin())
            raise InputError(
                f"row {start + row} of {what}: its margin is {margins[row, term.margin]:g}, and model_output="
                f"{output.name!r} overflows there; use model_output='raw'"
            )
