"""Draw or photograph what shap, shapash, explainerdashboard and MLflow show, for their pages: `make tool-pictures`.

The code of the pages makes the explainers; a headless Chromium opens what the tools serve.
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from werkzeug.serving import make_server

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
IMAGES = DOCS / "images"

PLOTS = "return document.querySelectorAll('.main-svg').length"
STYLE = """
    const style = document.createElement("style");
    style.textContent = arguments[0];
    document.head.prepend(style);
    document.documentElement.style.scrollbarWidth = "none";
    for (const icon of document.querySelectorAll("*"))  // of a font from the network
        if (!icon.children.length && icon.textContent.trim() === "fullscreen")
            (icon.closest("a, button") ?? icon).style.visibility = "hidden";
    for (const button of document.querySelectorAll("button")) button.style.whiteSpace = "nowrap";
    window.dispatchEvent(new Event("resize"));
"""

sys.path.insert(0, str(ROOT / "tests" / "python"))


@contextmanager
def served(application: Any) -> Iterator[str]:
    """Serve a web application on a free port, and return its address."""
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()


def photograph(browser: Any, address: str, path: Path, size: tuple[int, int], *, tab: str = "", row: str = "") -> None:
    """Open a page, choose a tab or a row, wait until the plots stand still, and write a small picture."""
    browser.cdp("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
    browser.session.get(address)
    browser.until(lambda: browser.run(PLOTS) > 0)
    if row:
        browser.keys("#index_id", row, "\ue007")  # the key Enter
    if tab:
        browser.session.find_element("xpath", f"//*[normalize-space(.)='{tab}' and contains(@class, 'tab')]").click()
    browser.run(STYLE, bootstrap())
    time.sleep(20)  # plots are drawn, and move into place
    browser.run("window.scrollTo(0, 0)")
    browser.settle()
    browser.session.save_screenshot(str(path))
    shrink(path)


def shrink(path: Path) -> None:
    """Rewrite a picture with few colours."""
    with Image.open(path) as shot:
        few = shot.convert("RGB").quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1024:.0f} KB")


def bootstrap() -> str:
    """Return the style sheet that shapash loads from the network, which may not be there; explainerdashboard has it."""
    import explainerdashboard

    return Path(explainerdashboard.__file__).with_name("assets").joinpath("bootstrap.min.css").read_text()


def draw_shap(explanation: Any, path: Path) -> None:
    """Draw what shap's own plot shows of the adapter's explanation."""
    import matplotlib.pyplot as plt
    import shap

    plt.close("all")
    np.random.seed(0)  # noqa: NPY002 (shap spreads dots by it)
    shap.plots.beeswarm(explanation, show=False)
    plt.savefig(path, dpi=100, bbox_inches="tight")
    plt.close("all")
    shrink(path)


def main() -> None:
    from support.browser import chromium
    from support.pages import run

    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    os.environ["MPLBACKEND"] = "agg"
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        names = run(DOCS / "migrating-from-shap.md")
        draw_shap(names["loaded"](names["X"]), IMAGES / "tools-shap.png")
        evaluated = run(DOCS / "mlflow.md", "py")["result"]
        (IMAGES / "tools-mlflow.png").write_bytes(evaluated.artifacts["arborshap_importance.png"].content)
        with chromium() as browser:
            names = run(DOCS / "shapash.md", "py")
            names["smart"].init_app()
            with served(names["smart"].smartapp.app.server) as address:
                picture = IMAGES / "tools-shapash.png"
                photograph(browser, address, picture, (1400, 900), row=str(names["X_test"].index[0]))
            with served(run(DOCS / "explainerdashboard.md", "py")["dashboard"].flask_server()) as address:
                picture = IMAGES / "tools-explainerdashboard.png"
                photograph(browser, address, picture, (1400, 850), tab="Feature Interactions")
        os.chdir(ROOT)


if __name__ == "__main__":
    main()
