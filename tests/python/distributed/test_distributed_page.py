"""The tables of the page on clusters are those of the recorded measurements, and follow from them."""

from __future__ import annotations

import json
import subprocess
import sys

from support.distributed_page import PAGE
from support.places import ROOT


def test_tables_are_current() -> None:
    script = ROOT / "benches" / "python" / "cluster.py"
    checked = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_core_hours_follow_from_the_cost_of_a_row() -> None:
    found = json.loads((ROOT / "benches" / "results" / "distributed.json").read_text())
    hours = [f"{1e9 * one['explain_a_row'] / 3600:.2g} core-hours" for one in found["one_core"]]
    assert f"| explaining, 1e+09 rows | {' | '.join(hours)} |" in PAGE.read_text(encoding="utf-8")
