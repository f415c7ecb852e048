"""Contrasts between groups of rows: why their mean predictions differ."""

from __future__ import annotations

from functools import reduce
from typing import Any, Literal

import numpy as np

from arborshap._util.checks import checked_choice
from arborshap.explain.background import Background
from arborshap.explain.counted import Options, compiled_populations, counted, shared_fields, stacked_errors
from arborshap.explain.labels import OutputName
from arborshap.explain.population import Population, change_error, mean_change
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
        values = np.stack([mean_change(one, rest, index) for one, rest in zip(ours, rests, strict=True)])
        errors = stacked_errors([change_error(one, rest, index) for one, rest in zip(ours, rests, strict=True)])
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
    pairs = [(i, j) for i in range(n) for j in range(i)]
    changes = {(i, j): mean_change(ours[i], ours[j], index) for i, j in pairs}
    shape = changes[1, 0].shape
    values, errors = np.zeros((n, n, *shape)), np.zeros((n, n, *shape))
    known = True
    for i, j in pairs:
        values[i, j], values[j, i] = changes[i, j], -changes[i, j]
        error = change_error(ours[i], ours[j], index)
        known = known and error is not None
        errors[i, j] = errors[j, i] = 0.0 if error is None else error
    return values, errors if known else None
