"""The examples of the paper, through the public interface, on trees built by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import Forest, ForestBuilder, TreeExplainer
from support.figures import figure_4
from support.oracle import ENGINES

Array = NDArray[np.float64]
Edge = tuple[int, float, str]

pytestmark = pytest.mark.parametrize("engine", ENGINES)


def path(edges: Sequence[Edge], n_features: int) -> Forest:
    """A tree that is worth 1 where a row takes all of these edges, a feature each with a threshold, and 0 elsewhere."""
    n = len(edges)
    nodes = np.arange(n)
    on, beside = 2 * nodes + 2, 2 * nodes + 1
    above = np.array([side == ">" for _, _, side in edges])
    left, right = np.full(2 * n + 1, -1), np.full(2 * n + 1, -1)
    left[2 * nodes], right[2 * nodes] = np.where(above, beside, on), np.where(above, on, beside)
    feature, threshold, value = np.zeros(2 * n + 1, np.int64), np.zeros(2 * n + 1), np.zeros(2 * n + 1)
    feature[2 * nodes] = [feature for feature, _, _ in edges]
    threshold[2 * nodes] = [threshold for _, threshold, _ in edges]
    value[-1] = 1.0
    builder = ForestBuilder(n_features, rule="<=", precision="float64")
    builder.add_tree(left=left, right=right, feature=feature, threshold=threshold, value=value)
    return builder.build()


def check(
    forest: Forest,
    x: Sequence[float],
    z: Sequence[float],
    expected: Any,
    engine: str,
    groups: list[int] | None = None,
) -> None:
    explainer = TreeExplainer(forest, [z], groups=groups, engine=engine)
    np.testing.assert_allclose(explainer.shap_values([x])[0], expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(explainer.pair_values([x], [z])[0, 0], expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(explainer.contrast(x, z).values, expected, rtol=0, atol=1e-15)


def check_taylor(forest: Forest, x: Sequence[float], z: Sequence[float], expected: Any, engine: str) -> None:
    values = TreeExplainer(forest, [z], engine=engine).taylor_values([x])[0]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-15)


def test_and_function(engine: str) -> None:
    """Section 2: what neither feature does alone is half of either."""
    forest = path([(0, 0.0, ">"), (1, 0.0, ">")], 2)
    check(forest, (1, 1), (-1, -1), [0.5, 0.5], engine)
    check_taylor(forest, (1, 1), (-1, -1), [[0, 0.5], [0.5, 0]], engine)
    # The other way round either alone takes all, and the two together no more.
    check(forest, (-1, -1), (1, 1), [-0.5, -0.5], engine)
    check_taylor(forest, (-1, -1), (1, 1), [[-1, 0.5], [0.5, -1]], engine)


def test_maximal_path_of_an_input(engine: str) -> None:
    """Figure 2: x = (3.4, 0.2, 2) ends up at leaf 4."""
    forest = figure_4([3, 4, 5, 6])
    assert forest.margin([[3.4, 0.2, 2]]).item() == 4
    assert TreeExplainer(forest, [[3.4, 0.2, 2]], engine=engine).expected_value == 4


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 0, 0, 0], [0, 0, 1]),  # both flow, then x alone
        ([0, 1, 0, 0], [0, 0, -1]),  # both flow, then z alone
        ([0, 0, 1, 0], [0, 0, 0]),  # blocked for both, whatever comes after
        ([0, 0, 0, 1], [0, 0, 0]),
        ([3, 8, 100, -50], [0, 0, -5]),
    ],
)
def test_four_types_of_edges(engine: str, values: list[float], expected: list[float]) -> None:
    """Figure 4: one leaf at a time shows what each path contributes for x = (0, 0, 1) and z = (-2, -1, 2)."""
    forest = figure_4(values)
    check(forest, (0, 0, 1), (-2, -1, 2), expected, engine)
    check_taylor(forest, (0, 0, 1), (-2, -1, 2), np.diag(expected), engine)


def test_path_with_a_blocked_edge(engine: str) -> None:
    """Figure 3: an edge of each type; the one that is blocked for both takes everything with it."""
    edges = [(feature, 0.0, ">") for feature in range(4)]
    x, z = (1, -1, 1, -1), (-1, 1, 1, -1)
    check(path(edges, 4), x, z, [0, 0, 0, 0], engine)
    check(path(edges[:3], 4), x, z, [0.5, -0.5, 0, 0], engine)


def test_path_whose_sets_meet(engine: str) -> None:
    """Figure 5: S_X = {0, 1} and S_Z = {0, 2} meet in feature 0, and the path contributes nothing."""
    edges = [(1, -0.5, ">"), (2, 1.5, ">"), (1, 1.0, "<="), (0, -1.0, ">"), (1, -0.33, ">"), (0, -1.5, "<=")]
    x, z = (0, 0, 1), (-2, -1, 2)
    check(path(edges, 3), x, z, [0, 0, 0], engine)
    check_taylor(path(edges, 3), x, z, np.zeros((3, 3)), engine)
    # Up to the edge before, the sets are {0, 1} and {2}: W(1, 3), W(1, 3) and -W(2, 3).
    check(path(edges[:5], 3), x, z, [1 / 6, 1 / 6, -1 / 3], engine)
    check_taylor(path(edges[:5], 3), x, z, [[0, 1 / 3, -1 / 6], [1 / 3, 0, -1 / 6], [-1 / 6, -1 / 6, 0]], engine)


def test_one_hot_columns(engine: str) -> None:
    """Figures 8 and 9: 8 columns, two of them plain and the others one-hot encodings, play as 4."""
    index_map = [0, 1, 1, 2, 2, 2, 2, 3]
    x, z = (1, 0, 1, 0, 0, 1, 0, 1), (-1, 1, 0, 1, 0, 0, 0, -1)
    # Only the row with players 0 and 2 from x and 1 and 3 from z takes this path.
    mixed: list[Edge] = [(0, 0.0, ">"), (1, 0.5, ">"), (2, 0.5, "<="), (3, 0.5, "<="), (5, 0.5, ">"), (7, 0.0, "<=")]
    check(path(mixed, 8), x, z, np.array([1, -1, 1, -1]) / 12, engine, groups=index_map)
    # Column 3 from z and column 5 from x: a row that no coalition of players has, though one of columns does.
    torn: list[Edge] = [(0, 0.0, ">"), (3, 0.5, ">"), (5, 0.5, ">")]
    check(path(torn, 8), x, z, [0, 0, 0, 0], engine, groups=index_map)
    check(path(torn, 8), x, z, [1 / 6, 0, 0, -1 / 3, 0, 1 / 6, 0, 0], engine)
