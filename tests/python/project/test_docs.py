"""README, design and docs: their Python runs and prints what they show, tables are current, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot

from support.pages import blocks, name_of, run
from support.places import ROOT

PAGES = [ROOT / "README.md", ROOT / "llms.txt", *sorted((ROOT / "docs").glob("*.md"))]
PROSE = [*PAGES, ROOT / "DESIGN.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

LINK = re.compile(r"\]\((?!https?://)(?P<path>[^)#\s]*)(?:#(?P<section>[^)]*))?\)")
HEADING = re.compile(r"^#+ (?P<text>.*)$", re.MULTILINE)
FILE = re.compile(r"`((?:src|python|tests|benches|scripts|docs)/[\w./-]*)`")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_code_runs_and_prints_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    try:
        run(page)
    finally:
        pyplot.close("all")  # matplotlib counts the figures of all pages


def test_no_code_is_passed_over() -> None:
    """A fence that the pattern does not match would never run."""
    for page in PAGES:
        fences = page.read_text(encoding="utf-8").count("```python")
        assert len(blocks(page)) == fences, name_of(page)
    assert {"README.md", "docs/index.md", "docs/mathematics.md"} <= {name_of(page) for page in PAGES if blocks(page)}


def test_tables_of_supported_models_are_current() -> None:
    script = ROOT / "scripts" / "supported_models.py"
    checked = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("page", PROSE, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text(encoding="utf-8")):
        target = page.parent / link["path"] if link["path"] else page
        assert target.exists(), f"{name_of(page)} links to {link['path']}"
        if link["section"]:
            assert link["section"] in sections(target), f"{name_of(page)} links to {link['path']}#{link['section']}"


def sections(page: Path) -> set[str]:
    """The anchors that headings get: lower case, hyphens for spaces, no punctuation."""
    headings = (heading["text"].lower() for heading in HEADING.finditer(page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PROSE, ids=name_of)
def test_files_that_are_named_are_there(page: Path) -> None:
    named = FILE.findall(page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []
