"""Forests and rows that are numerically hard, and small enough for exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arborshap import Forest, ForestBuilder
from support.forests import complete_tree

Array = NDArray[np.float64]
N_FEATURES = 5


@dataclass(frozen=True)
class Case:
    name: str
    forest: Forest
    X: Array
    Z: Array
    weights: Array | None = None


def complete_trees(
    rng: np.random.Generator, n_trees: int, depth: int, scales: Array | None = None, n_features: int = N_FEATURES
) -> Forest:
    """Make complete trees with training weights; leaves are multiplied by the scale of their tree."""
    inner, n = 2**depth - 1, 2 ** (depth + 1) - 1
    builder = ForestBuilder(n_features, rule="<=", precision="float64")
    for tree in range(n_trees):
        cover = np.ones(n)
        for node in range(inner):
            share = rng.uniform(0.1, 0.9)
            cover[2 * node + 1 : 2 * node + 3] = cover[node] * share, cover[node] * (1 - share)
        arrays = complete_tree(rng, depth, n_features)
        arrays["value"] *= 1.0 if scales is None else scales[tree]
        builder.add_tree(**arrays, default_left=rng.random(n) < 0.5, cover=cover)
    return builder.build()


def chain(features: Array, thresholds: Array, values: Array, n_features: int, cover: Array | None = None) -> Forest:
    """Make one path with a leaf beside each of its splits; the path goes on to the right."""
    n = 2 * len(features) + 1
    nodes = np.arange(n)
    inner = (nodes % 2 == 0) & (nodes < n - 1)

    def at_splits(numbers: Array) -> Array:
        spread = np.zeros(n)
        spread[:-1:2] = numbers
        return spread

    builder = ForestBuilder(n_features, rule="<=", precision="float64")
    builder.add_tree(
        left=np.where(inner, nodes + 1, -1),
        right=np.where(inner, nodes + 2, -1),
        feature=at_splits(features).astype(int),
        threshold=at_splits(thresholds),
        value=values,
        cover=cover,
    )
    return builder.build()


def deep_chain(rng: np.random.Generator, depth: int) -> Forest:
    """Make a path that tests a few features again and again, each time with a lower threshold."""
    features = rng.integers(0, N_FEATURES, depth).astype(float)
    thresholds = np.sort(rng.normal(size=depth))[::-1] - 1
    return chain(features, thresholds[::-1], rng.normal(size=2 * depth + 1), N_FEATURES)


def background_cases(seed: int) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(3, N_FEATURES)), rng.normal(size=(12, N_FEATURES))
    forest = complete_trees(rng, 4, 4)
    yield Case("plain", forest, X, Z)
    yield Case("one background row", forest, X, Z[:1])
    yield Case("each background row many times", forest, X, np.repeat(Z[:4], 5, axis=0))
    missing_x, missing_z = X.copy(), Z.copy()
    missing_x[0], missing_x[:, 1], missing_z[0], missing_z[:, 3] = np.nan, np.nan, np.nan, np.nan
    yield Case("rows and columns all NaN", forest, missing_x, missing_z)
    yield Case("weights over 12 orders of magnitude", forest, X, Z, 10.0 ** rng.uniform(-6, 6, len(Z)))
    yield Case("leaves of 1e30 and of 1e-30", complete_trees(rng, 4, 4, np.array([1e30, 1e-30, 1e30, 1e-30])), X, Z)
    yield Case("100 trees", complete_trees(rng, 100, 3), X[:1], Z[:6])
    yield Case("depth 500, few players", deep_chain(rng, 500), X[:2] + 1, Z[:6] + 1)


def path_dependent_cases(seed: int) -> Iterator[Case]:
    rng = np.random.default_rng(1000 + seed)
    X = rng.normal(size=(2, N_FEATURES))
    yield Case("path-dependent", complete_trees(rng, 3, 4), X, X[:0])


def chain_case(players: int) -> Case:
    """Make a path with this many players, and rows that differ from the background in half of them."""
    rng = np.random.default_rng(players)
    forest = chain(np.arange(players, dtype=float), np.zeros(players), rng.normal(size=2 * players + 1), players)
    X = np.where(rng.random((2, players)) < 0.5 / players * 4, -1.0, 1.0)
    Z = np.where(rng.random((3, players)) < 0.5, -1.0, 1.0)
    X[0] = 1.0
    return Case(f"{players} players on a path", forest, X, Z)
