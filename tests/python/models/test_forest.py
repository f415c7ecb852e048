"""The common format fed by hand: what its arrays mean, that they cannot change, and what is refused."""

from __future__ import annotations

import doctest
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arborshap import Forest
from arborshap.exceptions import InputError, ModelError
from arborshap.forest import builder as forest_builder
from arborshap.forest.builder import ForestBuilder, Precision, Rule
from arborshap.forest.forest import Tree
from support.patience import UNHURRIED

STUMP: dict[str, Any] = {
    "left": [1, -1, -1],
    "right": [2, -1, -1],
    "feature": [0, 7, -(2**40)],
    "threshold": [0.5, np.nan, np.nan],
    "value": [np.nan, -1.0, 2.0],
}


def stump(rule: Any = "<=", precision: Any = "float64", **options: Any) -> Forest:
    builder = ForestBuilder(1, rule=rule, precision=precision)
    builder.add_tree(**{**STUMP, **options})
    return builder.build()


def sides(forest: Forest, *values: float) -> str:
    return "".join("L" if margin < 0 else "R" for margin in forest.margin([[value] for value in values]).ravel())


def test_the_builder_example_runs() -> None:
    assert doctest.testmod(forest_builder).failed == 0


def test_rule_and_precision() -> None:
    above = np.nextafter(0.5, 1.0)
    assert sides(stump("<="), 0.5, above) == "LR"
    assert sides(stump("<"), 0.5, np.nextafter(0.5, 0.0)) == "RL"
    assert sides(stump("<=", "float32"), above, 0.5 + 1e-6) == "LR"


def test_missing() -> None:
    nan = np.nan
    assert sides(stump(default_left=False), nan, 0.0) == "RL"
    assert sides(stump(default_left=True), nan, 0.6) == "LR"
    assert sides(stump(missing="none", default_left=False), nan, 0.6) == "LR"
    assert sides(stump(missing="zero", default_left=False), nan, 0.0, -1e-36, 1e-3) == "RRRL"


def test_categories() -> None:
    assert sides(stump(categories={0: [2, 5]}), 2, 2.9, 5, 3, -1, 1e9, np.inf) == "LLLRRRR"
    assert sides(stump(categories={0: [2, 5]}, members_left=False), 2, 3, -1) == "RLL"
    assert sides(stump(categories={0: [0]}), -0.5, 0.5) == "RL"
    assert sides(stump(categories={0: [0]}, negative_fraction_is_zero=True), -0.5, -1.0) == "LR"
    assert sides(stump(categories={0: [0]}, default_left=True), np.nan) == "L"


def test_outputs_and_base() -> None:
    by_tree = ForestBuilder(1, 2, rule="<", precision="float64")
    by_tree.add_tree(**STUMP, output=1)
    np.testing.assert_array_equal(by_tree.build(base=[10, 20]).margin([[0.0]]), [[10.0, 19.0]])
    vector = ForestBuilder(1, 2, rule="<", precision="float64")
    vector.add_tree(**{**STUMP, "value": [[0, 0], [1, 2], [3, 4]]})
    np.testing.assert_array_equal(vector.build(base=5).margin([[0.0], [1.0]]), [[6.0, 7.0], [8.0, 9.0]])


def test_a_forest_without_trees_is_its_base() -> None:
    forest = ForestBuilder(3, 2, rule="<", precision="float64").build(base=[1, 2])
    np.testing.assert_array_equal(forest.margin(np.zeros((2, 3))), [[1.0, 2.0]] * 2)


def test_arrays_cannot_be_changed() -> None:
    given = {name: np.array(values) for name, values in STUMP.items()}
    forest = stump(**given)
    given["value"][1] = 99.0
    assert sides(forest, 0.0) == "L"
    with pytest.raises(ValueError, match="read-only"):
        forest.value[1] = 99.0
    with pytest.raises(AttributeError):
        forest.value = np.zeros(3)  # type: ignore[misc]


def test_entries_that_mean_nothing_are_cleared() -> None:
    forest = stump(feature=[0, 2**40, -2], categories={0: [1]}, default_left=True, threshold=[np.nan, np.inf, 7])
    np.testing.assert_array_equal(forest.feature, [0, 0, 0])
    np.testing.assert_array_equal(forest.threshold, [0, 0, 0])
    np.testing.assert_array_equal(forest.value, [0, -1, 2])
    np.testing.assert_array_equal(forest.flags[1:], [0, 0])


def test_trees_of_different_kinds_of_numbers_are_joined() -> None:
    builder = ForestBuilder(1, rule="<", precision="float64")
    builder.add_tree(left=[-1], right=[-1], feature=[0], threshold=[0], value=[1], default_left=False)
    builder.add_tree(**{**STUMP, "default_left": [1, 0, 0]})
    np.testing.assert_array_equal(builder.build().margin([[np.nan], [1.0]]), [[0.0], [3.0]])
    builder.add_tree(**{**STUMP, "left": ["1", "-1", "-1"]})
    with pytest.raises(ModelError, match="tree 2: left must be an array of whole numbers"):
        builder.build()


def routed(tree: Tree, row: list[float]) -> int:
    """The leaf a row without gaps ends in, read from the public arrays alone; the rule is <= in float64."""
    node = 0
    while not tree.is_leaf[node]:
        cell = row[tree.feature[node]]
        members = tree.categories.get(node)
        inside = cell <= tree.threshold[node] if members is None else int(cell) in members
        node = int(tree.left[node] if inside else tree.right[node])
    return node


def test_trees_can_be_read_one_by_one() -> None:
    builder = ForestBuilder(2, 2, rule="<=", precision="float64")
    builder.add_tree(**STUMP, output=1, cover=[3, 1, 2])
    builder.add_tree(
        left=[1, -1, 3, -1, -1],
        right=[2, -1, 4, -1, -1],
        feature=[1, 0, 0, 0, 0],
        threshold=[0.0, 0.0, 0.0, 0.0, 0.0],
        value=[0.0, 5.0, 0.0, 6.0, 7.0],
        categories={2: [4, 9]},
        cover=[6, 1, 5, 2, 3],
    )
    forest = builder.build(base=[10.0, 20.0])
    for row in ([0.0, 0.0], [1.0, 1.0], [4.0, 1.0], [9.0, -1.0]):
        expected = forest.base.copy()
        for tree in forest.trees:
            assert tree.output is not None
            expected[tree.output] += tree.value[routed(tree, row)]
        np.testing.assert_array_equal(forest.margin([row])[0], expected)
    first, second = forest.trees
    assert (len(first), len(second)) == (3, 5)
    assert first.cover is not None
    assert second.cover is not None
    np.testing.assert_array_equal(second.cover, [6, 1, 5, 2, 3])
    assert first.categories == {}
    assert list(second.categories) == [2]
    with pytest.raises(ValueError, match="read-only"):
        second.value[1] = 0.0


def test_trees_with_vectors_have_no_output_of_their_own() -> None:
    builder = ForestBuilder(1, 2, rule="<", precision="float64")
    builder.add_tree(**{**STUMP, "value": [[0, 0], [1, 2], [3, 4]]})
    (tree,) = builder.build().trees
    assert (tree.output, tree.cover, tree.value.shape) == (None, None, (3, 2))


def test_a_forest_survives_pickling() -> None:
    forest = stump(categories={0: [2, 5]}, cover=[3, 1, 2])
    again = pickle.loads(pickle.dumps(forest))
    assert sides(again, 2, 3) == "LR"
    assert repr(again) == repr(forest)
    np.testing.assert_array_equal(again.cover, [3, 1, 2])


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("whole", ["i4", "i8", ">i8"])
def test_arrays_may_be_fields_of_nodes(whole: str, align: bool) -> None:
    """Libraries keep nodes in one array, sometimes packed without regard to alignment, or in the other byte order."""
    kinds = {"left": whole, "right": whole, "feature": whole, "threshold": "f8", "value": "f8", "default_left": "u1"}
    nodes = np.zeros(5, np.dtype(list(kinds.items()), align=align))
    given = {
        "left": [1, -1, 3, -1, -1],
        "right": [2, -1, 4, -1, -1],
        "feature": [0, -2, 1, -2, -2],
        "threshold": [0.5, np.nan, -0.5, np.nan, np.nan],
        "value": [np.nan, 1.0, np.nan, 2.0, 4.0],
        "default_left": [1, 0, 0, 0, 0],
    }
    for name, entries in given.items():
        nodes[name] = entries
    builder = ForestBuilder(2, rule="<=", precision="float64")
    for _ in range(2):
        fields: dict[str, Any] = {name: nodes[name] for name in kinds}
        builder.add_tree(**fields, cover=np.arange(10.0)[::2])
    forest = builder.build()
    rows = [[0.5, 0.0], [np.nan, 0.0], [0.6, -0.5], [0.6, 0.0], [0.6, np.nan]]
    np.testing.assert_array_equal(forest.margin(rows).ravel(), [2.0, 2.0, 4.0, 8.0, 8.0])
    assert forest.cover is not None
    np.testing.assert_array_equal(forest.cover, [0, 2, 4, 6, 8] * 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"left": [1, -1]}, "tree 0: right has shape"),
        ({"left": [1.5, -1, -1]}, "tree 0: left must be an array of whole numbers"),
        ({"left": [[1, -1, -1]]}, "tree 0: left must have 1 dimension"),
        ({"left": [2**40, -1, -1]}, f"tree 0: left: entry 0 is {2**40}, outside"),
        ({"threshold": ["a", "b", "c"]}, "tree 0: threshold must be an array of numbers"),
        ({"value": [[1.0, 2.0], [3.0], [4.0]]}, "tree 0: value must be an array of numbers"),
        ({"value": [[1, 2, 3]] * 3}, r"tree 0: value has shape \(3, 3\), .* there are 1 outputs"),
        ({"left": [3, -1, -1]}, "tree 0, node 0: its left child is node 3"),
        ({"left": [0, -1, -1]}, "tree 0, node 0: .* reached twice"),
        ({"left": [2, -1, -1]}, "tree 0, node 0: .* reached twice"),
        ({"right": [-1, -1, -1]}, "tree 0, node 0: its right child is -1"),
        ({"feature": [1, 0, 0]}, "tree 0, node 0: it splits on feature 1"),
        ({"threshold": [np.nan, 0, 0]}, "tree 0, node 0: its threshold is NaN"),
        ({"value": [0, np.inf, 0]}, "tree 0, node 1: its leaf value is inf"),
        ({"cover": [1, 2]}, "tree 0: cover has shape"),
        ({"cover": [1, -2, 3]}, "tree 0, node 1: its cover is -2"),
        ({"default_left": [True, False]}, "tree 0: default_left has shape"),
        ({"default_left": 2}, "tree 0: default_left must be true or false"),
        ({"default_left": np.array([0, 1, 2], np.uint8)}, "tree 0: default_left must be true or false"),
        ({"default_left": [0.0, 1.0, 0.0]}, "tree 0: default_left must be true or false"),
        ({"categories": {0: [1]}, "members_left": [2, 0, 0]}, "tree 0: members_left must be true or false"),
        ({"feature": [2**40, 0, 0]}, f"tree 0: feature: entry 0 is {2**40}, outside"),
        ({"feature": np.array([2**63, 0, 0], np.uint64)}, f"tree 0: feature: entry 0 is {2**63}, outside"),
        ({"missing": "never"}, "tree 0: missing must be one of"),
        ({"missing": ["nan"]}, "tree 0: missing has shape"),
        ({"categories": {3: [1]}}, "tree 0: categories are given for node 3"),
        ({"categories": {0: [-1]}}, "tree 0, node 0: categories: entry 0 is -1"),
        ({"output": -1}, "tree 0: output must be a whole number"),
        ({"output": 1}, "tree 0, node 0: the tree adds to output 1"),
        ({"rule": ">"}, 'rule must be "<" or "<="'),
        ({"precision": "float16"}, "precision must be"),
    ],
)
def test_a_malformed_tree_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        stump(**options)


def test_what_does_not_fit_the_forest_is_refused() -> None:
    builder = ForestBuilder(1, 2, rule="<", precision="float64")
    builder.add_tree(**STUMP, cover=[3, 1, 2])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"base": [1, 2, 3]}, "base has shape"),
        ({"base": np.nan}, "base value of output 0 is NaN"),
        ({"feature_names": ["a", "b"]}, "feature_names has 2 entries, but 1 are needed"),
        ({"output_names": [1, 2]}, "output_names must be a sequence of strings"),
    ]
    for options, message in wrong:
        with pytest.raises(ModelError, match=message):
            builder.build(**options)
    builder.add_tree(**STUMP)
    with pytest.raises(ModelError, match="cover must be given for every tree or for none"):
        builder.build()
    mixed = ForestBuilder(1, 2, rule="<", precision="float64")
    mixed.add_tree(**STUMP)
    mixed.add_tree(**{**STUMP, "value": np.zeros((3, 2))})
    with pytest.raises(ModelError, match="some trees hold one value per leaf"):
        mixed.build()


def test_rows_of_the_wrong_shape_are_refused() -> None:
    for rows in ([0.0], [[0.0, 1.0]], [[[0.0]]]):
        with pytest.raises(InputError, match=r"rows must have shape \(n, 1\)"):
            stump().margin(rows)
    assert stump().margin(np.zeros((0, 1))).shape == (0, 1)


@settings(UNHURRIED, max_examples=50)
@given(st.data())
def test_margin_follows_the_definition_on_random_trees(draw: st.DataObject) -> None:
    """Against a walk written here in the plainest way, over all rules at once."""
    depth = draw.draw(st.integers(0, 4))
    inner = 2**depth - 1
    n = 2 * inner + 1
    rng = np.random.default_rng(draw.draw(st.integers(0, 2**32)))
    rule: Rule = draw.draw(st.sampled_from(("<", "<=")))
    precision: Precision = draw.draw(st.sampled_from(("float32", "float64")))
    left = np.where(np.arange(n) < inner, 2 * np.arange(n) + 1, -1)
    right = np.where(left == -1, -1, left + 1)
    feature = rng.integers(0, 3, n)
    threshold = rng.choice([-1.0, 0.0, 0.1, 1.0], n)
    default_left = rng.random(n) < 0.5
    missing = rng.choice(["nan", "none", "zero"], n).tolist()
    sets = {node: rng.choice(4, 2).tolist() for node in range(inner) if rng.random() < 0.3}
    members_left = rng.random(n) < 0.5
    value = rng.normal(size=n)
    builder = ForestBuilder(3, rule=rule, precision=precision)
    builder.add_tree(
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        value=value,
        default_left=default_left,
        missing=missing,
        categories=sets,
        members_left=members_left,
    )
    X = rng.choice([np.nan, -1.0, 0.0, 0.1, float(np.float32(0.1)), 1.0, 2.0, 3.5, np.inf], (20, 3))

    expected = []
    for row in X:
        node = 0
        while left[node] != -1:
            x = np.float32(row[feature[node]]) if precision == "float32" else row[feature[node]]
            if missing[node] == "none" and np.isnan(x):
                x = 0.0
            if np.isnan(x) or (missing[node] == "zero" and x == 0):
                goes_left = default_left[node]
            elif node in sets:
                is_member = np.isfinite(x) and x >= 0 and int(x) in sets[node]
                goes_left = is_member == members_left[node]
            else:
                goes_left = float(x) < threshold[node] or (rule == "<=" and float(x) == threshold[node])
            node = left[node] if goes_left else right[node]
        expected.append([value[node]])
    np.testing.assert_array_equal(builder.build().margin(X), expected)
