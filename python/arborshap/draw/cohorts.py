"""The plot of cohorts: what each player adds to the gap between a cohort and the others, as a map of colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborshap.draw import style
from arborshap.draw.bar import with_others
from arborshap.draw.drawn import name_of_values, shown_and_others
from arborshap.exceptions import InputError
from arborshap.result.comparison import position_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from arborshap.result.cohorts import CohortContrasts


def draw_cohorts(
    contrasts: CohortContrasts, reference: str | None, output: int | str | None, max_display: int, ax: Axes | None
) -> Axes:
    """Draw one line per cohort, one column per player, and the gaps at the ends of the lines."""
    names, values, against = list(contrasts.names), contrasts.values, "the rest"
    if contrasts.against == "each other":
        base = 0 if reference is None else position_of(reference, names, "cohort")
        against = names.pop(base)
        values = np.delete(values[:, base], base, axis=0)
    elif reference is not None:
        raise InputError("each cohort was compared with the rest, so there is no reference; leave reference out")
    values = contrasts.of_output(values, output, 2)
    shown, others = shown_and_others(np.abs(values).max(axis=0), max_display)
    cells = np.stack([with_others(line, shown, others, [])[0] for line in values])
    players = with_others(values[0], shown, others, style.short_names(contrasts.feature_names[j] for j in shown))[1]
    lines = style.short_names(names)

    ax = style.axes(ax, 3.4 + 0.75 * len(players), 1.9 + 0.5 * len(lines))
    style.quiet(ax, keep=())
    largest = float(np.abs(cells).max()) or 1.0
    ax.imshow(cells, cmap=style.around_zero(), vmin=-largest, vmax=largest, aspect="auto")
    ax.set_xticks(range(len(players)), players, rotation=40, ha="right", rotation_mode="anchor", parse_math=False)
    ax.set_yticks(range(len(lines)), lines, fontsize=style.LABEL, parse_math=False)
    ax.tick_params(axis="x", labelsize=style.TITLE)
    if len(players) <= 14:
        texts = np.reshape(style.signed(cells.ravel()), cells.shape)
        for i, j in np.ndindex(*cells.shape):
            colour = "#ffffff" if abs(cells[i, j]) > 0.6 * largest else "#222222"
            ax.text(j, i, str(texts[i, j]), ha="center", va="center", fontsize=style.NOTE, color=colour)
    for i, text in enumerate(style.signed(values.sum(axis=1))):
        ax.annotate(
            text,
            (1.0, i),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=style.TICK,
        )
    ax.annotate(
        "sum", (1.0, 1.0), xycoords="axes fraction", xytext=(6, 4), textcoords="offset points", fontsize=style.NOTE
    )
    what = name_of_values(contrasts.index, contrasts.model_output, contrasts.unit)
    ax.set_title(f"against {style.short_name(against)}: {what}", fontsize=style.TITLE, loc="left", parse_math=False)
    return ax
