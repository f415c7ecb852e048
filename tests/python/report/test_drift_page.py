"""The page of a drift in a real browser: it opens in silence, and its numbers are the arrays'."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from arborshap import Background, Drift, drift_contributions
from support.browser import Browser
from support.report_cases import MARKUP

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(240, 9))
TARGET = ROWS[:, 0] + ROWS[:, 1] * ROWS[:, 2]
NAMES = [*MARKUP, *(f"f{j}" for j in range(9 - len(MARKUP)))]


@cache
def plain() -> Drift:
    model = RandomForestRegressor(3, max_depth=4, random_state=0).fit(ROWS, TARGET)
    periods = {name: ROWS[60 * k : 60 * k + 60] + 0.2 * k for k, name in enumerate(["one", MARKUP[0], "three", "four"])}
    parts = {name: Background(model, rows, feature_names=NAMES, error_bars=True) for name, rows in periods.items()}
    return drift_contributions(model, parts)


@cache
def sparse() -> Drift:
    model = RandomForestRegressor(3, max_depth=4, random_state=0).fit(ROWS, TARGET)
    return drift_contributions(model, {"one": ROWS[:60], "two": ROWS[60:61], "three": ROWS[61:]})


@cache
def classes() -> Drift:
    model = RandomForestClassifier(3, max_depth=4, random_state=0).fit(ROWS, np.digitize(TARGET, [-0.5, 0.5]))
    return drift_contributions(model, {"a": ROWS[:80], "b": ROWS[80:]}, "previous", error_bars=False)


def opened(browser: Browser, folder: Path, make: Any) -> Drift:
    page = folder / f"drift_{make.__name__}.html"
    drift: Drift = make()
    if not page.exists():
        drift.report(page, title="A title & more")
    browser.open(page)
    return drift


def cells(browser: Browser, selector: str) -> list[float]:
    found = browser.run(f"return [...document.querySelectorAll('{selector}')].map((td) => Number(td.dataset.value))")
    return [float(value) for value in found]


@pytest.mark.parametrize("make", [plain, classes])
def test_it_opens_from_disk_in_silence(browser: Browser, folder: Path, make: Any) -> None:
    opened(browser, folder, make)
    said, asked = browser.logs()
    assert said == []
    assert asked == {(folder / f"drift_{make.__name__}.html").as_uri()}
    assert browser.run("return window.harmed") is None
    assert browser.text("h1") == browser.session.title == "A title & more"


def test_the_numbers_are_the_drifts(browser: Browser, folder: Path) -> None:
    drift = opened(browser, folder, plain)
    shown = browser.run("return [...document.querySelectorAll('#contributions tbody th')].map((th) => th.textContent)")
    order = np.argsort(-np.abs(drift.values[2]), kind="stable")
    assert shown == [drift.feature_names[j] for j in order]
    assert drift.standard_error is not None
    both = np.reshape(cells(browser, "#contributions tbody td.num"), (-1, 2))
    np.testing.assert_array_equal(both, np.column_stack([drift.values[2], drift.standard_error[2]])[order])
    np.testing.assert_allclose(cells(browser, ".period-dot"), [0.0, *drift.values.sum(axis=1)], rtol=1e-12)
    whole = cells(browser, "#table tbody tr:nth-child(3) td")
    np.testing.assert_array_equal(whole, [60, drift.means[2], *drift.values[1]])
    # The error bar reaches 1.96 standard errors to both sides of the end of its bar.
    bar, error = (
        browser.run(f"const r = document.querySelector('{of}').getBoundingClientRect(); return [r.left, r.right]")
        for of in ("#contributions .drift-bar", "#contributions .drift-error")
    )
    first = order[0]
    end = bar[1] if drift.values[2, first] > 0 else bar[0]
    per_unit = (bar[1] - bar[0]) / abs(drift.values[2, first])
    np.testing.assert_allclose((error[0] + error[1]) / 2, end, atol=1.0)
    np.testing.assert_allclose((error[1] - error[0]) / per_unit, 2 * 1.96 * drift.standard_error[2, first], rtol=0.05)


def test_no_text_of_the_contributions_covers_another(browser: Browser, folder: Path) -> None:
    opened(browser, folder, plain)
    covered = browser.run(
        """const box = (cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return range.getBoundingClientRect();
        };
        const lines = document.querySelectorAll("#contributions thead tr, #contributions tbody tr");
        return [...lines].flatMap((line) => {
          const boxes = [...line.children].slice(0, line.closest("thead") ? 4 : 3).map(box);
          return boxes.slice(1).map((right, k) => right.left - boxes[k].right).filter((gap) => gap < 4);
        });"""
    )
    assert covered == []


def test_a_period_is_picked(browser: Browser, folder: Path) -> None:
    drift = opened(browser, folder, plain)
    browser.run("document.querySelectorAll('.period-dot')[1].dispatchEvent(new MouseEvent('click'))")
    assert f"to {MARKUP[0]}" in browser.text("#change-says")
    shown = sorted(cells(browser, "#contributions tbody td.num:nth-child(2)"))
    assert shown == sorted(drift.values[0].tolist())


def test_a_period_of_a_single_row_has_no_error(browser: Browser, folder: Path) -> None:
    drift = opened(browser, folder, sparse)
    assert drift.standard_error is not None
    assert "not known" not in browser.text("#contributions tbody")
    browser.run("document.querySelectorAll('.period-dot')[1].dispatchEvent(new MouseEvent('click'))")
    assert "a period has a single row" in browser.text("#change-says")
    assert browser.text("#contributions tbody").count("not known") == 9
    assert browser.run("return document.querySelectorAll('#contributions .drift-error').length") == 0
    shown = sorted(cells(browser, "#contributions tbody td.num:nth-child(2)"))
    assert shown == sorted(drift.values[0].tolist())


def test_outputs_are_chosen(browser: Browser, folder: Path) -> None:
    drift = opened(browser, folder, classes)
    assert "not known" in browser.text("#contributions tbody")
    browser.run("const s = document.getElementById('output'); s.value = '2'; s.dispatchEvent(new Event('change'))")
    shown = sorted(cells(browser, "#contributions tbody td.num:nth-child(2)"))
    assert shown == sorted(drift.values[0, :, 2].tolist())
    np.testing.assert_allclose(cells(browser, "#table tbody td:nth-child(3)"), drift.means[:, 2], rtol=1e-15)
