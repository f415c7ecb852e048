"""Why the mean prediction moved over a sequence of periods."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np

from arborshap._util.checks import checked_choice
from arborshap.explain.counted import Options, compiled_populations, counted, sampling_errors, shared_fields
from arborshap.explain.labels import OutputName
from arborshap.explain.population import mean_change
from arborshap.explain.values import without_single_output
from arborshap.game.groups import Groups
from arborshap.game.indices import PLAYER_INDICES, PlayerIndexName
from arborshap.result.drift import SINCE, Drift

Since = Literal["first", "previous"]


def drift_contributions(
    model: Any,
    periods: Any,
    since: Since = "first",
    *,
    index: PlayerIndexName = "shapley",
    model_output: OutputName | None = None,
    groups: Groups | None = None,
    error_bars: bool = True,
    n_jobs: int | None = None,
    memory_limit: int | None = None,
) -> Drift:
    """Explain how the mean prediction moved from period to period, for example from week to week.

    Parameters
    ----------
    model
        The model, in any form that `TreeExplainer` accepts, or an explainer, which brings its groups and its output.
    periods
        A dictionary of at least two periods, oldest first: the name of each with its rows, or with a `Background` of
        its rows.
    since
        ``"first"`` compares each period with the first one, ``"previous"`` with the one before it.
    index
        ``"shapley"`` or ``"banzhaf"``.
    model_output
        The unit of the changes, as for `TreeExplainer`. The default is the output that the Backgrounds were made for,
        or ``"raw"`` for rows.
    groups
        Columns that play as one player, as for `TreeExplainer`, if rows are given.
    error_bars
        Whether to compute standard errors for periods that are given as rows.
    n_jobs, memory_limit
        As for `TreeExplainer`.

    Returns
    -------
    Drift
        The contributions of the players to each change, with ``.to_frame()``, ``.contrast(period)``, ``.plot()`` and
        ``.report(path)``.
    """
    checked_choice("since", since, SINCE)
    checked_choice("index", index, PLAYER_INDICES)
    options = Options(model_output, groups, error_bars, n_jobs, memory_limit)
    parts = counted(model, periods, "period", options)
    found = compiled_populations(model, list(parts.values()), "period", options)
    steps = [(later, found[0]) for later in found[1:]]
    if since == "previous":
        steps = [(later, earlier) for earlier, later in pairwise(found)]
    state = found[0].state
    values = np.stack([mean_change(later, earlier, index) for later, earlier in steps])
    errors = sampling_errors(steps, index)
    return Drift(
        periods=list(parts),
        since=since,
        means=without_single_output(state, np.stack([population.base for population in found])),
        n_rows=[len(part) for part in parts.values()],
        **shared_fields(state, values, errors, index),
    )
