"""The page about tools, with the real tools: its code prints what it shows, and what they serve opens in a browser."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
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

PAGE = DOCS / "tools.md"


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Run the page, and return what it has made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        names = run(PAGE, "py")
        yield names
    names["mlflow"].set_tracking_uri(None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def open_page(browser: Browser, address: str) -> None:
    browser.session.get(address)
    browser.until(lambda: browser.run(PLOTS) > 0)


@pytest.mark.filterwarnings("ignore")
def test_the_page_runs_and_every_fence_is_run(names: dict[str, Any]) -> None:
    assert len(blocks(PAGE, "py")) == PAGE.read_text(encoding="utf-8").count("```py") >= 6
    assert names["explanations"].shape[1] == names["X"].shape[1] + 1


@pytest.mark.filterwarnings("ignore")
def test_the_web_page_of_shapash(names: dict[str, Any], browser: Browser) -> None:
    names["smart"].init_app()
    with served(names["smart"].smartapp.app.server) as address:
        open_page(browser, address)
        bars = "return [...document.querySelectorAll('.yaxislayer-above text')].map((label) => label.textContent)"
        assert browser.until(lambda: {"s5", "bmi"} <= {*browser.run(bars)})


@pytest.mark.filterwarnings("ignore")
def test_the_dashboard_has_interactions(names: dict[str, Any], browser: Browser) -> None:
    with served(names["dashboard"].flask_server()) as address:
        open_page(browser, address)
        text = "return document.body.textContent"
        assert "Feature Interactions" in browser.run(text)
        assert browser.until(lambda: "mean area" in browser.run(text))


def test_pictures_are_shown_and_small() -> None:
    pictures = re.findall(r"\]\((images/tools-[\w]+\.png)\)", PAGE.read_text(encoding="utf-8"))
    assert len(pictures) == 3
    assert all((DOCS / picture).stat().st_size < 150_000 for picture in pictures)
    assert {Path(picture).name for picture in pictures} == {path.name for path in DOCS.glob("images/tools-*.png")}
