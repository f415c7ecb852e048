"""How well a plan predicts the time of a call, and whether it takes the fastest engine: `make bench-plans`.

Every engine explains the same rows on one thread, by an explainer that has just been made. Processor time is
compared with the estimate of `explain_plan`. An engine that is estimated to take far longer than the plan is left out.
"""

import argparse
import itertools
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arborshap import TreeExplainer
from workloads import model_of, rows_of

RESULTS = Path(__file__).resolve().parent.parent / "results" / "plans.json"

SIZES = [(1, 100), (20, 100), (100, 100), (1000, 100), (100, 1000), (1000, 1000), (5000, 5000), (10_000, 10_000)]
MODELS = ["A", "B", "D", "C10", "C30", "X12", "L255", "L1023", "R30", "K30"]
ENGINES = ("auto", "pattern", "counts", "sparse")
REPEATS = 3
LONG = 0.3
"""Seconds of a measurement that is not repeated."""
FACTOR = 2.0
"""An estimate is good if it is within this factor of the measured time."""
REGRET = 1.3
"""A choice is good if it takes at most this many times as long as the fastest engine."""


@dataclass(frozen=True)
class Outcome:
    """One engine on one case: CPU seconds of the call, and what the plan said."""

    estimate: float
    seconds: float


@dataclass(frozen=True)
class Case:
    """A model, a size and an index, and what every engine made of it."""

    model: str
    n: int
    m: int
    index: str
    plan: str
    outcomes: dict[str, Outcome]

    @property
    def error(self) -> float:
        """How many times too long or too short the estimate of the plan is."""
        auto = self.outcomes["auto"]
        ratio = auto.estimate / auto.seconds
        return max(ratio, 1 / ratio)

    @property
    def regret(self) -> float:
        """How many times as long as the fastest engine the plan takes."""
        return self.outcomes["auto"].seconds / min(outcome.seconds for outcome in self.outcomes.values())


def estimated(model: Any, name: str, n: int, m: int, index: Any, engine: str) -> float:
    background = rows_of(name, m, background=True) if m else None
    explainer = TreeExplainer(model, background, engine=engine, n_jobs=1, verify=False)
    return explainer.explain_plan(len(rows_of(name, n)), index=index).seconds


def measured(model: Any, name: str, n: int, m: int, index: Any, engine: str) -> tuple[Outcome, str]:
    background = rows_of(name, m, background=True) if m else None
    rows = rows_of(name, n)
    seconds = np.inf
    for _ in range(REPEATS):  # each time by an explainer that has no tables yet
        explainer = TreeExplainer(model, background, engine=engine, n_jobs=1, verify=False)
        plan = explainer.explain_plan(len(rows), index=index)
        start = time.process_time()
        explainer.values(rows, index=index)
        took = time.process_time() - start
        seconds = min(seconds, took)
        if took > LONG:
            break
    return Outcome(plan.seconds, float(seconds)), str(plan)


def case_of(model: Any, name: str, n: int, m: int, index: Any, longest: float) -> Case:
    auto, plan = measured(model, name, n, m, index, "auto")
    outcomes = {"auto": auto}
    for engine in ENGINES[1:] if m else ("traversal",):
        estimate = estimated(model, name, n, m, index, engine)
        if estimate < longest and estimate < 20 * auto.seconds + 0.1:
            outcomes[engine], _ = measured(model, name, n, m, index, engine)
    return Case(name, n, m, index, plan, outcomes)


def report(case: Case) -> None:
    auto = case.outcomes["auto"]
    others = ", ".join(
        f"{engine} {outcome.seconds:.3g} ({outcome.estimate:.2g})" for engine, outcome in case.outcomes.items()
    )
    mark = " " if case.error <= FACTOR else "!"
    late = " " if case.regret <= REGRET else "!"
    print(
        f"{case.model:6} {case.n:6} x {case.m:<6} {case.index:12} {auto.seconds:9.4f} s, estimate x "
        f"{auto.estimate / auto.seconds:5.2f}{mark} regret {case.regret:5.2f}{late} | {others} | {case.plan[:70]}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--longest", type=float, default=60.0, help="leave out what would take more seconds")
    parser.add_argument("--sizes", nargs="*", help="such as 100x1000; m = 0 for path-dependent values")
    parser.add_argument("--indices", nargs="*", default=["shapley"])
    parser.add_argument("--save", action="store_true", help="record the results")
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes] if options.sizes else SIZES
    cases = []
    for name in options.models:
        model = model_of(name)
        for index, (n, m) in itertools.product(options.indices, sizes):
            if estimated(model, name, n, m, index, "auto") <= options.longest:
                cases.append(case_of(model, name, n, m, index, options.longest))
                report(cases[-1])
    good = sum(case.error <= FACTOR for case in cases) / len(cases)
    print(
        f"{len(cases)} cases: {good:.0%} within a factor of {FACTOR}, regret at most {max(c.regret for c in cases):.2f}"
    )
    if options.save:
        RESULTS.write_text(json.dumps({"cases": [asdict(case) for case in cases]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
