"""arborshap and its peers side by side, in one run, on the same models and rows: `make bench-peers`.

Seconds are for construction and values together, the best of some repeats, with every package on all cores it can use.
A run that would take too long is timed on fewer rows or trees, scaled, and marked EXT. If values disagree, the run
ends. A full run is recorded and written into the README and docs/performance.md; `--only` measures some cases, and
`--record` then replaces their rows alone.
"""

import argparse
import json
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import contenders
import extras
import measuring
import memory
import readme_table
import tables
from cases import CASES, QUICK, Case, Part
from measuring import Measured
from workloads import WORKLOADS, fewer_trees, model_of, rows_of, tree_count

Array: TypeAlias = NDArray[Any]

RESULTS = Path(__file__).resolve().parent.parent / "results" / "peers.json"


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
            entries[name] = against_fasttreeshap(part, model, rows, ours.values)
        elif part.trees is not None:
            entries[name] = against_fewer_trees(case, name, part.trees, background, rows)
        else:
            peer = contenders.PEERS[case.task][name]
            some = rows[: part.rows]
            entries[name] = scaled(ours.values, measuring.measure(peer, model, background, some), len(rows), part)
        report(case.name, name, entries[name])
    found = {
        "name": case.name,
        "model": WORKLOADS[case.workload][0],
        "task": case.task,
        "n": case.n,
        "m": case.m,
        "goals": case.goals,
        "entries": entries,
    }
    if case.memory:
        found["bytes_beyond"] = memory.measured_apart(case.name)
        print(f"{case.name:<30} memory beyond input and output: {found['bytes_beyond']} bytes", flush=True)
    return found


def against_fasttreeshap(part: Part, model: Any, rows: Array, values: Array) -> dict[str, Any]:
    outcome = measuring.fasttreeshap_measured(model, rows[: part.rows])
    return {"problem": outcome} if isinstance(outcome, str) else scaled(values, outcome, len(rows), part)


def against_fewer_trees(case: Case, name: str, n_trees: int, background: Array | None, rows: Array) -> dict[str, Any]:
    """Time a peer on the first trees of the model."""
    own = contenders.ARBORSHAP[case.task]
    whole, few = tree_count(model_of(case.workload)), fewer_trees(case.workload, n_trees)
    values = own.explain(own.construct(few, background), rows)
    measured = measuring.measure(contenders.PEERS[case.task][name], few, background, rows)
    return compared(values, measured, whole / n_trees, f"{n_trees} of {whole} trees", None)


def scaled(values: Array, measured: Measured, n_rows: int, part: Part) -> dict[str, Any]:
    """Compare what a peer did with ours, and scale its time if it was given fewer rows."""
    n = len(measured.values)
    if n == n_rows:
        return compared(values, measured, 1.0, None, part.wrong)
    # The background is taken in once, however many rows there are.
    longer = replace(measured, explain=measured.explain * n_rows / n)
    return compared(values[:n], longer, 1.0, f"{n} of {n_rows} rows", part.wrong)


def compared(
    ours: Array, theirs: Measured, scale: float, extrapolated: str | None, wrong: str | None
) -> dict[str, Any]:
    if not np.any(theirs.values):
        return {"problem": "returns zeros"}
    agreed = {"wrong": wrong} if wrong else asdict(measuring.agreement(ours, theirs.values))
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
    if "wrong" in found:
        print(f"{case:<30} {name:<13} its values are not compared: {found['wrong']}", flush=True)
    marks = f"  EXT from {found['extrapolated']}" if "extrapolated" in found else ""
    apart = f"  {found['difference']:.0e} from ours" if "difference" in found else ""
    if found.get("rows_apart"):
        apart += f", but for {found['rows_apart']} rows"
    print(f"{case:<30} {name:<13} {found['seconds']:>12.4f} s{apart}{marks}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only, about a minute; records nothing")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these cases, extras, or cases of these models")
    parser.add_argument("--record", action="store_true", help="with --only: replace these rows of the recorded results")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where results are recorded")
    options = parser.parse_args()
    if options.record and not options.only:
        parser.error("--record belongs to --only; a full run is always recorded")
    cases, others = chosen(options.only or (QUICK if options.quick else None))
    earlier = recorded_before(options.output) if options.record else None

    start, bystanders = time.perf_counter(), measuring.Bystanders()
    found: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": measuring.machine(),
        "versions": measuring.versions(),
        "cases": [run(case) for case in cases],
        "extras": {name: extras.EXTRAS[name]() for name in others},
    }
    found["others"] = bystanders.share()
    found["minutes"] = round((time.perf_counter() - start) / 60, 1)
    if found["cases"]:
        print("\n" + tables.peers_table(found))
    if found["extras"]:
        print("\n" + tables.extras_table(found))
    if earlier is not None:
        found = merged(earlier, found)
    if earlier is not None or not (options.only or options.quick):
        options.output.parent.mkdir(exist_ok=True)
        options.output.write_text(json.dumps(found, indent=1) + "\n")
        print(f"\nrecorded in {options.output}")
        if options.output == RESULTS:
            readme_table.main()


def chosen(names: list[str] | None) -> tuple[list[Case], list[str]]:
    """Find the cases and the extras of these names; all of them without names."""
    if names is None:
        return CASES, list(extras.EXTRAS)
    for name in names:
        if name not in extras.EXTRAS and not any(case.is_called(name) for case in CASES):
            known = ", ".join([*(case.name for case in CASES), *extras.EXTRAS])
            raise SystemExit(f"there is no case {name!r}; give one of {known}, or a model such as {CASES[0].workload}")
    cases = [case for case in CASES if any(case.is_called(name) for name in names)]
    return cases, [name for name in extras.EXTRAS if name in names]


def recorded_before(output: Path) -> dict[str, Any]:
    """Read the results that some rows will be replaced in; they must come from this machine and these versions."""
    if not output.exists():
        raise SystemExit(f"nothing is recorded in {output}: run without --only first")
    earlier: dict[str, Any] = json.loads(output.read_text())
    now = {"machine": measuring.machine(), "versions": measuring.versions()}
    for what, current in now.items():
        if earlier[what] != current:
            raise SystemExit(
                f"the recorded {what} differs from this one, so rows must not be mixed; run without --only\n"
                f"recorded: {earlier[what]}\nnow:      {current}"
            )
    return earlier


def merged(earlier: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Replace the rows that were measured again, in the order of `CASES`; each says when, if on another day."""
    rows = {case["name"]: case for case in earlier["cases"]}
    for case in found["cases"]:
        other_day = {} if found["date"] == earlier["date"] else {"date": found["date"]}
        rows[case["name"]] = case | other_day
    cases = [rows[case.name] for case in CASES if case.name in rows]
    return earlier | {"cases": cases, "extras": earlier["extras"] | found["extras"]}


if __name__ == "__main__":
    main()
