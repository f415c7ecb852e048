"""Pages of the cases of `report_cases`, each written once and opened as often as tests ask."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap import Explanation
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


def contrasts(
    browser: Browser, reported: Reported, a: int, b: int, atol: float
) -> Iterator[tuple[int, dict[str, float], NDArray[np.float64], Explanation]]:
    """Pick two rows, and compare the contrast that the page shows with the explainer's, output by output.

    Each output comes with the numbers shown by their names, the explainer's values, and its contrast of all outputs.
    """
    outputs = reported.explanation.output_names
    browser.pick("a", a)
    browser.pick("b", b)
    expected = reported.explainer.contrast(reported.row(a), reported.row(b))
    for output in range(len(outputs or [""])):
        if outputs is not None:
            browser.choose("#output", output)
        shown = browser.numbers("#contrast-fall")
        values = np.reshape(expected.values, (len(expected.feature_names), -1))[:, output]
        np.testing.assert_allclose([shown[name] for name in expected.feature_names], values, rtol=0, atol=atol)
        yield output, shown, values, expected
