"""The page about the command line: its commands run, and print what it shows; its table names every option."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arborshap.cli.arguments import parser
from support.patience import HANG
from support.places import DOCS

PAGE = DOCS / "command-line.md"

BLOCK = re.compile(r"^```(?P<kind>sh|python)\n(?P<code>.*?)^```$(?:\n+```text\n(?P<shown>.*?)^```$)?", re.M | re.S)


def test_commands_run_and_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The command under its own name, whether or not the package is installed with it.
    script = tmp_path / "bin" / "arborshap"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m arborshap "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = list(BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(blocks) >= 5
    for block in blocks:
        if block["kind"] == "python":
            exec(block["code"], names)
            continue
        done = subprocess.run(["sh", "-ec", block["code"]], capture_output=True, text=True, timeout=HANG)
        assert (done.returncode, done.stderr) == (0, ""), block["code"]
        if block["shown"] is not None:
            assert done.stdout == block["shown"]
    made = {path.name for path in tmp_path.iterdir()}
    assert {"values.csv", "top.csv", "pairs.parquet", "values.npy", "page.html", "grouped.csv", "drift.html"} <= made


def test_every_option_is_in_the_table() -> None:
    (commands,) = [action for action in parser()._actions if action.dest == "command"]
    options = {
        option
        for name in ("explain", "sketch", "drift")
        for action in commands.choices[name]._actions  # type: ignore[index]
        for option in action.option_strings
        if option.startswith("--")
    }
    named = set(re.findall(r"^\| `(--[a-z0-9-]+)", PAGE.read_text(encoding="utf-8"), re.M))
    assert named == options - {"--help"}
