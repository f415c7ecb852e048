"""Measure the cost of a row on one core, and the speed of two worker processes: `make bench-distributed`.

The machine may be busy, so costs are processor time, which does not include waiting. The results are recorded, and
written into docs/distributed.md with an estimate for a billion rows.
"""

import argparse
import json
import math
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray

import measuring
import tables
from arborshap import Background, TreeExplainer
from arborshap.distributed import dask as on_dask
from arborshap.distributed.tasks import FAN_IN
from workloads import WORKLOADS, model_of, normal_rows

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benches" / "results" / "distributed.json"
PAGE = ROOT / "docs" / "distributed.md"
BLOCK = re.compile(r"(?<=<!-- scale:begin -->\n).*?(?=<!-- scale:end -->)", re.DOTALL)

ROWS = {"A": 200_000, "B": 20_000}
"""Rows that costs are measured on."""
BACKGROUND = {"A": 1_000_000, "B": 200_000}
"""Rows that the explainer which is sent has seen: more of them meet more patterns, and make it larger."""
CLUSTER_ROWS, CHUNK = 2_000_000, 50_000
REPEATS = 3

TOTAL_ROWS, TOTAL_BACKGROUND = 10**9, 10**6
PART = 10**4
"""Rows of the background in one partition."""
CORES = 1000
TOP = 5


def processor_time(work: Callable[[], Any]) -> float:
    """Return the least processor time of some repeats, in seconds."""
    best = np.inf
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def one_core(workload: str, scale: float) -> dict[str, Any]:
    """Measure the costs of one row and the sizes of what is sent, on one thread."""
    n = int(ROWS[workload] * scale)
    model, n_features = model_of(workload), WORKLOADS[workload][3]
    rows, other = normal_rows(n, n_features, seed=3), normal_rows(n, n_features, seed=4)
    count = processor_time(lambda: Background(model, other, n_jobs=1, verify=False))
    background = Background(model, normal_rows(int(BACKGROUND[workload] * scale), n_features, seed=5), n_jobs=1)
    part = Background(model, other[:PART], n_jobs=1)
    whole = part.merge(background)
    merge = processor_time(lambda: Background.from_bytes(part.to_bytes()).merge(whole))
    content = TreeExplainer(model, background, n_jobs=1).to_bytes()
    load = processor_time(lambda: TreeExplainer.from_bytes(content, n_jobs=1).shap_values(rows[:1]))
    explainer = TreeExplainer.from_bytes(content, n_jobs=1)
    explainer.shap_values(rows[:1])  # builds the tables
    return {
        "workload": workload,
        "model": WORKLOADS[workload][0],
        "features": n_features,
        "count_a_row": count / n,
        "merge": merge,
        "load": load,
        "explain_a_row": processor_time(lambda: explainer.shap_values(rows)) / n,
        "importance_a_row": processor_time(lambda: explainer.importance(rows)) / n,
        "top_a_row": processor_time(lambda: explainer.top_values(rows, TOP)) / n,
        "background": len(background),
        "explainer_bytes": len(content),
        "part_bytes": len(part.to_bytes()),
    }


def cluster(n_workers: int, scale: float) -> dict[str, Any]:
    """Measure wall-clock and processor time of a background and an importance over single-thread processes."""
    model = model_of("A")
    n = int(CLUSTER_ROWS * scale) // CHUNK * CHUNK

    def made(block_info: Any) -> NDArray[Any]:
        start, end = block_info[None]["array-location"][0]
        return np.random.default_rng(start).standard_normal((end - start, 20), dtype=np.float32)

    found: dict[str, Any] = {"workers": n_workers, "rows": n}
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as local,
        Client(local) as client,
    ):
        chunks = ((CHUNK,) * (n // CHUNK), (20,))
        rows = da.map_blocks(made, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32)).persist()
        explainer = TreeExplainer(model, on_dask.background(model, rows[:CHUNK]))
        on_dask.importance(explainer, rows[: 2 * n_workers * CHUNK])  # workers have loaded everything once
        jobs: dict[str, Callable[[], Any]] = {
            "background": lambda: on_dask.background(model, rows, verify=False),
            "importance": lambda: on_dask.importance(explainer, rows),
        }
        for job, work in jobs.items():
            runs = []
            for _ in range(REPEATS):
                before = client.run(time.process_time)
                start = time.perf_counter()
                work()
                wall = time.perf_counter() - start
                spent = [after - before[worker] for worker, after in client.run(time.process_time).items()]
                runs.append({"wall": wall, "processor": sum(spent), "busiest": max(spent)})
            found[job] = {figure: min(run[figure] for run in runs) for figure in ("wall", "processor", "busiest")}
    print(json.dumps(found), flush=True)
    return found


def amount(number: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f} B"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.{2 if seconds < 10 * size else 3}g} {unit}"
    return f"{seconds / 1e-6:.{2 if seconds < 10e-6 else 3}g} us"


def core_time(seconds: float) -> str:
    return f"{seconds / 3600:.2g} core-hours" if seconds >= 1000 else f"{seconds:.2g} core-seconds"


def costs_table(found: dict[str, Any]) -> str:
    lines: dict[str, Callable[[dict[str, Any]], str]] = {
        "counting a background row": lambda one: duration(one["count_a_row"]),
        "explaining a row, tables ready": lambda one: duration(one["explain_a_row"]),
        "a row of an importance": lambda one: duration(one["importance_a_row"]),
        f"the top {TOP} of a row": lambda one: duration(one["top_a_row"]),
        f"a part of the background ({PART:,} rows), as bytes": lambda one: amount(one["part_bytes"]),
        "reading and merging such a part": lambda one: duration(one["merge"]),
        "background rows of the explainer": lambda one: f"{one['background']:,}",
        "the explainer, as bytes": lambda one: amount(one["explainer_bytes"]),
        "reading it and building tables, per worker": lambda one: duration(one["load"]),
    }
    return table("on one core", lines, found["one_core"])


def derived_table(found: dict[str, Any]) -> str:
    n, m, workers = TOTAL_ROWS, TOTAL_BACKGROUND, CORES
    parts = m // PART
    lines: dict[str, Callable[[dict[str, Any]], str]] = {
        f"counting, {m:.0e} rows": lambda one: core_time(m * one["count_a_row"]),
        f"merging {parts} parts": lambda one: core_time(parts * one["merge"]),
        f"reading and building tables, {workers} workers": lambda one: core_time(workers * one["load"]),
        f"explaining, {n:.0e} rows": lambda one: core_time(n * one["explain_a_row"]),
        f"**total time on {CORES} cores**": lambda one: f"**{wall(one):.0f} s**",
        "sent while merging": lambda one: amount(parts * one["part_bytes"]),
        f"broadcast to {workers} workers": lambda one: amount(workers * one["explainer_bytes"]),
        "rows read, float32": lambda one: amount(n * one["features"] * 4),
        "written: all values, float64": lambda one: amount(n * one["features"] * 8),
        "written: all values, float32": lambda one: amount(n * one["features"] * 4),
        f"written: top {TOP}, float32": lambda one: amount(n * TOP * 8),
        "written: importance only": lambda one: amount(one["features"] * 8),
        "pairs that the paper's walk would visit": lambda one: f"{n * m:.0e}",
    }

    def wall(one: dict[str, Any]) -> float:
        """What cannot be spread wider than there are partitions, or levels of merging, one after the other."""
        levels = math.ceil(math.log(parts, FAN_IN))
        counting = m * one["count_a_row"] / min(parts, CORES) + levels * FAN_IN * one["merge"]
        return float(counting + one["load"] + n * one["explain_a_row"] / CORES)

    return table(f"{n:.0e} rows x {m:.0e} background", lines, found["one_core"])


def scaling_table(found: dict[str, Any]) -> str:
    one = found["cluster"][0]
    head = ["processes", "job", "processor time", "of the busiest process", "speed-up", "wall-clock"]
    lines = [f"| {' | '.join(head)} |", "|--:|---|--:|--:|--:|--:|"]
    for run in found["cluster"]:
        for job in ("background", "importance"):
            took = run[job]
            cells = [str(run["workers"]), f"{job}, {run['rows']:,} rows"]
            cells += [f"{took['processor']:.2f} s", f"{took['busiest']:.2f} s"]
            cells += [f"{one[job]['busiest'] / took['busiest']:.2f} x", f"{took['wall']:.2f} s"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table(corner: str, lines: dict[str, Callable[[dict[str, Any]], str]], columns: list[dict[str, Any]]) -> str:
    head = f"| {corner} | {' | '.join(one['workload'] for one in columns)} |\n|---|{'--:|' * len(columns)}\n"
    return head + "\n".join(f"| {name} | {' | '.join(cell(one) for one in columns)} |" for name, cell in lines.items())


def block(found: dict[str, Any]) -> str:
    from readme_table import surroundings

    share = found["others_beside_cluster"]
    busy = (
        ""
        if share is None or share < 0.02
        else f" Other processes used {share:.0%} of the machine during these measurements."
    )
    models = "; ".join(f"{one['workload']}: {one['model']}" for one in found["one_core"])
    return "\n\n".join(
        [
            costs_table(found),
            tables.wrapped(f"{models}. Times are processor time of one thread, the minimum of {REPEATS} measurements."),
            derived_table(found),
            tables.wrapped(
                "One worker process is compared with two, each with one thread and its rows already in memory (model "
                "A). If other processes use most of the machine, wall-clock time means little; the processor time of "
                "the busiest process is the wall-clock time that a core per process would give. Each figure is the "
                f"minimum of {REPEATS} measurements.{busy}"
            ),
            scaling_table(found),
            surroundings(found) + (f"\n\n{tables.wrapped(found['note'])}" if "note" in found else "") + "\n",
        ]
    )


def page(text: str) -> str:
    """The page with what is recorded."""
    return BLOCK.sub(lambda _: block(json.loads(RESULTS.read_text())), text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="a fraction of the rows; records nothing unless 1")
    parser.add_argument("--page", action="store_true", help="measure nothing, write what is recorded into the page")
    parser.add_argument(
        "--check", action="store_true", help="measure and write nothing, fail if the page is not current"
    )
    options = parser.parse_args()
    written = PAGE.read_text(encoding="utf-8")
    if options.check:
        raise SystemExit(None if page(written) == written else f"{PAGE.name} is not current: run this with --page")
    if not options.page:
        found = measured(options.scale)
        if options.scale != 1.0:
            return
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def measured(scale: float) -> dict[str, Any]:
    alone = measuring.Bystanders()
    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": measuring.machine(),
        "versions": measuring.versions(["arborshap", "xgboost", "dask", "numpy"]),
        "one_core": [one_core(workload, scale) for workload in ROWS],
        "others": alone.share(),
    }
    together = measuring.Bystanders()
    found["cluster"] = [cluster(n_workers, scale) for n_workers in (1, 2)]
    found["others_beside_cluster"] = together.share()
    return found


if __name__ == "__main__":
    main()
