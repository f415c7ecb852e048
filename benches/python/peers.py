"""arborshap and its peers side by side, in one run, on the same models and rows: `make bench-peers`.

Seconds are for construction and values together, the best of some repeats, with every package on all cores it can use.
A run that would take too long is timed on fewer rows or trees, scaled, and marked EXT. If values disagree, the run
ends.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import contenders
import extras
import measuring
import tables
from contenders import Contender, Task
from measuring import Measured
from workloads import WORKLOADS, model_of, rows_of

Array: TypeAlias = NDArray[Any]

RESULTS = Path(__file__).resolve().parent.parent / "results" / "peers.json"


@dataclass(frozen=True)
class Part:
    """How much of a case a slow peer gets."""

    rows: int | None = None
    trees: int | None = None


WHOLE = Part()


@dataclass(frozen=True)
class Case:
    """A model, a task and a size, the peers that take part, and the speed-up that we aim for."""

    name: str
    workload: str
    n: int
    m: int
    peers: dict[str, Part]
    goals: dict[str, float] = field(default_factory=dict)
    task: Task = "shapley"


CASES = [
    Case("A 100 x 100", "A", 100, 100, {"shap": WHOLE, "woodelf": WHOLE}),
    Case("A 1000 x 100", "A", 1000, 100, {"shap": WHOLE, "woodelf": WHOLE}, {"best": 40}),
    Case("A 1000 x 1000", "A", 1000, 1000, {"shap": Part(rows=100), "woodelf": WHOLE}),
    Case(
        "A 10k x 10k",
        "A",
        10_000,
        10_000,
        {"shap": Part(rows=10), "woodelf": WHOLE},
        {"woodelf": 20, "shap": 20_000},
    ),
    Case("A 100k x 100k", "A", 100_000, 100_000, {"shap": Part(rows=1), "woodelf": WHOLE}, {"woodelf": 12}),
    Case("B 1000 x 100", "B", 1000, 100, {"shap": Part(rows=50), "woodelf": WHOLE}),
    Case("B 10k x 10k", "B", 10_000, 10_000, {"shap": Part(rows=1), "woodelf": WHOLE}, {"woodelf": 20}),
    Case("C10 20 x 100", "C10", 20, 100, {"shap": WHOLE, "woodelf": Part(trees=2)}, {"shap": 30}),
    Case("C30 200 x 100", "C30", 200, 100, {"shap": Part(rows=20), "woodelf": Part(trees=1)}, {"shap": 30}),
    Case("D 200 x 100", "D", 200, 100, {"shap": WHOLE, "woodelf": WHOLE}, {"shap": 200}),
    Case(
        "CatBoost 10k x 10k",
        "CatBoost",
        10_000,
        10_000,
        {"shap": Part(rows=10), "woodelf": WHOLE, "catboost": WHOLE},
    ),
    Case(
        "path-dependent, A, 10k rows",
        "A",
        10_000,
        0,
        {"shap": WHOLE, "woodelf": WHOLE, "xgboost": WHOLE, "fasttreeshap": WHOLE},
        {"fasttreeshap": 20, "xgboost": 50},
        "path-dependent",
    ),
    Case(
        "interactions, A 100 x 100",
        "A",
        100,
        100,
        {"shap": WHOLE, "woodelf": WHOLE},
        {"woodelf": 8},
        "interaction",
    ),
    Case(
        "interactions, A 10k x 10k",
        "A",
        10_000,
        10_000,
        {"shap": Part(rows=10), "woodelf": WHOLE},
        {"woodelf": 8},
        "interaction",
    ),
]

QUICK = ["A 100 x 100", "A 1000 x 100", "D 200 x 100", "interactions, A 100 x 100"]


def run(case: Case) -> dict[str, Any]:
    model = model_of(case.workload)
    background = rows_of(case.workload, case.m, background=True) if case.m else None
    rows = rows_of(case.workload, case.n)
    own = contenders.ARBORSHAP[case.task]
    ours = measuring.measure(own, model, background, rows)
    entries: dict[str, Any] = {"arborshap": entry(ours)}
    report(case.name, "arborshap", entries["arborshap"])
    for name, part in case.peers.items():
        if name == "fasttreeshap":
            outcome = measuring.fasttreeshap_measured(model, rows)
            entries[name] = (
                {"problem": outcome} if isinstance(outcome, str) else compared(ours.values, outcome, 1.0, None)
            )
        else:
            entries[name] = against(contenders.PEERS[case.task][name], part, own, model, background, rows, ours.values)
        report(case.name, name, entries[name])
    return {
        "name": case.name,
        "model": WORKLOADS[case.workload][0],
        "task": case.task,
        "n": case.n,
        "m": case.m,
        "goals": case.goals,
        "entries": entries,
    }


def against(
    peer: Contender, part: Part, own: Contender, model: Any, background: Array | None, rows: Array, values: Array
) -> dict[str, Any]:
    """Time a peer, on a reduced case if necessary, and compare its values with ours."""
    if part.trees is not None:
        whole = len(model.estimators_)
        model = fewer_trees(model, part.trees)
        values = own.explain(own.construct(model, background), rows)
        scale, note = whole / part.trees, f"{part.trees} of {whole} trees"
        measured = measuring.measure(peer, model, background, rows)
        return compared(values, measured, scale, note)
    if part.rows is None or part.rows >= len(rows):
        return compared(values, measuring.measure(peer, model, background, rows), 1.0, None)
    measured = measuring.measure(peer, model, background, rows[: part.rows])
    # The background is taken in once, however many rows there are.
    scaled = Measured(measured.construct, measured.explain * len(rows) / part.rows, measured.repeats, measured.values)
    return compared(values[: part.rows], scaled, 1.0, f"{part.rows} of {len(rows)} rows")


def fewer_trees(forest: Any, n_trees: int) -> Any:
    few = type(forest)(**{**forest.get_params(), "n_estimators": n_trees})
    few.__dict__.update({name: kept for name, kept in vars(forest).items() if name.endswith("_")})
    few.estimators_ = forest.estimators_[:n_trees]
    return few


def compared(ours: Array, theirs: Measured, scale: float, extrapolated: str | None) -> dict[str, Any]:
    if not np.any(theirs.values):
        return {"problem": "returns zeros"}
    agreed = asdict(measuring.agreement(ours, theirs.values))
    return entry(theirs, scale) | agreed | ({"extrapolated": extrapolated} if extrapolated else {})


def entry(measured: Measured, scale: float = 1.0) -> dict[str, Any]:
    return {
        "seconds": measured.seconds * scale,
        "construct": measured.construct * scale,
        "explain": measured.explain * scale,
        "repeats": measured.repeats,
    }


def report(case: str, name: str, found: dict[str, Any]) -> None:
    if "problem" in found:
        print(f"{case:<30} {name:<13} {found['problem']}", flush=True)
        return
    marks = f"  EXT from {found['extrapolated']}" if "extrapolated" in found else ""
    apart = f"  {found['difference']:.0e} from ours" if "difference" in found else ""
    if found.get("rows_apart"):
        apart += f", but for {found['rows_apart']} rows"
    print(f"{case:<30} {name:<13} {found['seconds']:>12.4f} s{apart}{marks}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [case.name for case in CASES] + list(extras.EXTRAS)
    parser.add_argument("--quick", action="store_true", help="small sizes only, about a minute; records nothing")
    parser.add_argument("--case", choices=names, action="append", help="this case alone; records nothing")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where a full run is recorded")
    options = parser.parse_args()
    wanted = options.case or (QUICK if options.quick else names)

    start, bystanders = time.perf_counter(), measuring.Bystanders()
    found: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": measuring.machine(),
        "versions": measuring.versions(),
        "cases": [run(case) for case in CASES if case.name in wanted],
        "extras": {name: measure() for name, measure in extras.EXTRAS.items() if name in wanted},
    }
    found["others"] = bystanders.share()
    found["minutes"] = round((time.perf_counter() - start) / 60, 1)
    if found["cases"]:
        print("\n" + tables.peers_table(found))
    if found["extras"]:
        print("\n" + tables.extras_table(found))
    if wanted == names:
        options.output.parent.mkdir(exist_ok=True)
        options.output.write_text(json.dumps(found, indent=1) + "\n")
        print(f"\nrecorded in {options.output}")


if __name__ == "__main__":
    main()
