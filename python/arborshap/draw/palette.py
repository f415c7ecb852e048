"""The colours of plots, of tables in notebooks and of the report: each colour has one meaning in all of them.

Blue and orange differ for every common kind of colour blindness. The purple between them is darker than the grey of
what is missing, so middling cells look different from missing ones even where hues cannot be told apart.
"""

from __future__ import annotations

RAISES, LOWERS = "#d9602b", "#2c77b8"
"""What raises or lowers a prediction; also the highest and the lowest cells of a column."""
MIDDLE = "#8a3f9b"
"""Cells halfway between low and high."""
SIZE = MIDDLE
"""Sizes, which have no sign."""
MISSING = "#9e9e9e"
"""What is missing or has no place between low and high."""
CATEGORIES = (LOWERS, RAISES, "#1a9e77", "#b8558f", "#c99a06", "#56b4e9", "#7a5c3e")

# The report has two backgrounds. On its light one the colours are those above, except for coloured text, which must be
# darker to be read; on its dark one all of them are brighter.
LIGHT = {
    "up": RAISES,
    "down": LOWERS,
    "middle": MIDDLE,
    "size": SIZE,
    "missing": MISSING,
    "gain": "#b3460f",
    "loss": "#1f68a8",
}
DARK = {
    "up": "#ff9a5c",
    "down": "#58a8f5",
    "middle": "#c084e8",
    "size": "#c084e8",
    "missing": "#6b7480",
    "gain": "#ff9a5c",
    "loss": "#6db4fa",
}


def custom_properties() -> str:
    """Return the colours of the report as custom properties of a style sheet."""
    bands = "".join(f"--band-{k}: {colour}; " for k, colour in enumerate(CATEGORIES))
    light, dark = ("".join(f"--{name}: {colour}; " for name, colour in colours.items()) for colours in (LIGHT, DARK))
    return f':root {{ {light}{bands}}}\n:root[data-theme="dark"] {{ {dark}}}\n'
