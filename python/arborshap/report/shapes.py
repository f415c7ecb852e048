"""The shape of each feature: the mean prediction as a function of its value, less the expected value."""

from __future__ import annotations

from typing import Any

import numpy as np

from arborshap.explain.provenance import Provenance
from arborshap.report.content import Content, evenly_spaced, numbers_and_levels
from arborshap.report.packing import packed

MOST_POINTS = 60
"""Points of a shape, which is drawn a few centimetres wide."""


def shapes_payload(content: Content, provenance: Provenance, outputs: list[int]) -> dict[str, Any] | None:
    """Return, for each player that is one column, some of its cells and the height of its shape there.

    The cells are those of rows, so shapes of texts and of columns that go through a pipeline are no different from
    those of numbers.
    """
    if content.data is None:
        return None
    cells, _ = numbers_and_levels(content.data[content.shown])
    players = content.explanation.data_players
    alone = {players.index(player): player for player in players if players.count(player) == 1}
    names = content.explanation.feature_names
    donors = np.zeros((MOST_POINTS, len(names)), np.intp)
    found: dict[int, Any] = {}
    for column, player in alone.items():
        different, rows = np.unique(cells[:, column], return_index=True)
        some = evenly_spaced(len(different), min(MOST_POINTS, len(different)))
        some[-1] = len(different) - 1
        donors[: len(some), names.index(player)] = content.shown[rows[some]]
        found[names.index(player)] = different[some].astype(np.float64)
    heights = provenance.main_effects(donors)
    if heights is None:
        return None
    return {
        str(player): {"cells": packed(points), "heights": packed(heights[: len(points), player][:, outputs].T)}
        for player, points in found.items()
    }
