"""What is done with interactions: selections, frames, plots, errors."""

from __future__ import annotations

from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

from arborshap import InputError, TreeExplainer

mpl.use("Agg")


@cache
def data() -> Any:
    return np.random.default_rng(1).normal(size=(80, 4))


@cache
def explainer() -> TreeExplainer:
    y = data()[:, 0] * data()[:, 1] + data()[:, 2]
    model = GradientBoostingRegressor(n_estimators=6, max_depth=3, random_state=0).fit(data(), y)
    return TreeExplainer(model, data()[:30], feature_names=["a", "b", "c", "d"])


@cache
def several() -> TreeExplainer:
    classes = np.digitize(data()[:, 0] * data()[:, 1], [-0.3, 0.3])
    return TreeExplainer(RandomForestClassifier(n_estimators=3, random_state=0).fit(data(), classes), data()[:30])


def test_the_largest_of_each_row_are_kept() -> None:
    whole, kept = explainer().interactions(data(), order=3), explainer().interactions(data(), order=3, top=4)
    assert kept.kept is not None
    assert kept.values.shape == kept.kept.shape == (80, 4)
    np.testing.assert_array_equal(np.take_along_axis(whole.values, kept.kept, axis=1), kept.values)
    np.testing.assert_array_equal(np.sort(np.abs(whole.values), axis=1)[:, -4:][:, ::-1], np.abs(kept.values))
    assert kept.top(2) == whole.top(2)
    assert explainer().interactions(data(), order=3, top=99).values.shape == whole.values.shape


def test_lists_name_the_players() -> None:
    result = explainer().interactions(data()[:2], order=2)
    assert [len(listed) for listed in result.top(3)] == [3, 3]
    names, value = result.top(1)[0][0]
    at = result.names.index(names)
    assert abs(value) == np.abs(result.values[0]).max() == abs(result.values[0, at])
    assert result.of_order(2).names == [names for names in result.names if len(names) == 2]
    assert "up to order 2: 2 rows" in repr(result)


def test_frames_have_a_line_per_value() -> None:
    result = explainer().interactions(data()[:3], order=2)
    frame = result.to_frame()
    assert list(frame.columns) == ["row", "set", "order", "value"]
    assert frame["value"].sum() == pytest.approx(result.values.sum())
    names, value = result.top(1)[1][0]
    line = frame[(frame["row"] == 1) & (frame["set"] == " x ".join(names))]
    assert line["value"].item() == value
    kept = explainer().interactions(data()[:3], order=2, top=2).to_frame()
    assert len(kept) == 6
    assert set(kept["set"]) <= set(frame["set"])
    outputs = several().interactions(data()[:3], order=2).to_frame()
    assert list(outputs.columns) == ["row", "set", "order", "output", "value"]


def test_outputs_are_chosen_by_name_or_position() -> None:
    result = several().interactions(data()[:3], order=2)
    assert result.values.ndim == 3
    np.testing.assert_array_equal(result.output(1).values, result.values[..., 1])
    assert result.output_names is not None
    np.testing.assert_array_equal(result.output(result.output_names[2]).values, result.values[..., 2])
    top = several().interactions(data()[:3], order=2, top=2)
    assert top.values.shape == (3, 2, 3)
    with pytest.raises(InputError, match="there is no output 'x'"):
        result.output("x")
    with pytest.raises(InputError, match="choose it with"):
        result.plot.network()


def test_means_are_those_of_the_rows() -> None:
    whole, kept = explainer().interactions(data(), order=2), explainer().interactions(data(), order=2, top=99)
    np.testing.assert_allclose(whole.mean_sizes(), np.abs(whole.values).mean(axis=0))
    np.testing.assert_allclose(kept.mean_sizes(), whole.mean_sizes())


@pytest.mark.parametrize("row", [None, 1])
def test_plots_show_every_player_and_the_largest_set(row: int | None) -> None:
    result = explainer().interactions(data()[:5], order=3)
    network = result.plot.network(row)
    assert {text.get_text() for text in network.texts} == {"a", "b", "c", "d"}
    bars = result.plot.sets(row, max_display=4)
    sizes = result.mean_sizes() if row is None else np.abs(result.values[row])
    largest = " × ".join(result.names[int(sizes.argmax())])  # noqa: RUF001
    assert bars.get_yticklabels()[0].get_text() == largest
    assert "other sets" in bars.get_yticklabels()[-1].get_text()
    mpl.pyplot.close("all")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": 0}, "order must be a number of players from 1 to 6; got 0"),
        ({"order": 7}, "got 7"),
        ({"order": 2.0}, "got 2.0"),
        ({"index": "sii"}, "index must be 'SII'"),
        ({"top": 0}, "top must be"),
        ({"y": [1, 2]}, "y"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explainer().interactions(data()[:2], **arguments)


def test_wrong_weights_are_refused() -> None:
    for weights, message in [
        ([1.0], "4 players need 4 weights"),
        ([1, 2, 3, np.nan], "not finite"),
        ("abcd", "numbers"),
    ]:
        with pytest.raises(InputError, match=message):
            explainer().semivalues(data()[:2], weights)
    for p in (-0.1, 1.5, np.nan, "x"):
        with pytest.raises(InputError, match="p must be a probability"):
            explainer().banzhaf_values(data()[:2], p)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="alpha must be a positive number"):
        explainer().beta_shapley_values(data()[:2], 0)


def test_no_rows_and_a_single_row() -> None:
    assert explainer().interactions(data()[:0], order=2).values.shape[0] == 0
    assert explainer().interactions(data()[0], order=2).values.shape[0] == 1
    assert explainer().interactions(data()[:0], order=2, top=3).values.shape == (0, 3)


def test_a_result_that_does_not_fit_is_refused() -> None:
    small = explainer().with_settings(memory_limit=1000)
    with pytest.raises(MemoryError, match=r"takes [\d,]+ bytes"):
        small.interactions(data(), order=3)
