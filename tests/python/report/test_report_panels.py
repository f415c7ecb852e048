"""The page's panels in a real browser: units, histogram, dependence, matrix, axes, probabilities, paper, phones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBRegressor

from arborshap import TreeExplainer
from arborshap.draw import palette
from arborshap.result.explanation import Explanation
from support import report_cases
from support.browser import Browser
from support.report_pages import contrasts, opened

MINUS = "\N{MINUS SIGN}"


def numbers_in(text: str) -> list[float]:
    return [float(number.replace(MINUS, "-")) for number in re.findall(rf"[+{MINUS}]?\d+\.?\d*", text)]


def texts(browser: Browser, selector: str) -> list[str]:
    found = browser.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)
    return [str(text) for text in found]


# --- units ------------------------------------------------------------------------------------------------------


def test_log_odds_are_called_so_and_have_the_models_probability_beside_them(browser: Browser, folder: Path) -> None:
    reported = opened(browser, folder, report_cases.log_odds)
    explanation = reported.explanation
    margin = explanation.base_values + explanation.values.sum(axis=1)
    own = report_cases.model_of_people().predict_proba(reported.rows)[:, 1]
    assert "log-odds" in browser.text("#unit-says")
    for row in (3, 60):
        browser.pick("row", row)
        said = browser.text("#row-picked")
        assert re.match(rf"Row {row}: log-odds \S+ \(probability \S+\), expected value \S+ \(probability", said)
        np.testing.assert_allclose(numbers_in(said)[1:3], [margin[row], own[row]], rtol=2e-3)
        beside = browser.run("return document.querySelector('#row-fall tr:last-child small').textContent")
        assert beside.startswith("probability ")
        assert numbers_in(beside)[0] == pytest.approx(own[row], rel=2e-3)
    for selector in ("#swarm-unit", "#dependence-unit", "#histogram-unit", "#row-fall thead", "#contrast-fall thead"):
        assert "log-odds" in browser.text(selector), selector
    for selector in (
        "#swarm-hint",
        "#interactions-hint",
        "#contrast-hint",
        "#trace-hint",
        "#contrast-picked",
        "#cards",
    ):
        assert "log-odds" in browser.text(selector), selector
    low, high = numbers_in(texts(browser, "#cards > div:nth-child(5) small")[0])
    np.testing.assert_allclose([low, high], [own.min(), own.max()], rtol=5e-3)


def test_softmax_probabilities_are_those_of_all_classes(browser: Browser, folder: Path) -> None:
    reported = opened(browser, folder, report_cases.categories)
    explanation = reported.explanation
    margin = explanation.base_values + explanation.values.sum(axis=1)
    powers = np.exp(margin - margin.max(axis=1, keepdims=True))
    own = powers / powers.sum(axis=1, keepdims=True)
    for output in (0, 2):
        browser.choose("#output", output)
        browser.pick("row", 8)
        said = browser.text("#row-picked")
        assert "raw prediction" in said
        np.testing.assert_allclose(numbers_in(said)[1:3], [margin[8, output], own[8, output]], rtol=2e-3)


def test_a_prediction_stands_alone(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.pipeline)
    assert "unit of what the model predicts" in browser.text("#unit-says")
    assert "(" not in browser.text("#row-picked")
    assert browser.run("return document.querySelectorAll('#row-fall small').length") == 0


def test_what_a_colleague_sees_first(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.log_odds)
    names = texts(browser, "#cards dt")
    assert names == ["Rows", "Features", "Unit", "Expected value", "Range of predictions", "Largest gap"]


# --- histogram --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [report_cases.log_odds, report_cases.classes], ids=lambda make: make.__name__)
def test_the_histogram_counts_every_row(browser: Browser, folder: Path, make: Any) -> None:
    explanation = opened(browser, folder, make).explanation
    sums = explanation.base_values + explanation.values.sum(axis=1)
    for output in range(1 if sums.ndim == 1 else sums.shape[1]):
        if sums.ndim == 2:
            browser.choose("#output", output)
        numbers = sums if sums.ndim == 1 else sums[:, output]
        counts = browser.run(
            "return [...document.querySelectorAll('#histogram b')].map((b) => Number(b.dataset.count))"
        )
        assert sum(counts) == len(numbers)
        place = (numbers - numbers.min()) / (numbers.max() - numbers.min()) * 40
        inner = np.abs(place - np.round(place)) > 1e-6  # rounding decides about a number on an edge
        expected = np.bincount(place[inner].astype(int), minlength=41)[:40]
        assert (np.array(counts) >= expected).all()
        browser.pick("row", 5)
        mark = browser.run("return Number(document.querySelector('#histogram .row').dataset.value)")
        assert mark == pytest.approx(numbers[5], abs=1e-9)
    above = """
        const top = (s) => Math.min(...[...document.querySelectorAll(s)].map((b) => b.getBoundingClientRect().top));
        return top("#histogram b") - document.querySelector("#histogram .row span").getBoundingClientRect().bottom;
    """
    assert browser.run(above) >= 0, "the name of the row covers no bar"
    quartiles = numbers_in(browser.text("#predictions-says"))
    assert quartiles[0] == len(numbers)
    assert np.mean(numbers <= quartiles[1] + 1e-3) >= 0.24


# --- dependence -------------------------------------------------------------------------------------------------


def test_a_feature_is_drawn_against_its_values(browser: Browser, folder: Path) -> None:
    reported = opened(browser, folder, report_cases.log_odds)
    explanation = reported.explanation
    order = np.argsort(-np.abs(explanation.values).mean(axis=0), kind="stable")
    names = [explanation.feature_names[j] for j in order]
    assert texts(browser, "#dependence-column option") == names
    pairs = reported.explainer.interaction_importance(reported.rows).values
    pictures = set()
    for j, name in zip(order, names, strict=True):
        browser.choose("#dependence-column", int(j))
        browser.settle()
        pictures.add(browser.colours_of("#dependence-dots"))
        assert browser.text("#dependence-name") == name
        others = [explanation.feature_names[k] for k in np.argsort(-pairs[j]) if k != j]
        assert browser.text("#dependence-partner") == f"This feature interacts most with {others[0]}."
        assert len(texts(browser, "#dependence-y span")) >= 3
        label = browser.run("return document.getElementById('dependence-dots').getAttribute('aria-label')")
        assert name in label
    assert len(pictures) == len(names)
    browser.choose("#dependence-column", 0)
    age = explanation.data[:, 0].astype(float)  # type: ignore[index]
    thirds = np.argsort(age, kind="stable")
    label = browser.run("return document.getElementById('dependence-dots').getAttribute('aria-label')")
    low, high = numbers_in(label)
    n = len(age) // 3
    assert low == pytest.approx(explanation.values[thirds[:n], 0].mean(), abs=1e-3)
    assert high == pytest.approx(explanation.values[thirds[-n:], 0].mean(), abs=1e-3)


def test_a_partner_of_texts_is_named_although_it_has_no_colours(browser: Browser, folder: Path) -> None:
    rng = np.random.default_rng(0)
    flats = pd.DataFrame({"rooms": rng.integers(1, 7, 200), "town": pd.Categorical(rng.choice(["Bern", "Chur"], 200))})
    rent = flats["rooms"] * np.where(flats["town"] == "Bern", 400.0, 200.0)
    model = XGBRegressor(n_estimators=5, max_depth=3, enable_categorical=True).fit(flats, rent)
    TreeExplainer(model, flats)(flats).report(folder / "towns.html")
    browser.open(folder / "towns.html")
    browser.choose("#dependence-column", 0)
    assert browser.text("#dependence-partner") == (
        "This feature interacts most with town, whose texts have no colours here."
    )
    assert browser.run("return document.getElementById('dependence-colour').value") == ""
    browser.choose("#dependence-column", 1)
    assert browser.text("#dependence-partner") == "This feature interacts most with rooms."
    assert browser.run("return document.getElementById('dependence-colour').value") == "0"


def test_truth_values_stand_side_by_side_with_their_names(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.log_odds)
    browser.choose("#dependence-column", 2)
    assert texts(browser, "#dependence-x span") == ["missing", "0", "1"]  # a frame of numbers keeps no truth values
    browser.choose("#dependence-column", 3)
    assert texts(browser, "#dependence-x span") == ["0", "1", "2", "3", "4"]
    cells = np.array([[True, "a"], [False, "b"], [None, "a"], [True, "b"]], dtype=object)
    Explanation(np.eye(4)[:, :2], np.zeros(4), feature_names=["x", "y"], data=cells).report(folder / "truth.html")
    browser.open(folder / "truth.html")
    browser.choose("#dependence-column", 0)
    assert texts(browser, "#dependence-x span") == ["missing", "False", "True"]
    opened(browser, folder, report_cases.log_odds)
    browser.choose("#dependence-colour", "")
    plain = browser.colours_of("#dependence-dots")
    browser.choose("#dependence-colour", 3)
    assert browser.colours_of("#dependence-dots") != plain


def test_a_dot_of_the_dependence_selects_its_row(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.log_odds)
    browser.settle()
    script = """
        const canvas = document.getElementById("dependence-dots");
        canvas.scrollIntoView({ block: "center", behavior: "instant" });
        const box = canvas.getBoundingClientRect();
        for (let x = 4; x < box.width; x += 6) for (let y = 4; y < box.height; y += 6) {
            const at = { clientX: box.left + x, clientY: box.top + y, bubbles: true };
            canvas.dispatchEvent(new PointerEvent("pointermove", at));
            const said = document.getElementById("tip").textContent;
            if (!document.getElementById("tip").hidden && !said.startsWith("Row 0")) {
                canvas.dispatchEvent(new MouseEvent("click", at));
                return said;
            }
        }
    """
    said = browser.run(script)
    name = said.splitlines()[0]
    assert browser.text("#row-picked").startswith(f"{name}:")
    assert " = " in said


# --- colours, axes, matrix --------------------------------------------------------------------------------------


def share_of(browser: Browser, selector: str, colour: str) -> float:
    """The share of the drawn pixels of a canvas that are close to a colour."""
    browser.colours_of(selector)
    script = """
        const canvas = document.querySelector(arguments[0]);
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        const aim = [1, 3, 5].map((at) => parseInt(arguments[1].slice(at, at + 2), 16));
        let [drawn, close] = [0, 0];
        for (let i = 0; i < pixels.length; i += 4) {
            if (pixels[i + 3] < 120) continue;
            drawn += 1;
            if (aim.every((channel, k) => Math.abs(channel - pixels[i + k]) < 20)) close += 1;
        }
        return close / Math.max(1, drawn);
    """
    return float(browser.run(script, selector, colour))


@pytest.mark.parametrize("name", ["smoker", "member"])
def test_truth_values_are_coloured(browser: Browser, folder: Path, name: str) -> None:
    explanation = opened(browser, folder, report_cases.log_odds).explanation
    player = explanation.feature_names.index(name)
    strip = f"#swarm tr[data-player='{player}'] canvas"
    assert share_of(browser, strip, palette.LIGHT["up"]) > 0.1
    assert share_of(browser, strip, palette.LIGHT["down"]) > 0.1
    assert share_of(browser, strip, palette.LIGHT["missing"]) < 0.3


def test_the_page_has_the_colours_of_the_plots(browser: Browser, folder: Path) -> None:
    read = """
        return arguments[0].map((name) =>
            getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim())
    """
    for dark, colours in ((False, palette.LIGHT), (True, palette.DARK)):
        opened(browser, folder, report_cases.log_odds, dark=dark)
        assert browser.run(read, list(colours)) == list(colours.values())


@pytest.mark.parametrize(("low", "high"), [(-4.5, 4.9), (-45, 49), (-0.9, 0.05), (0, 3e-7), (0, 0), (1e12, 3e12)])
def test_an_axis_has_three_numbers(browser: Browser, folder: Path, low: float, high: float) -> None:
    values = np.array([[low, 0.0], [high, 0.0], [(low + high) / 2, 0.0]])
    explanation = Explanation(values, np.zeros(3), feature_names=["a", "b"], data=np.arange(6.0).reshape(3, 2))
    explanation.report(folder / "axis.html")
    browser.open(folder / "axis.html")
    for axis in ("#swarm-axis", "#dependence-y", "#dependence-x", "#histogram-axis"):
        shown = texts(browser, f"{axis} > span")
        assert 3 <= len(shown) <= 8, axis
        assert len(set(shown)) == len(shown), axis


@pytest.mark.parametrize("ending", ["", " ({})"], ids=["in the middle", "at the end"])
def test_names_differ_in_few_letters_where_the_names_do(browser: Browser, folder: Path, ending: str) -> None:
    names = [f"sensor reading number {i} of the northern hall{ending.format(i)}" for i in range(6)]
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 6)), columns=names)
    model = XGBRegressor(n_estimators=8, max_depth=3, n_jobs=1).fit(rows, rows.prod(axis=1))
    page = folder / f"matrix{len(ending)}.html"
    TreeExplainer(model, rows)(rows).report(page)
    browser.open(page)
    for headings in (texts(browser, "#heat tbody th"), texts(browser, "#heat tfoot th")):
        assert len(set(headings)) == 6
        assert max(map(len, headings)) <= 22
        if ending:
            assert {heading[-3:] for heading in headings} == {f"({i})" for i in range(6)}
    drawn = "return [...document.querySelectorAll('#trace-view .node:not(.leaf)')].map((node) => node.textContent)"
    questions = browser.run(drawn)  # the whole question, and then what the box has room for
    assert len(questions) > 0
    for text in questions:
        asked, boxed = text.split("?")
        assert str(numbers_in(asked)[0])[0] in boxed.split(" < ")[0]


# --- probabilities ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [report_cases.probability, report_cases.class_probabilities])
def test_contrasts_of_probabilities_are_those_of_the_explainer(browser: Browser, folder: Path, make: Any) -> None:
    reported = opened(browser, folder, make)
    outputs = reported.explanation.output_names
    rows = browser.run("return [...document.querySelectorAll('#a-list .option')].map((o) => Number(o.dataset.row))")
    pairs = [(0, 150), (0, 1), (5, 40), (149, 3)] if outputs is None else [(rows[0], rows[2]), (rows[1], rows[0])]
    for a, b in pairs:
        assert len(list(contrasts(browser, reported, a, b, 1e-9))) == len(outputs or [""])
    hint = browser.text("#contrast-hint")
    assert "scaled to add up to the difference in probability" in hint
    assert ("in advance" in hint) == (outputs is not None)
    assert "raw prediction" in browser.text("#trace-hint") or "log-odds" in browser.text("#trace-hint")
    assert browser.run("return document.querySelectorAll('#trace-view .node').length") > 0
    assert ("probability" in browser.text("#interactions-hint")) == (outputs is None)
    assert ("No interactions" in browser.text("#carried")) == (outputs is not None)


# --- paper and phones -------------------------------------------------------------------------------------------


def test_paper_cuts_no_figure(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.every_kind_of_split, width=720)
    browser.click("#trace-telling")
    wide = "return Number(document.querySelector('#trace-view svg').getAttribute('width'))"
    assert browser.run(wide) > 720, "the tree is wider than the paper"
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    try:
        browser.settle()
        inside = """
            const [view, svg] = ["#trace-view", "#trace-view svg"].map((s) =>
                document.querySelector(s).getBoundingClientRect());
            return [svg.right - view.right, svg.bottom - view.bottom,
                    document.documentElement.scrollWidth - document.documentElement.clientWidth];
        """
        assert max(browser.run(inside)) <= 1
        style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
        for selector in ("#importance .card", "#dependence .card", "#predictions .card", "#trace .card", "#row .wide"):
            assert browser.run(style, selector, "breakInside") == "avoid"
        for selector in ("h2", ".hint"):
            assert browser.run(style, selector, "breakAfter") == "avoid"
        for selector in (".top", "#row-picker", ".trace-tools"):
            assert browser.run(style, selector, "display") == "none"
    finally:
        browser.cdp("Emulation.setEmulatedMedia", media="")


def test_paper_squeezes_no_dots(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.log_odds, width=1280)
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    browser.cdp("Emulation.setDeviceMetricsOverride", width=720, height=900, deviceScaleFactor=1, mobile=False)
    try:
        ratios = """
            return [...document.querySelectorAll("#swarm canvas, #dependence-dots")].map((c) => {
                const { width, height } = c.getBoundingClientRect();
                return width / height / (c.width / c.height);
            });
        """
        np.testing.assert_allclose(browser.run(ratios), 1.0, atol=0.05)
        longest = "return Math.max(...[...document.querySelectorAll('.size b')].map((b) => b.clientWidth))"
        assert browser.run(longest) > 40
    finally:
        browser.cdp("Emulation.setEmulatedMedia", media="")


def test_paper_is_light_and_everything_on_it_is_drawn(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.classes, dark=True)
    unseen = "return [...document.querySelectorAll('#swarm canvas')].filter((c) => c.width === 300).length"
    theme = "return document.documentElement.dataset.theme"
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.run(unseen) == 0
    assert browser.run(theme) == "light"
    last = "#swarm tbody tr:last-child canvas"
    assert share_of(browser, last, palette.LIGHT["up"]) > 0.02
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    assert browser.run(theme) == "dark"


def test_long_names_have_room_on_a_phone(browser: Browser, folder: Path) -> None:
    name = "sensor reading number {} of the northern turbine hall, mean over one hour"
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=[name.format(i) for i in range(3)])
    explanation = Explanation(rows.to_numpy(), np.zeros(30), feature_names=list(rows.columns), data=rows.to_numpy())
    explanation.report(folder / "phone.html")
    browser.open(folder / "phone.html", width=390)
    lines = """
        return [...document.querySelectorAll(arguments[0])].map((th) =>
            th.getBoundingClientRect().height / parseFloat(getComputedStyle(th).lineHeight));
    """
    for table in ("#swarm tbody th", "#row-fall tbody th"):
        assert max(browser.run(lines, table)) <= 3.2, table
