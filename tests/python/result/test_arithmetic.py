"""Arithmetic with explanations, summaries along their axes, samples, cohorts, orders and concatenation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from arborshap import Explanation, InputError, TreeExplainer

NAMES = ["age", "sex", "size"]
RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(5, 3))


def single(**more: Any) -> Explanation:
    return Explanation(VALUES, np.full(5, 2.0), feature_names=NAMES, data=VALUES * 10, **more)


def several() -> Explanation:
    values = RNG.normal(size=(5, 3, 2))
    return Explanation(values, np.arange(10.0).reshape(5, 2), feature_names=NAMES, output_names=["no", "yes"])


def test_an_explanation_is_an_array_of_its_values() -> None:
    explanation = single()
    assert np.asarray(explanation) is explanation.values
    assert np.array(explanation) is not explanation.values
    assert np.array(explanation, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(np.abs(explanation), np.abs(VALUES))


def test_sizes() -> None:
    np.testing.assert_array_equal(single().abs.values, np.abs(VALUES))
    np.testing.assert_array_equal(abs(single()).values, np.abs(VALUES))
    assert single().abs.data is not None, "each size still belongs to its row"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (lambda e: 2 * e, 2 * VALUES),
        (lambda e: e * np.float64(2), 2 * VALUES),
        (lambda e: np.float64(2) * e, 2 * VALUES),
        (lambda e: e + 1, VALUES + 1),
        (lambda e: 1 + e, VALUES + 1),
        (lambda e: e - 1, VALUES - 1),
        (lambda e: 1 - e, 1 - VALUES),
        (lambda e: -e / 2, -VALUES / 2),
    ],
)
def test_plain_numbers(changed: Any, expected: Any) -> None:
    result = changed(single())
    assert isinstance(result, Explanation)
    np.testing.assert_array_equal(result.values, expected)
    assert result.feature_names == NAMES


@pytest.mark.parametrize("other", ["x", None, [1, 2], single()])
def test_nothing_but_numbers(other: Any) -> None:
    with pytest.raises(TypeError):
        single() * other


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_summaries(name: str, axis: int) -> None:
    explanation = several()
    result = getattr(explanation, name)(axis)
    np.testing.assert_array_equal(result.values, getattr(np, name)(explanation.values, axis=axis))
    kinds = [kind for i, kind in enumerate(["row", "player", "output"]) if i != axis % 3]
    assert [found.kind for found in result.axes] == kinds
    assert result.data is None
    base = {0: 0, 2: 1}.get(axis % 3)
    expected = explanation.base_values if base is None else getattr(np, name)(explanation.base_values, axis=base)
    np.testing.assert_array_equal(result.base_values, expected)


def test_a_summary_can_be_read_and_drawn_on() -> None:
    ranked = single().abs.mean(0)
    assert ranked[int(ranked.argsort[-1])].feature_names == [NAMES[int(np.abs(VALUES).mean(0).argmax())]]
    assert "age" in repr(ranked)
    assert len(ranked.to_frame()) == 3
    assert single().sum() == VALUES.sum()
    np.testing.assert_array_equal(single().percentile(50, 0).values, np.median(VALUES, axis=0))


@pytest.mark.parametrize("axis", [2, -3, True, "row"])
def test_an_axis_that_is_not_there(axis: Any) -> None:
    with pytest.raises(InputError, match=r"axis must be one of 0 \(rows\), 1 \(players\), or None"):
        single().mean(axis)


def test_no_rows() -> None:
    with pytest.raises(InputError, match="there are no rows to summarise"):
        single()[:0].mean(0)


class TestPredictions:
    def test_they_are_those_of_the_model(self) -> None:
        model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(VALUES, VALUES[:, 0])
        explainer = TreeExplainer(model, VALUES)
        for index in ("shapley", "taylor", "interaction"):
            explanation = explainer(VALUES, index=index)
            np.testing.assert_allclose(explanation.predictions, model.predict(VALUES), atol=1e-12)
        np.testing.assert_allclose(explanation[2].predictions, model.predict(VALUES)[2], atol=1e-12)
        np.testing.assert_allclose(explanation[::-1, ::-1].predictions, model.predict(VALUES)[::-1], atol=1e-12)

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: single().abs,
            lambda: 2 * single(),
            lambda: single().mean(0),
            lambda: single()[:, "age"],
            lambda: single()[:, ["age", "sex"]],
            lambda: single(index="banzhaf"),
            lambda: Explanation.concat([single(), single().abs]),
        ],
    )
    def test_numbers_that_do_not_add_up_have_none(self, wrong: Any) -> None:
        with pytest.raises(InputError, match="these values do not add up to predictions"):
            _ = wrong().predictions


def test_a_sample() -> None:
    explanation = single()
    some = explanation.sample(3, random_state=1)
    assert some.shape == (3, 3)
    np.testing.assert_array_equal(some.data, some.values * 10)
    assert explanation.sample(5) is explanation
    assert explanation.sample(9, replace=True).shape == (9, 3)
    with pytest.raises(InputError, match="max_samples must be a positive number of rows"):
        explanation.sample(0)


class TestCohorts:
    def test_by_label(self) -> None:
        found = single().cohorts(["b", "a", "b", "a", "b"])
        assert list(found) == ["b", "a"]
        np.testing.assert_array_equal(found["a"].values, VALUES[[1, 3]])

    def test_by_a_tree(self) -> None:
        values = np.zeros((40, 2))
        values[20:, 1] = 5.0
        data = np.column_stack([np.tile([0.0, 1.0], 20), np.repeat([3.0, 7.0], 20)])
        explanation = Explanation(values, np.zeros(40), feature_names=["noise", "step"], data=data)
        found = explanation.cohorts(2)
        assert sorted(found) == ["step <= 5", "step > 5"]
        np.testing.assert_array_equal(found["step > 5"].values, values[20:])
        assert list(explanation.cohorts(1)) == ["all rows"]

    def test_wrong_labels(self) -> None:
        with pytest.raises(InputError, match=r"one label for each of 5 rows; got \(2,\)"):
            single().cohorts(["a", "b"])
        with pytest.raises(InputError, match="needs numeric data; give one label per row"):
            several().cohorts(2)
        with pytest.raises(InputError, match="cohorts must be a positive number"):
            single().cohorts(0)


def test_similar_rows_stand_together() -> None:
    values = np.array([[0.0, 1.0], [9.0, 9.0], [0.1, 1.1], [9.1, 9.0]])
    order = Explanation(values, np.zeros(4), feature_names=["a", "b"]).hclust().tolist()
    assert sorted(order) == [0, 1, 2, 3]
    assert {frozenset(order[:2]), frozenset(order[2:])} == {frozenset({0, 2}), frozenset({1, 3})}
    assert sorted(single().hclust(axis=1)) == [0, 1, 2]
    with pytest.raises(InputError, match="select one output first"):
        several().hclust()
    with pytest.raises(InputError, match=r"axis must be 0 \(rows\) or 1 \(players\)"):
        single().hclust(axis=2)


class TestConcatenation:
    def test_rows_follow_one_another(self) -> None:
        frame = pd.DataFrame(VALUES, columns=NAMES, index=list("abcde"))
        model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(frame, VALUES[:, 0])
        explainer = TreeExplainer(model, frame)
        whole = explainer(frame)
        parts = Explanation.concat([explainer(frame[:2]), explainer(frame[2:])])
        np.testing.assert_array_equal(parts.values, whole.values)
        np.testing.assert_array_equal(parts.data, whole.data)
        np.testing.assert_array_equal(parts.predictions, whole.predictions)
        pd.testing.assert_frame_equal(parts.to_frame(), whole.to_frame())

    def test_others_are_refused(self) -> None:
        other = Explanation(VALUES, np.zeros(5), feature_names=["a", "b", "c"])
        with pytest.raises(InputError, match="explanation 1 has another feature_names than explanation 0"):
            Explanation.concat([single(), other])
        with pytest.raises(InputError, match="explanation 0 is one row"):
            Explanation.concat([single()[0]])
        with pytest.raises(InputError, match="at least one explanation"):
            Explanation.concat([])


def test_cells_to_print() -> None:
    np.testing.assert_array_equal(single().display_data, VALUES * 10)
    grouped = Explanation(
        VALUES[:, :1],
        np.zeros(5),
        feature_names=["g"],
        data=np.ones((5, 2)),
        data_names=["a", "b"],
        data_players=["g", "g"],
    )
    assert grouped.display_data is not None
    assert grouped.display_data[0, 0] == "1, 1"
