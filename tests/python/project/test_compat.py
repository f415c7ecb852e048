"""The script that runs shap's tests can tell a known difference from a new one, and a stale entry from a live one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.places import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import compat
from compat import Known, Result

KNOWN = [Known("test_b", "no such tree", "shap counts otherwise")]
PASSED = Result("passed", "")


def reported(
    monkeypatch: pytest.MonkeyPatch, ours: dict[str, Result], theirs: dict[str, Result], *, done: bool = True
) -> bool:
    def run(tests: Path, names: list[str], explainer: str, settings: list[str]) -> tuple[dict[str, Result], bool]:
        return (ours, done) if explainer == "arborshap" else ({name: theirs[name] for name in names}, True)

    monkeypatch.setattr(compat, "run", run)
    return compat.report("trees", Path("tests"), KNOWN, 1)


FAILED = Result("failed", "ValueError: no such tree")


@pytest.mark.parametrize(
    ("ours", "theirs", "good", "shown"),
    [
        ({"t::test_a": PASSED, "t::test_b": FAILED}, {"t::test_b": PASSED}, True, "1 of 2 pass; 1 differ"),
        ({"t::test_a": FAILED}, {"t::test_a": PASSED}, False, "NOT KNOWN: ValueError: no such tree"),
        ({"t::test_b": Result("failed", "other")}, {"t::test_b": PASSED}, False, "NOT KNOWN: other"),
        ({"t::test_a": FAILED}, {"t::test_a": FAILED}, True, "1 fail with shap itself"),
        ({"t::test_b": PASSED}, {}, False, "test_b is listed as a known difference, but passes"),
        ({"t::test_a": Result("skipped", "no library")}, {}, True, "no library"),
    ],
)
def test_what_counts_as_good(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ours: dict[str, Result],
    theirs: dict[str, Result],
    good: bool,
    shown: str,
) -> None:
    assert reported(monkeypatch, ours, theirs) is good
    assert shown in capsys.readouterr().out


def test_a_run_that_breaks_off_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not reported(monkeypatch, {"t::test_a": PASSED}, {}, done=False)


def test_a_real_run_tells_what_each_test_came_to(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = ["--strict-markers"]\n')
    tests = tmp_path / "target" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_few.py").write_text(
        "import pytest, shap\n"
        "def test_swapped(): assert shap.TreeExplainer.__module__ == 'arborshap.adapters.shap'\n"
        "def test_fails(): raise ValueError('no such tree')\n"
        "def test_skipped(): pytest.skip('no library')\n"
        "@pytest.mark.xslow\ndef test_slow(): raise AssertionError\n"
    )
    results, complete = compat.run(tests, ["test_few.py"], "arborshap", [])
    found = {name.partition("::")[2]: (result.outcome, result.message) for name, result in results.items()}
    assert complete
    assert found == {
        "test_swapped": ("passed", ""),
        "test_fails": ("failed", "ValueError: no such tree"),
        "test_skipped": ("skipped", "Skipped: no library"),
    }
    again, _ = compat.run(tests, [name for name in results if "swapped" in name], "shap", [])
    assert [result.outcome for result in again.values()] == ["failed"]


def test_without_a_network_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def offline(*_: Any, **__: Any) -> Any:
        return subprocess.CompletedProcess([], 1, "", "the network is unreachable")

    monkeypatch.setattr(compat, "UNPACKED", tmp_path)
    monkeypatch.setattr(subprocess, "run", offline)
    assert compat.downloaded_tests("0.54.1") is None
    assert "Nothing was tested" in capsys.readouterr().err


def test_every_known_difference_has_a_reason_and_a_pattern() -> None:
    entries = compat.known_differences()
    assert entries
    for entry in entries:
        assert re.compile(entry.error)
        assert len(entry.reason) > 20
