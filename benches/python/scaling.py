"""Time against rows, background rows, trees, threads, depth, leaves and features, drawn as docs/images/scaling.png.

`make bench-scaling` measures, records and draws; `OPTIONS="--only leaves"` replaces some curves of what was recorded,
`OPTIONS="--quick"` measures small sizes and draws them into target/, and `OPTIONS=--draw` only draws what was recorded.

shap and woodelf are first timed on a tenth of the trees, and shap on a few rows. If the whole job would take a few
seconds, it is timed as a whole; otherwise the time is scaled up, and the point is marked. A curve ends where even that
takes too long or too much memory, and the record says so.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import measuring
from apart import COMPARED, Apart, Failed
from arborshap import TreeExplainer
from arborshap.models import load
from contenders import ARBORSHAP, CORES, Contender
from scaling_picture import draw
from workloads import boosted, cached, leafwise, normal_rows, unlimited

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benches" / "results" / "scaling.json"
QUICK_PICTURE = ROOT / "target" / "scaling-quick.png"

Size = dict[str, int]
BASE: Size = {"rows": 10_000, "background rows": 10_000, "depth": 6, "trees": 100, "features": 20, "threads": CORES}
DEEP: Size = BASE | {"rows": 5000, "background rows": 5000, "trees": 20}
NO_LIMIT = 0
"""The depth that stands for no limit."""


@dataclass(frozen=True)
class Sweep:
    """One curve: the values of a size, and how it becomes a model."""

    values: list[int]
    library: str = "xgboost"
    model: Callable[[Size], Any] = lambda size: boosted(size["features"], size["trees"], size["depth"])
    base: Size = field(default_factory=lambda: BASE)
    walk: bool = False
    """Whether to show the paper's walk too, where it takes seconds and not minutes."""
    peers: tuple[str, ...] = ("woodelf", "shap")


SWEEPS = {
    "rows": Sweep([1, 10, 100, 1000, 10_000, 100_000, 1_000_000], walk=True),
    "background rows": Sweep([1, 10, 100, 1000, 10_000, 100_000, 1_000_000], walk=True),
    "trees": Sweep([10, 30, 100, 300, 1000]),
    "threads": Sweep(sorted({1, *(2**i for i in range(1, 1 + int(math.log2(CORES)))), CORES}), peers=()),
    "depth": Sweep([4, 6, 8, 10, 12, 14, 16, NO_LIMIT], base=DEEP),
    "leaves": Sweep(
        [31, 63, 127, 255, 511, 1023, 2047],
        "lightgbm",
        lambda size: leafwise(size["leaves"], 50_000, size["trees"]),
        DEEP | {"features": 100},
    ),
    "features": Sweep(
        [5, 10, 20, 30, 50, 100], "sklearn", lambda size: unlimited(size["features"], size["trees"]), DEEP
    ),
}
MOST_WALKED = 10**6
"""Pairs of rows that the walk is timed on."""
FEW_TREES = 2
FEW_ROWS = {"shap": 1}
ENOUGH = 0.5
"""Seconds of a part that tell what the whole would take."""
WHOLE = 6.0
"""Seconds up to which a peer's job is timed as a whole."""
LONGEST, QUICK_LONGEST = 15.0, 5.0
"""Seconds after which a peer's job is given up."""
TOLERANCE, MOST_APART = 2e-5, 0.01
"""A value is wrong if it is further from ours, by the largest value; a point is, if such a share of its rows is."""


def model_of(what: str, size: Size) -> Any:
    sweep = SWEEPS[what]
    name = "-".join(str(size[part]) for part in ("depth", "trees", "features", "leaves") if part in size)
    return cached(f"scaling-{sweep.library}-{name}", sweep.library, lambda: sweep.model(size))


def rows_of(size: Size) -> tuple[Any, Any]:
    n_features = size["features"]
    return normal_rows(size["rows"], n_features, seed=3), normal_rows(size["background rows"], n_features, seed=4)


def own(what: str, size: Size, engine: str) -> dict[str, Any]:
    """Time arborshap."""
    model, (X, Z) = model_of(what, size), rows_of(size)
    construct = partial(TreeExplainer, engine=engine, n_jobs=size["threads"])
    contender = Contender(engine, construct, TreeExplainer.shap_values)
    contender.explain(contender.construct(model, Z[:10]), X[:10])  # everything is loaded once before it is timed
    return {"seconds": measuring.measure(contender, model, Z, X, most=3).seconds}


def peer(what: str, size: Size, name: str, apart: Apart) -> dict[str, Any]:
    """Time a peer on a part, and on the whole if that does not take long."""
    X, Z = rows_of(size)
    trees = max(FEW_TREES, size["trees"] // 10)
    few, factor = model_of(what, size | {"trees": trees}), size["trees"] / trees
    rows = X[: FEW_ROWS.get(name, len(X))]
    construct, explain, values = apart.measure(name, few, Z, rows)
    if explain < ENOUGH and len(rows) < len(X):  # so short a time says little
        rows = X[: int(len(rows) * ENOUGH / explain) + 1]
        construct, explain, values = apart.measure(name, few, Z, rows)
    seconds = (construct + explain * len(X) / len(rows)) * factor
    found: dict[str, Any] = {"seconds": seconds, "scaled": True}
    if seconds <= WHOLE:
        construct, explain, _ = apart.measure(name, model_of(what, size), Z, X)
        found = {"seconds": construct + explain}
    if not agrees(values, few, Z, rows):
        found["wrong"] = True
    return found


def agrees(values: Any, model: Any, background: Any, rows: Any) -> bool:
    ours = ARBORSHAP["shapley"].explain(TreeExplainer(model, background), rows[:COMPARED])
    apart = np.abs(ours - values).max(axis=1) > TOLERANCE * np.abs(ours).max()
    return bool(np.mean(apart) <= MOST_APART)


def shape(model: Any) -> dict[str, int]:
    """Return the mean number of leaves of the trees, and the length of the longest path."""
    forest = load(model).forest
    depths = np.zeros(len(forest.left), np.int64)
    offsets = np.repeat(forest.tree_offsets[:-1], np.diff(forest.tree_offsets))
    split = np.flatnonzero(forest.left >= 0)
    for n in split:  # parents stand before their children in these libraries
        depths[[offsets[n] + forest.left[n], offsets[n] + forest.right[n]]] = depths[n] + 1
    leaves = (len(forest.left) - len(split)) / (len(forest.tree_offsets) - 1)
    return {"leaves": round(leaves), "deepest": int(depths.max())}


def points_of(what: str, values: list[int], base: Size, apart: Apart) -> Iterator[dict[str, Any]]:
    sweep, ended = SWEEPS[what], set()
    for value in values:
        size = base | {what: value}
        walked = sweep.walk and size["rows"] * size["background rows"] <= MOST_WALKED
        for name in ("auto", *(["traversal"] if walked else []), *sweep.peers):
            if name in ended:
                continue
            point: dict[str, Any] = {"at": value, "engine": name}
            try:
                point |= peer(what, size, name, apart) if name in sweep.peers else own(what, size, name)
            except Failed as failed:
                point["problem"] = str(failed)
                ended.add(name)
            if base["trees"] == DEEP["trees"] and name == "auto":
                point |= shape(model_of(what, size))
            said = {key: found for key, found in point.items() if key not in ("at", "engine")}
            print(f"{what} {value:>9,} {name:<10} {said}", flush=True)
            yield point


def quick(what: str) -> tuple[list[int], Size]:
    """Return few values, and small numbers of rows."""
    sweep = SWEEPS[what]
    small = {rows: min(sweep.base[rows], 1000) for rows in ("rows", "background rows")}
    return [value for value in sweep.values if value <= 1000][::-2][::-1], sweep.base | small


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="draw what was recorded, measure nothing")
    parser.add_argument("--only", nargs="+", choices=SWEEPS, help="measure only these curves, and keep the others")
    parser.add_argument(
        "--quick", action="store_true", help="measure small sizes, draw them into target/, and record nothing"
    )
    options = parser.parse_args()
    if options.draw:
        draw(json.loads(RESULTS.read_text()))
        return
    bystanders, apart = measuring.Bystanders(), Apart(QUICK_LONGEST if options.quick else LONGEST)
    sizes = {what: quick(what) if options.quick else (sweep.values, sweep.base) for what, sweep in SWEEPS.items()}
    sweeps = {what: list(points_of(what, *sizes[what], apart)) for what in options.only or SWEEPS}
    apart.end()
    if options.only and RESULTS.exists() and not options.quick:
        sweeps = json.loads(RESULTS.read_text())["sweeps"] | sweeps
    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": measuring.machine(),
        "versions": measuring.versions(),
        "base": {what: base for what, (_, base) in sizes.items()},
        "sweeps": {what: sweeps[what] for what in SWEEPS if what in sweeps},
        "others": bystanders.share(),
    }
    if options.quick:
        draw(found, QUICK_PICTURE)
        return
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    draw(found)


if __name__ == "__main__":
    main()
