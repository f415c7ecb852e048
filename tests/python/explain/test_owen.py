"""Members of groups: against all orderings that keep groups together."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from arborshap import InputError, TreeExplainer
from support import oracle
from support.cover import worths_by_cover
from support.set_oracle import members

Array = NDArray[np.float64]
D = 8


@cache
def rows() -> Array:
    return np.random.default_rng(5).normal(size=(200, D)).astype(np.float32).astype(np.float64)


@cache
def model() -> GradientBoostingRegressor:
    x = rows()
    y = x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] * x[:, 4] + x[:, 5] * x[:, 0] + x[:, 6] * x[:, 7]
    return GradientBoostingRegressor(n_estimators=10, max_depth=5, random_state=0).fit(x, y)


CASES: list[tuple[dict[str, Any], Any]] = [
    ({"a": [0, 1, 7], "b": ["x2", "x3", "x4"]}, [[0, 1, 7], [2, 3, 4], 5, 6]),
    ({"a": {"c": [4, 0], "d": [1, 2, 6]}, "b": [3, 5, 7]}, [[[4, 0], [1, 2, 6]], [3, 5, 7]]),
    ({"a": {"c": {"e": [1, 2], "f": [3, 6]}, "d": [4]}}, [[[[1, 2], [3, 6]], 4], 0, 5, 7]),
]
"""Groups as a caller gives them, and as nested lists."""


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("within", "tree"), CASES)
@pytest.mark.parametrize("n_rows", [3, 70])
def test_equal_the_definition(within: dict[str, Any], tree: Any, n_rows: int, *, ordered: bool) -> None:
    """Few rows go class by class, and many by tables."""
    X, Z = rows()[100 : 100 + n_rows], rows()[:6]
    weights = np.arange(1.0, 7.0)
    explainer, by_cover = TreeExplainer(model(), Z, sample_weight=weights), TreeExplainer(model())
    worth = oracle.worths(model().predict, X, Z, weights=weights)
    if ordered:  # columns that are in no group come last, in all orders
        tree = [*(block for block in tree if isinstance(block, list)), [at for at in tree if not isinstance(at, list)]]
    got = explainer.owen_values(X, within, ordered=ordered)
    np.testing.assert_allclose(got, members(worth, tree, ordered=ordered)[..., 0], atol=1e-12)
    cover = worths_by_cover(by_cover.forest, X, range(D))
    got = by_cover.owen_values(X, within, ordered=ordered)
    np.testing.assert_allclose(got, members(cover, tree, ordered=ordered)[..., 0], atol=1e-12)


@pytest.mark.parametrize("within", [None, [1, 1, 0, 0, 2, 2, 3, 4]])
def test_an_order_needs_groups_that_have_one(within: Any) -> None:
    """An explainer numbers its groups by their columns, whatever order the caller had in mind."""
    explainer = TreeExplainer(model(), rows()[:5], groups={"effect": [0, 1], "cause": [2, 3]})
    with pytest.raises(InputError, match=r"ordered=True needs groups that have an order; give them as within=\{"):
        explainer.owen_values(rows()[:2], within, ordered=True)


@pytest.mark.parametrize("n_rows", [3, 70])
def test_members_sum_to_their_group(n_rows: int) -> None:
    X = rows()[100 : 100 + n_rows]
    explainer = TreeExplainer(model(), rows()[:40], groups=[0, 0, 1, 2, 1, 1, 3, 3])
    values = explainer.owen_values(X)
    members_of = [[0, 1], [2, 4, 5], [3], [6, 7]]
    groups = np.stack([values[:, columns].sum(axis=1) for columns in members_of], axis=1)
    np.testing.assert_allclose(groups, explainer.shap_values(X), atol=1e-13)
    again = TreeExplainer.from_bytes(explainer.to_bytes()).owen_values(X)
    np.testing.assert_array_equal(again, values)


def test_of_a_function_of_the_margins() -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    classifier = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(rows(), rows()[:, 0] > rows()[:, 1])
    groups = {"a": ["x0", "x1"], "b": ["x2", "x3"]}
    explainer = TreeExplainer(classifier, rows()[:40], groups=groups, model_output="probability")
    values, X = explainer.owen_values(rows()[100:104]), rows()[100:104]
    sums = np.column_stack([values[:, :2].sum(axis=1), values[:, 2:4].sum(axis=1), values[:, 4:]])
    np.testing.assert_allclose(sums, explainer.shap_values(X), atol=1e-10)


def test_a_transformer_gives_the_groups() -> None:
    rng = np.random.default_rng(0)
    raw = np.column_stack([rng.integers(0, 4, 150), rng.integers(0, 3, 150), rng.normal(size=150)])
    transformer = ColumnTransformer([("hot", OneHotEncoder(sparse_output=False), [0, 1])], remainder="passthrough")
    made = transformer.fit_transform(raw)
    trained = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(made, raw[:, 0] * raw[:, 2] + raw[:, 1])
    grouped = TreeExplainer(trained, made[:50], groups=transformer)
    values = grouped.owen_values(made[:4])
    np.testing.assert_array_equal(TreeExplainer(trained, made[:50]).owen_values(made[:4], transformer), values)
    sums = np.stack([values[:, :4].sum(axis=1), values[:, 4:7].sum(axis=1), values[:, 7]], axis=1)
    np.testing.assert_allclose(sums, grouped.shap_values(made[:4]), atol=1e-13)


def test_raw_columns_of_a_pipeline_are_members() -> None:
    rng = np.random.default_rng(0)
    raw = np.column_stack([rng.integers(0, 4, 150), rng.integers(0, 3, 150), rng.normal(size=150)])
    transformer = ColumnTransformer([("hot", OneHotEncoder(sparse_output=False), [0, 1])], remainder="passthrough")
    pipeline = make_pipeline(transformer, GradientBoostingRegressor(n_estimators=5, random_state=0))
    pipeline.fit(raw, raw[:, 0] * raw[:, 2] + raw[:, 1])
    explainer = TreeExplainer(pipeline, raw[:30], groups={"both": [0, 1]})
    worth = oracle.worths(pipeline.predict, raw[:3], raw[:30])
    np.testing.assert_allclose(explainer.owen_values(raw[:3]), members(worth, [[0, 1], 2])[..., 0], atol=1e-10)


def test_columns_that_a_pipeline_mixes_are_refused_with_a_reason() -> None:
    pipeline = make_pipeline(PCA(2), GradientBoostingRegressor(n_estimators=3, random_state=0))
    pipeline.fit(rows(), rows()[:, 0])
    explainer = TreeExplainer(pipeline, rows()[:20])
    message = "mixes the columns x0 [+] x1 [+] .* use shap_values, .* or explain the fitted estimator"
    with pytest.raises(InputError, match=message):
        explainer.owen_values(rows()[:2], {"a": [0, 1]})


def holding_itself() -> dict[str, Any]:
    groups: dict[str, Any] = {}
    groups["a"] = groups
    return groups


@pytest.mark.parametrize(
    ("within", "message"),
    [
        (None, "the explainer has no groups"),
        ({"a": ["x0", "x9"]}, r"within\['a'\] names 'x9'"),
        ({"a": ["x0"], "b": {"c": ["x0"]}}, r"within\['b'\]\['c'\]: column 'x0' is in two groups"),
        ({"a": []}, r"within\['a'\] is empty"),
        ({"a": "x0"}, r"within\['a'\] must be a list of columns"),
        ({"a": [True]}, "names True"),
        (holding_itself(), "too many groups inside groups, or a group that contains itself"),
    ],
)
def test_wrong_groups_are_refused(within: Any, message: str) -> None:
    explainer = TreeExplainer(model(), rows()[:5])
    with pytest.raises(InputError, match=message):
        explainer.owen_values(rows()[:2], within)


def test_an_order_is_true_or_false() -> None:
    explainer, within = TreeExplainer(model(), rows()[:5]), {"a": ["x0"], "b": ["x1"]}
    expected = explainer.owen_values(rows()[:2], within, ordered=True)
    np.testing.assert_array_equal(explainer.owen_values(rows()[:2], within, ordered=np.True_), expected)  # type: ignore[arg-type]
    for flag in ("no", 0, None):
        with pytest.raises(InputError, match="ordered must be True or False; got"):
            explainer.owen_values(rows()[:2], within, ordered=flag)  # type: ignore[arg-type]


def test_columns_have_the_names_that_were_assigned() -> None:
    explainer, X = TreeExplainer(model(), rows()[:5]), rows()[:2]
    expected = explainer.owen_values(X, {"two": ["x0", "x2"]})
    others = [name for name in explainer.feature_names if name not in ("x0", "x2")]
    explainer.feature_names = ["left", "x2", "right", *others[1:]]  # column 1 has a name that column 2 had
    np.testing.assert_array_equal(explainer.owen_values(X, {"two": ["left", "right"]}), expected)
    np.testing.assert_array_equal(explainer.owen_values(X, {"two": ["x0", "right"]}), expected)
    with pytest.raises(InputError, match=r"names 'middle'; columns are \['left', 'x2', 'right'"):
        explainer.owen_values(X, {"two": ["middle"]})
    grouped = TreeExplainer(model(), rows()[:5], groups={"two": ["x0", "x2"]})
    grouped.feature_names = ["both", "alone", *others[1:]]
    np.testing.assert_array_equal(grouped.owen_values(X), expected)
    other = explainer.owen_values(X, {"two": [0, 1]})
    np.testing.assert_array_equal(grouped.owen_values(X, {"two": ["x0", "alone"]}), other)
