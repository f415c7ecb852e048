"""The game without a background, by its definition: absent players follow the training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arborshap import Forest

Array = NDArray[np.float64]


def goes_left(forest: Forest, node: int, x: float) -> bool:
    """Route a value, by the meaning of the flags alone."""
    flags = int(forest.flags[node])
    value = float(np.float32(x)) if flags & 2 else x
    if flags & 8 and np.isnan(value):
        value = 0.0
    if np.isnan(value) or (flags & 16 and abs(value) <= 1e-35):
        return bool(flags & 4)
    if flags & 32:
        entry = int(np.searchsorted(forest.category_nodes, node))
        members = forest.categories[slice(*forest.category_offsets[entry : entry + 2])]
        inside = (value >= 0 or (bool(flags & 128) and value > -1)) and np.isin(np.trunc(value), members)
        return bool(inside == bool(flags & 64))
    return bool(value <= forest.threshold[node] if flags & 1 else value < forest.threshold[node])


def worths_by_cover(forest: Forest, X: Array, players: Sequence[int]) -> Array:
    """The worth of every coalition: its players go where x sends them, the others as the training weight did."""
    assert forest.cover is not None
    n_coalitions = 1 << (max(players) + 1)
    worth = np.tile(forest.base, (n_coalitions, len(X), 1))
    for row, x in enumerate(X):
        for tree in range(forest.n_trees):
            start = int(forest.tree_offsets[tree])
            pending = [(start, np.ones(n_coalitions))]
            while pending:
                node, chance = pending.pop()
                if forest.left[node] == -1:
                    output = forest.tree_output[tree]
                    at = slice(None) if output < 0 else output
                    worth[:, row, at] += np.multiply.outer(chance, forest.value[node])
                    continue
                children = start + int(forest.left[node]), start + int(forest.right[node])
                feature = int(forest.feature[node])
                joined = np.arange(n_coalitions) >> players[feature] & 1 == 1
                left = goes_left(forest, node, float(x[feature]))
                for child, satisfied in zip(children, (left, not left), strict=True):
                    # Where no training row came by, either way is as likely.
                    both = forest.cover[list(children)].sum()
                    share = forest.cover[child] / both if both > 0 else 0.5
                    pending.append((child, chance * np.where(joined, float(satisfied), share)))
    return worth
