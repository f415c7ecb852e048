"""The docs' pictures are drawn by the code above them, and the notebooks run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import image

from support.patience import HANG
from support.places import ROOT

mpl.use("Agg")

sys.path.insert(0, str(ROOT / "scripts"))

import gallery

IMAGES = ROOT / "docs" / "images"


def test_a_picture_is_what_the_code_above_it_draws(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        """
```python
from matplotlib import pyplot as plt

ax = plt.subplots(figsize=(1, 1))[1]
ax.figure.set_facecolor("red")
ax.axis("off")
```

![red](images/red.png)
""",
        encoding="utf-8",
    )
    assert gallery.draw(page) == [tmp_path / "images" / "red.png"]
    pixels = np.asarray(image.imread(tmp_path / "images" / "red.png"))
    assert pixels.shape[:2] == (120, 120)
    np.testing.assert_allclose(pixels[60, 60, :3], [1, 0, 0], atol=0.02)


def test_a_picture_without_axes_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nax = 1\n```\n\n![x](images/x.png)\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"the code above images/x.png leaves no axes"):
        gallery.draw(page)


def test_pictures_are_shown_and_small() -> None:
    drawn = {
        picture
        for page in gallery.PAGES
        for picture in re.findall(r"\]\((images/[\w-]+\.png)\)", (ROOT / page).read_text(encoding="utf-8"))
    }
    assert len(drawn) >= 9
    sizes = {path.name: path.stat().st_size for path in IMAGES.glob("*.png")}
    assert {Path(picture).name for picture in drawn} <= set(sizes)
    assert sum(sizes[Path(picture).name] for picture in drawn) < 1_500_000


def test_notebooks_run_and_keep_what_they_show() -> None:
    script = ROOT / "scripts" / "notebooks.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stderr
