"""The pages about tools, with the real tools: code prints what is shown, and what they serve opens in a browser."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("shapash", reason="`make test-tools` brings shapash along")
pytest.importorskip("explainerdashboard", reason="`make test-tools` brings explainerdashboard along")
pytest.importorskip("mlflow", reason="`make test-tools` brings MLflow along")

from support.browser import Browser, chromium
from support.pages import blocks, run
from support.places import DOCS, ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from tool_pictures import PLOTS, served

PAGES = {tool: DOCS / f"{tool}.md" for tool in ("tools", "shapash", "explainerdashboard", "mlflow")}
PICTURES = {"shap": DOCS / "migrating-from-shap.md"} | {tool: PAGES[tool] for tool in PAGES if tool != "tools"}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """Run the pages, and return what each has made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        names = {tool: run(page, "py") for tool, page in PAGES.items()}
        yield names
    names["mlflow"]["mlflow"].set_tracking_uri(None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def open_page(browser: Browser, address: str) -> None:
    browser.session.get(address)
    browser.until(lambda: browser.run(PLOTS) > 0)


@pytest.mark.filterwarnings("ignore")
def test_the_pages_run_and_every_fence_is_run(names: dict[str, dict[str, Any]]) -> None:
    for page in PAGES.values():
        assert len(blocks(page, "py")) == page.read_text(encoding="utf-8").count("```py") >= 1
    assert names["mlflow"]["explanations"].shape[1] == names["mlflow"]["X"].shape[1] + 1


@pytest.mark.filterwarnings("ignore")
def test_the_web_page_of_shapash(names: dict[str, dict[str, Any]], browser: Browser) -> None:
    smart = names["shapash"]["smart"]
    smart.init_app()
    with served(smart.smartapp.app.server) as address:
        open_page(browser, address)
        bars = "return [...document.querySelectorAll('.yaxislayer-above text')].map((label) => label.textContent)"
        assert browser.until(lambda: {"s5", "bmi"} <= {*browser.run(bars)})


@pytest.mark.filterwarnings("ignore")
def test_the_dashboard_has_interactions(names: dict[str, dict[str, Any]], browser: Browser) -> None:
    with served(names["explainerdashboard"]["dashboard"].flask_server()) as address:
        open_page(browser, address)
        text = "return document.body.textContent"
        assert "Feature Interactions" in browser.run(text)
        assert browser.until(lambda: "mean area" in browser.run(text))


def test_every_tool_has_a_page_with_a_small_picture() -> None:
    for tool, page in PICTURES.items():
        assert f"](images/tools-{tool}.png)" in page.read_text(encoding="utf-8")
        assert (DOCS / f"images/tools-{tool}.png").stat().st_size < 150_000
    assert {f"tools-{tool}.png" for tool in PICTURES} == {path.name for path in DOCS.glob("images/tools-*.png")}
