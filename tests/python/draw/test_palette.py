"""One palette for plots, notebooks and the report, which every kind of colour blindness can read."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from arborshap import Explanation
from arborshap.draw import palette, style
from support.colours import SIGHT, channels, contrast, difference, ramp

THEMES = {"light": (palette.LIGHT, "#ffffff"), "dark": (palette.DARK, "#1a1e24")}


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", THEMES)
def test_low_middle_high_and_missing_can_be_told_apart(theme: str, sight: str) -> None:
    colours, _ = THEMES[theme]
    between = ramp([colours["down"], colours["middle"], colours["up"]])
    missing = channels(colours["missing"])
    assert min(difference(colour, missing, sight) for colour in between) > 15
    assert difference(between[0], between[-1], sight) > 60


@pytest.mark.parametrize("theme", THEMES)
def test_colours_can_be_seen_and_coloured_text_read(theme: str) -> None:
    colours, background = THEMES[theme]
    for name, least in {"up": 3, "down": 3, "middle": 3, "size": 3, "missing": 2.5, "gain": 4.5, "loss": 4.5}.items():
        assert contrast(channels(colours[name]), channels(background)) > least, name


def test_the_plots_have_the_colours_of_the_page() -> None:
    ends = [to_hex(style.low_to_high()(share)) for share in (0.0, 1.0)]
    assert ends == [palette.LIGHT["down"], palette.LIGHT["up"]]
    assert difference(channels(to_hex(style.low_to_high()(0.5))), channels(palette.LIGHT["middle"])) < 2


def test_a_notebook_has_the_colours_of_the_plots() -> None:
    explanation = Explanation(np.array([[1.0, -2.0], [3.0, 4.0]]), np.zeros(2), feature_names=["a", "b"])
    one_row, all_rows = explanation[0]._repr_html_(), explanation._repr_html_()
    assert palette.RAISES in one_row
    assert palette.LOWERS in one_row
    assert palette.SIZE not in one_row
    assert palette.SIZE in all_rows
    assert palette.RAISES not in all_rows
    bars = explanation.plot.bar().patches
    assert {to_hex(bar.get_facecolor()) for bar in bars} == {palette.SIZE}
