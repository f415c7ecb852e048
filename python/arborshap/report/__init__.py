"""The report: one page that shows an explanation, or the drift of a mean, to people who do not use Python.

The file contains everything: data, styles and scripts. Its content security policy forbids any other source and any
script but the page's own.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from arborshap._util.checks import whole_number
from arborshap._util.whole_files import appearing_whole, checked_path
from arborshap.draw.palette import custom_properties
from arborshap.report.content import Content
from arborshap.report.drift import payload_of_drift
from arborshap.report.model_facts import payload_of_model, payload_without_model
from arborshap.report.packing import in_script
from arborshap.result.drift import Drift
from arborshap.result.explanation import Explanation


@dataclass(frozen=True, slots=True)
class _Page:
    """What is special about a page; everything else stands in ``frame.html``.

    Attributes
    ----------
    sections
        The file with its sections.
    scripts
        The scripts in the order in which they are joined: each uses only those before it.
    contents
        The list of its sections, with links.
    tip
        The element that follows the pointer, if there is one.
    """

    sections: str
    scripts: tuple[str, ...]
    contents: str
    tip: str = ""


_EXPLANATION = _Page(
    sections="explanation.html",
    scripts=(
        *("page", "data", "scale", "colours", "dots", "picker"),
        *("facts", "predictions", "shapes", "overview", "dependence", "interactions", "waterfall", "contrast"),
        *("walk", "tree", "trace", "theme", "main"),
    ),
    contents='<ul id="sections"></ul>',  # the script lists those that there are
    tip='<div id="tip" aria-hidden="true" hidden></div>\n',
)
_DRIFT = _Page(
    sections="drift.html",
    scripts=("page", "data", "scale", "theme", "bands", "drift"),
    contents="""<ul>
      <li><a href="#summary">Glance</a></li>
      <li><a href="#course">Over time</a></li>
      <li><a href="#change">One change</a></li>
      <li><a href="#numbers">Numbers</a></li>
      <li><a href="#how">How to read it</a></li>
    </ul>""",
)


def write_report(
    explanation: Explanation, path: str | os.PathLike[str], *, title: str | None = None, max_rows: int = 5000
) -> Path:
    """Write the page; `Explanation.report` describes the arguments."""
    max_rows = whole_number("max_rows", max_rows, 1, 2**62, "a whole number from 1 up")
    target = checked_path(path)
    return _written(build_report(explanation, title or "What the model looks at", max_rows), target)


def build_report(explanation: Explanation, title: str, max_rows: int) -> str:
    """Return the page as text."""
    content = Content.of(explanation, max_rows)
    payload: dict[str, Any] = {"title": title, **content.payload()}
    if explanation.provenance is None:
        payload |= payload_without_model(explanation)
    else:
        payload |= payload_of_model(content, explanation.provenance)
    return _page(_EXPLANATION, title, payload)


def write_drift_report(drift: Drift, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write the page of a drift; `Drift.report` describes the arguments."""
    target, heading = checked_path(path), title or "What moved the mean prediction"
    page = _page(_DRIFT, heading, payload_of_drift(drift))
    return _written(page, target)


def _written(page: str, target: Path) -> Path:
    with appearing_whole(target) as file:
        file.write_text(page, encoding="utf-8", newline="\n")
    return target


def _page(page: _Page, title: str, payload: dict[str, Any]) -> str:
    """Put a page together whose policy allows its own script alone."""
    script = '(() => {\n"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in page.scripts) + "})();"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return Template(_asset("frame.html")).substitute(
        title=html.escape(title),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        contents=page.contents,
        sections=_asset(page.sections),
        tip=page.tip,
        style=custom_properties() + _asset("style.css"),
        data=in_script(payload),
        script=script,
    )


def _asset(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")
