"""The shapes of features on the page: mean predictions of the model itself, drawn beside each swarm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from arborshap import TreeExplainer
from support import report_cases
from support.browser import Browser
from support.report_pages import opened


def shapes(browser: Browser) -> dict[str, tuple[list[float | None], list[float]]]:
    """Return the cells and heights of each feature that has a shape; a missing cell is ``None``."""
    found = browser.run(
        "return [...document.querySelectorAll('#swarm tbody tr')].filter((tr) => tr.querySelector('.shape'))"
        ".map((tr) => [tr.querySelector('th').textContent, tr.querySelector('.shape').dataset])"
    )
    return {name: (json.loads(data["cells"]), json.loads(data["heights"])) for name, data in found}


def mean_prediction(explainer: TreeExplainer, rows: pd.DataFrame, column: str, value: Any) -> Any:
    """Return the mean margin if every row had this value."""
    changed = rows.copy()
    changed[column] = pd.Series([value] * len(rows), index=rows.index, dtype=rows[column].dtype)
    explanation = explainer(changed)
    return (explanation.base_values + explanation.values.sum(axis=1)).mean(axis=0)


def test_heights_are_mean_predictions(browser: Browser, folder: Path) -> None:
    reported = opened(browser, folder, report_cases.groups_and_gaps)
    found = shapes(browser)
    assert sorted(found) == ["age", "bmi"]  # the group has no shape
    for name, (cells, heights) in found.items():
        assert cells.count(None) == (name == "bmi")  # JSON has no NaN
        for cell, height in [*list(zip(cells, heights, strict=True))[::13], (cells[-1], heights[-1])]:
            value = np.nan if cell is None else cell
            expected = mean_prediction(reported.explainer, reported.rows, name, value)
            assert height == pytest.approx(expected - reported.explainer.expected_value, abs=1e-5)
    drawn = browser.run("return document.querySelectorAll('#swarm .shape .steps').length")
    assert drawn == 2
    assert browser.run("return document.querySelectorAll('#swarm .shape .gone').length") == 1


def test_texts_and_outputs(browser: Browser, folder: Path) -> None:
    reported = opened(browser, folder, report_cases.categories)
    towns = sorted(reported.rows["town"].cat.categories)
    for output in (0, 2):
        browser.choose("#output", output)
        cells, heights = shapes(browser)["town"]
        for cell, height in zip(cells, heights, strict=True):
            assert cell is not None
            expected = mean_prediction(reported.explainer, reported.rows, "town", towns[int(cell)])[output]
            assert height == pytest.approx(expected - np.asarray(reported.explainer.expected_value)[output], abs=1e-5)
        assert browser.run("return document.querySelectorAll('#swarm .shape .level').length") == len(towns)
        words = browser.run("return document.querySelector('#swarm .shape').getAttribute('aria-label')")
        assert words.startswith("Shape of ")


def test_a_page_without_a_model_has_no_shapes(browser: Browser, folder: Path) -> None:
    reported = report_cases.groups_and_gaps()
    contrast = reported.explainer.contrast(reported.rows.iloc[:5], reported.rows.iloc[5:6])
    contrast.report(folder / "contrast.html")
    browser.open(folder / "contrast.html")
    assert shapes(browser) == {}
    assert browser.run("return document.getElementById('shape-hint').hidden")
