"""The mean of an index over a population that was counted: why two populations have different mean predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.explain.counts import Counts
from arborshap.explain.deals import Deals, variance_of_mean
from arborshap.explain.linked_population import linked_means
from arborshap.explain.state import State
from arborshap.explain.values import without_single_output
from arborshap.game.indices import IndexName, order_of_index
from arborshap.result.explanation import Explanation

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Population:
    """The counted rows of a population, and the state of an explainer against them.

    Attributes
    ----------
    counts
        The counts, or the distinct rows.
    state
        The state of an explainer whose background they are.
    deals
        The same rows dealt out at random, for error bars; ``None`` if they were not dealt out.
    state_of
        Compiles an explainer against other counts, such as those of a deal.
    """

    counts: Counts
    state: State
    deals: Deals | None
    state_of: Callable[[Counts], State]

    def state_of_deals(self) -> State:
        """Compile an explainer against all deals together, which may have weightings of their own."""
        assert self.deals is not None
        if self.state.rescaled is None:
            return self.state
        return self.state_of(reduce(Counts.merge, self.deals.some()[0]))

    @property
    def base(self) -> Array:
        """The mean prediction: (outputs,)."""
        rescaled = self.state.rescaled
        return self.state.core.expected_value if rescaled is None else rescaled.expected_of_any_row()


def explained_change(ours: Population, theirs: Population, index: IndexName) -> Explanation:
    """Explain what moves the mean prediction from their population to ours."""
    state, values = theirs.state, mean_change(ours, theirs, index)
    error, base = change_error(ours, theirs, index), theirs.base
    return Explanation(
        without_single_output(state, values[np.newaxis]),
        base[:1] if state.n_outputs == 1 else base[np.newaxis],
        feature_names=state.columns.player_names,
        index=index,
        model_output=state.model_output,
        data_names=state.columns.names,
        data_players=state.columns.owner_names,
        output_names=state.output_names,
        unit=state.unit,
        standard_error=None if error is None else without_single_output(state, error[np.newaxis]),
    )[0]


def mean_change(ours: Population, theirs: Population, index: IndexName) -> Array:
    """Compute what moves the mean prediction from one population to another: (players[, players], outputs).

    The value of a player changes its sign if a row and a reference row change places. Half the difference of both
    directions is therefore the same number, and rounding cannot make it differ from 0 for equal populations.
    """
    (change,) = means_over([ours.counts], theirs.state, index)
    if order_of_index(index) == 2:
        return np.asarray(change)
    (back,) = means_over([theirs.counts], ours.state, index)
    return np.asarray(0.5 * (change - back))


def change_error(ours: Population, theirs: Population, index: IndexName) -> Array | None:
    """Compute how far such a change may be off because both populations are samples; ``None`` if that is not known.

    The change is a mean over two samples. Its variance is about that of a mean over our rows, with theirs fixed, plus
    that of a mean over their rows, with ours fixed.
    """
    if ours.deals is None or theirs.deals is None:
        return None
    (our_deals, our_weights), (their_deals, their_weights) = ours.deals.some(), theirs.deals.some()
    if len(our_deals) == len(their_deals) == 1:
        return None
    variance = variance_of_mean(means_over(our_deals, theirs.state_of_deals(), index), our_weights)
    if order_of_index(index) == 1:  # the other direction differs only by the sign
        reverse = means_over(their_deals, ours.state_of_deals(), index)
    else:
        whole = reduce(Counts.merge, our_deals)
        reverse = np.stack([means_over([whole], theirs.state_of(deal), index)[0] for deal in their_deals])
    return np.asarray(np.sqrt(variance + variance_of_mean(reverse, their_weights)))


def means_over(populations: Sequence[Counts], state: State, index: IndexName) -> Array:
    """Compute the mean of an index over each population, against a background: (populations, players..., outputs)."""
    if state.rescaled is not None:
        return linked_means(populations, state.rescaled, state.settings, index)
    n_threads = state.settings.n_threads
    return np.stack([state.core.explain_population(some.native, index, n_threads=n_threads) for some in populations])
