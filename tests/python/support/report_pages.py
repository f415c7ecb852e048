"""Pages of the cases of `report_cases`, each written once and opened as often as tests ask."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from support.browser import Browser
from support.report_cases import Reported


@cache
def case(make: Any) -> Reported:
    return make()  # type: ignore[no-any-return]


def opened(browser: Browser, folder: Path, make: Any, **how: Any) -> Reported:
    """Open the page of a case, which is written when first asked for."""
    page = folder / f"{make.__name__}.html"
    if not page.exists():
        case(make).explanation.report(page, title="A title & more")
    browser.open(page, **how)
    return case(make)
