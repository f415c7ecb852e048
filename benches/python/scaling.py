"""Time against rows, background rows, depth, leaves, trees, features and threads, drawn as docs/images/scaling.png.

`make bench-scaling` measures, records and draws; `OPTIONS="--only leaves"` replaces some curves of what was recorded,
and `OPTIONS=--draw` only draws it. shap is timed on a few rows and scaled up. A curve of shap or woodelf ends after a
point that took longer than a minute.
"""

import argparse
import importlib
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
from arborshap import TreeExplainer
from contenders import CORES, PEERS, Contender
from workloads import boosted, cached, leafwise, normal_rows, unlimited

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benches" / "results" / "scaling.json"
PICTURE = ROOT / "docs" / "images" / "scaling.png"

BASE = {"rows": 10_000, "background rows": 10_000, "depth": 6, "trees": 100, "features": 20, "threads": CORES}
Size = dict[str, int]


@dataclass(frozen=True)
class Sweep:
    """One curve: the values of a size, and how it becomes a model."""

    values: list[int]
    library: str = "xgboost"
    model: Callable[[Size], Any] = lambda size: boosted(size["features"], size["trees"], size["depth"])
    base: Size = field(default_factory=lambda: BASE)
    engines: tuple[str, ...] = ()
    """Other engines, drawn where they take seconds and not minutes."""
    peers: tuple[str, ...] = ()


LEAFWISE = BASE | {"features": 100}
UNLIMITED = BASE | {"rows": 1000, "background rows": 1000, "trees": 20}
SWEEPS = {
    "rows": Sweep([1, 10, 100, 1000, 10_000, 100_000, 1_000_000], engines=("sparse", "traversal")),
    "background rows": Sweep([1, 10, 100, 1000, 10_000, 100_000, 1_000_000], engines=("sparse", "traversal")),
    "depth": Sweep([2, 4, 6, 8, 10, 12, 16, 20], peers=("shap", "woodelf")),
    "leaves": Sweep(
        [15, 31, 63, 127, 255, 511, 1023],
        "lightgbm",
        lambda size: leafwise(size["leaves"]),
        LEAFWISE,
        peers=("shap", "woodelf"),
    ),
    "trees": Sweep([10, 30, 100, 300, 1000]),
    "features": Sweep([10, 20, 50, 100, 200, 500]),
    "features of unlimited trees": Sweep(
        [5, 10, 20, 30, 50, 100],
        "sklearn",
        lambda size: unlimited(size["features of unlimited trees"], size["trees"]),
        UNLIMITED,
        peers=("shap", "woodelf"),
    ),
    "threads": Sweep(sorted({1, 2, *(2**i for i in range(1, 1 + int(math.log2(CORES)))), CORES})),
}
MOST_PAIRS = {"sparse": 10**7, "traversal": 10**6}
LONGEST = 60.0
"""Seconds of a peer's point after which its curve ends."""
SHAP_ROWS = 2


def engines(sweep: Sweep, size: Size) -> Iterator[str]:
    yield "auto"
    pairs = size["rows"] * size["background rows"]
    yield from (engine for engine in sweep.engines if pairs <= MOST_PAIRS[engine])


def measured(what: str, size: Size, contender: str) -> tuple[float, float]:
    """Return the seconds of a point, and those that were spent to find out."""
    sweep = SWEEPS[what]
    name = "-".join(str(size[part]) for part in ("depth", "trees", "features") if part in size)
    varied = f"-{what}-{size[what]}" if what not in BASE else ""
    model = cached(f"scaling-{name}{varied}", sweep.library, lambda: sweep.model(size))
    n_features = size.get("features of unlimited trees", size["features"])
    X, Z = (normal_rows(size[rows], n_features, seed) for rows, seed in (("rows", 3), ("background rows", 4)))
    if contender in PEERS["shapley"]:
        some = X[:SHAP_ROWS] if contender == "shap" else X
        found = measuring.measure(PEERS["shapley"][contender], model, Z, some)
        return found.construct + found.explain * len(X) / len(some), found.seconds
    construct = partial(TreeExplainer, engine=contender, n_jobs=size["threads"])
    found = measuring.measure(Contender(contender, construct, TreeExplainer.shap_values), model, Z, X)
    return found.seconds, found.seconds


def points_of(what: str) -> list[dict[str, Any]]:
    points, ended = [], set()
    for value in SWEEPS[what].values:
        size = SWEEPS[what].base | {what: value}
        for contender in (*engines(SWEEPS[what], size), *SWEEPS[what].peers):
            if contender in ended:
                continue
            try:
                seconds, spent = measured(what, size, contender)
            except (MemoryError, ValueError) as error:
                print(f"{what} {value:>9,} {contender:<10} {type(error).__name__}: {error}", flush=True)
                ended.add(contender)
                continue
            if spent > LONGEST:
                ended.add(contender)
            points.append({"at": value, "engine": contender, "seconds": seconds})
            print(f"{what} {value:>9,} {contender:<10} {seconds:.4f} s", flush=True)
    return points


STYLES = {
    "auto": ("#0072b2", "o", "arborshap"),
    "sparse": ("#e69f00", "s", 'engine="sparse"'),
    "traversal": ("#999999", "^", 'engine="traversal"'),
    "woodelf": ("#009e73", "D", "woodelf"),
    "shap": ("#d55e00", "v", "shap (scaled up)"),
}


def draw(found: dict[str, Any]) -> None:
    importlib.import_module("matplotlib").use("Agg")
    plt = importlib.import_module("matplotlib.pyplot")
    columns = math.ceil(len(found["sweeps"]) / 2)
    figure, axes = plt.subplots(2, columns, figsize=(3.7 * columns, 6.4), layout="constrained")
    shown: dict[str, Any] = {}
    for ax, (what, points) in zip(axes.flat, found["sweeps"].items(), strict=False):
        for engine, (colour, marker, label) in STYLES.items():
            mine = [(p["at"], p["seconds"]) for p in points if p["engine"] == engine]
            if mine:
                x, y = np.array(mine).T
                (shown[label],) = ax.plot(x, y, color=colour, marker=marker, markersize=5, linewidth=1.6, label=label)
        if what in ("threads", "depth"):
            ax.set_xticks([p["at"] for p in points if p["engine"] == "auto"])
        else:
            ax.set_xscale("log")
        if what == "threads":
            ax.set_ylim(bottom=0)
        else:
            ax.set_yscale("log")
        ax.set_xlabel(what)
        ax.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes.flat[len(found["sweeps"]) :]:
        ax.set_axis_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("seconds")
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=len(shown), frameon=False, fontsize=9)
    base = found["base"]
    figure.suptitle(
        f"Construction and values; unless varied: {base['rows']:,} rows, {base['background rows']:,} background rows, "
        f"{base['trees']} trees, depth {base['depth']}, {base['features']} features, {base['threads']} threads",
        fontsize=10,
    )
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="draw what was recorded, measure nothing")
    parser.add_argument("--only", nargs="+", choices=SWEEPS, help="measure only these curves, and keep the others")
    options = parser.parse_args()
    if options.draw:
        draw(json.loads(RESULTS.read_text()))
        return
    bystanders = measuring.Bystanders()
    sweeps = {what: points_of(what) for what in options.only or SWEEPS}
    if options.only and RESULTS.exists():
        sweeps = json.loads(RESULTS.read_text())["sweeps"] | sweeps
    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": measuring.machine(),
        "versions": measuring.versions(),
        "base": BASE,
        "sweeps": {what: sweeps[what] for what in SWEEPS if what in sweeps},
        "others": bystanders.share(),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    draw(found)


if __name__ == "__main__":
    main()
