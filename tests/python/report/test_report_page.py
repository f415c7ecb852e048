"""The report in a real browser: it opens from disk, its numbers are the arrays', and its walk is the explainer's."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBClassifier

from arborshap import TreeExplainer
from arborshap.report import trees
from arborshap.result.explanation import Explanation
from support import report_cases
from support.browser import Browser
from support.colours import channels, contrast
from support.report_cases import MARKUP
from support.report_pages import case, contrasts, opened

CASES = (
    report_cases.every_kind_of_split,
    report_cases.groups_and_gaps,
    report_cases.classes,
    report_cases.categories,
    report_cases.pipeline,
    report_cases.markup,
)


def values_of(explanation: Explanation, output: int) -> np.ndarray[Any, Any]:
    """(rows, players) of one output."""
    return explanation.values if explanation.values.ndim == 2 else explanation.values[..., output]


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_it_opens_from_disk_in_silence(browser: Browser, folder: Path, make: Any) -> None:
    opened(browser, folder, make)
    said, asked = browser.logs()
    assert said == []
    assert asked == {(folder / f"{make.__name__}.html").as_uri()}
    assert browser.run("return window.harmed") is None
    assert browser.text("h1") == browser.session.title == "A title & more"


def test_the_policy_lets_nothing_else_run(browser: Browser, folder: Path) -> None:
    """Even markup that got past the escaping could do nothing."""
    opened(browser, folder, report_cases.markup)
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.harmed = 9'; document.body.append(s)"
    )
    browser.run("const i = new Image(); i.src = 'https://example.org/pixel.png'; document.body.append(i)")
    refused: list[str] = []

    def both_are_refused() -> bool:
        refused.extend(line for line in browser.logs()[0] if "Content Security Policy" in line)
        return len(refused) >= 2

    browser.until(both_are_refused)
    assert browser.run("return window.harmed") is None
    assert len(refused) == 2


def test_names_that_are_markup_show_as_text(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.markup)
    shown = browser.run("return [...document.querySelectorAll('#swarm tbody th')].map((th) => th.textContent)")
    assert sorted(shown) == sorted(MARKUP)
    options = browser.run("return [...document.querySelectorAll('#output option')].map((o) => o.textContent)")
    assert options == sorted(MARKUP)
    assert MARKUP[0] in browser.text("#row-picked")
    browser.click("#trace summary")
    assert any(name in browser.text("#trace-table") for name in MARKUP)
    opened(browser, folder, report_cases.categories)
    shown = {browser.run("return document.querySelector('#row-fall .cell').textContent")}
    for row in range(20):
        browser.pick("row", row)
        shown |= set(
            browser.run("return [...document.querySelectorAll('#row-fall .cell')].map((td) => td.textContent)")
        )
    assert {*MARKUP, "Thun", "missing"} <= shown


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_its_numbers_are_the_arrays(browser: Browser, folder: Path, make: Any) -> None:
    explanation = opened(browser, folder, make).explanation
    if browser.run("return !document.getElementById('row-more').hidden"):
        browser.click("#row-more")
    for output in range(1 if explanation.output_names is None else len(explanation.output_names)):
        if explanation.output_names is not None:
            browser.choose("#output", output)
        values = values_of(explanation, output)
        importance = np.abs(values).mean(axis=0)
        shown = browser.numbers("#swarm")
        assert list(shown) == [explanation.feature_names[j] for j in np.argsort(-importance, kind="stable")]
        np.testing.assert_allclose(list(shown.values()), np.sort(importance)[::-1], rtol=1e-12)
        browser.pick("row", 17)
        fall = browser.numbers("#row-fall")
        base = np.reshape(explanation.base_values, (len(values), -1))[17, output]
        assert fall.pop("Expected value") == base
        assert fall.pop("Prediction of this row") == pytest.approx(base + values[17].sum(), abs=1e-9)
        assert fall == {name: values[17, j] for j, name in enumerate(explanation.feature_names)}
    gap = float(browser.run("return document.getElementById('gap').dataset.value"))
    assert 0 <= gap < 1e-12
    assert str(len(explanation)) in browser.text("#carried")


def test_the_pickers_change_what_is_drawn(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.classes)
    pictures = {browser.colours_of("#swarm canvas")}
    falls = {browser.text("#row-fall")}
    for row in (5, 100):
        browser.pick("row", row)
        assert browser.text("#row-picked").startswith(f"Row {row}:")
        pictures.add(browser.colours_of("#swarm canvas"))
        falls.add(browser.text("#row-fall"))
    browser.choose("#output", 2)
    pictures.add(browser.colours_of("#swarm canvas"))
    falls.add(browser.text("#row-fall"))
    assert len(pictures) == len(falls) == 4
    contrast = browser.text("#contrast-picked")
    browser.click("#swap")
    assert browser.text("#contrast-picked") != contrast


def test_a_dot_tells_its_row_and_picks_it(browser: Browser, folder: Path) -> None:
    explanation = opened(browser, folder, report_cases.groups_and_gaps).explanation
    browser.colours_of("#swarm canvas")  # waits until there are dots
    strip = browser.session.find_element("css selector", "#swarm canvas")
    player = browser.text("#swarm tbody th")
    width = strip.size["width"]
    picked = set()
    for x in range(-width // 2 + 2, width // 2, 12):
        ActionChains(browser.session, duration=0).move_to_element_with_offset(strip, x, 0).perform()
        if not browser.run("return document.getElementById('tip').hidden"):
            name, said = browser.text("#tip").split("\n")
            row = int(name.split()[1])
            value = explanation.values[row, explanation.feature_names.index(player)]
            assert float(said.rsplit(": ")[1].replace("\u2212", "-")) == pytest.approx(value, rel=1e-3)
            ActionChains(browser.session, duration=0).click().perform()
            assert browser.text("#row-picked").startswith(f"{name}:")
            picked.add(row)
    assert len(picked) > 5


def test_odd_explanations_have_a_page_too(browser: Browser, folder: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=40), np.full(40, np.nan), np.full(40, np.inf), np.zeros(40)])
    forest = report_cases.random_forest(rng, 3, 4)
    constant = DecisionTreeRegressor().fit(rows[:, :1], np.ones(40))
    narrow = TreeExplainer(constant, rows[:, :1], feature_names=["a very long name " * 20])
    explainer = TreeExplainer(forest, rows)
    odd = {
        "one row": explainer(rows)[3],
        "two equal rows": explainer(rows[[3, 3]]),
        "one player that does nothing": narrow(rows[:, :1]),
        "a contrast": explainer.contrast(rows[0], rows[1]),
        "missing values": Explanation(np.full((3, 2), np.nan), np.zeros(3), feature_names=["a", ""]),
        "no background": TreeExplainer(DecisionTreeRegressor(max_depth=3).fit(rows[:, :1], rows[:, 0]))(rows[:, :1]),
        "Banzhaf values": explainer(rows, index="banzhaf"),
    }
    for name, explanation in odd.items():
        explanation.report(folder / f"{name}.html", title=name)
        browser.open(folder / f"{name}.html", width=400)
        assert browser.logs()[0] == [], name
        assert browser.run("return document.documentElement.scrollWidth") <= 400, name
        assert browser.run("return document.getElementById('trace').hidden") == (name in NOT_WALKED), name


def test_infinite_cells_have_a_colour(browser: Browser, folder: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 4))
    rows[::3, 0], rows[1::3, 1] = np.inf, -np.inf
    rows[::4, 2], rows[1::4, 2] = 1.7e308, -1.7e308
    rows[:, 3] = np.where(np.arange(40) % 5 == 0, np.inf, 2.0)
    explainer = TreeExplainer(report_cases.random_forest(rng, 3, 4), rng.normal(size=(20, 4)))
    explainer(rows).report(folder / "infinite.html")
    browser.open(folder / "infinite.html")
    for player in range(4):
        drawn = browser.colours_of(f"#swarm tr:nth-child({player + 1}) canvas")
        assert len(drawn) > 1000  # an error would leave it empty, and be said
    assert browser.logs()[0] == []
    assert "\u221e" in browser.text("#row-fall")


def test_names_are_shown_up_to_a_length(browser: Browser, folder: Path) -> None:
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), index=["label " * 3000] * 30)
    model = DecisionTreeRegressor(max_depth=3).fit(rows.to_numpy(), rows[0])
    explainer = TreeExplainer(model, rows.to_numpy(), feature_names=["long " * 2000, "\U0001f600" * 500])
    explainer(rows.set_axis(explainer.feature_names, axis=1)).report(folder / "names.html")
    browser.open(folder / "names.html", width=400)
    assert browser.run("return document.documentElement.scrollHeight") < 12_000
    assert browser.run("return document.body.textContent.isWellFormed()")


def test_names_turn_no_text_around_them(browser: Browser, folder: Path) -> None:
    """A mark of direction in a row's label would show the number after it backwards."""
    labels = ["\u202e12", "\u05d0\u05d1", "plain"]
    names = ["\u2067a\u202e", "\u05d2 3", "b"]
    Explanation(np.ones((3, 3)), np.zeros(3), feature_names=names, row_labels=np.array(labels)).report(
        folder / "turned.html"
    )
    browser.open(folder / "turned.html")
    assert sorted(browser.numbers("#swarm")) == ["a", "b", "\u2068\u05d2 3\u2069"]
    for row, label in enumerate(["12", "\u2068\u05d0\u05d1\u2069", "plain"]):
        browser.pick("row", row)
        assert browser.text("#row-picked").startswith(f"{label}: ")
    assert not browser.run("return /[\u202a-\u202e]/.test(document.body.innerText)")


def test_where_values_end_is_called_what_it_is(browser: Browser, folder: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 3))
    label = (rows[:, 0] > 0).astype(int)
    model = XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(rows, label)
    explainer = TreeExplainer(model, rows)
    loss = TreeExplainer(model, rows, model_output="log_loss")(rows, label)
    some = explainer(rows)[:, ["x1", "x2"]]
    for name, explanation, end in [
        ("whole", explainer(rows), "Prediction of this row"),
        ("some", some, "With these players only, so this is not the prediction"),
        ("loss", loss, "Loss of this row"),
    ]:
        explanation.report(folder / f"end {name}.html")
        browser.open(folder / f"end {name}.html")
        told = browser.numbers("#row-fall")
        assert list(told)[-1] == end
        assert told[end] == pytest.approx(explanation.base_values[0] + explanation.values[0].sum())
        assert (": log loss " in browser.text("#row-picked")) == (name == "loss")


def test_it_says_how_precise_its_values_are(browser: Browser, folder: Path) -> None:
    explainer = case(report_cases.groups_and_gaps).explainer
    rows = case(report_cases.groups_and_gaps).rows
    for name, explanation, said in [
        ("full", explainer(rows), "Values with full precision"),
        ("narrow", explainer(rows, dtype=np.float32), "Values with float32 precision"),
        ("zeros", Explanation(np.zeros((3, 2)), np.zeros(3), feature_names=["a", "b"]), "Values with full precision"),
    ]:
        explanation.report(folder / f"precision {name}.html")
        browser.open(folder / f"precision {name}.html")
        assert said in browser.text("#carried")


NOT_WALKED = {"one row", "a contrast", "missing values"}


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_contrasts_are_those_of_the_explainer(browser: Browser, folder: Path, make: Any) -> None:
    reported = opened(browser, folder, make)
    if browser.run("return !document.getElementById('contrast-more').hidden"):
        browser.click("#contrast-more")
    outputs = reported.explanation.output_names
    pairs = [(i, i + 1) for i in range(25)] if outputs is None else [(17, 17), *((i, 39 - i) for i in range(6))]
    moved: set[int] = set()
    for a, b in pairs:
        for output, shown, values, expected in contrasts(browser, reported, a, b, 1e-13):
            moved.add(output) if values.any() else None
            of_b, of_a = (number for name, number in shown.items() if name.startswith(("A: ", "B: ")))
            assert of_b == pytest.approx(np.reshape(expected.base_values, -1)[output], abs=1e-12)
            assert of_a - of_b == pytest.approx(values.sum(), abs=1e-12)
    assert len(moved) == len(outputs or [""])


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_traces_are_those_of_the_explainer(browser: Browser, folder: Path, make: Any) -> None:
    reported = opened(browser, folder, make)
    outputs = reported.explanation.output_names
    output = 0 if outputs is None else 1
    if outputs is not None:
        browser.choose("#output", output)
    script = "return [...document.querySelectorAll('#trace-tree option')].map((o) => [o.value, o.textContent])"
    for position, (choice, number) in enumerate(browser.run(script)[:6]):
        a, b = 2 + position, 33 - position
        browser.pick("a", a)
        browser.pick("b", b)
        browser.choose("#trace-tree", choice)
        expected = reported.explainer.trace(reported.row(a), reported.row(b), int(number)).to_dict()
        steps = browser.run(READ_TRACE)
        assert len(steps) == len(expected["steps"])
        at = 0 if len(expected["outputs"]) == 1 else output
        for shown, wanted in zip(steps, expected["steps"], strict=True):
            assert shown["node"] == wanted["node"]
            assert shown["s_x"] == "{" + ", ".join(wanted["s_x"]) + "}"
            assert shown["s_z"] == "{" + ", ".join(wanted["s_z"]) + "}"
            if wanted["kind"] == "split":
                edges = [wanted["left"], wanted["right"]]
                assert shown["edges"] == [e["type"] + ("" if e["followed"] else ", not followed") for e in edges]
                assert shown["scenario"] == wanted["scenario"]
            else:
                assert shown["value"] == wanted["value"][at]
                gains = {player: share[at] for player, share in wanted["contributions"].items()}
                assert {expected["players"][int(p)]: v for p, v in shown["gains"]} == pytest.approx(gains, abs=1e-15)
        phi = np.reshape(expected["phi"], (len(expected["players"]), -1))[:, output]
        totals = browser.numbers("#trace-phi")
        assert totals.pop("Sum") == pytest.approx(expected["value_x"][at] - expected["value_z"][at], abs=1e-12)
        got = np.array([totals.get(name, 0.0) for name in expected["players"]])
        np.testing.assert_allclose(got, phi, rtol=0, atol=1e-13)


READ_TRACE = """
    return [...document.querySelectorAll("#trace-table tbody tr")].map((row) => ({
        node: Number(row.dataset.node), value: Number(row.dataset.value), scenario: Number(row.dataset.scenario),
        edges: [row.cells[4].textContent, row.cells[5].textContent],
        s_x: row.cells[6].textContent, s_z: row.cells[7].textContent,
        gains: [...row.cells[8].querySelectorAll("span")].map((s) => [s.dataset.player, Number(s.dataset.value)]),
    }));
"""


def test_the_trace_steps(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.groups_and_gaps)
    browser.click("#trace-telling")
    n = len(browser.run(READ_TRACE))
    assert n > 5
    assert f"Step {n} of {n}." in browser.text("#trace-says")
    browser.click("#trace-first")
    assert browser.run("return document.querySelectorAll('#trace-view .node.later').length") == n - 1
    assert browser.run("return document.querySelectorAll('#trace-view .now').length") == 1
    assert browser.run("return document.getElementById('trace-back').disabled")
    said = set()
    for step in range(2, n + 1):
        browser.click("#trace-next") if step % 2 else browser.keys("#trace-view", Keys.ARROW_RIGHT)
        assert f"Step {step} of {n}." in browser.text("#trace-says")
        said.add(browser.text("#trace-says"))
        assert browser.run("return document.querySelectorAll('#trace-view .node.later').length") == n - step
    assert len(said) == n - 1
    browser.keys("#trace-view", Keys.HOME)
    assert f"Step 1 of {n}." in browser.text("#trace-says")
    drawn = browser.run("""
        return [...document.querySelectorAll("#trace-view [data-type]")].map((group) =>
            [group.dataset.type, getComputedStyle(group.querySelector(".edge")).stroke]);
    """)
    colours = dict(map(tuple, drawn))
    assert {"X", "Z"} <= set(colours) <= {"X", "Z", "F", "B"}
    red, green, blue = np.array([[int(part) for part in colours[kind][4:-1].split(",")] for kind in ("Z", "X", "F")])
    assert (red.argmax(), green.argmax(), blue.argmax()) == (0, 1, 2)


def test_a_large_page_makes_only_what_is_in_sight(browser: Browser, folder: Path) -> None:
    """5000 rows of 200 players are a million dots; a page is quick if it makes few elements and draws few strips."""
    page = folder / "large.html"
    reported = case(report_cases.large)
    reported.explanation.report(page)
    browser.open(page)
    browser.pick("row", 4321)
    assert browser.text("#row-picked").startswith("Row 4321:")
    shown = browser.numbers("#row-fall")
    top = np.argsort(-np.abs(reported.explanation.values[4321]))[:12]
    names = [reported.explanation.feature_names[j] for j in top]
    assert list(shown)[1:13] == names
    np.testing.assert_allclose([shown[name] for name in names], reported.explanation.values[4321, top], rtol=1e-6)
    assert browser.run("return document.querySelectorAll('*').length") < 3000
    assert browser.run("return document.querySelectorAll('.option').length") < 150
    assert browser.run("return document.querySelectorAll('#swarm canvas').length") == 15
    browser.click("#swarm-more")
    assert browser.run("return document.querySelectorAll('#swarm canvas').length") == 200
    drawn = "return [...document.querySelectorAll('#swarm canvas')].filter((c) => c.width !== 300).length"
    browser.until(lambda: browser.run(drawn) > 5)
    browser.settle()
    assert browser.run(drawn) < 60
    browser.keys("#row-list", Keys.END)
    assert browser.text("#row-picked").startswith("Row 4999:")
    assert browser.logs()[0] == []


def test_trees_beyond_the_budget(browser: Browser, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "BUDGET", 1500)
    reported = case(report_cases.classes)
    reported.explanation.report(folder / "budget.html")
    browser.open(folder / "budget.html")
    assert "too many trees for this page, so 20 rows" in browser.text("#contrast-hint")
    kept = browser.run("return document.querySelectorAll('#trace-tree option').length")
    assert 1 <= kept < 10
    assert f"first {kept}" in browser.text("#trace-hint")
    assert browser.text("#a-picker .found") == browser.text("#b-picker .found") == "20 rows, each with its probability"
    browser.pick("a", 8)
    browser.pick("b", 17)
    browser.click("#contrast-more")
    browser.choose("#output", 1)
    expected = reported.explainer.contrast(reported.row(8), reported.row(17))
    shown = browser.numbers("#contrast-fall")
    np.testing.assert_allclose([shown[n] for n in expected.feature_names], expected.values[:, 1], rtol=0, atol=1e-13)


def test_without_an_explainer_there_is_still_a_page(browser: Browser, folder: Path) -> None:
    values = np.random.default_rng(0).normal(size=(30, 3))
    explanation = Explanation(values, np.full(30, 2.0), feature_names=["a", "b", "c"])
    explanation.report(folder / "by_hand.html")
    browser.open(folder / "by_hand.html")
    browser.pick("row", 7)
    shown = browser.numbers("#row-fall")
    assert [shown[name] for name in "abc"] == values[7].tolist()
    assert shown["Prediction of this row"] == pytest.approx(2 + values[7].sum())
    for section in ("contrast", "trace", "interactions", "additivity"):
        assert browser.run("return document.getElementById(arguments[0]).hidden", section)
    assert "does not know its explainer" in browser.text("#carried")
    assert browser.logs()[0] == []


def test_interactions_that_were_explained(browser: Browser, folder: Path) -> None:
    reported = case(report_cases.groups_and_gaps)
    explanation = reported.explainer(reported.rows[:60], index="taylor")
    explanation.report(folder / "taylor.html", max_rows=25)
    browser.open(folder / "taylor.html")
    sizes = np.abs(explanation.values).mean(axis=0)
    cells = browser.run(
        "return [...document.querySelectorAll('#heat td[data-value]')].map((td) => Number(td.dataset.value))"
    )
    # Both halves of a pair together, below the diagonal, as in the list beside it.
    whole = np.tril(2 * sizes - np.diag(np.diag(sizes)))
    np.testing.assert_allclose(np.sort(cells), np.sort(whole[np.tril_indices(3)]), rtol=1e-12)
    names = explanation.feature_names
    pairs = {f"{names[i]} \u00d7 {names[j]}": 2 * sizes[i, j] for i in range(3) for j in range(i + 1, 3)}
    assert browser.numbers("#pairs") == pytest.approx(pairs)
    assert "35 of 60 are left out" in browser.text("#carried")
    np.testing.assert_allclose(
        list(browser.numbers("#swarm").values()), np.sort(np.abs(explanation.values.sum(axis=2)).mean(axis=0))[::-1]
    )


def test_light_and_dark(browser: Browser, folder: Path) -> None:
    read = "return [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]"
    opened(browser, folder, report_cases.classes)
    light = browser.run(read)
    opened(browser, folder, report_cases.classes, dark=True)
    dark = browser.run(read)
    assert (light[0], dark[0]) == ("light", "dark")
    assert light[1] != dark[1]
    drawn = browser.colours_of("#swarm canvas")
    browser.click("#theme")
    assert browser.run(read) == light
    assert browser.run("return document.getElementById('theme').getAttribute('aria-pressed')") == "false"
    assert browser.colours_of("#swarm canvas") != drawn


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_stands_out_from_its_ground(browser: Browser, folder: Path, dark: bool) -> None:
    """At least 4.5 to 1, as WCAG 2 asks for text."""
    opened(browser, folder, report_cases.classes, dark=dark)
    script = """
        const style = getComputedStyle(document.documentElement);
        return Object.fromEntries(arguments[0].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    """
    inks = ["text", "soft", "accent", "gain", "loss", "edge-b"]
    found = browser.run(script, ["page", "card", *inks])
    for ground in ("page", "card"):
        for ink in inks:
            assert contrast(channels(found[ground]), channels(found[ink])) >= 4.5, (ground, ink)


def test_the_keyboard_does_everything(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.groups_and_gaps)
    body = browser.session.find_element("css selector", "body")
    body.send_keys(Keys.TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    reached = set()
    for _ in range(45):
        browser.session.switch_to.active_element.send_keys(Keys.TAB)
        focused = "const e = document.activeElement; return [e.id, getComputedStyle(e).outlineStyle, e.tagName]"
        name, outline, tag = browser.run(focused)
        if tag == "BODY":  # past the last one
            break
        assert outline != "none", name
        reached.add(name)
    assert {
        "theme",
        "row-search",
        "row-sort",
        "row-list",
        "a-list",
        "b-list",
        "swap",
        "trace-tree",
        "trace-view",
    } <= reached
    browser.keys("#row-list", Keys.END, Keys.ARROW_DOWN, Keys.HOME, Keys.ARROW_DOWN, Keys.PAGE_DOWN, Keys.ARROW_UP)
    assert browser.text("#row-picked").startswith("patient 10:")
    active = browser.run("return document.getElementById('row-list').getAttribute('aria-activedescendant')")
    assert browser.text(f"#{active}").startswith("patient 10")
    browser.keys("#row-search", "patient 14", Keys.ARROW_DOWN)
    assert browser.text("#row-picker .found") == "11 rows found, each with its prediction"
    assert browser.text("#row-picked").startswith("patient 14:")
    browser.keys("#row-sort", "highest")
    predictions = np.asarray(
        case(report_cases.groups_and_gaps).explainer.forest.margin(case(report_cases.groups_and_gaps).rows)
    )
    among = [14, *range(140, 150)]
    best = among[int(np.argmax(predictions[among, 0]))]
    first = browser.run("return document.querySelector('#row-list .option span').textContent")
    assert first == f"patient {best}"


def test_everything_has_a_name_for_a_screen_reader(browser: Browser, folder: Path) -> None:
    opened(browser, folder, report_cases.classes)
    headings = browser.run("return [...document.querySelectorAll('h1, h2, h3')].map((h) => Number(h.tagName[1]))")
    assert headings[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(headings))
    ids = browser.run("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    nodes = browser.cdp("Accessibility.getFullAXTree")["nodes"]
    wanted = {
        "button",
        "combobox",
        "searchbox",
        "slider",
        "listbox",
        "option",
        "image",
        "img",
        "link",
        "region",
        "navigation",
    }
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    found = [(role, name) for role, name in named if role in wanted]
    assert {"button", "combobox", "searchbox", "slider", "listbox", "option", "link"} <= {role for role, _ in found}
    assert [role for role, name in found if not name.strip()] == []


@pytest.mark.parametrize("width", [320, 400, 768, 1920])
def test_no_screen_is_too_narrow(browser: Browser, folder: Path, width: int) -> None:
    for make in (report_cases.classes, report_cases.markup):
        opened(browser, folder, make, width=width)
        assert browser.run("return document.documentElement.scrollWidth") <= width
