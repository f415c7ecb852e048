"""Write the recorded results into the README and docs/performance.md: `make bench-table`."""

import json
import re
from pathlib import Path
from typing import Any

import tables

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benches" / "results"
BLOCK = re.compile(r"(?<=<!-- performance:begin -->\n).*?(?=<!-- performance:end -->)", re.DOTALL)


def recorded(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def surroundings(found: dict[str, Any]) -> str:
    """Describe the machine and the versions of the measurement."""
    machine, versions = found["machine"], found["versions"]
    cores = f"{machine['cores']} cores" + (f", {machine['memory_gb']} GB" if machine["memory_gb"] else "")
    packages = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "python")
    others = found["others"]
    busy = "" if others is None or others < 0.02 else f" Other processes took {others:.0%} of the machine meanwhile."
    days: dict[str, list[str]] = {}
    for case in found.get("cases", []):
        days.setdefault(case.get("date", found["date"]), []).append(case["name"])
    later = "".join(f" {'; '.join(names)}: on {day}." for day, names in days.items() if day != found["date"])
    return tables.wrapped(
        f"Measured on {found['date']}: {machine['cpu']}, {cores}, {machine['system']}, CPython {versions['python']}; "
        f"{packages}.{busy}{later}"
    )


def models(found: dict[str, Any]) -> str:
    named = {case["name"].split(",")[-1].split()[0]: case["model"] for case in found["cases"] if case["m"]}
    return "\n".join(f"- **{name}**: {model}" for name, model in named.items())


HOW_TO_READ = """\
Times include construction and values. Each is the best of two to seven measurements (of one, if that takes 20 s), in
one run on the same model and rows, and every package uses all the cores it can. EXT (extrapolated) means timed on
fewer rows or trees and scaled up. shap is given the whole background, `maskers.Independent(Z, max_samples=len(Z))`; by
default it keeps 100 rows. The run fails unless all values agree to within 2e-5 of the largest value in at least 999 of
1,000 rows. If a peer is faster, the last column is below 1."""

SHAPIQ = """\
shapiq computes on one thread, and asks woodelf if it is given 100,000 pairs of rows or more."""


def how_to_read(found: dict[str, Any]) -> str:
    if "shapiq" not in tables.peer_names(found):
        return HOW_TO_READ
    return tables.wrapped(f"{HOW_TO_READ} {SHAPIQ}".replace("\n", " "))


SHOWN_FIRST = (
    "A 100 x 100",
    "A 10k x 10k",
    "A 100k x 100k",
    "B 10k x 10k",
    "C10 20 x 100",
    "D 200 x 100",
    "path-dependent, A, 10k rows",
    "interactions, A 10k x 10k",
)
"""The cases of the README: small and large jobs, deep trees, several outputs, and the smallest speed-up recorded."""
README_ROWS = 8


def shortened(found: dict[str, Any]) -> dict[str, Any]:
    """Keep a few cases for the README: every loss, then those of SHOWN_FIRST, in the order of the measurement."""
    lost = [case["name"] for case in found["cases"] if tables.is_lost(case)]
    room = max(0, README_ROWS - len(lost))
    names = {*lost, *[name for name in SHOWN_FIRST if name not in lost][:room]}
    return {**found, "cases": [case for case in found["cases"] if case["name"] in names]}


def readme_block(found: dict[str, Any]) -> str:
    few = shortened(found)
    return f"""\
A is XGBoost with 100 trees of depth 6 on 20 features, and B has 500 trees of depth 8 on 50 features. C10 is a random
forest of unlimited depth on 10 features. D is XGBoost on the digits dataset, with 10 classes.{deep(few)}

{tables.peers_table(few)}

Times include construction and values, and every package uses all the cores it can. The run fails unless the
packages' values agree to within 2e-5 of the largest value in at least 999 of 1,000 rows. shap is given the whole
background; by default it keeps 100 rows. EXT (extrapolated) means timed on fewer rows or trees and scaled up. If a peer
is faster, the last column is below 1.

{surroundings(few)}

[The performance page](docs/performance.md) has the other cases, the method, single rows, scaling curves and the goals
that were missed. `make bench-peers` repeats the measurements.
"""


DEEP = {
    "X12": "X12 is XGBoost with 100 trees of depth 12 on 50 features.",
    "L255": "L255 and L1023 are LightGBM with 100 trees of 255 and 1023 leaves on 100 features.",
    "R30": "R30 and K30 are scikit-learn's default forests on 30 features, a regressor and a classifier; R30/20 is the "
    "first 20 trees of R30.",
}


def deep(found: dict[str, Any]) -> str:
    """Say what the deep models are, if they were measured."""
    measured = {case["name"].split()[0] for case in found["cases"]}
    said = " ".join(text for name, text in DEEP.items() if name in measured)
    return "\n\n" + tables.wrapped(said) if said else ""


def page(
    found: dict[str, Any],
    large: dict[str, Any] | None,
    scaling: dict[str, Any] | None,
    hd: dict[str, Any] | None = None,
) -> str:
    parts = [
        "# Performance",
        "<!-- Made by `make bench-table` from benches/results: change benches/python, not this page. -->",
        "## Compared with other packages",
        tables.peers_table(found),
        how_to_read(found),
        models(found),
        surroundings(found),
        disagreements(found),
        "## One row, a lower bound, and the traversal alone",
        tables.extras_table(found),
        "## Goals",
        "These are our goals for two cores, and what this run measured.",
        tables.goals_table(found, large),
    ]
    if memory := tables.memory_table(found):
        parts += ["## Memory of deep models", MEMORY, memory]
    if large is not None:
        parts += ["## Millions of rows", LARGE, tables.large_table(large), surroundings(large)]
    if hd is not None:
        parts += ["## arborshap against WoodelfHD's published figures", HD, tables.hd_table(hd), surroundings(hd)]
    if scaling is not None:
        picture = "![Seconds against size](images/scaling.png)"
        parts += ["## Scaling", SCALING, picture, tables.scaling_notes(scaling, PEER_POINTS), surroundings(scaling)]
    return "\n\n".join([*parts, REPEAT])


def disagreements(found: dict[str, Any]) -> str:
    entries = [(case, name, e) for case in found["cases"] for name, e in case["entries"].items() if "difference" in e]
    text = (
        f"The largest difference between arborshap's values and a peer's in this run was "
        f"{max(e['difference'] for _, _, e in entries):.0e} of the largest value. shap returns zeros for interactions "
        "with a background, and says so on standard error."
    )
    apart = [
        f"{e['rows_apart']} of {case['n']:,} rows of {name} in {case['name']}"
        for case, name, e in entries
        if e["rows_apart"]
    ]
    why = (
        "if a value is one float32 step below a threshold of XGBoost, woodelf sends it to the other side, while shap "
        "and XGBoost itself agree with arborshap."
    )
    return tables.wrapped(f"{text} This leaves out {', '.join(apart)}: {why}" if apart else text)


LARGE = """\
The model is XGBoost with 100 trees of depth 6. Times include construction and values; a pair is a row and a background
row. Extra memory is the peak resident size during the job, less the size of the input and the output."""

MEMORY = """\
Extra memory is the peak resident size during construction and values, less what was there before and the size of the
output; each case is measured in a process of its own."""

HD = """\
118,000 rows against 472,000 background rows on 397 features, explained by LightGBM models of 100 trees with as many
leaves as their depth allows, at most 1024: the size for which WoodelfHD's authors published times. Theirs are of their
own data, on their machine; ours are of normal features, on this one. So compare how the times grow with the depth, not
the times themselves. Times include construction and values."""

SCALING = """\
Each curve varies one size and keeps the others. The upper line is XGBoost with 100 trees of depth 6 on 20 features, and
10,000 rows against 10,000. The lower line has 20 trees, and 5000 rows against 5000: XGBoost on 20 features, LightGBM on
100 features, and scikit-learn's random forest, whose trees grow until their leaves are pure. Times include construction
and values, on all cores.

The cost model chooses an engine for each tree and call:

- *Tables* cost n + m for n rows and m background rows, and are kept for later calls. A path with k players needs $2^k$
  entries, so they suit shallow trees.
- *Ranked counts* serve deeper trees, and calls whose tables would cost more than they save. They cost n + m too, and
  are made anew for every call. The choice is made split by split: where a path has so many players that its $2^k$ sets
  would cost more than the rows themselves, each distinct pattern of a row meets the background instead, 64 rows at a
  time as the bits of a word. Then the cost of that split grows with the product of the two numbers of rows, but that of
  the others does not.
- *Sparse pairs* cost n * m, but only one bit per pair and node. They suit calls with few rows.
- *The walk* is the paper's algorithm, for 64 background rows at once. It costs n * m and is taken only if it is asked
  for; two panels show it for comparison."""

PEER_POINTS = """\
shap and woodelf are timed as a whole where that takes a few seconds. Otherwise they are timed on a tenth of the trees,
and shap on a few rows, and the time is scaled up: these points are hollow. Both run on the threads that they choose
themselves."""

REPEAT = """\
## Measure it yourself

| command | what it does |
|---|---|
| `make bench-peers` | installs the other packages into their own environment, records the first table, and writes it |
| `make bench-peers OPTIONS="--only L255"` | measures some models or cases; with `--record` it replaces their rows |
| `make bench-peers OPTIONS=--quick` | measures small sizes in about a minute, and records nothing |
| `make bench-large` | measures the jobs with millions of rows |
| `make bench-hd` | measures LightGBM models of depth 6 to 18 at WoodelfHD's size; `OPTIONS="--depth 6"` measures one |
| `make bench-orders` | compares interactions of order three with those of shapiq, and Owen values with Shapley values |
| `make bench-plans` | compares the estimates of `explain_plan` with times, and its choice of engine with the best |
| `make bench-scaling` | measures and draws the scaling curves; `OPTIONS="--only depth"` measures one again |
| `make bench-table` | writes the recorded results into this page and the README |
| `cargo bench` | measures the Rust core alone, stage by stage |
"""


def main() -> None:
    found = recorded("peers")
    if found is None:
        raise SystemExit("nothing is recorded: run `make bench-peers` first")
    readme = ROOT / "README.md"
    text, replaced = BLOCK.subn(lambda _: readme_block(found), readme.read_text())
    if replaced != 1:
        raise SystemExit("the README has no performance block")
    readme.write_text(text)
    (ROOT / "docs" / "performance.md").write_text(page(found, *map(recorded, ("large", "scaling", "hd"))))


if __name__ == "__main__":
    main()
