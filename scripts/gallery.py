"""Draw the pictures of the docs with the code above them: `python scripts/gallery.py`.

If a picture of `docs/images/` follows a block of Python on a page, it is the figure of the axes that the block leaves
in `ax`.
"""

import re
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from PIL import Image

ROOT = Path(__file__).parent.parent
PAGES = ("docs/plots.md", "docs/trace.md", "docs/outputs.md", "docs/curves.md", "docs/populations.md")
PART = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^!\[[^\]]*\]\((?P<picture>images/[\w-]+\.png)\)$", re.MULTILINE | re.DOTALL
)


def main() -> None:
    plt.switch_backend("agg")  # there may be no screen
    for page in PAGES:
        for picture in draw(ROOT / page):
            print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size / 1024:.0f} KB")


def draw(page: Path) -> list[Path]:
    """Run a page's code from the top, and save a figure for each picture of the page."""
    names: dict[str, Any] = {"__name__": "__main__"}
    saved = []
    for part in PART.finditer(page.read_text(encoding="utf-8")):
        if part["code"]:
            names.pop("ax", None)
            exec(compile(part["code"], str(page), "exec"), names)
            continue
        ax = names.get("ax")
        if not isinstance(ax, Axes):
            raise SystemExit(f"{page.name}: the code above {part['picture']} leaves no axes in `ax`")
        saved.append(page.parent / part["picture"])
        save(ax, saved[-1])
    plt.close("all")
    return saved


def save(ax: Axes, path: Path) -> None:
    """Write a small file: twice the size at which it is shown, with as many colours as a plot needs."""
    path.parent.mkdir(exist_ok=True)
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.savefig(path, dpi=120)
    with Image.open(path) as drawn:
        few = drawn.convert("RGB").quantize(192, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    # Leave out the time of drawing and the version of matplotlib, which would change the file.
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
