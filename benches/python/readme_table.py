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
    return tables.wrapped(
        f"Measured on {found['date']}: {machine['cpu']}, {cores}, {machine['system']}, CPython {versions['python']}; "
        f"{packages}.{busy}"
    )


def models(found: dict[str, Any]) -> str:
    named = {case["name"].split(",")[-1].split()[0]: case["model"] for case in found["cases"] if case["m"]}
    return "\n".join(f"- **{name}**: {model}" for name, model in named.items())


HOW_TO_READ = """\
Times include construction and values. Each is the best of two to seven measurements (of one, if that takes 20 s), in
one run on the same model and rows, and every package uses all the cores it can. EXT means timed on fewer rows or trees
and scaled up. shap is given the whole background, `maskers.Independent(Z, max_samples=len(Z))`; by default it keeps 100
rows. The run fails unless all values agree to 2e-5 of the largest, in all but at most one row in a thousand. If a peer
is faster, the last column is below 1."""


def readme_block(found: dict[str, Any]) -> str:
    return f"""\
{tables.peers_table(found)}

{tables.extras_table(found)}

{HOW_TO_READ}

A is XGBoost with 100 trees of depth 6 on 20 features, and B has 500 trees of depth 8 on 50 features. C10 and C30 are
random forests of unlimited depth on 10 and 30 features. D is XGBoost on the digits dataset, with 10 classes.

{surroundings(found)}

[The performance page](docs/performance.md) has the models, larger jobs, scaling curves and the goals that were missed.
`make bench-peers` repeats the measurements.
"""


def page(found: dict[str, Any], large: dict[str, Any] | None, scaling: dict[str, Any] | None) -> str:
    parts = [
        "# Performance",
        "<!-- Made by `make bench-table` from benches/results: change benches/python, not this page. -->",
        "## Compared with other packages",
        tables.peers_table(found),
        HOW_TO_READ,
        models(found),
        surroundings(found),
        disagreements(found),
        "## One row, a lower bound, and the traversal alone",
        tables.extras_table(found),
        "## Goals",
        "These are our goals for two cores, and what this run measured.",
        tables.goals_table(found, large),
    ]
    if large is not None:
        parts += ["## Millions of rows", LARGE, tables.large_table(large), surroundings(large)]
    if scaling is not None:
        parts += ["## Scaling", SCALING, "![Seconds against size](images/scaling.png)", surroundings(scaling)]
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

SCALING = """\
Each curve varies one size and keeps the others: 10,000 rows, 10,000 background rows, XGBoost with 100 trees of depth 6
and 20 features. Times include construction and values, on all cores. If tables would cost more than pairs, the cost
model chooses the other engine; the walk is shown for comparison."""

REPEAT = """\
## Measure it yourself

| command | what it does |
|---|---|
| `make bench-peers` | installs the other packages into their own environment, and records the first table |
| `make bench-peers OPTIONS=--quick` | measures small sizes in about a minute, and records nothing |
| `make bench-large` | measures the jobs with millions of rows |
| `make bench-scaling` | measures and draws the scaling curves |
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
    (ROOT / "docs" / "performance.md").write_text(page(found, recorded("large"), recorded("scaling")))


if __name__ == "__main__":
    main()
