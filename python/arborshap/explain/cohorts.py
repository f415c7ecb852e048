"""Contrasts between groups of rows: why their mean predictions differ."""

from __future__ import annotations

from functools import reduce
from typing import Any, Literal

import numpy as np

from arborshap._util.checks import checked_choice
from arborshap.explain.background import Background
from arborshap.explain.counted import Options, compiled_populations, counted, sampling_errors, shared_fields
from arborshap.explain.labels import OutputName
from arborshap.explain.population import Population, mean_change
from arborshap.explain.values import without_single_output
from arborshap.game.groups import Groups
from arborshap.game.indices import PLAYER_INDICES, PlayerIndexName
from arborshap.result.cohorts import AGAINST, CohortContrasts

Against = Literal["rest", "each other"]


def cohort_contrasts(
    model: Any,
    cohorts: Any,
    against: Against = "rest",
    *,
    index: PlayerIndexName = "shapley",
    model_output: OutputName | None = None,
    groups: Groups | None = None,
    error_bars: bool = True,
    n_jobs: int | None = None,
    memory_limit: int | None = None,
) -> CohortContrasts:
    """Explain why groups of rows have different mean predictions.

    Each gap is explained by the game of `Background.contrast`: players in the coalition come from a row of one cohort
    and all others from a row of the other, averaged over all pairs of rows. If cohorts are groups of people, the gap is
    the demographic parity gap; if all rows also have the same outcome y, it is the equal opportunity gap.

    Parameters
    ----------
    model
        The model, in any form that `TreeExplainer` accepts, or an explainer, which brings its groups and its output.
    cohorts
        A dictionary of at least two names, each with its rows or with a `Background` of them.
    against
        ``"rest"`` compares each cohort with all others taken together, ``"each other"`` with every other one.
    index
        ``"shapley"`` or ``"banzhaf"``.
    model_output
        The unit of the gaps, as for `TreeExplainer`. The default is the output that the Backgrounds were made for, or
        ``"raw"`` for rows.
    groups
        Columns that play as one player, as for `TreeExplainer`, if rows are given.
    error_bars
        Whether to compute standard errors for cohorts that are given as rows.
    n_jobs, memory_limit
        As for `TreeExplainer`.

    Returns
    -------
    CohortContrasts
        The values of all gaps, with ``.to_frame()``, ``.contrast(name, other)`` and ``.plot()``.
    """
    checked_choice("against", against, AGAINST)
    checked_choice("index", index, PLAYER_INDICES)
    options = Options(model_output, groups, error_bars, n_jobs, memory_limit)
    parts = counted(model, cohorts, "cohort", options)
    names = list(parts)
    others = [_rest(parts, name) for name in names] if against == "rest" else []
    found = compiled_populations(model, [*parts.values(), *others], "cohort", options)
    ours, rests = found[: len(names)], found[len(names) :]
    state = ours[0].state
    if against == "rest":
        pairs = list(zip(ours, rests, strict=True))
        values, errors = np.stack([mean_change(*pair, index) for pair in pairs]), sampling_errors(pairs, index)
    else:
        values, errors = _matrix(ours, index)
    bases = [population.base for population in (rests or ours)]
    return CohortContrasts(
        names=names,
        against=against,
        means=without_single_output(state, np.stack([population.base for population in ours])),
        reference_means=without_single_output(state, np.stack(bases)),
        n_rows=[len(parts[name]) for name in names],
        **shared_fields(state, values, errors, index),
    )


def _rest(parts: dict[str, Background], name: str) -> Background:
    return reduce(Background.merge, [part for other, part in parts.items() if other != name])


def _matrix(ours: list[Population], index: PlayerIndexName) -> tuple[Any, Any]:
    """Compare every cohort with every other one; the two directions differ only by the sign."""
    n = len(ours)
    places = [(i, j) for i in range(n) for j in range(i)]
    pairs = [(ours[i], ours[j]) for i, j in places]
    changes, found = [mean_change(*pair, index) for pair in pairs], sampling_errors(pairs, index)
    values = np.zeros((n, n, *changes[0].shape))
    errors = None if found is None else np.zeros(values.shape)
    for at, (i, j) in enumerate(places):
        values[i, j], values[j, i] = changes[at], -changes[at]
        if errors is not None and found is not None:
            errors[i, j] = errors[j, i] = found[at]
    return values, errors
