"""Players from groups: the paper's index map, from a dict of columns or given as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arborshap.exceptions import InputError
from arborshap.game.groups import players_from
from support.patience import UNHURRIED

NAMES = ["age", "race_a", "race_b", "income", "race_c"]


def test_without_groups_every_feature_is_its_own_player() -> None:
    players, names = players_from(None, NAMES, 5)
    assert players.tolist() == [0, 1, 2, 3, 4]
    assert players.dtype == np.int32
    assert names == NAMES


@pytest.mark.parametrize(
    "columns",
    [["race_a", "race_b", "race_c"], [4, 1, 2], ("race_c", 2, np.int64(1)), np.array([1, 2, 4]), {1: 0, 2: 0, 4: 0}],
)
def test_a_group_stands_where_its_first_column_does(columns: Any) -> None:
    players, names = players_from({"race": columns}, NAMES, 5)
    assert players.tolist() == [0, 1, 1, 2, 1]
    assert players.dtype == np.int32
    assert names == ["age", "race", "income"]


def test_groups_are_ordered_by_column_and_not_by_mention() -> None:
    players, names = players_from({"late": ["income"], "early": ["age", "race_c"]}, NAMES, 5)
    assert players.tolist() == [0, 1, 2, 3, 0]
    assert names == ["early", "race_a", "race_b", "late"]


def test_no_groups_in_the_dict_is_no_groups() -> None:
    assert players_from({}, NAMES, 5)[0].tolist() == [0, 1, 2, 3, 4]


def test_a_group_may_take_the_name_of_a_column_inside_it() -> None:
    assert players_from({"age": ["age", "income"]}, NAMES, 5)[1] == ["age", "race_a", "race_b", "race_c"]


@pytest.mark.parametrize("index_map", [[0, 1, 1, 2, 1], (0, 1, 1, 2, 1), np.array([0, 1, 1, 2, 1], dtype=np.uint8)])
def test_an_index_map_is_taken_as_it_is(index_map: Any) -> None:
    players, names = players_from(index_map, NAMES, 5)
    assert players.tolist() == [0, 1, 1, 2, 1]
    assert players.dtype == np.int32
    assert names == ["age", "race_a + race_b + race_c", "income"]


def test_an_index_map_may_number_players_in_any_order() -> None:
    players, names = players_from([3, 0, 1, 2, 3], NAMES, 5)
    assert players.tolist() == [3, 0, 1, 2, 3]
    assert names == ["race_a", "race_b", "income", "age + race_c"]


def test_a_large_nameless_group_is_named_shortly() -> None:
    assert players_from([0, 0, 0, 0, 1], NAMES, 5)[1] == ["age + race_a + race_b + 1 more", "race_c"]


def test_a_model_of_no_features_has_no_players() -> None:
    assert players_from([], [], 0)[0].tolist() == []


def test_the_papers_one_hot_map_of_eight_columns_to_four_players() -> None:
    names = ["x1", "x2", "c1", "c2", "c3", "d1", "d2", "d3"]
    players, _ = players_from({"c": ["c1", "c2", "c3"], "d": ["d1", "d2", "d3"]}, names, 8)
    assert players.tolist() == [0, 1, 2, 2, 2, 3, 3, 3]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"race": ["race_a", "race_z"]}, "group 'race' lists the column 'race_z', which the model does not have"),
        ({"race": ["race_a"], "other": ["race_a"]}, "column 'race_a' is in two groups, 'race' and 'other'"),
        ({"race": ["race_a", 1]}, "column 'race_a' is listed twice in group 'race'"),
        ({"race": []}, "group 'race' is empty"),
        ({"race": [0, 5]}, "group 'race' lists column 5, but the model's columns are 0 to 4"),
        ({"race": [-1]}, "group 'race' lists column -1, but"),
        ({"race": "race_a"}, "group 'race' must be a list of columns, got 'race_a'"),
        ({"race": 3}, "group 'race' must be a list of columns, got 3"),
        ({"race": [1.0]}, "group 'race' lists 1.0, which is neither"),
        ({"race": [True]}, "group 'race' lists True, which is neither"),
        ({7: ["race_a"]}, "a group's name must be text, got 7"),
        ({"age": ["race_a", "race_b"]}, "'age' is the name of a group and of a column outside it"),
        ([], "the index map has 0 entries, but the model has 5 features"),
        ([0, 1, 1], "the index map has 3 entries, but the model has 5 features"),
        ([0, 1, 1, 3, 3], "gives player 2 no feature"),
        ([1, 2, 3, 4, 4], "gives player 0 no feature"),
        ([0, 1, -1, 2, 3], "entry 2 of the index map is -1, below 0"),
        ([0, 1, 2, 3, 5], "entry 4 of the index map is 5, but 5 features"),
        ([0, 1, 2**40, 2, 3], "entry 2 of the index map is 1099511627776"),
        ([0.0, 1.0, 1.0, 2.0, 3.0], "flat list of whole numbers"),
        (["age", "race_a"], "flat list of whole numbers"),
        ([["age", "race_a"], ["race_b"]], "flat list of whole numbers"),
        (np.zeros((5, 1), dtype=int), "flat list of whole numbers"),
        ("race", "groups must be a dict of lists of columns, an index map"),
        (5, "groups must be a dict of lists of columns, an index map"),
    ],
)
def test_what_is_wrong_is_said_and_where(groups: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        players_from(groups, NAMES, 5)


@UNHURRIED
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_a_dict_and_its_index_map_are_the_same_players(labels: list[int]) -> None:
    """Numbering the labels by first appearance is the map that a dict with the same groups gives."""
    order = list(dict.fromkeys(labels))
    index_map = [order.index(label) for label in labels]
    names = [f"x{j}" for j in range(len(labels))]
    groups = {f"g{label}": [j for j, other in enumerate(labels) if other == label] for label in order}
    from_dict, group_names = players_from(groups, names, len(labels))
    from_map, _ = players_from(index_map, names, len(labels))
    assert from_dict.tolist() == from_map.tolist() == index_map
    assert group_names == [f"g{label}" for label in order]
