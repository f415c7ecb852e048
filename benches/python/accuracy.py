"""Measure rounding against exact arithmetic: `make accuracy` draws the histogram and writes the table of the docs.

Every value of every index, by each engine, is compared with its exact fraction. Errors
are given relative to the largest possible prediction: the sum over the trees of the largest leaf.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from PIL import Image

from arborshap import Forest, InputError, TreeExplainer
from support.exact import errors, of_coalitions, of_pairs, worths_by_cover
from support.stress import Array, Case, background_cases, chain_case, path_dependent_cases

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "accuracy-and-limits.md"
PICTURE = ROOT / "docs" / "images" / "accuracy.png"
BEGIN, END = "<!-- accuracy:begin -->", "<!-- accuracy:end -->"
INDICES = ("shapley", "banzhaf", "taylor", "interaction")
ENGINES = ("pattern", "counts", "sparse", "traversal")
SEEDS = 12
LEAST = 1e-19
"""Errors below it are drawn as if they were so large."""
LONG = " players on a path"
"""Nearly all values of such cases are far smaller than a prediction, and errors with them: they are not drawn."""


@dataclass(frozen=True)
class Measured:
    case: str
    index: str
    engine: str
    shares: Array
    """Errors as shares of the largest prediction there could be."""


def main() -> None:
    start = time.perf_counter()
    found = list(measure())
    draw(found)
    write(found)
    n = sum(len(m.shares) for m in found)
    print(f"{n} values compared in {time.perf_counter() - start:.0f} s; the worst is off by {worst(found):.1e}")


def measure() -> Iterator[Measured]:
    for seed in range(SEEDS):
        for case in background_cases(seed):
            for index in INDICES:
                exact = of_pairs(case.forest, case.X, case.Z, index, case.weights)
                yield from compare(case, index, exact, partial(against, case))
        for case in path_dependent_cases(seed):
            worth = worths_by_cover(case.forest, case.X)
            for index in INDICES:
                yield from compare(case, index, of_coalitions(worth, index), partial(without, case))
    for players in (64, 1000):
        case = chain_case(players)
        for index in INDICES[: 4 if players <= 64 else 2]:
            exact = of_pairs(case.forest, case.X, case.Z, index)
            yield from compare(case, index, exact, partial(against, case))


def against(case: Case, engine: str) -> TreeExplainer:
    return TreeExplainer(case.forest, case.Z, sample_weight=case.weights, engine=engine, n_jobs=1)


def without(case: Case, engine: str) -> TreeExplainer:
    return TreeExplainer(case.forest, engine=engine, n_jobs=1)


def compare(case: Case, index: str, exact: NDArray[Any], made: Callable[[str], TreeExplainer]) -> Iterator[Measured]:
    for engine in ENGINES:
        try:
            values = made(engine)(case.X, index=index).values  # type: ignore[arg-type]
        except InputError:
            continue  # paths with more players than the engine holds
        yield Measured(case.name, index, engine, errors(values, exact).ravel() / largest_prediction(case.forest))


def largest_prediction(forest: Forest) -> float:
    leaves = np.abs(np.where(forest.left < 0, np.ravel(forest.value), 0.0))
    return float(np.maximum.reduceat(leaves, forest.tree_offsets[:-1]).sum())


def worst(found: list[Measured]) -> float:
    return max(float(m.shares.max()) for m in found)


def chosen(found: list[Measured], **which: str) -> Array:
    some = [m.shares for m in found if all(getattr(m, name) == value for name, value in which.items())]
    return np.concatenate(some) if some else np.empty(0)


def draw(found: list[Measured]) -> None:
    plt.switch_backend("agg")
    figure, axes = plt.subplots(2, 2, figsize=(9, 5.2), sharex=True, sharey=True, layout="constrained")
    bins = np.logspace(np.log10(LEAST) - 0.25, -14, 22)
    drawn_cases = [m for m in found if LONG not in m.case]
    for ax, index in zip(axes.flat, INDICES, strict=True):
        for engine, line in zip(ENGINES, ("-", "-.", "--", ":"), strict=True):
            shares = np.maximum(chosen(drawn_cases, index=index, engine=engine), LEAST)
            ax.hist(
                shares, bins, weights=np.full(len(shares), 100 / len(shares)), histtype="step", ls=line, label=engine
            )
        ax.axvline(2.0**-53, color="grey", lw=0.8)
        ax.set(xscale="log", title=index)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False)
    label = {"xycoords": ("data", "axes fraction"), "ha": "right", "va": "top", "rotation": 90, "fontsize": 8}
    axes[0, 0].annotate("half a unit in the last place", (2.0**-53, 0.97), color="grey", **label)
    figure.supxlabel(
        "error, as a share of the largest prediction there could be (leftmost: 1e-19 or less)", fontsize=10
    )
    figure.supylabel("% of values", fontsize=10)
    figure.savefig(PICTURE, dpi=120)
    plt.close(figure)
    with Image.open(PICTURE) as drawn:
        few = drawn.convert("RGB").quantize(64, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(PICTURE, optimize=True)


def write(found: list[Measured]) -> None:
    lines = ["| case | values | no error | median | 99 of 100 | largest |", "|---|--:|--:|--:|--:|--:|"]
    lines += [row(name, chosen(found, case=name)) for name in dict.fromkeys(m.case for m in found)]
    lines += [
        "",
        "| index, by engine | values | no error | median | 99 of 100 | largest |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for index in INDICES:
        for engine in ENGINES:
            lines.append(row(f"{index}, {engine}", chosen(found, index=index, engine=engine)))
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after, encoding="utf-8")


def row(name: str, shares: Array) -> str:
    middle, high, most = np.quantile(shares, [0.5, 0.99, 1])
    return f"| {name} | {len(shares):,} | {np.mean(shares == 0):.0%} | {middle:.1e} | {high:.1e} | {most:.1e} |"


if __name__ == "__main__":
    main()
