"""Plans of calls, and a word before a call that will take long."""

from __future__ import annotations

from arborshap._util.notices import debug_log, warn
from arborshap._util.progress import Report, human_seconds
from arborshap.explain.plan import Plan
from arborshap.explain.state import State
from arborshap.game.indices import IndexName

LONG = 10.0
"""A call that is estimated to take more seconds than this is announced."""


def plan_of(state: State, n: int, index: IndexName) -> Plan:
    """Return how a call with `n` rows would be carried out."""
    engine = state.settings.engine
    if state.rescaled is None:
        return Plan.of(state.core.plan(n, index, engine))
    if state.rescaled.weighted is None:
        return Plan.of(state.core.plan(n, index, "traversal"))
    return Plan.of_weightings(state.rescaled.weighted.plans(n, index, engine), state.rescaled.weighted.bound)


def announce(state: State, n_rows: int, index: IndexName, progress: bool | Report) -> None:
    """Log how a call will be carried out; warn if that is estimated to take long, unless its progress is watched."""
    log = debug_log()
    if progress is not False and log is None:
        return
    plan, n_threads = plan_of(state, n_rows, index), state.settings.n_threads
    if log is not None:
        log.debug("index %s, rows=%d: %s", index, n_rows, plan)
    if progress is not False or plan.seconds <= LONG * n_threads:
        return
    time = human_seconds(plan.seconds / n_threads)
    threads = "one thread" if n_threads == 1 else f"{n_threads} threads"
    warn(
        f"explaining {n_rows:,} rows is estimated to take about {time} on {threads}, "
        f"because {plan.reason}. {_faster(plan, state.n_background)} progress=True shows the time left"
    )


def _faster(plan: Plan, n_background: int) -> str:
    if not n_background:
        return "Explain fewer rows, or give a background: comparing with one is often faster for deep trees."
    if plan.trees_by_pairs or plan.trees_by_walk:
        return (
            f"The time grows with the number of rows times the {n_background:,} background rows, so fewer background "
            "rows make it faster."
        )
    return "The time grows with the number of rows plus the number of background rows; shallower trees make it faster."
