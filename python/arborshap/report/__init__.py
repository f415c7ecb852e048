"""The report: one page that shows an explanation to people who never open Python.

Everything is inside the one file: data, styles and scripts. Its content security policy forbids any other source, and
lets no script run but the one that was put there.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from arborshap._whole_files import appearing_whole
from arborshap.exceptions import InputError
from arborshap.explanation import Explanation
from arborshap.report.content import Content
from arborshap.report.origin import origin_payload, payload_without_origin
from arborshap.report.packing import in_script

_SCRIPTS = ("page", "data", "picker", "overview", "interactions", "waterfall", "walk", "tree", "trace", "main")
"""In the order in which they are put together: each uses those before it."""


def write_report(
    explanation: Explanation, path: str | os.PathLike[str], *, title: str | None = None, max_rows: int = 5000
) -> Path:
    """Write the page. `Explanation.report` says what the arguments are."""
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        raise InputError(f"max_rows must be a whole number from 1 up, got {max_rows!r}")
    target = Path(path)
    page = build_report(explanation, title or "What the model looks at", max_rows)
    with appearing_whole(target) as part:
        part.write_text(page, encoding="utf-8", newline="\n")
    return target


def build_report(explanation: Explanation, title: str, max_rows: int) -> str:
    """The page as text."""
    content = Content.of(explanation, max_rows)
    payload: dict[str, Any] = {"title": title, **content.payload()}
    if explanation.source is None:
        payload |= payload_without_origin(explanation)
    else:
        payload |= origin_payload(content, explanation.source)
    script = '(() => {\n"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in _SCRIPTS) + "})();"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return Template(_asset("template.html")).substitute(
        title=html.escape(title),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        style=_asset("style.css"),
        data=in_script(payload),
        script=script,
    )


def _asset(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")
