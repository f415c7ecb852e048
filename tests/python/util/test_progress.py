"""Progress that is told goes forward only, whatever a call has to do: count, build tables, look up, walk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arborshap import ForestBuilder, TreeExplainer
from support.patience import with_twice_the_work


def forest(depth: int, trees: int) -> Any:
    """Full trees that each ask for other features on every level."""
    rng = np.random.default_rng(depth)
    builder = ForestBuilder(20, 1, rule="<", precision="float64")
    n, inner = 2 ** (depth + 1) - 1, 2**depth - 1
    nodes = np.arange(n)
    for _ in range(trees):
        builder.add_tree(
            left=np.where(nodes < inner, 2 * nodes + 1, -1),
            right=np.where(nodes < inner, 2 * nodes + 2, -1),
            feature=rng.integers(0, 20, n),
            threshold=rng.normal(size=n),
            value=rng.normal(size=n),
        )
    return builder.build()


@pytest.mark.parametrize(
    ("engine", "n", "limit"),
    [("pattern", 3000, None), ("pattern", 3000, 140_000_000), ("sparse", 300, None), ("auto", 3000, None)],
)
def test_it_never_goes_back(engine: str, n: int, limit: int | None) -> None:
    Z = np.random.default_rng(0).normal(size=(600, 20))

    def told_of_along_the_way(n: int) -> bool:
        explainer = TreeExplainer(forest(9, 40), Z, engine=engine, n_jobs=1, memory_limit=limit)
        told: list[float] = []
        explainer.shap_values(np.random.default_rng(1).normal(size=(n, 20)), progress=told.append)
        assert told == sorted(told)
        assert told[-1] == 1.0
        return len(told) > 2 and told[0] < 0.9

    with_twice_the_work(told_of_along_the_way, n)
