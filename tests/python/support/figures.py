"""The trees of the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence

from arborshap import Forest, ForestBuilder


def figure_4(values: Sequence[float]) -> Forest:
    """Build the tree of Figures 2 and 4 with these values of its leaves 3 to 6."""
    builder = ForestBuilder(3, rule="<=", precision="float64")
    builder.add_tree(
        left=[1, 3, 5, -1, -1, -1, -1],
        right=[2, 4, 6, -1, -1, -1, -1],
        feature=[1, 2, 0, 0, 0, 0, 0],
        threshold=[0.5, 1.33, 0.25, 0, 0, 0, 0],
        value=[0, 0, 0, *values],
    )
    return builder.build()
