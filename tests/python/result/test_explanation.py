"""The result object: whatever is selected, values, base values, data and names still belong together."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import shap
from sklearn.tree import DecisionTreeRegressor

from arborshap import TreeExplainer
from arborshap.exceptions import InputError
from arborshap.result.explanation import Explanation

RNG = np.random.default_rng(0)
ROWS, PLAYERS, OUTPUTS = 5, 3, 2
NAMES = ["age", "sex", "race"]
CLASSES = ["no", "yes"]


def single() -> Explanation:
    return Explanation(
        RNG.normal(size=(ROWS, PLAYERS)),
        np.arange(ROWS, dtype=float),
        feature_names=NAMES,
        data=np.arange(15.0).reshape(ROWS, PLAYERS),
        row_labels=np.array(list("pqrst")),
    )


def several() -> Explanation:
    return Explanation(
        RNG.normal(size=(ROWS, PLAYERS, OUTPUTS)),
        np.arange(10.0).reshape(ROWS, OUTPUTS),
        feature_names=NAMES,
        output_names=CLASSES,
        data=np.arange(15.0).reshape(ROWS, PLAYERS),
    )


def pairs() -> Explanation:
    return Explanation(
        RNG.normal(size=(ROWS, PLAYERS, PLAYERS, OUTPUTS)),
        np.arange(10.0).reshape(ROWS, OUTPUTS),
        feature_names=NAMES,
        output_names=CLASSES,
        index="taylor",
        data=np.arange(15.0).reshape(ROWS, PLAYERS),
    )


def grouped() -> Explanation:
    return Explanation(
        RNG.normal(size=(ROWS, 2)),
        np.zeros(ROWS),
        feature_names=["age", "race"],
        data=np.arange(20.0).reshape(ROWS, 4),
        data_names=["race_a", "age", "race_b", "race_c"],
        data_players=["race", "age", "race", "race"],
    )


def test_shape_and_length() -> None:
    explanation = several()
    assert explanation.shape == (5, 3, 2)
    assert len(explanation) == 5
    assert explanation.index == "shapley"


def test_a_row() -> None:
    explanation = single()
    assert explanation[-5].base_values == 0.0
    row = explanation[-2]
    np.testing.assert_array_equal(row.values, explanation.values[3])
    assert row.base_values == 3.0
    assert row.data is not None
    assert row.data.tolist() == [9.0, 10.0, 11.0]
    assert row.feature_names == NAMES
    with pytest.raises(TypeError, match="single row"):
        len(row)


@pytest.mark.parametrize(
    "key",
    [slice(1, 4), slice(None, None, -2), [3, 0], np.array([4, -4]), [True, False, True, False, True], [], slice(0, 0)],
)
def test_some_rows(key: Any) -> None:
    explanation = single()
    wanted = np.arange(ROWS)[np.asarray(key, dtype=None if len(key) else int) if isinstance(key, list) else key]
    part = explanation[key]
    np.testing.assert_array_equal(part.values, explanation.values[wanted])
    assert part.base_values.tolist() == wanted.tolist()
    assert part.data is not None
    assert explanation.data is not None
    np.testing.assert_array_equal(part.data, explanation.data[wanted])
    assert part.row_labels is not None
    assert "".join(part.row_labels) == "".join("pqrst"[i] for i in wanted)


def test_rows_are_iterated() -> None:
    explanation = single()
    assert [float(row.base_values) for row in explanation] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_player_by_name_or_number() -> None:
    explanation = several()
    for key in ("race", 2, -1):
        part = explanation[:, key]
        np.testing.assert_array_equal(part.values, explanation.values[:, 2])
        assert part.feature_names == ["race"]
        assert part.output_names == CLASSES
        assert part.base_values.shape == (5, 2)
        assert part.data is not None
        assert part.data.tolist() == [2.0, 5.0, 8.0, 11.0, 14.0]


def test_players_in_another_order_take_their_data_along() -> None:
    part = single()[:, ["race", "age"]]
    assert part.shape == (5, 2)
    assert part.feature_names == part.data_names == part.data_players == ["race", "age"]
    assert part.data is not None
    assert part.data[0].tolist() == [2.0, 0.0]
    assert part[:, "age"].data is not None


def test_an_output_by_name_or_number() -> None:
    explanation = several()
    for key in ((..., "yes"), (..., 1), (slice(None), slice(None), -1)):
        part = explanation[key]
        np.testing.assert_array_equal(part.values, explanation.values[:, :, 1])
        assert part.base_values.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]
        assert part.output_names == ["yes"]
        assert part.data is not None
        assert part.data.shape == (5, 3)
    assert explanation[..., ["yes"]].shape == (5, 3, 1)


def test_every_axis_at_once_is_one_number() -> None:
    explanation = several()
    cell = explanation[2, "sex", "no"]
    assert cell.shape == ()
    assert cell.values == explanation.values[2, 1, 0]
    assert cell.base_values == 4.0
    assert cell.data == 7.0


def test_two_lists_select_a_block() -> None:
    explanation = several()
    part = explanation[[0, 4], ["sex", "age"], [1]]
    np.testing.assert_array_equal(part.values, explanation.values[np.ix_([0, 4], [1, 0], [1])])
    assert part.base_values.tolist() == [[1.0], [9.0]]


def test_selecting_twice_is_selecting_at_once() -> None:
    explanation = several()
    np.testing.assert_array_equal(explanation[1:4][:, "sex"][..., "yes"].values, explanation[1:4, "sex", "yes"].values)
    np.testing.assert_array_equal(explanation[..., "yes"][2]["sex"].values, explanation[2, "sex", "yes"].values)


def test_selecting_leaves_the_original_alone() -> None:
    explanation = several()
    explanation[1, "sex", "yes"]
    assert explanation.shape == (5, 3, 2)
    assert explanation.feature_names == NAMES
    assert explanation.data_names == NAMES
    assert explanation.output_names == CLASSES


def test_pairs_of_players_have_two_axes_of_names() -> None:
    explanation = pairs()
    assert explanation[:, "age"].shape == (5, 3, 2)
    assert explanation[:, "age"].feature_names == NAMES
    block = explanation[:, ["age"], ["race", "sex"], "yes"]
    np.testing.assert_array_equal(block.values, explanation.values[np.ix_(range(5), [0], [2, 1], [1])][..., 0])
    assert block.data_names == ["age", "race", "sex"]
    pair = explanation[0, "age", "race", 0]
    assert pair.values == explanation.values[0, 0, 2, 0]
    assert pair.feature_names == ["age", "race"]
    assert pair.data is not None
    assert pair.data.tolist() == [0.0, 2.0]


def test_a_group_keeps_all_its_columns() -> None:
    explanation = grouped()
    race = explanation[:, "race"]
    assert race.data_names == ["race_a", "race_b", "race_c"]
    assert race.data is not None
    assert race.data[1].tolist() == [4.0, 6.0, 7.0]
    both = explanation[1, ["race", "age"]]
    assert both.data_names == ["race_a", "race_b", "race_c", "age"]
    assert both.data is not None
    assert both.data.tolist() == [4.0, 6.0, 7.0, 5.0]


def test_a_reference_row_follows_the_players() -> None:
    explanation = single()
    explanation.reference = np.array([7.0, 8.0, 9.0])
    row = explanation[0, ["race", "age"]]
    assert row.reference is not None
    assert row.reference.tolist() == [9.0, 7.0]


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (5, IndexError, "there is no row 5; there are 5"),
        ([0, -6], IndexError, "there is no row -6; there are 5"),
        ((slice(None), 3), IndexError, "there is no player 3; there are 3"),
        ((slice(None), "height"), InputError, "no player is called 'height'; there are 'age', 'sex', 'race'"),
        ((..., "maybe"), InputError, "no output is called 'maybe'"),
        (("age", 0), IndexError, "rows cannot be selected by a name such as 'age'"),
        ((0, 0, 0, 0), IndexError, "there are 4 selectors, but the explanation has 3 axes"),
        ((..., 0, ...), IndexError, "only one"),
        ([True, False], IndexError, "mask of length 5"),
        (1.5, IndexError, "select rows by"),
        (True, IndexError, "select rows by"),
    ],
)
def test_a_wrong_selection_is_refused(key: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        several()[key]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": np.zeros(3)}, "shapley values have 2 axes"),
        ({"feature_names": ["age"]}, "need 3 player names, got 1"),
        ({"base_values": np.zeros(4)}, r"need base_values of shape \(5,\), got \(4,\)"),
        ({"data": np.zeros((5, 2))}, "data must have 5 rows and 3 columns"),
        ({"data_players": ["age", "sex", "height"]}, "data_players"),
        ({"values": np.zeros((5, 3, 2)), "base_values": np.zeros((5, 2)), "output_names": ["a"]}, "2 output names"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"values": np.zeros((5, 3)), "base_values": np.zeros(5), "feature_names": NAMES}
    Explanation(**good)
    with pytest.raises(InputError, match=message):
        Explanation(**{**good, **change})


def test_outputs_without_names_are_numbered() -> None:
    explanation = Explanation(np.zeros((1, 3, 2)), np.zeros((1, 2)), feature_names=NAMES)
    assert explanation.output_names == ["0", "1"]


def test_repr_says_what_is_there() -> None:
    values = np.array([[1.0, -3.0, 0.5], [1.0, 1.0, 0.5]])
    explanation = Explanation(values, np.zeros(2), feature_names=NAMES)
    assert repr(explanation) == "<Explanation shapley: 2 rows x 3 players; mean size sex 2, age 1, race 0.5>"
    assert repr(explanation[0]) == "<Explanation shapley: 3 players; sex -3, age +1, race +0.5>"
    assert repr(explanation[0, "sex"]) == "<Explanation shapley: -3>"
    assert repr(explanation[:0]) == "<Explanation shapley: 0 rows x 3 players>"
    assert repr(pairs()) == "<Explanation taylor: 5 rows x 3 players x 3 players x 2 outputs>"


def test_it_can_be_pickled() -> None:
    explanation = pairs()
    again = pickle.loads(pickle.dumps(explanation))
    np.testing.assert_array_equal(again[:, "sex"].values, explanation[:, "sex"].values)


# --- shap -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [single, several, pairs])
def test_shap_gets_the_same_arrays(make: Any) -> None:
    explanation = make()
    theirs = explanation.to_shap()
    assert isinstance(theirs, shap.Explanation)
    np.testing.assert_array_equal(theirs.values, explanation.values)
    np.testing.assert_array_equal(theirs.base_values, explanation.base_values)
    np.testing.assert_array_equal(theirs.data, explanation.data)
    assert list(theirs.feature_names) == NAMES
    assert theirs.output_names == explanation.output_names


def test_shap_slices_rows_that_have_labels() -> None:
    explanation = single()
    explanation.row_labels = np.array(list("abcde"))
    theirs = explanation.to_shap()
    np.testing.assert_array_equal(theirs[0].abs.values, np.abs(explanation.values[0]))
    assert theirs[0]["age"].values == explanation[0, "age"].values
    assert len(list(theirs.mean(0))) == len(NAMES)
    shap.plots.beeswarm(theirs, order=theirs.abs.max(0), show=False)


def test_shap_gets_a_row_of_one_output() -> None:
    explanation = several()
    theirs = explanation[2, :, "yes"].to_shap()
    np.testing.assert_array_equal(theirs.values, explanation.values[2, :, 1])
    assert theirs.base_values == 5.0
    assert list(theirs.data) == [6.0, 7.0, 8.0]


def test_shap_gets_one_player_as_its_own_slices_are() -> None:
    explanation = single()
    ours, theirs = explanation[:, "sex"].to_shap(), explanation.to_shap()[:, "sex"]
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.data, theirs.data)
    assert ours.feature_names == theirs.feature_names == "sex"


def test_shap_gets_a_group_as_one_column_it_can_print() -> None:
    theirs = grouped().to_shap()
    assert theirs.data.shape == (5, 2)
    assert theirs.data[:, 0].tolist() == [1.0, 5.0, 9.0, 13.0, 17.0]
    assert np.isnan(theirs.data[:, 1]).all()
    assert theirs.display_data[1].tolist() == [5.0, "4, 6, 7"]
    assert grouped()[:, "race"].to_shap().data is None
    row = grouped()[1].to_shap()
    assert row.display_data.tolist() == [5.0, "4, 6, 7"]


@pytest.mark.parametrize("make", [single, grouped])
def test_shap_can_draw_it(make: Any) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    theirs = make().to_shap()
    shap.plots.bar(theirs, show=False)
    shap.plots.beeswarm(theirs, show=False)
    shap.plots.waterfall(theirs[0], show=False)
    shap.plots.scatter(theirs[:, "age"], show=False)
    plt.close("all")


def test_a_source_follows_the_rows_and_stays_out_of_pickles() -> None:
    rows = RNG.normal(size=(30, 3))
    forest = DecisionTreeRegressor(max_depth=3, random_state=0).fit(rows, rows[:, 0])
    explainer = TreeExplainer(forest, rows)
    explanation = explainer(rows)
    assert explanation.provenance is not None
    assert explanation.provenance.explainer is explainer
    assert explanation.provenance.seconds is not None
    for picked in (explanation[3:9], explanation[[5, 2]], explanation[4], explanation[:, "x1"]):
        assert picked.provenance is not None
    kept = explanation[[5, 2]][1].provenance
    assert kept is not None
    np.testing.assert_array_equal(kept.rows, rows[2])
    assert copy.copy(explanation).provenance is copy.deepcopy(explanation).provenance is explanation.provenance
    assert pickle.loads(pickle.dumps(explanation)).provenance is None
