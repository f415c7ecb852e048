"""Plots show what the arrays hold: lengths, places, colours, labels, and sums that end where they should."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Polygon, Rectangle
from numpy.typing import NDArray

from arborshap import Explanation, Importance, InputError, TreeExplainer
from arborshap.draw import style
from arborshap.draw.beeswarm import spread
from support.figures import figure_4

mpl.use("Agg")

Array = NDArray[np.float64]
RNG = np.random.default_rng(7)
PLOTS = ["bar", "beeswarm", "waterfall", "contrast", "heatmap"]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Each test draws the same numbers whichever others ran, and leaves no figure open."""
    RNG.bit_generator.state = np.random.default_rng(7).bit_generator.state
    yield
    plt.close("all")


def make(n: int = 40, p: int = 5, **options: Any) -> Explanation:
    """Values whose players come in order of size: the first one largest."""
    values = RNG.normal(size=(n, p)) * 2.0 ** -np.arange(p)
    settings: dict[str, Any] = {"feature_names": [f"f{j}" for j in range(p)], "data": RNG.normal(size=(n, p))}
    return Explanation(values, np.full(n, 3.0), **{**settings, **options})


def labels(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def arrows(ax: Axes) -> list[tuple[float, float]]:
    """The start and the tip of each arrow of a waterfall, from the top down."""
    shapes = [patch for patch in ax.patches if isinstance(patch, Polygon)]
    return [(float(shape.get_xy()[0, 0]), float(shape.get_xy()[2, 0])) for shape in shapes]


def points(ax: Axes) -> Array:
    return np.vstack([np.asarray(collection.get_offsets()) for collection in ax.collections])


# --- bars -------------------------------------------------------------------------------------------------------


def test_bars_are_as_long_as_the_mean_size() -> None:
    explanation = make()
    ax = explanation.plot.bar()
    sizes = np.abs(explanation.values).mean(axis=0)
    order = np.argsort(-sizes)
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    np.testing.assert_allclose([bar.get_width() for bar in bars], sizes[order])
    assert labels(ax) == [f"f{j}" for j in order]
    assert texts(ax) == [f"{size:.2f}" if sizes.max() >= 1 else f"{size:.3f}" for size in sizes[order]]


def test_bars_of_one_row_have_signs_and_cells() -> None:
    explanation = Explanation(
        np.array([0.5, -2.0, 0.25])[np.newaxis], [1.0], feature_names=["a", "b", "c"], data=np.array([[1.5, 7, np.nan]])
    )[0]
    ax = explanation.plot.bar()
    assert [bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle)] == [-2, 0.5, 0.25]
    assert labels(ax) == ["b = 7", "a = 1.5", "c = missing"]
    assert texts(ax) == ["\N{MINUS SIGN}2.00", "+0.50", "+0.25"]
    assert ax.patches[0].get_facecolor() != ax.patches[1].get_facecolor()


def test_what_is_not_shown_is_in_the_last_bar() -> None:
    explanation = make(p=30)
    ax = explanation.plot.bar(max_display=4)
    sizes = np.sort(np.abs(explanation.values).mean(axis=0))[::-1]
    widths = [bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle)]
    np.testing.assert_allclose(widths, [*sizes[:3], sizes[3:].sum()])
    assert labels(ax)[-1] == "27 others together"


def test_as_many_players_as_lines_need_no_others() -> None:
    assert labels(make(p=4).plot.bar(max_display=4))[-1] != "1 others together"
    assert len(labels(make(p=4).plot.bar(max_display=4))) == 4


# --- beeswarm ---------------------------------------------------------------------------------------------------


def test_points_stand_at_the_values() -> None:
    explanation = make(n=300)
    ax = explanation.plot.beeswarm()
    where = points(ax)
    order = np.argsort(-np.abs(explanation.values).mean(axis=0))
    assert labels(ax) == [f"f{j}" for j in order]
    for line, j in enumerate(order):
        on_line = where[np.abs(where[:, 1] - line) <= 0.5]
        np.testing.assert_array_equal(np.sort(on_line[:, 0]), np.sort(explanation.values[:, j]))


def test_only_points_that_are_alike_leave_their_line() -> None:
    values = np.concatenate([np.zeros(30), np.linspace(1, 2, 30)])[:, np.newaxis]
    ax = Explanation(values, np.zeros(60), feature_names=["a"]).plot.beeswarm()
    where = points(ax)
    np.testing.assert_array_equal(where[where[:, 0] > 0, 1], 0)
    assert len(np.unique(where[where[:, 0] == 0, 1])) == 30


def test_points_are_coloured_by_the_rows_own_values() -> None:
    data = np.linspace(-1, 1, 50)[:, np.newaxis].repeat(2, axis=1)
    data[10, 1] = np.nan
    explanation = Explanation(data.copy(), np.zeros(50), feature_names=["a", "b"], data=data)
    explanation.values[10, 1] = 0.3
    ax = explanation.plot.beeswarm()
    shaded = [collection for collection in ax.collections if collection.get_array() is not None]
    for collection in shaded:
        shades, x = np.asarray(collection.get_array()), np.asarray(collection.get_offsets())[:, 0]
        assert (np.diff(shades[np.argsort(x)]) >= 0).all()
        assert (shades.min(), shades.max()) == (0, 1)
    assert sorted(np.size(collection.get_offsets()) // 2 for collection in shaded) == [49, 50]
    grey = [np.size(collection.get_offsets()) // 2 for collection in ax.collections if collection.get_array() is None]
    assert sorted(grey) == [0, 1]


def test_texts_and_groups_are_grey_and_others_are_summed() -> None:
    data = np.empty((40, 4), dtype=object)
    data[:, :3] = RNG.normal(size=(40, 3))
    data[:, 3] = "red"
    explanation = Explanation(
        make(p=3).values,
        np.zeros(40),
        feature_names=["group", "colour", "rest"],
        data=data,
        data_names=["g1", "g2", "r", "c"],
        data_players=["group", "group", "rest", "colour"],
    )
    ax = explanation.plot.beeswarm()
    assert sum(collection.get_array() is not None for collection in ax.collections) == 1
    ax = explanation.plot.beeswarm(max_display=2)
    assert labels(ax) == ["group", "2 others together"]
    below = points(ax)[points(ax)[:, 1] > 0.5]
    np.testing.assert_allclose(np.sort(below[:, 0]), np.sort(explanation.values[:, 1:].sum(axis=1)))


def test_no_two_points_of_a_line_cover_each_other() -> None:
    x = np.concatenate([np.zeros(500), RNG.normal(size=500)])
    offsets = spread(x, float(x.min()), float(x.max()))
    assert np.abs(offsets).max() <= 0.45
    assert len(np.unique(offsets[:500])) == 500, "equal values stand beside one another"
    few = spread(np.array([0.0, 1.0, 2.0]), 0.0, 2.0)
    np.testing.assert_array_equal(few, 0)


# --- waterfall and contrast -------------------------------------------------------------------------------------


def test_waterfall_leads_from_the_base_to_the_prediction() -> None:
    explanation = make()
    row = explanation[4]
    ax = row.plot.waterfall(max_display=4)
    found = arrows(ax)
    order = np.argsort(-np.abs(row.values))
    steps = [*row.values[order[:3]], row.values[order[3:]].sum()]
    np.testing.assert_allclose([end - start for start, end in found], steps)
    np.testing.assert_allclose([start for start, _ in found[:-1]], [end for _, end in found[1:]])
    np.testing.assert_allclose(found[-1][0], 3.0)
    np.testing.assert_allclose(found[0][1], 3.0 + row.values.sum())
    assert labels(ax) == [*(f"f{j} = {style.number(row.data[j])}" for j in order[:3]), "2 others together"]  # type: ignore[index]
    ends = [text for text in texts(ax) if "value" in text or "output" in text]
    assert [text.rsplit(" ", 1)[0] for text in ends] == ["base value", "model output"]
    assert float(ends[1].split()[-1]) == pytest.approx(3.0 + row.values.sum(), abs=0.006)


def trained() -> tuple[TreeExplainer, Array]:
    from sklearn.ensemble import GradientBoostingRegressor

    X = RNG.normal(size=(200, 4))
    y = 3 * X[:, 0] * (X[:, 1] > 0) + X[:, 2]
    model = GradientBoostingRegressor(n_estimators=30, max_depth=3, random_state=0).fit(X, y)
    return TreeExplainer(model, X, feature_names=["a", "b", "c", "d"]), X


def test_contrast_leads_from_one_prediction_to_the_other() -> None:
    explainer, X = trained()
    ax = explainer.contrast(X[0], X[1]).plot.contrast()
    h = explainer.forest.margin(X[:2])[:, 0]
    found = arrows(ax)
    np.testing.assert_allclose((found[-1][0], found[0][1]), (h[1], h[0]))
    assert set(labels(ax)) == {
        f"{name}: {style.number(X[1, j])} → {style.number(X[0, j])}" for j, name in enumerate("abcd")
    }
    ends = [text for text in texts(ax) if text.startswith("h(")]
    assert [text.split()[0] for text in ends] == ["h(z)", "h(x)"]


def test_contrast_of_equal_cells_and_one_hot_groups() -> None:
    explanation = Explanation(
        np.array([[1.0, 0.0]]),
        [0.0],
        feature_names=["blood", "age"],
        data=np.array([[1.0, 0.0, 0.0, 30.0]]),
        data_names=["type A", "type B", "type 0", "age"],
        data_players=["blood", "blood", "blood", "age"],
        reference=np.array([0.0, 0.0, 1.0, 30.0]),
    )[0]
    assert labels(explanation.plot.contrast()) == ["blood: type 0 → type A", "age: 30"]
    assert labels(explanation.plot.waterfall()) == ["blood = type A", "age = 30"]


def test_groups_of_many_columns_show_the_first_cells() -> None:
    many: dict[str, Any] = {"feature_names": ["g"], "data_names": list("abcdef"), "data_players": ["g"] * 6}
    explanation = Explanation(np.ones((1, 1)), [0.0], data=np.array([[1.5, 2, 3, 4, 5, np.nan]]), **many)
    assert labels(explanation[0].plot.bar()) == ["g = 1.5, 2, 3, …"]
    assert labels(explanation[0, ["g"]].plot.bar()) == ["g = 1.5, 2, 3, …"]


# --- scatter ----------------------------------------------------------------------------------------------------


def test_scatter_stands_at_data_and_values() -> None:
    explanation = make(n=60)
    assert explanation.data is not None
    ax = explanation.plot.scatter("f2", color=None)
    np.testing.assert_array_equal(points(ax), np.stack([explanation.data[:, 2], explanation.values[:, 2]], axis=1))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("f2", "Shapley value of f2")


def test_scatter_by_position() -> None:
    explanation = make(n=20)
    last = len(explanation.feature_names) - 1
    for position, name in ((2, "f2"), (-1, f"f{last}"), (0, "f0")):
        ax = explanation.plot.scatter(position, color=1)
        assert ax.get_xlabel() == name
        np.testing.assert_array_equal(points(ax), points(explanation.plot.scatter(name, color="f1")))
    with pytest.raises(InputError, match=f"there is no column {last + 1}; there are {last + 1} columns, counted"):
        explanation.plot.scatter(last + 1)
    with pytest.raises(InputError, match="a name or a position"):
        explanation.plot.scatter(True)


def test_scatter_finds_the_strongest_interaction() -> None:
    explainer, X = trained()
    explanation = explainer(X)
    pairs = explainer(X[:100], index="taylor")
    for interactions in (None, pairs):
        ax = explanation.plot.scatter("a", interactions=interactions)
        assert ax.child_axes[0].get_ylabel() == "b"
    # What is given decides, not what the values look like.
    pairs.values = np.zeros_like(pairs.values)
    pairs.values[:, 0, 3] = pairs.values[:, 3, 0] = 1.0
    ax = explanation.plot.scatter("a", interactions=pairs)
    assert ax.child_axes[0].get_ylabel() == "d"
    shades = np.asarray(ax.collections[-1].get_array(), dtype=np.float64)
    low, high = np.percentile(X[:, 3], [5, 95])
    np.testing.assert_allclose(shades, np.clip((X[:, 3] - low) / (high - low), 0, 1))


def test_scatter_of_missing_and_text_cells() -> None:
    data = np.empty((30, 2), dtype=object)
    data[:, 0] = np.arange(30.0)
    data[::5, 0] = np.nan
    data[:, 1] = np.where(np.arange(30) % 3 == 0, "red", "$blue")
    explanation = make(n=30, p=2, data=data)
    ax = explanation.plot.scatter("f0", color="f1")
    where = points(ax)
    assert (where[:, 0] < 0).sum() == 6, "missing cells stand left of all others"
    assert "missing" in texts(ax)
    legend = ax.get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} == {"red", "$blue"}
    ax.figure.canvas.draw()
    ax = explanation.plot.scatter("f1", color=None)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["$blue", "red"]
    assert set(np.round(points(ax)[:, 0])) == {0, 1}


def test_cells_that_pandas_calls_missing_are_drawn_as_such() -> None:
    pd = pytest.importorskip("pandas")
    data = np.empty((12, 3), dtype=object)
    data[:, 0] = np.arange(12)
    data[:, 1] = True
    data[:, 2] = pd.Timestamp("2026-01-01")
    data[::4, :2] = pd.NA
    data[::4, 2] = pd.NaT
    explanation = make(n=12, p=3, data=data)
    explanation.plot.beeswarm().figure.canvas.draw()
    ax = explanation.plot.scatter("f0", color="f1")
    assert (points(ax)[:, 0] < 1).sum() == 3
    assert set(labels(explanation[4].plot.waterfall())) == {"f0 = missing", "f1 = missing", "f2 = missing"}
    assert "f0 = missing" in explanation[4]._repr_html_()
    group = make(n=12, p=1, data=data, data_names=["a", "b", "c"], data_players=["f0"] * 3)
    assert labels(group[4].plot.bar()) == ["f0 = missing, missing, missing"]


def test_dates_are_drawn_in_their_order() -> None:
    days = np.datetime64("2026-01-30") + np.arange(8)
    moments = np.array([day.astype(object) for day in days])
    data = np.empty((8, 2), dtype=object)
    data[:, 0] = moments
    data[:, 1] = [datetime(2026, 1, 30, 12, tzinfo=UTC) + timedelta(days=i) for i in range(8)]
    data[3, 0] = None
    explanation = make(n=8, p=2, data=data)
    ax = explanation.plot.scatter("f0", color="f1")
    where = np.sort(points(ax)[:, 0])
    np.testing.assert_array_equal(where[1:], np.delete(days, 3).astype(float))
    ax.figure.canvas.draw()
    assert "2026" in ax.xaxis.get_offset_text().get_text()
    assert max(len(text.get_text()) for text in ax.get_xticklabels()) <= 5
    scale = ax.child_axes[0]
    assert [text.get_text() for text in scale.get_yticklabels()] == ["2026-01-30", "2026-02-06"]
    assert set(labels(explanation[0].plot.waterfall())) == {"f0 = 2026-01-30", "f1 = 2026-01-30 12:00"}
    shaded = [c for c in explanation.plot.beeswarm().collections if c.get_array() is not None]
    assert len(shaded) == 2, "dates are not grey"
    whole = make(n=8, p=1, data=days.astype("datetime64[ns]")[:, np.newaxis])
    np.testing.assert_array_equal(points(whole.plot.scatter("f0"))[:, 0], days.astype(float))


def test_texts_below_a_scatter_stay_readable() -> None:
    data = np.array([[f"customer {i:03}"] for i in range(300)], dtype=object)
    ax = make(n=300, p=1, data=data).plot.scatter("f0")
    assert 10 < len(ax.get_xticks()) <= 26
    assert [ax.get_xticklabels()[i].get_text() for i in (0, 1)] == [
        "customer 000",
        f"customer {int(ax.get_xticks()[1]):03}",
    ]


def test_scatter_of_a_group_needs_its_column() -> None:
    explanation = Explanation(
        RNG.normal(size=(9, 2)),
        np.zeros(9),
        feature_names=["g", "c"],
        data=RNG.normal(size=(9, 3)),
        data_names=["a", "b", "c"],
        data_players=["g", "g", "c"],
    )
    with pytest.raises(InputError, match="'g' has 2 columns; name the one to draw against: 'a', 'b'"):
        explanation.plot.scatter("g")
    ax = explanation.plot.scatter("b", color=None)
    assert explanation.data is not None
    np.testing.assert_array_equal(points(ax), np.stack([explanation.data[:, 1], explanation.values[:, 0]], axis=1))
    with pytest.raises(InputError, match="there is no column 'nobody'; there are 'a', 'b', 'c'"):
        explanation.plot.scatter("nobody")
    with pytest.raises(InputError, match="interactions must be"):
        explanation.plot.scatter("c", interactions=explanation)


# --- heatmap ----------------------------------------------------------------------------------------------------


def cells(ax: Axes) -> Array:
    return np.ma.filled(np.ma.asarray(ax.images[0].get_array()), np.nan)


def test_heatmap_has_main_effects_on_the_diagonal_and_whole_pairs_below() -> None:
    explainer, X = trained()
    explanation = explainer(X[:50], index="taylor")
    ax = explanation.plot.heatmap()
    names = labels(ax)
    order = [explanation.feature_names.index(name) for name in names]
    size = np.abs(explanation.values + explanation.values.transpose(0, 2, 1)).mean(axis=0)[np.ix_(order, order)]
    size[np.diag_indices(4)] /= 2
    shown = cells(ax)
    np.testing.assert_allclose(shown[np.tril_indices(4)], size[np.tril_indices(4)])
    assert np.isnan(shown[np.triu_indices(4, 1)]).all()
    row = explanation[7].plot.heatmap()
    prediction = explainer.forest.margin(X[7:8]).item()
    assert np.nansum(cells(row)) == pytest.approx(prediction - explanation.base_values[7])


def test_heatmap_of_some_players_needs_them_on_both_axes() -> None:
    values = RNG.normal(size=(6, 3, 3))
    pairs = Explanation(values, np.zeros(6), feature_names=["a", "b", "c"], index="taylor")
    assert set(labels(pairs[:, ["a", "c"], ["a", "c"]].plot.heatmap())) == {"a", "c"}
    for some in (pairs[:, ["a", "c"]], pairs[:, ["a", "c"], ["b", "c"]], pairs[0, ["a", "c"]]):
        with pytest.raises(InputError, match=r"same players on both axes; choose explanation\[:, names, names\]"):
            some.plot.heatmap()
        assert "taylor" in some._repr_html_()
        assert "<tr" not in some._repr_html_(), "a table of pairs would be of the wrong ones"
    with pytest.raises(InputError, match="draws pairs of players"):
        pairs[:, "a"].plot.heatmap()
    with pytest.raises(InputError, match="have the same players"):
        make(n=6, p=3, feature_names=["a", "b", "c"]).plot.scatter("a", interactions=pairs[:, :, ["b", "c"]])


def test_heatmap_of_many_rows_is_summed_in_parts() -> None:
    values = RNG.normal(size=(400, 150, 150))
    values += values.transpose(0, 2, 1)
    ax = Explanation(values, np.zeros(400), feature_names=[str(j) for j in range(150)], index="taylor").plot.heatmap()
    i, j = int(labels(ax)[3]), int(labels(ax)[1])
    np.testing.assert_allclose(cells(ax)[3, 1], np.abs(2 * values[:, i, j]).mean())
    assert "140 more players are not shown" in ax.get_xlabel()


# --- what all plots keep to -------------------------------------------------------------------------------------


@pytest.mark.parametrize("plot", PLOTS)
def test_several_outputs_need_a_choice(plot: str) -> None:
    shape = (4, 3, 3, 2) if plot == "heatmap" else (4, 3, 2)
    explanation = Explanation(
        RNG.normal(size=shape),
        np.zeros((4, 2)),
        feature_names=["a", "b", "c"],
        output_names=["no", "yes"],
        index="taylor" if plot == "heatmap" else "shapley",
        reference=np.zeros(3),
    )
    with pytest.raises(InputError, match=r'explanation\[\.\.\., "no"\]'):
        getattr(explanation.plot, plot)()
    chosen = explanation[..., "yes"]
    ax = getattr((chosen[1] if plot in ("waterfall", "contrast") else chosen).plot, plot)()
    assert set(labels(ax)) <= {"a", "b", "c"} or plot == "contrast"


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        ("bar", r"use plot\.heatmap"),
        ("waterfall", r"use plot\.heatmap"),
        ("heatmap", r"index='taylor'"),
    ],
)
def test_pairs_and_single_values_have_plots_of_their_own(plot: str, message: str) -> None:
    explanation = make()
    if plot == "heatmap":
        explanation = explanation[0]
    else:
        explanation = Explanation(np.zeros((2, 3, 3)), np.zeros(2), feature_names=["a", "b", "c"], index="taylor")
    with pytest.raises(InputError, match=message):
        getattr(explanation.plot, plot)()


def test_refusals_say_what_to_do() -> None:
    with pytest.raises(InputError, match=r"explanation\[0\]\.plot\.waterfall\(\)"):
        make().plot.waterfall()
    with pytest.raises(InputError, match=r"use plot\.waterfall"):
        make()[0].plot.contrast()
    with pytest.raises(InputError, match="do not add up"):
        make(index="banzhaf")[0].plot.waterfall()
    with pytest.raises(InputError, match="max_display must be"):
        make().plot.bar(max_display=0)
    with pytest.raises(InputError, match="no rows"):
        make()[:0].plot.beeswarm()


def every_plot(ax: Axes | None = None) -> list[Axes]:
    explanation = make()
    pairs = Explanation(RNG.normal(size=(5, 3, 3)), np.zeros(5), feature_names=["a", "b", "c"], index="taylor")
    one = make(reference=np.zeros(5))[0]
    return [
        explanation.plot.bar(ax=ax),
        explanation.plot.beeswarm(ax=ax),
        explanation.plot.scatter("f0", ax=ax),
        explanation[0].plot.waterfall(ax=ax),
        one.plot.contrast(ax=ax),
        pairs.plot.heatmap(ax=ax),
    ]


def test_axes_are_those_given_and_nothing_else_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a plot was shown"))
    before = dict(mpl.rcParams)
    given = plt.subplots()[1]
    figures = plt.get_fignums()
    assert all(ax is given for ax in every_plot(given))
    assert plt.get_fignums() == figures, "no figure is made beside the one that was given"
    for ax in every_plot():
        ax.figure.canvas.draw()
    assert dict(mpl.rcParams) == before


def test_names_are_text_and_never_too_long() -> None:
    names = ["$price$ of {x}", "two\nlines", "x" * 80 + "one", "x" * 80 + "two", "<b>"]
    explanation = make(feature_names=names)
    ax = explanation.plot.bar()
    ax.figure.canvas.draw()
    shown = labels(ax)
    assert {"$price$ of {x}", "two lines", "<b>"} <= set(shown)
    assert max(map(len, shown)) <= 30
    assert len(set(shown)) == 5, "the ends of long names, where they differ, are kept"


def test_names_that_differ_in_the_middle_are_told_apart() -> None:
    names = [f"sensor reading number {i} of the northern turbine hall" for i in (7, 81, 82)]
    explanation = make(feature_names=[*names, "short", "sensor reading number 7 of the southern turbine hall"])
    for ax in (explanation.plot.bar(), explanation.plot.beeswarm(), explanation[0].plot.waterfall()):
        shown = [label.split(" = ")[0] for label in labels(ax)]
        assert len(set(shown)) == len(shown)
        assert max(map(len, shown)) <= 30
        assert sum("number" not in label and "…8" in label for label in shown) == 2
    alike = [f"{'a' * 40}{k}{'b' * 40}" for k in (1, 2)]
    assert style.short_names(alike, 12) == ["aaa…aaaaaa1…", "aaa…aaaaaa2…"]
    assert style.short_names(["same" * 20] * 2, 12) == [style.short_name("same" * 20, 12)] * 2


@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e12])
def test_any_size_of_values_can_be_drawn(scale: float) -> None:
    explanation = make(n=12)
    explanation.values = explanation.values * scale
    for ax in (explanation.plot.bar(), explanation.plot.beeswarm(), explanation[0].plot.waterfall()):
        ax.figure.canvas.draw()
        low, high = ax.get_xlim()
        assert low < high
    assert labels(explanation[:1].plot.beeswarm())


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'arborshap\[plots\]'"):
        make().plot.bar()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-3, "\N{MINUS SIGN}3"),
        (123456, "123,456"),
        (0.061696, "0.0617"),
        (3.14159, "3.142"),
        (1234.5678, "1,235"),
        (2.5e-7, "2.5e\N{MINUS SIGN}07"),
        (float("nan"), "missing"),
        (None, "missing"),
        (float("inf"), "inf"),
        ("a text that goes on and on", "a text th…n and on"),
        (True, "True"),
    ],
)
def test_cells_are_short(value: Any, text: str) -> None:
    assert style.short_cell(value) == text


# --- the trace --------------------------------------------------------------------------------------------------


def test_trace_draws_edges_by_type() -> None:
    from arborshap.trace.drawing import EDGE_COLOURS

    trace = TreeExplainer(figure_4([3, 8, 100, -50]), [[-2, -1, 2]]).trace([0, 0, 1], [-2, -1, 2])
    ax = trace.plot()
    ax.figure.canvas.draw()
    drawn = [to_hex(line.get_color()) for line in ax.lines if line.get_linewidth() == 2.2]
    black = to_hex(mpl.rcParams["text.color"])
    # Once each: F at the root, X and Z below; the stub of B is made of two strokes.
    assert sorted(drawn) == sorted([EDGE_COLOURS["F"], EDGE_COLOURS["X"], EDGE_COLOURS["Z"], black, black])
    found = texts(ax)
    assert {"x1 ≤ 0.5", "x2 ≤ 1.33", "x 1   z 2", "X", "Z", "F"} <= set(found)
    # Nodes behind the stub, then the scenarios of the two splits, then the value of leaf 3.
    assert [text for text in found if text in ("1", "2", "3")] == ["3", "1", "3", "3"]
    assert {"+3.00", "\N{MINUS SIGN}8.00", "\N{MINUS SIGN}5.00", "phi"} <= set(found)


def test_trace_of_more_leaves_than_are_drawn_still_adds_up() -> None:
    explainer, X = trained()
    trace = max((explainer.trace(x, z) for x in X[:6] for z in X[6:12]), key=lambda trace: len(trace.leaves))
    assert len(trace.leaves) > 2
    ax = trace.plot(max_leaves=2, max_players=1)
    found = texts(ax)
    assert f"{len(trace.leaves) - 2} more leaves" in found
    largest = trace.players[int(np.abs(trace.phi).argmax())]
    assert largest in found
    assert sum(name in found for name in trace.players) == 1


def test_trace_of_several_outputs_needs_a_choice() -> None:
    from sklearn.tree import DecisionTreeRegressor

    X = RNG.normal(size=(60, 3))
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, np.stack([X[:, 0], X[:, 1]], axis=1))
    explainer = TreeExplainer(model, X)
    trace = explainer.trace(X[X[:, 0].argmin()], X[X[:, 0].argmax()])
    with pytest.raises(InputError, match="output must be one of"):
        trace.plot()
    for k, output in enumerate(trace.outputs):
        ax = trace.plot(output=output)
        assert {style.number(leaf.value[k]) for leaf in trace.leaves} <= set(texts(ax))
        bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
        phi = [float(text.replace("\N{MINUS SIGN}", "-")) for text in bold if text[0] in "+\N{MINUS SIGN}0"]
        expected = trace.phi[np.abs(trace.phi[:, k]) > 0, k]
        np.testing.assert_allclose(sorted(phi), sorted(expected), atol=0.006)


def test_values_of_a_probability_are_not_called_shapley_values() -> None:
    values = np.array([[0.2, -0.1], [0.1, 0.3]])
    explanation = Explanation(values, [0.4, 0.4], feature_names=["a", "b"], model_output="probability")
    assert explanation.plot.bar().get_xlabel() == "mean size of the share of the probability"
    assert explanation.plot.beeswarm().get_xlabel() == "share of the probability"
    top = explanation[0].plot.waterfall()
    assert top.get_xlabel() == "probability"
    assert any(text.get_text().startswith("probability 0.5") for text in top.texts)
    assert "to the probability 0.5" in explanation[0]._repr_html_()


# --- rows against players, and importance -----------------------------------------------------------------------


@pytest.mark.parametrize("order", ["prediction", "given"])
def test_a_heat_map_of_rows_has_a_cell_per_row_and_player(order: str) -> None:
    explanation = make(n=30, p=6)
    ax = explanation.plot.heatmap(max_display=4, order=order)
    sums = explanation.values.sum(axis=1)
    rows = np.argsort(sums) if order == "prediction" else np.arange(30)
    players = np.argsort(-np.abs(explanation.values).mean(axis=0))
    shown = [*(explanation.values[rows, j] for j in players[:3]), explanation.values[rows][:, players[3:]].sum(axis=1)]
    np.testing.assert_allclose(cells(ax), np.stack(shown))
    assert labels(ax) == ["model output", *(f"f{j}" for j in players[:3]), "3 others together"]
    curve = -np.asarray(ax.lines[1].get_ydata(), dtype=np.float64)
    np.testing.assert_allclose(np.corrcoef(curve, sums[rows])[0, 1], 1.0)
    assert {style.sizes(np.array([f(3 + sums) for f in (min, max)]))[i] for i in (0, 1)} <= set(texts(ax))
    ax.figure.canvas.draw()


def test_a_heat_map_of_banzhaf_values_has_no_prediction() -> None:
    ax = make(index="banzhaf", n=6, p=2).plot.heatmap()
    assert sorted(labels(ax)) == ["f0", "f1"]
    assert not ax.lines


def test_a_heat_map_of_rows_refuses_an_unknown_order() -> None:
    with pytest.raises(InputError, match="order must be"):
        make().plot.heatmap(order="size")
    make(n=1, p=1).plot.heatmap().figure.canvas.draw()


def test_importance_is_drawn_as_bars() -> None:
    explainer, X = trained()
    importance = explainer.importance(X)
    ax = importance.plot(max_display=3)
    sizes = np.sort(importance.values)[::-1]
    widths = [bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle)]
    np.testing.assert_allclose(widths, [*sizes[:2], sizes[2:].sum()])
    assert labels(ax) == [*(name for name, *_ in importance.ranked(2)), "2 others together"]
    given = plt.subplots()[1]
    assert importance.plot(ax=given) is given


def test_importance_of_several_outputs_is_stacked() -> None:
    sizes = np.array([[1.0, 2.0], [0.5, 0.25]])
    ax = Importance(sizes, ["a", "$b"], "shapley", 9, ["no", "$yes"]).plot()
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    np.testing.assert_allclose(
        [(bar.get_x(), bar.get_width()) for bar in bars], [(0, 1), (0, 0.5), (1, 2), (0.5, 0.25)]
    )
    assert labels(ax) == ["a", "$b"]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["no", "$yes"]
    ax.figure.canvas.draw()
    many = Importance(np.ones((2, 12)), ["a", "b"], "shapley", 9, [str(k) for k in range(12)]).plot()
    legend = many.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [*map(str, range(7)), "5 others"]


def test_importance_of_pairs_is_drawn_as_whole_effects() -> None:
    explainer, X = trained()
    importance = explainer.interaction_importance(X[:40])
    ax = importance.plot()
    shown = cells(ax)
    np.testing.assert_allclose(shown, cells(explainer(X[:40], index="taylor").plot.heatmap()))
    assert importance.index == "taylor"
    whole = {frozenset((a, b)): size for a, b, size in importance.ranked()}  # type: ignore[misc]
    names = labels(ax)
    for i in range(4):
        for j in range(i + 1):
            assert shown[i, j] == pytest.approx(whole[frozenset((names[i], names[j]))])


def test_truth_values_are_spread_and_named() -> None:
    data = np.empty((60, 2), dtype=object)
    data[:, 0] = np.arange(60) % 3 == 0
    data[::10, 0] = None
    data[:, 1] = np.arange(60) % 4
    explanation = make(n=60, p=2, data=data)
    ax = explanation.plot.scatter("f0", color=None)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["False", "True"]
    x = points(ax)[:, 0]
    is_true = np.array([cell is True for cell in data[:, 0]])
    is_false = np.array([cell is False for cell in data[:, 0]])
    assert np.all(np.abs(x[is_true] - 1) <= 0.2)
    assert np.all(np.abs(x[is_false]) <= 0.2)
    assert len(np.unique(x[is_true])) == is_true.sum(), "no two points share a place"
    assert x[~(is_true | is_false)].max() < -0.25, "missing cells have their lane"
    few = explanation.plot.scatter("f1", color=None)
    assert [text.get_text() for text in few.get_xticklabels()] == ["0", "1", "2", "3"]
    assert np.all(np.abs(points(few)[:, 0] - data[:, 1].astype(float)) <= 0.2)
    assert "f0 = False" in labels(explanation[1].plot.bar())


def test_a_scatter_shows_how_many_rows_are_where() -> None:
    explanation = make(n=300)
    ax = explanation.plot.scatter("f0", color=None)
    heights = [bar.get_height() for bar in ax.patches if isinstance(bar, Rectangle)]
    assert explanation.data is not None
    counts, _ = np.histogram(explanation.data[:, 0], bins=40)
    np.testing.assert_allclose(heights, 0.1 * counts / counts.max())


def test_no_number_is_written_below_the_lane_of_missing_cells() -> None:
    data = RNG.normal(30, 5, size=(200, 1))
    data[::9] = np.nan
    ax = make(n=200, p=1, data=data).plot.scatter("f0")
    ax.figure.canvas.draw()
    lowest = np.nanmin(data)
    written = [float(text.get_text()) for text in ax.get_xticklabels() if text.get_text()]
    assert written
    assert min(written) > lowest - 2


def test_a_beeswarm_is_legible() -> None:
    def dots(ax: Axes) -> list[float]:
        drawn: list[Any] = list(ax.collections)
        return [float(size) for collection in drawn for size in collection.get_sizes()]

    ax = make(n=442).plot.beeswarm()
    assert min(dots(ax)) >= 16
    assert min(float(text.get_fontsize()) for text in ax.get_yticklabels()) >= 12
    assert min(float(text.get_fontsize()) for text in ax.get_xticklabels()) >= 10
    assert max(dots(make(n=20_000, p=2).plot.beeswarm())) < 8
