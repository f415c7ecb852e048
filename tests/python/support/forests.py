"""Forests and rows made by hand or at random, which need no model library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap import Forest, ForestBuilder


def complete_tree(rng: np.random.Generator, depth: int, n_features: int) -> dict[str, Any]:
    """Make the arrays of a complete tree, as `ForestBuilder.add_tree` takes them."""
    inner, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    left = np.where(np.arange(nodes) < inner, 2 * np.arange(nodes) + 1, -1)
    return {
        "left": left,
        "right": np.where(left < 0, -1, left + 1),
        "feature": rng.integers(0, n_features, nodes),
        "threshold": rng.normal(size=nodes),
        "value": rng.normal(size=nodes),
    }


def random_forest(n_trees: int, depth: int, n_features: int, n_outputs: int = 1) -> Forest:
    """Make a forest of complete trees, the same for the same sizes."""
    rng = np.random.default_rng(11)
    builder = ForestBuilder(n_features, n_outputs, rule="<", precision="float32")
    for tree in range(n_trees):
        builder.add_tree(**complete_tree(rng, depth, n_features), output=tree % n_outputs)
    return builder.build()


def random_rows(n: int, n_features: int, seed: int) -> NDArray[np.float64]:
    """Make rows, the same for the same seed."""
    return np.random.default_rng(seed).normal(size=(n, n_features))


def far_out(step: float, base: float) -> tuple[Forest, NDArray[np.float64]]:
    """Make a forest and rows whose margins are all near `base`, though a leaf that no row reaches is `step` away."""
    builder = ForestBuilder(2, rule="<=", precision="float64")
    for feature in range(2):
        builder.add_tree(
            left=[1, 3, -1, -1, -1],
            right=[2, 4, -1, -1, -1],
            feature=[feature] * 5,
            threshold=[0.5, -1.0, 0, 0, 0],
            value=[0, 0, step, 0.0, 1.0 + feature],
        )
    return builder.build(base=base), np.array([[0.0, 0.0], [-2.0, 0.0], [0.0, -2.0], [-2.0, -2.0]])
