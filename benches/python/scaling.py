"""Time against rows, background rows, depth, trees, features and threads, drawn as docs/images/scaling.png.

`make bench-scaling` measures, records and draws; `OPTIONS=--draw` draws what was recorded.
"""

import argparse
import importlib
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import measuring
from arborshap import TreeExplainer
from contenders import CORES, Contender
from workloads import boosted, cached, normal_rows

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benches" / "results" / "scaling.json"
PICTURE = ROOT / "docs" / "images" / "scaling.png"

BASE = {"rows": 10_000, "background rows": 10_000, "depth": 6, "trees": 100, "features": 20, "threads": CORES}
SWEEPS: dict[str, list[int]] = {
    "rows": [1, 10, 100, 1000, 10_000, 100_000, 1_000_000],
    "background rows": [1, 10, 100, 1000, 10_000, 100_000, 1_000_000],
    "depth": [2, 4, 6, 8, 10, 12],
    "trees": [10, 30, 100, 300, 1000],
    "features": [10, 20, 50, 100, 200, 500],
    "threads": sorted({1, 2, *(2**i for i in range(1, 1 + int(math.log2(CORES)))), CORES}),
}
MOST_PAIRS = {"sparse": 10**7, "traversal": 10**6}
"""The other engines are drawn where they take seconds, not minutes."""


def engines(size: dict[str, int], what: str) -> Iterator[str]:
    yield "auto"
    if what in ("rows", "background rows"):
        pairs = size["rows"] * size["background rows"]
        yield from (engine for engine, most in MOST_PAIRS.items() if pairs <= most)


def measure(size: dict[str, int], engine: str) -> float:
    depth, trees, features = size["depth"], size["trees"], size["features"]
    model = cached(f"scaling-{depth}-{trees}-{features}", "xgboost", lambda: boosted(features, trees, depth))
    construct = partial(TreeExplainer, engine=engine, n_jobs=size["threads"])
    X = normal_rows(size["rows"], features, seed=3)
    Z = normal_rows(size["background rows"], features, seed=4)
    return measuring.measure(Contender(engine, construct, TreeExplainer.shap_values), model, Z, X).seconds


def sweep(what: str) -> list[dict[str, Any]]:
    points = []
    for value in SWEEPS[what]:
        size = BASE | {what: value}
        for engine in engines(size, what):
            points.append({"at": value, "engine": engine, "seconds": measure(size, engine)})
            print(f"{what} {value:>9,} {engine:<10} {points[-1]['seconds']:.4f} s", flush=True)
    return points


def draw(found: dict[str, Any]) -> None:
    importlib.import_module("matplotlib").use("Agg")
    plt = importlib.import_module("matplotlib.pyplot")
    styles = {"auto": ("#0072b2", "o", "arborshap"), "sparse": ("#e69f00", "s", 'engine="sparse"'),
              "traversal": ("#999999", "^", 'engine="traversal"')}  # fmt: skip
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained")
    for ax, (what, points) in zip(axes.flat, found["sweeps"].items(), strict=True):
        for engine, (colour, marker, label) in styles.items():
            mine = [(p["at"], p["seconds"]) for p in points if p["engine"] == engine]
            if mine:
                x, y = np.array(mine).T
                ax.plot(x, y, color=colour, marker=marker, markersize=5, linewidth=1.6, label=label)
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
    for ax in axes[:, 0]:
        ax.set_ylabel("seconds")
    axes[0, 0].legend(loc="upper right", frameon=False, fontsize=9)
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
    if parser.parse_args().draw:
        draw(json.loads(RESULTS.read_text()))
        return
    bystanders = measuring.Bystanders()
    found = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": measuring.machine(),
        "versions": measuring.versions(),
        "base": BASE,
        "sweeps": {what: sweep(what) for what in SWEEPS},
        "others": bystanders.share(),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    draw(found)


if __name__ == "__main__":
    main()
