"""The notebook display of an explanation: a few lines with bars, in plain HTML without scripts or style sheets."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw import palette, style
from arborshap.draw.drawn import Drawn, value_name, with_converted
from arborshap.draw.heatmap import pair_effects
from arborshap.game.indices import PAIR_INDICES, is_efficient

if TYPE_CHECKING:
    from arborshap.result.explanation import Explanation

_LINES = 10
_PAIR_ROWS = 500
"""Most rows to read for pairs, because displaying a result must not take longer than computing it."""


def as_html(explanation: Explanation) -> str:
    """Draw the largest values. Text from the data is escaped, and the colours suit light and dark notebooks."""
    head = f"<b>{escape(repr(explanation).strip('<>').split(';')[0])}</b>"
    players = explanation.players_by_axis()
    if explanation.values.size == 0 or not players or players[0] != players[-1]:
        return f"<div>{head}</div>"
    labels, values, note = _lines(explanation)
    order = np.argsort(-np.abs(values), kind="stable")
    shown = order[:_LINES]
    signed = not explanation.has("row") and not explanation.has("output")
    texts = style.signed(values[shown]) if signed else style.sizes(values[shown])
    largest = float(np.abs(values).max()) or 1.0
    names = style.short_names((labels[j] for j in shown), 48)
    rows = "".join(
        _row(name, text, _colour(float(values[j]), signed), float(values[j]) / largest)
        for j, name, text in zip(shown, names, texts, strict=True)
    )
    if len(order) > _LINES:
        note += f"; {len(order) - _LINES} more are smaller"
    return (
        f'<div style="font-size:90%">{head}<div style="opacity:.7">{escape(note)}</div>'
        f'<table style="border-collapse:collapse;margin-top:.3em">{rows}</table></div>'
    )


def _lines(explanation: Explanation) -> tuple[list[str], NDArray[Any], str]:
    """Return the labels and numbers to list, and a description of the numbers."""
    one_row = not explanation.has("row")
    if explanation.has("output"):
        outputs = ", ".join(map(style.short_name, (explanation.output_names or [])[:5]))
        values = np.abs(explanation.values)
        players = next(i for i, axis in enumerate(explanation.axes) if axis.kind == "player")
        over = tuple(i for i in range(values.ndim) if i != players)
        what = f"{value_name(explanation)}, mean size over all outputs: {outputs}"
        return explanation.feature_names, values.mean(axis=over), what
    if explanation.index in PAIR_INDICES:
        if len(explanation.players_by_axis()) == 1:
            return explanation.feature_names, _mean_size(explanation.values, one_row), "effects with one player"
        values = explanation.values[np.newaxis] if one_row else explanation.values[:_PAIR_ROWS]
        effects = pair_effects(values, signed=one_row)
        below = [(i, j) for i in range(len(effects)) for j in range(i + 1)]
        names = explanation.feature_names
        labels = [names[i] if i == j else f"{names[j]} and {names[i]}" for i, j in below]
        looked = "" if one_row or len(explanation) <= _PAIR_ROWS else f" in the first {_PAIR_ROWS} rows"
        what = value_name(explanation) if one_row else f"{value_name(explanation)}, mean size{looked}"
        return labels, np.array([effects[i, j] for i, j in below]), what
    drawn = Drawn.of(explanation, "bar")
    if not one_row:
        return drawn.names, np.abs(drawn.values).mean(axis=0), f"{value_name(explanation)}, mean size over the rows"
    total = drawn.base[0] + drawn.values[0].sum()
    unit, ends = explanation.unit, style.sizes(np.array([drawn.base[0], total]), of=drawn.values[0])
    what = (
        value_name(explanation)
        if not is_efficient(explanation.index)
        else f"from the base value {ends[0]} to the {with_converted(unit, total, f'{unit.name} {ends[1]}')}"
    )
    return drawn.labels(0, list(range(len(drawn.names)))), drawn.values[0], what


def _mean_size(values: NDArray[Any], one_row: bool) -> NDArray[Any]:
    return values if one_row else np.asarray(np.abs(values).mean(axis=0))


def _colour(value: float, signed: bool) -> str:
    """Colour by sign, as the plots do; sizes have no sign."""
    return palette.SIZE if not signed else palette.LOWERS if value < 0 else palette.RAISES


def _row(label: str, text: str, colour: str, share: float) -> str:
    bar = f'<div style="width:{abs(share) * 9:.2f}em;height:.8em;background:{colour};border-radius:.1em"></div>'
    cell = "padding:.1em .6em .1em 0;background:none;border:0;"
    return (
        f'<tr style="background:none"><td style="{cell}text-align:left">{escape(label)}</td>'
        f'<td style="{cell}text-align:right;font-variant-numeric:tabular-nums">{text}</td>'
        f'<td style="{cell}text-align:left">{bar}</td></tr>'
    )
