"""Explanations as frames: the caller's own kind, with the caller's own index, aligned after any slice."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from arborshap import Explanation, InputError, TreeExplainer

X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
EXPLAINER = TreeExplainer(RandomForestRegressor(n_estimators=4, max_depth=4, random_state=0).fit(X, X["a"] * X["b"]), X)
VALUES = EXPLAINER.shap_values(X)

INDICES = [
    pd.RangeIndex(30),
    pd.RangeIndex(100, 160, 2, name="number"),
    pd.Index([f"row {i}" for i in range(30)], name="label"),
    pd.date_range("2024-03-01", periods=30, freq="D", tz="Europe/Zurich"),
    pd.MultiIndex.from_product([["x", "y", "z"], range(10)], names=["kind", "number"]),
    pd.CategoricalIndex(["u", "v", "w"] * 10),
]


@pytest.mark.parametrize("index", INDICES, ids=lambda index: type(index).__name__)
def test_pandas_gives_pandas_with_its_index(index: pd.Index) -> None:
    explanation = EXPLAINER(X.set_index(index))
    frame = explanation.to_frame()
    pd.testing.assert_frame_equal(frame, pd.DataFrame(VALUES, columns=["a", "b", "c"], index=index))
    mask = np.arange(30) % 4 == 1
    for pick in (slice(5, 20, 3), mask, [7, 3, 3]):
        np.testing.assert_array_equal(explanation[pick].to_frame().to_numpy(), VALUES[pick])
        pd.testing.assert_index_equal(explanation[pick].to_frame().index, index[pick], exact="equiv")


@pytest.mark.parametrize(("make", "kind"), [(pl.from_pandas, pl.DataFrame), (pa.Table.from_pandas, pa.Table)])
def test_other_kinds_give_their_own(make: Any, kind: Any) -> None:
    explanation = EXPLAINER(make(X))[3:9, ["c", "a"]]
    frame = explanation.to_frame()
    assert type(frame) is kind
    assert (frame.columns if kind is pl.DataFrame else frame.column_names) == ["c", "a"]
    table = frame.to_pandas()
    np.testing.assert_array_equal(table.to_numpy(), VALUES[3:9][:, [2, 0]])


def test_arrays_give_pandas_or_what_is_asked_for() -> None:
    explanation = EXPLAINER(X.to_numpy())
    assert type(explanation.to_frame()) is pd.DataFrame
    assert type(explanation.to_frame(kind="polars")) is pl.DataFrame
    assert type(explanation.to_frame(kind="pyarrow")) is pa.Table
    with pytest.raises(InputError, match="kind must be 'pandas' or 'polars' or 'pyarrow'; got 'csv'"):
        explanation.to_frame(kind="csv")  # type: ignore[arg-type]


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install polars"):
        EXPLAINER(X).to_frame(kind="polars")


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_pairs_are_long(kind: Any) -> None:
    labelled = X.set_index(pd.Index([f"r{i}" for i in range(30)]))[:2]
    explanation = EXPLAINER(labelled, index="taylor")
    frame = explanation.to_frame(kind=kind)
    table = frame if kind == "pandas" else frame.to_pandas()
    assert list(table.columns) == ["row", "player", "other_player", "value"]
    assert len(table) == 2 * 3 * 3
    for row in table.itertuples(index=False, name=None):
        label, player, other, value = row
        i = ["r0", "r1"].index(label)
        assert value == explanation[i, player, other].values


def test_several_outputs_are_long_and_one_of_them_is_wide() -> None:
    classes = np.array(["low", "mid", "high"])[np.digitize(X["a"], [-0.5, 0.5])]
    model = RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0).fit(X, classes)
    explanation = TreeExplainer(model, X)(X)[10:14]
    table = explanation.to_frame()
    assert list(table.columns) == ["row", "player", "output", "value"]
    back = table.set_index(["row", "player", "output"])["value"]
    assert back[12, "b", "mid"] == explanation[2, "b", "mid"].values
    one_class = explanation[..., "high"].to_frame()
    assert list(one_class.columns) == ["a", "b", "c"]
    assert one_class.index.tolist() == [10, 11, 12, 13]
    one_player = explanation[:, "a"].to_frame()
    assert list(one_player.columns) == ["high", "low", "mid"]
    np.testing.assert_array_equal(one_player.to_numpy(), explanation[:, "a"].values)
    both = explanation[:, "a", "low"].to_frame()
    assert list(both.columns) == ["value"]
    assert both.index.tolist() == [10, 11, 12, 13]


def test_a_single_row_and_a_contrast_are_long() -> None:
    table = EXPLAINER(X)[4].to_frame()
    assert list(table.columns) == ["player", "value"]
    assert table["player"].tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(table["value"], VALUES[4])
    contrast = EXPLAINER.contrast(X[:5], X[5:9])
    np.testing.assert_array_equal(contrast.to_frame()["value"], contrast.values)


def test_a_player_twice_is_refused() -> None:
    with pytest.raises(InputError, match="a player is selected more than once"):
        EXPLAINER(X)[:, ["a", "a"]].to_frame()


def test_an_explanation_made_by_hand() -> None:
    explanation = Explanation(VALUES, np.zeros(30), feature_names=["a", "b", "c"])
    assert explanation[2:4].to_frame().shape == (2, 3)


def test_no_rows_are_an_empty_frame() -> None:
    for rows, index in ((X[:0], "shapley"), (X[:0], "taylor")):
        assert len(EXPLAINER(rows, index=index).to_frame()) == 0  # type: ignore[arg-type]
