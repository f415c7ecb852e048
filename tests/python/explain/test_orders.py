"""Sets of players of any size, and semivalues: against the definition over all coalitions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import factorial
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from arborshap import Background, InputError, TreeExplainer
from support import oracle
from support.cover import worths_by_cover
from support.set_oracle import INDICES, indices_of, semivalue

Array = NDArray[np.float64]
D = 8


@cache
def rows() -> Array:
    """Rows that float32 holds exactly, as scikit-learn compares in it."""
    return np.random.default_rng(3).normal(size=(300, D)).astype(np.float32).astype(np.float64)


def target() -> Array:
    x = rows()
    chained = x[:, 6] * x[:, 0] + x[:, 7] * x[:, 1]
    return np.asarray(x[:, 0] * x[:, 1] * x[:, 2] + np.sin(x[:, 3]) * x[:, 4] * x[:, 5] + chained)


@cache
def boosted() -> GradientBoostingRegressor:
    return GradientBoostingRegressor(n_estimators=12, max_depth=6, random_state=0).fit(rows(), target())


@cache
def leafwise() -> Any:
    model = lightgbm.LGBMRegressor(n_estimators=10, num_leaves=20, min_child_samples=4, verbose=-1, n_jobs=1)
    return model.fit(rows(), target())


@cache
def worth_of(name: str) -> Array:
    """The worth of every coalition, by the library's own prediction."""
    model = {"boosted": boosted, "leafwise": leafwise}[name]()
    predict: Callable[[Any], Any] = model.predict
    return oracle.worths(predict, rows()[200:203], rows()[:15])


@cache
def worth_by_cover() -> Array:
    return worths_by_cover(TreeExplainer(boosted()).forest, rows()[200:202], range(D))


def found(explainer: TreeExplainer, X: Array, index: str, order: int) -> dict[tuple[int, ...], Array]:
    """The values by set, (rows, outputs), with zeros for sets that share no path."""
    result = explainer.interactions(X, index=index, order=order)  # type: ignore[arg-type]
    values = result.values.reshape(*result.values.shape[:2], -1)
    return dict(zip(result.sets, np.moveaxis(values, 1, 0), strict=True))


def assert_sets(got: dict[tuple[int, ...], Array], want: dict[tuple[int, ...], Array], tolerance: float) -> None:
    assert set(got) <= set(want)
    scale = max(np.abs(values).max() for values in want.values())
    for players, values in want.items():
        ours = got.get(players, np.zeros_like(values))
        np.testing.assert_allclose(ours, values, atol=tolerance * scale, rtol=0, err_msg=str(players))


TOLERANCE = {1: 1e-10, 2: 1e-10, 3: 1e-10, 4: 1e-10, 5: 1e-9, 6: 1e-9}
"""How far the values of each order may be from the definition, relative to the largest."""


@pytest.mark.parametrize("order", TOLERANCE)
@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("name", ["boosted", "leafwise"])
def test_against_a_background(name: str, index: str, order: int) -> None:
    model = boosted() if name == "boosted" else leafwise()
    explainer = TreeExplainer(model, rows()[:15])
    got = found(explainer, rows()[200:203], index, order)
    assert_sets(got, indices_of(worth_of(name), index, order), TOLERANCE[order])


@pytest.mark.parametrize("order", TOLERANCE)
@pytest.mark.parametrize("index", INDICES)
def test_by_cover(index: str, order: int) -> None:
    explainer = TreeExplainer(boosted())
    want = indices_of(worth_by_cover(), index, order)
    assert_sets(found(explainer, rows()[200:202], index, order), want, TOLERANCE[order])


@pytest.mark.parametrize("index", INDICES)
def test_many_rows(index: str) -> None:
    """There are so many rows that a leaf meets most of its patterns."""
    X, Z = rows()[100:], rows()[:3]
    worth = oracle.worths(leafwise().predict, X, Z)
    assert_sets(found(TreeExplainer(leafwise(), Z), X, index, 3), indices_of(worth, index, 3), 1e-10)


@cache
def deep() -> tuple[RandomForestRegressor, Array]:
    """A model with more players on a path than trees may have that go unit by unit, and its rows."""
    x = np.random.default_rng(1).normal(size=(100, 10)).astype(np.float32).astype(np.float64)
    y = np.prod(x[:, :4], axis=1) + np.sin(x[:, 4:]).sum(axis=1)
    return RandomForestRegressor(n_estimators=2, max_features=1, random_state=0).fit(x, y), x


def players_on_a_path(tree: Any, node: int = 0, above: frozenset[int] = frozenset()) -> int:
    """The most features on a path of a tree of scikit-learn."""
    if tree.children_left[node] == -1:
        return len(above)
    here = above | {int(tree.feature[node])}
    return max(players_on_a_path(tree, child[node], here) for child in (tree.children_left, tree.children_right))


@pytest.mark.parametrize("order", [2, 3, 6])
@pytest.mark.parametrize("index", INDICES)
def test_many_players_on_a_path(index: str, order: int) -> None:
    model, x = deep()
    X, Z = x[40:42], x[:6]
    explainer, by_cover = TreeExplainer(model, Z), TreeExplainer(model)
    want = indices_of(oracle.worths(model.predict, X, Z), index, order)
    assert_sets(found(explainer, X, index, order), want, TOLERANCE[order])
    assert min(players_on_a_path(tree.tree_) for tree in model.estimators_) > 8
    want = indices_of(worths_by_cover(by_cover.forest, X, range(x.shape[1])), index, order)
    assert_sets(found(by_cover, X, index, order), want, TOLERANCE[order])


@pytest.mark.parametrize("index", INDICES)
def test_with_groups_weights_and_several_outputs(index: str) -> None:
    classes = np.digitize(target(), [-0.5, 0.5])
    model = RandomForestClassifier(n_estimators=4, max_depth=5, random_state=0).fit(rows(), classes)
    weights = np.random.default_rng(0).random(15)
    players = [0, 1, 1, 2, 0, 3, 4, 2]
    explainer = TreeExplainer(model, rows()[:15], groups=players, sample_weight=weights)
    worth = oracle.worths(model.predict_proba, rows()[200:203], rows()[:15], players, weights)
    assert_sets(found(explainer, rows()[200:203], index, 3), indices_of(worth, index, 3), 1e-10)


def test_of_deep_trees() -> None:
    """Paths with more players than tables have."""
    x = np.random.default_rng(0).normal(size=(400, 20)).astype(np.float32).astype(np.float64)
    model = RandomForestRegressor(n_estimators=2, random_state=0).fit(x, x[:, 0] * x[:, 1] + x.sum(axis=1))
    explainer = TreeExplainer(model, x[:50])
    result = explainer.interactions(x[100:104], index="STII", order=2)
    pairs = explainer.taylor_values(x[100:104])
    for players, values in zip(result.sets, result.values.T, strict=True):
        i, j = players[0], players[-1]
        want = pairs[:, i, i] if i == j else 2 * pairs[:, i, j]
        np.testing.assert_allclose(values, want, atol=1e-12)
    third = explainer.interactions(x[100:104], index="FSII", order=3)
    total = third.values.sum(axis=1) + third.base_values
    np.testing.assert_allclose(total, model.predict(x[100:104]), atol=1e-9)


@pytest.mark.parametrize("index", INDICES)
def test_of_trees_with_an_output_each(index: str) -> None:
    classes = np.digitize(target(), [-0.5, 0.5])
    model = lightgbm.LGBMClassifier(n_estimators=3, num_leaves=10, min_child_samples=4, verbose=-1, n_jobs=1)
    model.fit(rows(), classes)
    X, Z = rows()[200:203], rows()[:9]
    worth = oracle.worths(lambda some: model.predict(some, raw_score=True), X, Z)
    assert_sets(found(TreeExplainer(model, Z), X, index, 3), indices_of(worth, index, 3), 1e-10)


@pytest.mark.parametrize("output", ["probability", "log_loss"])
def test_of_a_function_of_the_margins(output: Any) -> None:
    """Every pair's values are rescaled to what its margins become."""
    y = (target() > 0).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=6, num_leaves=8, min_child_samples=4, verbose=-1, n_jobs=1)
    model.fit(rows(), y)
    X, Z, labels = rows()[200:203], rows()[:9], y[200:203]
    explainer = TreeExplainer(model, Z, model_output=output)

    def margin(some: Any) -> Array:
        return np.asarray(model.predict(some, raw_score=True))

    def worth_after(margins: Array, label: int) -> Array:
        chance = 1 / (1 + np.exp(-margins))
        return chance if output == "probability" else -np.log(chance if label else 1 - chance)

    result = explainer.interactions(X, labels if output == "log_loss" else None, index="k-SII", order=3)
    for row, x in enumerate(X):
        want = np.zeros(len(result.sets))
        for z in Z:
            pair = indices_of(oracle.worths(margin, x[np.newaxis], z[np.newaxis]), "k-SII", 3)
            ends = margin(np.array([x, z]))
            after = worth_after(ends, int(labels[row]))
            if ends[0] == ends[1]:  # then the slope is the derivative
                chance = 1 / (1 + np.exp(-ends[0]))
                slope = chance * (1 - chance) if output == "probability" else chance - labels[row]
            else:
                slope = (after[0] - after[1]) / (ends[0] - ends[1])
            want += slope * np.array([pair[players][0, 0] for players in result.sets]) / len(Z)
        np.testing.assert_allclose(result.values[row], want, atol=1e-9)
    kept = explainer.interactions(X, labels if output == "log_loss" else None, index="k-SII", order=3, top=3)
    assert kept.kept is not None
    np.testing.assert_array_equal(np.take_along_axis(result.values, kept.kept, axis=1), kept.values)


def test_a_softmax_is_refused_with_a_reason() -> None:
    classes = np.digitize(target(), [-0.5, 0.5])
    model = lightgbm.LGBMClassifier(n_estimators=2, num_leaves=4, verbose=-1, n_jobs=1).fit(rows(), classes)
    explainer = TreeExplainer(model, rows()[:9], model_output="probability")
    message = r"cannot be computed .*\(a softmax\), .* Use model_output='raw', .* shap_values"
    calls: list[Callable[[], Any]] = [
        lambda: explainer.interactions(rows()[:2], order=2),
        lambda: explainer.semivalues(rows()[:2], [0.0] * D),
        lambda: explainer.owen_values(rows()[:2], {"a": [0, 1]}),
        lambda: explainer.taylor_values(rows()[:2]),
    ]
    for call in calls:
        with pytest.raises(InputError, match=message):
            call()
    assert TreeExplainer(model, rows()[:9]).interactions(rows()[:2], order=2).values.shape[2] == 3


def test_a_result_that_does_not_fit_can_be_made_smaller() -> None:
    explainer = TreeExplainer(boosted(), rows()[:9], memory_limit=100_000)
    with pytest.raises(MemoryError, match=r"explain fewer rows at a time, or keep only the largest sets .* top="):
        explainer.interactions(rows(), order=3)
    assert explainer.interactions(rows(), order=3, top=2).values.shape == (len(rows()), 2)


@pytest.mark.parametrize("output", ["raw", "probability"])
def test_memory_is_not_saved_by_arguments_that_do_not_exist(output: Any) -> None:
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(rows(), target() > 0)
    explainer = TreeExplainer(model, rows()[:9], model_output=output, memory_limit=500)
    n_players = rows().shape[1]
    calls: list[Callable[[], object]] = [
        lambda: explainer.semivalues(rows(), np.full(n_players, 1 / n_players)),
        lambda: explainer.beta_shapley_values(rows(), 2, 1),
        lambda: explainer.owen_values(rows(), {"both": [0, 1]}),
    ]
    for call in calls:
        with pytest.raises(MemoryError, match=r"explain fewer rows at a time$"):
            call()
    with pytest.raises(MemoryError, match=r"at a time, or pass dtype=np\.float32 to halve it$"):
        explainer.shap_values(rows())
    with pytest.raises(MemoryError, match=r"float32 values, .* explain fewer rows at a time$"):
        explainer.shap_values(rows(), dtype=np.float32)
    with pytest.raises(MemoryError, match=r"at a time, or keep fewer sets with a smaller top$"):
        explainer.interactions(rows(), top=3)


def test_of_a_background_in_parts() -> None:
    whole = TreeExplainer(boosted(), rows()[:40])
    parts = Background(boosted(), rows()[:25]).merge(Background(boosted(), rows()[25:40]))
    for top in (None, 4):
        ours = TreeExplainer(boosted(), parts).interactions(rows()[200:205], order=3, top=top)
        theirs = whole.interactions(rows()[200:205], order=3, top=top)
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-12)


@pytest.mark.parametrize("n_rows", [3, 70])
def test_semivalues(n_rows: int) -> None:
    """Few rows go class by class, and many by tables."""
    X, Z = rows()[200 : 200 + n_rows], rows()[:5]
    explainer, by_cover = TreeExplainer(boosted(), Z), TreeExplainer(boosted())
    worth = oracle.worths(boosted().predict, X, Z)
    cover = worths_by_cover(by_cover.forest, X, range(D))

    def beta(alpha: float, beta: float) -> list[float]:
        def rising(x: float, n: int) -> float:
            return float(np.prod([x + i for i in range(n)]))

        return [rising(beta, s) * rising(alpha, D - 1 - s) / rising(alpha + beta, D - 1) for s in range(D)]

    own = [0.3, 0.0, -0.1, 0.2, 0.05, 0.0, 1.0, -0.4]
    cases: list[tuple[list[float], Callable[[TreeExplainer], Array]]] = [
        (beta(1.0, 1.0), lambda e: e.beta_shapley_values(X)),
        (beta(4.0, 1.0), lambda e: e.beta_shapley_values(X, 4, 1)),
        (beta(0.5, 2.5), lambda e: e.beta_shapley_values(X, alpha=0.5, beta=2.5)),
        ([0.2**s * 0.8 ** (D - 1 - s) for s in range(D)], lambda e: e.banzhaf_values(X, p=0.2)),
        ([0.0] * (D - 1) + [1.0], lambda e: e.banzhaf_values(X, p=1)),
        (own, lambda e: e.semivalues(X, own)),
    ]
    for weights, method in cases:
        np.testing.assert_allclose(method(explainer), semivalue(worth, weights)[..., 0], atol=1e-11)
        np.testing.assert_allclose(method(by_cover), semivalue(cover, weights)[..., 0], atol=1e-11)


def test_shapley_weights_give_shapley_values() -> None:
    explainer = TreeExplainer(boosted(), rows()[:30])
    weights = [factorial(s) * factorial(D - s - 1) / factorial(D) for s in range(D)]
    X = rows()[200:280]
    np.testing.assert_allclose(explainer.semivalues(X, weights), explainer.shap_values(X), atol=1e-13)


def test_one_row_with_one_label() -> None:
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(rows(), target() > 0)
    explainer, x = TreeExplainer(model, rows()[:20], model_output="log_loss"), rows()[200]
    expected = explainer.interactions([x], [1]).values
    for y, top in ((1, None), ([1], None), (1, 10**6)):
        np.testing.assert_allclose(np.sort(explainer.interactions(x, y, top=top).values), np.sort(expected))
    ragged = [[1], [0, 1]]
    calls: list[Callable[[], Any]] = [
        lambda: explainer.interactions(rows()[:2], ragged),
        lambda: explainer.interactions(rows()[:2], ragged, top=2),
        lambda: explainer(x, ragged),
        lambda: explainer.shap_values(x, ragged),
    ]
    for call in calls:
        with pytest.raises(InputError, match="y must be one label per row"):
            call()


def test_weighted_banzhaf_values_look_like_others() -> None:
    explainer, x = TreeExplainer(boosted(), rows()[:20]), rows()[200]
    for p in (0.5, 0.3, 0.0):
        assert explainer.banzhaf_values(x, p).shape == (D,)
        np.testing.assert_array_equal(explainer.banzhaf_values([x], p)[0], explainer.banzhaf_values(x, p))
    strangers: list[Any] = [np.array([0.5, 0.5]), [0.5], "0.5", None, 1.5]
    for wrong in strangers:
        with pytest.raises(InputError, match="p must be a probability"):
            explainer.banzhaf_values(x, wrong)


def test_the_same_bits_for_any_threads_and_batch() -> None:
    X = rows()[:150]
    one, two = (TreeExplainer(boosted(), rows()[150:], n_jobs=n) for n in (1, 2))
    whole = one.interactions(X, order=3).values
    np.testing.assert_array_equal(two.interactions(X, order=3).values, whole)
    np.testing.assert_array_equal(one.interactions(X[70:75], order=3).values, whole[70:75])


def test_agrees_with_shapiq() -> None:
    """Every index against a background, and the two that shapiq has without one."""
    shapiq = pytest.importorskip("shapiq")
    model = RandomForestRegressor(n_estimators=3, max_depth=4, random_state=0).fit(rows(), target())
    x, background = rows()[200], rows()[:50]
    against: dict[str, Any] = {"mode": "interventional", "reference_dataset": background}
    cases = [*((index, background, against) for index in INDICES), *((index, None, {}) for index in ("SII", "k-SII"))]
    for index, data, options in cases:
        theirs = shapiq.TreeExplainer(model, max_order=3, index=index, **options).explain(x)
        result = TreeExplainer(model, data).interactions(x, index=index, order=3)  # type: ignore[arg-type]
        ours = result.to_shapiq()
        for players in result.sets:
            assert ours[players] == pytest.approx(theirs[players], abs=1e-10), (index, players)


def test_a_single_row_has_no_axis_of_rows() -> None:
    """All methods agree with `shap_values`, for a vector, a Series and a list."""
    classes = RandomForestClassifier(3, max_depth=3, random_state=0).fit(rows(), np.digitize(target(), [-0.5, 0.5]))
    weights = [0.5**D] * D
    for model in (boosted(), classes):
        ours, matrix = TreeExplainer(model, rows()[:40]), rows()[200:201]
        calls: list[tuple[Any, Any]] = [
            (ours.shap_values, ()),
            (ours.semivalues, (weights,)),
            (ours.beta_shapley_values, (2.0, 1.0)),
            (ours.owen_values, ({"two": [0, 1]},)),
            (ours.coalition_values, ([0, 2],)),
            (ours.standard_error, ()),
        ]
        for call, arguments in calls:
            expected = call(matrix, *arguments)
            for row in (matrix[0], pd.Series(matrix[0]), matrix[0].tolist()):
                np.testing.assert_array_equal(call(row, *arguments), expected[0])


def test_progress_of_the_largest_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arborshap.explain.orders._CHUNK", 1)  # 64 rows at a time
    explainer, told = TreeExplainer(boosted(), rows()[:20]), list[float]()
    explainer.interactions(rows()[:150], top=2, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert {64 / 150, 128 / 150} <= set(told)
