"""Accumulated local effects against their definition, through the model's own prediction."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier, XGBRegressor

from arborshap import InputError, TreeExplainer
from support.models.case import data

DATA = data(gaps=False)
X, Y = DATA.X, DATA.y
GAPS = data(gaps=True).X
Predict = Callable[[Any], Any]


def by_bins(predict: Predict, rows: Any, column: int, bins: int) -> tuple[Any, Any]:
    """Apley and Zhu, equations 15 and 16, bin by bin; a line within each bin, as the authors' own package has it."""
    rows = rows[~np.isnan(rows[:, column])]
    values = rows[:, column]
    edges = sorted({np.sort(values)[max(0, int(np.ceil(len(values) * k / bins)) - 1)] for k in range(bins + 1)})
    effects, counts = [], []
    for k, (low, high) in enumerate(pairwise(edges)):
        inside = rows[((values > low) | ((k == 0) & (values == low))) & (values <= high)]
        upper, lower = inside.copy(), inside.copy()
        upper[:, column], lower[:, column] = high, low
        effects.append((np.asarray(predict(upper)) - np.asarray(predict(lower))).mean(axis=0))
        counts.append(len(inside))
    curve = np.concatenate([[0.0 * effects[0]], np.cumsum(effects, axis=0)])
    centre = sum(n * (a + b) / 2 for n, a, b in zip(counts, curve, curve[1:], strict=False)) / sum(counts)
    return np.array(edges), curve - centre


@pytest.mark.parametrize("bins", [1, 7, 40])
@pytest.mark.parametrize("column", [0, 2], ids=["continuous", "ties"])
def test_definition(column: int, bins: int) -> None:
    model = GradientBoostingRegressor(n_estimators=8, max_depth=4, random_state=0).fit(X, Y)
    curve = TreeExplainer(model, X[:5]).accumulated_local_effects(column, X, bins=bins)
    edges, expected = by_bins(model.predict, X, column, bins)
    np.testing.assert_array_equal(curve.grid_values[0], edges)
    np.testing.assert_allclose(np.asarray(curve.average)[0], expected, atol=1e-11)
    assert curve.accumulated
    assert curve.missing is None


def test_missing_values_are_left_out() -> None:
    model = XGBRegressor(n_estimators=6, max_depth=4).fit(GAPS, Y)
    curve = TreeExplainer(model, GAPS).accumulated_local_effects("x0", GAPS, bins=9)
    edges, expected = by_bins(model.predict, GAPS, 0, 9)
    np.testing.assert_array_equal(curve.grid_values[0], edges)
    np.testing.assert_allclose(np.asarray(curve.average)[0], expected, atol=1e-5)
    assert curve.observed is not None
    assert len(curve.observed[0]) == np.isfinite(GAPS[:, 0]).sum()


def test_several_outputs_and_probabilities() -> None:
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, DATA.classes)
    curve = TreeExplainer(forest, X).accumulated_local_effects(1, X, bins=6)
    np.testing.assert_allclose(np.asarray(curve.average).T, by_bins(forest.predict_proba, X, 1, 6)[1], atol=1e-12)
    boosted = XGBClassifier(n_estimators=5, max_depth=3).fit(X, DATA.binary)
    curve = TreeExplainer(boosted, X, model_output="probability").accumulated_local_effects(1, X, bins=6)
    expected = by_bins(lambda rows: boosted.predict_proba(rows)[:, 1], X, 1, 6)[1]
    np.testing.assert_allclose(np.asarray(curve.average)[0], expected, atol=1e-6)


def by_categories(predict: Predict, frame: Any, column: str, order: list[str]) -> Any:
    """Rows of two neighbouring categories, changed from the first to the second."""
    curve = [0.0]
    for low, high in pairwise(order):
        either = frame[frame[column].isin([low, high])]
        lower, upper = (
            either.assign(**{column: pd.Categorical([value] * len(either), categories=frame[column].cat.categories)})
            for value in (low, high)
        )
        curve.append(curve[-1] + float((predict(upper) - predict(lower)).mean()))
    shares = frame[column].value_counts(normalize=True)
    return np.array(curve) - sum(shares[category] * at for category, at in zip(order, curve, strict=True))


def test_categories_in_the_order_of_the_model() -> None:
    order = ["low", "high", "none"]  # neither sorted nor in the order of the rows
    grades = pd.Categorical(np.array(["none", "low", "high", "low"])[np.arange(len(X)) % 4], categories=order)
    frame = pd.DataFrame({"a": X[:, 0], "grade": grades})
    model = HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5, categorical_features="from_dtype")
    model.fit(frame, Y + 3.0 * (grades == "high") * (X[:, 0] > 0))
    explainer = TreeExplainer(model, frame)
    in_model = list(explainer.partial_dependence("grade").grid_values[0])
    curve = explainer.accumulated_local_effects("grade", frame)
    assert list(curve.grid_values[0]) == in_model
    expected = by_categories(model.predict, frame, "grade", in_model)
    np.testing.assert_allclose(np.asarray(curve.average)[0], expected, atol=1e-11)
    some = frame[frame["grade"] != "high"]
    assert list(explainer.accumulated_local_effects("grade", some).grid_values[0]) == [
        category for category in in_model if category != "high"
    ]


def test_a_raw_column_of_a_pipeline() -> None:
    towns = np.array(["Genf", "Bern", "Chur"])[np.arange(len(X)) % 3]
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "town": pd.Categorical(towns)})
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    pipeline = make_pipeline(encode, GradientBoostingRegressor(n_estimators=8, max_depth=3, random_state=0))
    pipeline.fit(frame, Y + 2.0 * (towns == "Bern") * (X[:, 0] > 0))
    explainer = TreeExplainer(pipeline, frame)
    curve = explainer.accumulated_local_effects("town", frame)
    assert list(curve.grid_values[0]) == ["Bern", "Chur", "Genf"]
    expected = by_categories(pipeline.predict, frame, "town", ["Bern", "Chur", "Genf"])
    np.testing.assert_allclose(np.asarray(curve.average)[0], expected, atol=1e-11)

    numbers = explainer.accumulated_local_effects("b", frame.assign(town="Bern"), bins=5)

    def in_bern(rows: Any) -> Any:
        return pipeline.predict(pd.DataFrame({"a": rows[:, 0], "b": rows[:, 1], "town": "Bern"}))

    np.testing.assert_allclose(np.asarray(numbers.average)[0], by_bins(in_bern, X[:, :2], 1, 5)[1], atol=1e-11)


def test_odd_columns() -> None:
    model = GradientBoostingRegressor(n_estimators=4, random_state=0).fit(X, Y)
    explainer = TreeExplainer(model, X)
    same = X.copy()
    same[:, 1] = 0.5
    flat = explainer.accumulated_local_effects(1, same)
    assert flat.grid_values[0].tolist() == [0.5]
    assert np.asarray(flat.average).tolist() == [[0.0]]
    one = explainer.accumulated_local_effects(1, X[:1])
    assert np.asarray(one.average).tolist() == [[0.0]]
    without = TreeExplainer(model).accumulated_local_effects(1, X, bins=5)  # no background is needed
    np.testing.assert_array_equal(
        np.asarray(without.average), np.asarray(explainer.accumulated_local_effects(1, X, bins=5).average)
    )


def test_bad_input() -> None:
    model = XGBRegressor(n_estimators=3, max_depth=3).fit(GAPS, Y)
    explainer = TreeExplainer(model, GAPS, groups={"both": [0, 1]})
    empty = GAPS[:3].copy()
    empty[:, 4] = np.nan
    calls: list[tuple[Any, str]] = [
        (lambda: explainer.accumulated_local_effects("both", GAPS), "'both' is 2 columns"),
        (lambda: explainer.accumulated_local_effects("nobody", GAPS), "no player 'nobody'"),
        (lambda: explainer.accumulated_local_effects(["x2", "x3"], GAPS), "one player"),
        (lambda: explainer.accumulated_local_effects("x2", GAPS, bins=0), "bins"),
        (lambda: explainer.accumulated_local_effects("x2", GAPS[:0]), "no rows"),
        (lambda: explainer.accumulated_local_effects("x4", empty), "not missing"),
    ]
    for call, message in calls:
        with pytest.raises(InputError, match=message):
            call()
    loss = TreeExplainer(XGBClassifier(n_estimators=3).fit(X, DATA.binary), X, model_output="log_loss")
    with pytest.raises(InputError, match="a loss needs the label"):
        loss.accumulated_local_effects(0, X)
