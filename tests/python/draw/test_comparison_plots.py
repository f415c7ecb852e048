"""Plots of cohorts, drifts and error bars show what the arrays hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection

from arborshap import CohortContrasts, Drift, Explanation, InputError
from arborshap.result.value_unit import ValueUnit

mpl.use("Agg")

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    yield
    plt.close("all")


def comparison(shape: tuple[int, ...], **more: Any) -> dict[str, Any]:
    values = RNG.normal(size=shape)
    names = {"feature_names": [f"f{j}" for j in range(shape[-1])], "output_names": None}
    about = {"index": "shapley", "model_output": "raw", "unit": ValueUnit("prediction")}
    return {"values": values, "standard_error": None, "n_rows": [5] * 4, **names, **about, **more}


def drift(since: str, n_players: int = 10) -> Drift:
    means = np.zeros(4)
    return Drift(periods=["a", "b", "c", "d"], since=since, means=means, **comparison((3, n_players)))


def cohorts(against: str) -> CohortContrasts:
    shape = (3, 4) if against == "rest" else (3, 3, 4)
    names, means = ["a", "b", "c"], np.zeros(3)
    return CohortContrasts(names=names, against=against, means=means, reference_means=means, **comparison(shape))


@pytest.mark.parametrize("since", ["first", "previous"])
def test_the_line_of_a_drift_is_the_sum(since: str) -> None:
    found = drift(since)
    ax = found.plot(max_display=4)
    (line,) = [line for line in ax.lines if np.size(line.get_xdata()) == 4]
    changes = found.values.sum(axis=1)
    expected = changes if since == "first" else changes.cumsum()
    np.testing.assert_allclose(np.asarray(line.get_ydata()), [0.0, *expected], atol=1e-12)
    legend: Any = ax.get_legend()
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[-2:] == ["7 others together", "sum"]
    assert len(labels) == 5
    # The bands end where the positive and the negative contributions end.
    course = found.values if since == "first" else found.values.cumsum(axis=0)
    shown = [int(name.removeprefix("f")) for name in labels[:3]]
    others = [j for j in range(10) if j not in shown]
    bands = np.column_stack([course[:, shown], course[:, others].sum(axis=1)])
    heights = [np.asarray(path.vertices)[:, 1] for band in ax.collections for path in band.get_paths()]
    assert np.isclose(max(height.max() for height in heights), np.maximum(bands, 0.0).sum(axis=1).max())
    assert np.isclose(min(height.min() for height in heights), np.minimum(bands, 0.0).sum(axis=1).min())


def test_cells_of_cohorts() -> None:
    found = cohorts("rest")
    image = np.asarray(found.plot().images[0].get_array())
    order = np.argsort(-np.abs(found.values).max(axis=0), kind="stable")
    np.testing.assert_array_equal(image, found.values[:, order])
    found = cohorts("each other")
    ax = found.plot(reference="b", max_display=2)
    image = np.asarray(ax.images[0].get_array())
    values = found.values[[0, 2], 1]
    first = int(np.abs(values).max(axis=0).argmax())
    np.testing.assert_allclose(image, np.column_stack([values[:, first], np.delete(values, first, 1).sum(axis=1)]))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "c"]


def test_error_bars() -> None:
    values, errors = np.array([2.0, -1.0, 0.5, 0.1]), np.array([0.2, 0.1, 0.05, 0.1])
    change = Explanation(values[np.newaxis], [0.0], feature_names=list("abcd"), standard_error=errors[np.newaxis])[0]
    ax = change.plot.bar(max_display=3)
    (bars,) = [found for found in ax.collections if isinstance(found, LineCollection)]
    ends = [np.asarray(segment)[:, 0].tolist() for segment in bars.get_segments() if len(segment)]
    np.testing.assert_allclose(ends[:2], [[2.0 - 0.392, 2.0 + 0.392], [-1.0 - 0.196, -1.0 + 0.196]])
    assert np.isnan(ends[2:]).all()  # the error of a sum is not known
    assert "95 percent intervals" in ax.get_xlabel()


def test_bad_input() -> None:
    with pytest.raises(InputError, match="no cohort 'd'"):
        cohorts("each other").plot(reference="d")
    with pytest.raises(InputError, match="leave reference out"):
        cohorts("rest").plot(reference="a")
    with pytest.raises(InputError, match="only one output"):
        drift("first").plot(output=1)
    several = Drift(
        periods=["a", "b"], since="first", means=np.zeros((2, 3)), **comparison((1, 4, 3), feature_names=list("abcd"))
    )
    for wrong in (None, 3, "x", True):
        with pytest.raises(InputError, match="choose one with output="):
            several.plot(output=wrong)
    assert several.plot(output=2).get_ylabel() == "change in the mean prediction"
