"""What the definitions imply, checked on the results alone, for trained models of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import Forest, ForestBuilder, TreeExplainer
from support.forests import complete_tree
from support.models.cases import CASES, Case
from support.oracle import ENGINES
from support.trained import built

pytestmark = pytest.mark.filterwarnings("ignore:An XGBoost dump holds only the trees")

Array = NDArray[np.float64]
INDICES = ("shapley", "banzhaf", "taylor", "interaction")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_engine = pytest.mark.parametrize("engine", ENGINES)


def values_of(explainer: TreeExplainer, X: Array, index: str) -> Array:
    return np.asarray(explainer(X, index=index).values)  # type: ignore[arg-type]


@every_case
def test_efficiency(case: Case) -> None:
    """Values sum to the library's own prediction less its mean over the background; so do both matrices."""
    model, X, predict = built(case).model, built(case).X[:20], built(case).raw_predict
    background = built(case).X[20:50]
    gain = predict(X) - predict(background).mean(axis=0)
    tolerance = 2 * case.tolerance * np.abs(predict(built(case).X)).max()
    for engine in ENGINES:
        explainer = TreeExplainer(model, background, engine=engine)
        for index in ("shapley", "taylor", "interaction"):
            values = values_of(explainer, X, index)
            players = (1,) if index == "shapley" else (1, 2)
            np.testing.assert_allclose(values.sum(axis=players).reshape(gain.shape), gain, rtol=0, atol=tolerance)


@every_case
def test_rows_of_both_matrices_sum_to_shapley_values(case: Case) -> None:
    model, X = built(case).model, built(case).X
    for engine in ENGINES:
        explainer = TreeExplainer(model, X[20:50], engine=engine)
        phi = explainer.shap_values(X[:10])
        for index in ("taylor", "interaction"):
            matrix = values_of(explainer, X[:10], index)
            np.testing.assert_allclose(matrix.sum(axis=2), phi, rtol=0, atol=1e-12 * np.abs(phi).max())
            np.testing.assert_array_equal(matrix, matrix.swapaxes(1, 2))


@every_case
def test_groups_of_single_columns_are_no_groups(case: Case) -> None:
    model, X = built(case).model, built(case).X
    names = TreeExplainer(model, X[:1]).feature_names
    for groups in (list(range(5)), {f"only {name}": [name] for name in names}):
        plain = TreeExplainer(model, X[20:50])
        grouped = TreeExplainer(model, X[20:50], groups=groups)
        for index in INDICES:
            np.testing.assert_array_equal(values_of(grouped, X[:5], index), values_of(plain, X[:5], index))


@every_case
def test_one_group_of_all_columns_gets_the_whole_difference(case: Case) -> None:
    model, X, predict = built(case).model, built(case).X, built(case).raw_predict
    explainer = TreeExplainer(model, X[20:50], groups={"all": range(5)})
    gain = predict(X[:5]) - predict(X[20:50]).mean(axis=0)
    tolerance = 2 * case.tolerance * np.abs(predict(X)).max()
    for index in INDICES:
        values = values_of(explainer, X[:5], index)
        np.testing.assert_allclose(values.reshape(gain.shape), gain, rtol=0, atol=tolerance)


def random_tree(rng: np.random.Generator, n_features: int, depth: int = 4) -> dict[str, Any]:
    """The arrays of a complete tree whose thresholds are also cells of the rows."""
    tree = complete_tree(rng, depth, n_features)
    return {
        **tree,
        "threshold": tree["threshold"].round(1),
        "default_left": rng.random(len(tree["threshold"])) < 0.5,
    }


def forest_of(trees: list[dict[str, Any]], n_features: int) -> Forest:
    builder = ForestBuilder(n_features, rule="<=", precision="float64")
    for tree in trees:
        builder.add_tree(**tree)
    return builder.build()


def random_rows(rng: np.random.Generator, n: int, d: int) -> Array:
    X = rng.normal(size=(n, d)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@every_engine
@pytest.mark.parametrize("index", INDICES)
def test_dummy(engine: str, index: str) -> None:
    """A column that no tree asks for gets exactly nothing and changes nothing."""
    rng = np.random.default_rng(1)
    trees = [random_tree(rng, 5) for _ in range(10)]
    X, Z = random_rows(rng, 8, 6), random_rows(rng, 30, 6)
    with_dummy = values_of(TreeExplainer(forest_of(trees, 6), Z, engine=engine), X, index)
    without = values_of(TreeExplainer(forest_of(trees, 5), Z[:, :5].copy(), engine=engine), X[:, :5].copy(), index)
    assert not with_dummy[:, 5].any()
    inside = with_dummy[:, :5] if without.ndim == 2 else with_dummy[:, :5, :5]
    np.testing.assert_array_equal(inside, without)


@every_engine
@pytest.mark.parametrize("index", INDICES)
def test_symmetry(engine: str, index: str) -> None:
    """Columns 1 and 3 play the same part: every tree has a twin that asks for one where it asks for the other."""
    rng = np.random.default_rng(2)
    trees = [random_tree(rng, 5) for _ in range(10)]
    swap = np.array([0, 3, 2, 1, 4])
    twins = [{**tree, "feature": swap[tree["feature"]]} for tree in trees]
    X, Z = random_rows(rng, 8, 5), random_rows(rng, 30, 5)
    X[:, 3], Z[:, 3] = X[:, 1], Z[:, 1]
    values = values_of(TreeExplainer(forest_of(trees + twins, 5), Z, engine=engine), X, index)
    swapped = values[:, swap] if values.ndim == 2 else values[:, swap][:, :, swap]
    np.testing.assert_allclose(values, swapped, rtol=0, atol=1e-13)
    assert np.abs(values[:, 1]).max() > 0.01


@every_engine
@pytest.mark.parametrize("index", INDICES)
def test_linearity(engine: str, index: str) -> None:
    """The index of a forest is the sum of those of its trees; of a forest times a number, that many times its index."""
    rng = np.random.default_rng(3)
    trees = [random_tree(rng, 5) for _ in range(10)]
    X, Z = random_rows(rng, 8, 5), random_rows(rng, 30, 5)

    def values(some: list[dict[str, Any]]) -> Array:
        return values_of(TreeExplainer(forest_of(some, 5), Z, engine=engine), X, index)

    whole = values(trees)
    np.testing.assert_allclose(sum(values([tree]) for tree in trees), whole, rtol=0, atol=1e-13)
    negative = values([{**tree, "value": -4.0 * tree["value"]} for tree in trees])
    np.testing.assert_array_equal(negative, -4.0 * whole)


@every_engine
@pytest.mark.parametrize("index", INDICES)
def test_background_is_a_mean(engine: str, index: str) -> None:
    """A background in two halves; a row of weight three is that row three times."""
    rng = np.random.default_rng(4)
    forest = forest_of([random_tree(rng, 5) for _ in range(10)], 5)
    X, Z = random_rows(rng, 8, 5), random_rows(rng, 30, 5)

    def values(background: Array, weights: Array | None = None) -> Array:
        return values_of(TreeExplainer(forest, background, sample_weight=weights, engine=engine), X, index)

    halves = (10 * values(Z[:10]) + 20 * values(Z[10:])) / 30
    np.testing.assert_allclose(halves, values(Z), rtol=0, atol=1e-13)
    counts = rng.integers(0, 4, 30)
    weighted = values(Z, counts * np.float64(0.1))
    np.testing.assert_allclose(weighted, values(np.repeat(Z, counts, axis=0)), rtol=0, atol=1e-13)


@every_engine
def test_mean_of_pairs(engine: str) -> None:
    """Shapley values are the mean over all pairs."""
    rng = np.random.default_rng(5)
    forest = forest_of([random_tree(rng, 5) for _ in range(10)], 5)
    X, Z = random_rows(rng, 8, 5), random_rows(rng, 150, 5)
    explainer = TreeExplainer(forest, Z, engine=engine)
    np.testing.assert_allclose(explainer.pair_values(X).mean(axis=1), explainer.shap_values(X), rtol=0, atol=1e-13)
