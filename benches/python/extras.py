"""Measurements other than n rows against m: a single row, rows with all tables ready, and the traversal alone."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import contenders
from arborshap import TreeExplainer
from contenders import CORES, PEERS
from measuring import MOST_REPEATS, PATIENCE, agreement
from workloads import model_of, rows_of

Array: TypeAlias = NDArray[Any]


def best(call: Callable[[], Any]) -> float:
    """Return the seconds of the fastest of some calls."""
    taken: list[float] = []
    while len(taken) < MOST_REPEATS and sum(taken) < PATIENCE:
        time.sleep(0.05)
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def one_row() -> dict[str, Any]:
    """Return the median seconds of a call with one row, with the explainer ready."""
    model, background, rows = model_of("A"), rows_of("A", 100, background=True), rows_of("A", 2000)
    expected = TreeExplainer(model, background).shap_values(rows)
    medians = {}
    for contender, calls in ((contenders.ARBORSHAP["shapley"], 2000), *((PEERS["shapley"][p], c) for p, c in SLOW)):
        explainer = contender.construct(model, contender.rows(background))
        one_by_one = [contender.rows(rows[i : i + 1]) for i in range(calls)]
        values, taken = [], []
        for row in one_by_one:
            start = time.perf_counter()
            values.append(contender.explain(explainer, row))
            taken.append(time.perf_counter() - start)
        agreement(expected[:calls], np.concatenate(values))
        medians[contender.name] = statistics.median(taken)
        print(f"one row, A, m = 100: {contender.name} {1e6 * medians[contender.name]:.1f} us", flush=True)
    return {"seconds": medians, "goal_seconds": 50e-6}


SLOW = (("shap", 50), ("shapiq", 20), ("woodelf", 3))


def tables_ready(workload: str, n: int, goal: float) -> dict[str, Any]:
    """Return the time to explain rows with tables ready, relative to XGBoost's prediction on the same threads."""
    model = model_of(workload)
    rows = rows_of(workload, n).astype(np.float32)
    background = rows_of(workload, 1000, background=True)
    booster = model.get_booster()
    found: dict[str, Any] = {"goal": goal}
    for threads in sorted({1, CORES}):
        explainer = TreeExplainer(model, background, n_jobs=threads, engine="pattern")
        explainer.shap_values(rows)
        booster.set_param({"nthread": threads})
        explain = best(partial(explainer.shap_values, rows))
        predict = best(partial(booster.inplace_predict, rows))
        found[str(threads)] = {"explain": explain, "predict": predict, "multiple": explain / predict}
        print(
            f"{workload}, {n} rows, {threads} threads: {explain:.4f} s, predict {predict:.4f} s, "
            f"{explain / predict:.1f} times",
            flush=True,
        )
    return found


def traversal() -> dict[str, Any]:
    """Return microseconds per (row, background row, tree) of the paper's traversal, on one thread and on all."""
    n, m, trees = 200, 200, 100
    model, rows, background = model_of("A"), rows_of("A", n), rows_of("A", m, background=True)
    shap = PEERS["shapley"]["shap"]
    theirs = shap.construct(model, background)
    expected = shap.explain(theirs, rows[:20])
    per = 1e6 / (m * trees)
    found = {"shap": {"1": best(partial(shap.explain, theirs, rows[:20])) * per / 20}}
    for threads in sorted({1, CORES}):
        explainer = TreeExplainer(model, background, engine="traversal", n_jobs=threads)
        ways: dict[str, Callable[[Any], Array]] = {
            "averaged": explainer.shap_values,
            "every pair": explainer.pair_values,
        }
        for name, explain in ways.items():
            values = explain(rows[:20])
            agreement(expected, values if name == "averaged" else values.mean(axis=1))
            found.setdefault(name, {})[str(threads)] = best(partial(explain, rows)) * per / n
    for name, by_threads in found.items():
        print(f"traversal, A {n} x {m}, {name}: {by_threads} us", flush=True)
    return {"microseconds": found, "goal_microseconds": 0.06}


EXTRAS: dict[str, Callable[[], dict[str, Any]]] = {
    "one row": one_row,
    "tables ready, A": lambda: tables_ready("A", 100_000, goal=5),
    "tables ready, B": lambda: tables_ready("B", 10_000, goal=15),
    "traversal": traversal,
}
