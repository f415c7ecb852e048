"""The cases of `make bench-peers` fit together, and a partial run replaces its own rows alone."""

import sys
from typing import Any

import pytest

from support.places import ROOT

sys.path.append(str(ROOT / "benches" / "python"))

import cases
import contenders
import peers
import readme_table
import tables
from workloads import WORKLOADS


def test_every_case_names_what_exists() -> None:
    for case in cases.CASES:
        known = {*contenders.PEERS[case.task], "fasttreeshap"}
        assert case.workload in WORKLOADS
        assert set(case.peers) <= known
        assert set(case.goals) <= {*case.peers, "best"}
    names = [case.name for case in cases.CASES]
    assert len(set(names)) == len(names)
    assert set(cases.QUICK) <= set(names)


def test_cases_are_chosen_by_name_or_by_model() -> None:
    chosen, extras = peers.chosen(["L255", "A 100 x 100", "one row"])
    assert [case.name for case in chosen] == ["A 100 x 100", "L255 10k x 10k", "path-dependent, L255, 3000 rows"]
    assert extras == ["one row"]
    assert peers.chosen(None)[0] == cases.CASES
    with pytest.raises(SystemExit, match="there is no case 'L25'"):
        peers.chosen(["L25"])


def row(name: str, seconds: float) -> dict[str, Any]:
    return {"name": name, "entries": {"arborshap": {"seconds": seconds}}}


def test_a_partial_run_replaces_its_own_rows() -> None:
    earlier = {
        "date": "2026-01-01",
        "cases": [row("A 100 x 100", 1.0), row("C10 20 x 100", 2.0)],
        "extras": {"one row": 1, "traversal": 2},
    }
    later = {
        "date": "2026-01-02",
        "cases": [row("R30 1000 x 1000", 4.0), row("A 100 x 100", 3.0)],
        "extras": {"one row": 5},
    }
    found = peers.merged(earlier, later)
    assert [(case["name"], case["entries"]["arborshap"]["seconds"], case.get("date")) for case in found["cases"]] == [
        ("A 100 x 100", 3.0, "2026-01-02"),
        ("C10 20 x 100", 2.0, None),
        ("R30 1000 x 1000", 4.0, "2026-01-02"),
    ]
    assert found["extras"] == {"one row": 5, "traversal": 2}
    assert found["date"] == "2026-01-01"


def test_memory_and_wrong_values_are_shown() -> None:
    case = row("L1023 5k x 5k", 2.0) | {"bytes_beyond": 3 * 2**20}
    assert (
        tables.memory_table({"cases": [case, row("A 100 x 100", 1.0)]}).splitlines()[-1] == "| L1023 5k x 5k | 3 MB |"
    )
    assert tables.memory_table({"cases": [row("A 100 x 100", 1.0)]}) == ""
    assert (
        tables.cell({"seconds": 12.0, "extrapolated": "2 of 5 rows", "wrong": "overflow"}) == "12 s EXT (wrong values)"
    )


def test_shapiq_has_a_column_and_a_sentence_once_it_took_part() -> None:
    entries = {"arborshap": {"seconds": 1.0}, "shap": {"seconds": 3.0}}
    before = {"cases": [{"name": "A 100 x 100", "entries": entries}]}
    after = {"cases": [{"name": "A 100 x 100", "entries": entries | {"shapiq": {"seconds": 2.0}}}]}
    assert "shapiq" not in tables.peers_table(before) + readme_table.how_to_read(before)
    assert (
        tables.peers_table(after).splitlines()[-1] == "| A 100 x 100 | **1.0 s** | 3.0 s | 2.0 s |  | 2.0 x (shapiq) |"
    )
    assert "asks woodelf" in readme_table.how_to_read(after)
