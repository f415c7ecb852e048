"""The mean of an index over a population in the unit of the prediction, from both sides' weighted counts.

A pair of rows is rescaled by the mean slope between its margins, which is a sum of products of one weight of each row.
So the mean over all pairs is a sum of ordinary means, each of one side's rows in one weighting against the other's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap.exceptions import InputError
from arborshap.explain.counts import Counts
from arborshap.explain.lowrank import Factors
from arborshap.explain.panels import Panels, incomparable, is_constant
from arborshap.explain.quadrature import Quadrature
from arborshap.explain.rescaled import Rescaled
from arborshap.explain.settings import Settings
from arborshap.game.indices import IndexName, order_of_index

Array: TypeAlias = NDArray[np.float64]


def linked_means(populations: Sequence[Counts], against: Rescaled, settings: Settings, index: IndexName) -> Array:
    """Compute the mean of an index over each population: (populations, players[, players], outputs)."""
    weighted, parts = against.weighted, against.parts
    assert weighted is not None, "a background that came in parts is kept in several weightings"
    assert parts is not None, "it has parts"
    panels = Panels.of(against.output, against.forest, coarse=parts.coarse)
    if (why := incomparable(panels)) is not None:
        raise InputError(why)
    for population in populations:
        if population.native.weight == 0.0:  # which says what is wrong
            against.core.explain_population(population.native, index, n_threads=settings.n_threads)
    players = (against.core.n_players,) * order_of_index(index)
    sums = np.zeros((len(populations), *players, against.output.n_outputs))
    for t, term in enumerate(panels.output.terms):
        for product in (product for product in weighted.products if product.term == term):
            for r, place in enumerate(product.weightings):
                reference = weighted.weightings[place]
                if reference.total == 0.0:
                    continue
                for which, population in enumerate(populations):
                    for counts, factor in _weighted_like(population, panels, t, product.factors, r):
                        mean = reference.core.explain_population(counts, index, n_threads=settings.n_threads)[..., 0]
                        sums[which, ..., term.output] += float(term.factor(None)) * factor * reference.total * mean
    return sums


def _weighted_like(
    population: Counts, panels: Panels, term: int, theirs: Factors, r: int
) -> Iterator[tuple[_core.Background, float]]:
    """Yield a population in the weightings that belong to weighting r of the reference, and the factor of each."""
    assert population.weighted is not None, "both sides were made for the same output"
    whole = population.native.weight
    if panels.is_plain(term):
        yield population.native, float(theirs.coefficients(np.zeros(1))[0, 0])
        return
    for panel in sorted({key[1] for key in population.weighted.counts if key[0] == term}):
        position, factor = r, float(theirs.coefficients(np.zeros(1))[0, 0]) if is_constant(theirs) else 0.0
        if isinstance(theirs, Quadrature):
            ours = panels.factors(term, panel)
            assert isinstance(ours, Quadrature), "all panels of a curve have the same kind of products"
            position, factor = theirs.rank - 1 - r, float(theirs.between(ours)[r])
        counts = population.weighted.counts.get((term, panel, position))
        if counts is not None and counts.weight > 0.0:
            yield counts, factor * panels.scale * counts.weight / whole
