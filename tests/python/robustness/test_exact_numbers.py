"""Rounding under stress, against exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from arborshap import ForestBuilder, ModelError, TreeExplainer
from support.exact import errors, of_coalitions, of_pairs, worths, worths_by_cover
from support.stress import Case, background_cases, chain, chain_case, complete_trees, path_dependent_cases

INDICES = ("shapley", "banzhaf", "taylor", "interaction")
ENGINES = ("pattern", "counts", "sparse", "traversal")
CASES = list(background_cases(seed=100))


def scale(case: Case) -> float:
    return float(np.abs(np.where(case.forest.left < 0, np.ravel(case.forest.value), 0)).max()) * case.forest.n_trees


@pytest.mark.parametrize("index", INDICES)
def test_the_closed_form_is_the_definition(index: str) -> None:
    rng = np.random.default_rng(0)
    forest = complete_trees(rng, 2, 3, n_features=4)
    X, Z, weights = rng.normal(size=(2, 4)), rng.normal(size=(3, 4)), 10.0 ** rng.uniform(-6, 6, 3)
    by_definition = of_coalitions(worths(forest, X, Z, weights), index)
    assert (of_pairs(forest, X, Z, index, weights) == by_definition).all()
    assert any(value != 0 for value in by_definition.ravel())


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_against_a_background(case: Case, index: str) -> None:
    exact = of_pairs(case.forest, case.X, case.Z, index, case.weights)
    for engine in ENGINES:
        explainer = TreeExplainer(case.forest, case.Z, sample_weight=case.weights, engine=engine, n_jobs=1)
        values = explainer(case.X, index=index).values  # type: ignore[arg-type]
        assert errors(values, exact).max() < 4e-15 * scale(case), engine


@pytest.mark.parametrize("index", INDICES)
def test_path_dependent(index: str) -> None:
    (case,) = path_dependent_cases(seed=100)
    exact = of_coalitions(worths_by_cover(case.forest, case.X), index)
    for engine in ENGINES:
        values = TreeExplainer(case.forest, engine=engine, n_jobs=1)(case.X, index=index).values  # type: ignore[arg-type]
        assert errors(values, exact).max() < 4e-15 * scale(case), engine


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
def test_a_thousand_players_on_a_path(index: str) -> None:
    case = chain_case(1000)
    exact = of_pairs(case.forest, case.X, case.Z, index)
    for engine in ("auto", *ENGINES):
        explainer = TreeExplainer(case.forest, case.Z, engine=engine, n_jobs=1)
        values = explainer(case.X, index=index).values  # type: ignore[arg-type]
        assert errors(values, exact).max() < 4e-15 * scale(case), engine


@pytest.mark.parametrize("engine", ENGINES)
def test_small_leaves_beside_large_ones(engine: str) -> None:
    """A player that only trees with leaves of 1e-30 ask for has values as exact as if there were no others."""
    rng = np.random.default_rng(5)
    large, small = complete_trees(rng, 2, 3, np.full(2, 1e30), 2), complete_trees(rng, 2, 3, np.full(2, 1e-30), 2)
    builder = ForestBuilder(4, rule="<=", precision="float64")
    for forest, first in ((large, 0), (small, 2)):
        for start, end in zip(forest.tree_offsets[:-1], forest.tree_offsets[1:], strict=True):
            nodes = slice(start, end)
            builder.add_tree(
                left=forest.left[nodes],
                right=forest.right[nodes],
                feature=forest.feature[nodes] + first,
                threshold=forest.threshold[nodes],
                value=np.ravel(forest.value[nodes]),
            )
    both = builder.build()
    X, Z = rng.normal(size=(4, 4)), rng.normal(size=(20, 4))
    values = TreeExplainer(both, Z, engine=engine, n_jobs=1).shap_values(X)
    exact = of_pairs(both, X, Z, "shapley")
    off = errors(values, exact)
    assert np.abs(values[:, :2]).max() > 1e29
    assert off[:, :2].max() < 1e-14 * 1e30
    assert off[:, 2:].max() < 1e-14 * 1e-30


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_at_the_ends_of_the_range(engine: str) -> None:
    case = CASES[0]
    weights = np.linspace(1, 2, len(case.Z))
    plain = TreeExplainer(case.forest, case.Z, sample_weight=weights, engine=engine, n_jobs=1)
    for unit in (2.0**-1000, 2.0**1000):
        scaled = TreeExplainer(case.forest, case.Z, sample_weight=weights * unit, engine=engine, n_jobs=1)
        assert scaled.shap_values(case.X).tobytes() == plain.shap_values(case.X).tobytes()
        assert scaled.expected_value == plain.expected_value


def test_leaves_beyond_the_range_are_refused() -> None:
    forest = chain(np.array([0.0]), np.array([0.0]), np.array([0.0, 1e308, -1e308]), 1)
    with pytest.raises(ModelError, match=r"tree 0 are as large as 1e308.*range of float64"):
        TreeExplainer(forest, np.array([[1.0], [-1.0]]))
