"""The code on the page about clusters that needs an engine with its own environment."""

from __future__ import annotations

import re

from support.places import DOCS

PAGE = DOCS / "distributed.md"


def code_under(heading: str) -> str:
    """Return the block of code of a section."""
    section = re.split(rf"^## {heading}$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
    match = re.search(r"^```py\n(.*?)^```$", section.split("\n## ")[0], re.MULTILINE | re.DOTALL)
    assert match is not None, heading
    return match[1]
