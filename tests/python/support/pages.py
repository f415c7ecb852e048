"""The code on a page of the docs: what runs, and what it prints."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.places import ROOT


@dataclass(frozen=True)
class Block:
    line: int
    code: str
    shown: str | None


def blocks(page: Path, fence: str = "python") -> list[Block]:
    """Return the blocks of code; if a block of plain text follows, that is what the code prints.

    Code whose packages are in another environment is fenced as ``py``.
    """
    text = page.read_text(encoding="utf-8")
    pattern = rf"^```{fence}\n(?P<code>.*?)^```$(?:\n+```text\n(?P<shown>.*?)^```$)?"
    found = re.finditer(pattern, text, re.MULTILINE | re.DOTALL)
    return [Block(text.count("\n", 0, match.start("code")), match["code"], match["shown"]) for match in found]


def run(page: Path, fence: str = "python") -> dict[str, Any]:
    """Run a page from the top, compare what it prints with what it shows, and return the names that it leaves."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, fence):
        printed = io.StringIO()
        with redirect_stdout(printed):
            # Empty lines before it, so that a traceback names the line of the page.
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        if block.shown is not None:
            assert printed.getvalue() == block.shown, f"{name_of(page)}, line {block.line + 1}"
    return names


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
