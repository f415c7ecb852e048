"""A real Chromium to open pages in, and what tests ask about a page."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from support.patience import HANG

T = TypeVar("T")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser for the tests of a module. Without one they are skipped, but never in continuous integration."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        reason = "there is no Chromium with its driver here; scripts/browser.sh installs them where it can"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to be root with one
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options=options, service=Service(driver))
    try:
        session.set_script_timeout(HANG)
        session.set_page_load_timeout(HANG)
        yield Browser(session)
    finally:
        session.quit()


class Browser:
    """A browser session with one page open at a time."""

    def __init__(self, session: webdriver.Chrome) -> None:
        self.session = session

    def open(self, page: Path, *, dark: bool = False, width: int = 1280) -> None:
        """Open a page from disk, and wait until it is ready."""
        self.cdp(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": ["light", "dark"][dark]}]
        )
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.logs()
        self.session.get(page.as_uri())
        ready = "return document.documentElement.dataset.ready || !document.getElementById('failure').hidden"
        self.until(lambda: self.run(ready))
        assert self.text("#failure") == ""

    def until(self, found: Callable[[], T]) -> T:
        """Wait, for as long as it takes, until an answer is true in Python's sense."""
        return WebDriverWait(self.session, HANG, poll_frequency=0.02).until(lambda _: found())

    def settle(self) -> None:
        """Wait until the browser has drawn everything in view; it checks once per frame, before it paints."""
        self.session.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))"
        )

    def run(self, script: str, *arguments: Any) -> Any:
        return self.session.execute_script(script, *arguments)

    def cdp(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Ask the browser itself, through the DevTools protocol."""
        answer: dict[str, Any] = self.session.execute_cdp_cmd(command, arguments)
        return answer

    def logs(self) -> tuple[list[str], set[str]]:
        """Return the console's messages since the last call, and every address that was requested."""
        entries = {kind: self.session.get_log(kind) for kind in ("browser", "performance")}  # type: ignore[no-untyped-call]
        said = [entry["message"] for entry in entries["browser"]]
        events = (json.loads(entry["message"])["message"] for entry in entries["performance"])
        asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
        return said, asked

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def click(self, selector: str) -> None:
        """Click on the element, as a user does."""
        element = self.session.find_element("css selector", selector)
        self.run("arguments[0].scrollIntoView({ block: 'center', behavior: 'instant' })", element)
        element.click()

    def keys(self, selector: str, *keys: str) -> None:
        self.session.find_element("css selector", selector).send_keys(*keys)

    def choose(self, selector: str, value: object) -> None:
        """Choose an option of a select element."""
        script = """
            const select = document.querySelector(arguments[0]);
            select.value = arguments[1];
            select.dispatchEvent(new Event("change"));
        """
        self.run(script, selector, str(value))

    def pick(self, picker: str, row: int) -> None:
        """Type a row's position into a picker's search, and click the first option."""
        script = """
            const search = document.getElementById(`${arguments[0]}-search`);
            search.value = arguments[1];
            search.dispatchEvent(new Event("input"));
            document.querySelector(`#${arguments[0]}-list .option`).click();
            search.value = "";
            search.dispatchEvent(new Event("input"));
        """
        self.run(script, picker, str(row))

    def numbers(self, table: str) -> dict[str, float]:
        """Return the numbers of a table by the headings of its rows."""
        script = """
            return [...document.querySelectorAll(`${arguments[0]} tbody tr`)].map((row) =>
                [row.querySelector("th").textContent, row.querySelector("[data-value]").dataset.value]);
        """
        return {name: float(value) for name, value in self.run(script, table)}

    def colours_of(self, selector: str) -> str:
        """Return what is drawn on a canvas, as text that differs if the drawing does."""
        # It is drawn when the browser finds it in sight, and until then as wide as canvases are by default.
        scroll = "document.querySelector(arguments[0]).scrollIntoView({ block: 'center', behavior: 'instant' })"
        self.run(scroll, selector)
        drawn = "return document.querySelector(arguments[0]).width !== 300"
        self.until(lambda: self.run(drawn, selector))
        return str(self.run("return document.querySelector(arguments[0]).toDataURL()", selector))
