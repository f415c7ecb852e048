"""Words in messages: one thing is not several."""

import numpy as np

from arborshap import Background, ForestBuilder, TreeExplainer
from arborshap._util.words import counted


def test_one_and_many() -> None:
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert counted(1, "leaf", "leaves") == "1 leaf"
    assert counted(3, "leaf", "leaves") == "3 leaves"


def test_what_is_shown_of_small_things() -> None:
    builder = ForestBuilder(1, rule="<=", precision="float64")
    builder.add_tree(left=[1, -1, -1], right=[2, -1, -1], feature=[0, 0, 0], threshold=[0.0] * 3, value=[0.0, 1.0, 2.0])
    forest, row = builder.build(), np.zeros((1, 1))
    assert repr(forest) == "Forest(1 tree, 3 nodes, 2 leaves, depth 1, 1 feature, 1 output)"
    explainer = TreeExplainer(forest, row)
    assert "1 player, 1 background row>" in repr(explainer)
    assert repr(Background(forest, row)).startswith("<Background of 1 row, ")
    assert "1 player over 1 row;" in repr(explainer.importance(row))
