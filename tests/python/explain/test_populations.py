"""Contrasts of populations, from their counts alone: by the definition, through the model's own prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from xgboost import XGBRegressor

from arborshap import Background, InputError, TreeExplainer
from support.models.case import data
from support.oracle import INDICES, worths

X, Y = data(gaps=False).X, data(gaps=False).y
BEFORE, AFTER = X[:40], X[40:64]
GROUPS = {"both": [1, 3]}


def _boosted() -> tuple[Any, Any]:
    model = XGBRegressor(n_estimators=6, max_depth=4, random_state=0).fit(X, Y)
    return model, lambda rows: model.predict(rows, output_margin=True)


def _classes() -> tuple[Any, Any]:
    labels = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    model = RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0).fit(X, labels)
    return model, model.predict_proba


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["columns", "groups"])
@pytest.mark.parametrize("made", [_boosted, _classes])
@pytest.mark.parametrize("index", list(INDICES))
def test_the_definition(made: Any, groups: Any, index: Any) -> None:
    model, predict = made()
    weights = np.linspace(0.5, 2.0, len(AFTER)).round(3)
    before = Background(model, BEFORE, groups=groups)
    after = Background(model, AFTER, groups=groups, sample_weight=weights)
    change = after.contrast(before, index)
    players = None if groups is None else [{1: 0, 3: 0}.get(j, 1 + j - (j > 1) - (j > 3)) for j in range(X.shape[1])]
    expected = np.average(INDICES[index](worths(predict, AFTER, BEFORE, players)), axis=0, weights=weights)
    expected = expected[..., 0] if expected.shape[-1] == 1 else expected
    if groups is not None:  # the oracle numbers players as the map says, the explainer by their first column
        order = _order(change.feature_names)
        for axis in range(2 if index in ("taylor", "interaction") else 1):
            expected = np.take(expected, order, axis=axis)
    np.testing.assert_allclose(change.values, expected, atol=2e-6 * np.abs(expected).max())
    if index in ("shapley", "taylor"):
        mean = np.average(np.reshape(predict(AFTER), (len(AFTER), -1)), axis=0, weights=weights)
        base = np.reshape(predict(BEFORE), (len(BEFORE), -1)).mean(axis=0)
        total = change.values.sum(axis=tuple(range(2 if index == "taylor" else 1)))
        np.testing.assert_allclose(change.base_values, base if len(base) > 1 else base[0], rtol=1e-5)
        np.testing.assert_allclose(total, np.squeeze(mean - base), atol=1e-5)


def _order(names: list[str]) -> list[int]:
    """Return the number that the oracle's map gives to each player of the explainer."""
    alone = [j for j in range(X.shape[1]) if j not in (1, 3)]
    return [0 if name == "both" else 1 + alone.index(int(name.removeprefix("x"))) for name in names]


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("depth", [3, None])
def test_no_change_is_exactly_nothing(index: Any, depth: int | None) -> None:
    model = RandomForestRegressor(n_estimators=4, max_depth=depth, random_state=0).fit(X, Y)
    before, after = Background(model, BEFORE), Background(model, AFTER)
    assert not before.contrast(Background(model, BEFORE[::-1]), index).values.any()
    np.testing.assert_array_equal(after.contrast(before, index).values, -before.contrast(after, index).values)


def test_the_mean_of_the_rows_values() -> None:
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, np.median(Y) < Y)
    before, after = Background(model, BEFORE), Background(model, AFTER)
    rows = TreeExplainer(model, BEFORE).shap_values(AFTER)
    np.testing.assert_allclose(after.contrast(before).values, rows.mean(axis=0), atol=1e-14)


def test_backgrounds_that_were_sent_need_the_model() -> None:
    model, _ = _boosted()
    before, after = Background(model, BEFORE), Background(model, AFTER)
    sent = [Background.from_bytes(part.to_bytes()) for part in (before, after)]
    with pytest.raises(InputError, match="give it as model="):
        sent[1].contrast(sent[0])
    expected = after.contrast(before).values
    np.testing.assert_array_equal(sent[1].contrast(sent[0], model=model).values, expected)
    np.testing.assert_array_equal(sent[1].contrast(before).values, expected)


def test_a_sliding_window() -> None:
    model, _ = _boosted()
    days = [Background(model, X[i : i + 10]) for i in range(0, 50, 10)]
    window = days[0].merge(days[1]).merge(days[2])
    moved = window.merge(days[3]).subtract(days[0])
    expected = days[1].merge(days[2]).merge(days[3])
    assert len(moved) == 30
    assert moved.to_bytes() == expected.to_bytes()
    with pytest.raises(InputError, match="not in the background"):
        window.subtract(days[4])


def test_a_minimum_of_rows() -> None:
    model, _ = _boosted()
    part = Background(model, BEFORE)
    assert part.to_bytes(minimum_rows=40) == part.to_bytes()
    with pytest.raises(InputError, match="has 40 rows, fewer than the minimum of 41; merge it"):
        part.to_bytes(minimum_rows=41)
    with pytest.raises(InputError, match="minimum_rows"):
        part.to_bytes(minimum_rows=0)


def test_bad_input() -> None:
    model, _ = _boosted()
    before = Background(model, BEFORE)
    strangers: list[Any] = [BEFORE, None, "before"]
    for other in strangers:
        for call in (before.contrast, before.merge, before.subtract):
            with pytest.raises(InputError, match="give another Background"):
                call(other)
    with pytest.raises(InputError, match="index"):
        before.contrast(before, "sum")  # type: ignore[arg-type]
    stranger = Background(RandomForestRegressor(2, max_depth=3, random_state=0).fit(X, Y), BEFORE)
    with pytest.raises(InputError, match="do not belong together"):
        before.contrast(stranger)
    with pytest.raises(InputError):
        Background(model, AFTER, groups=GROUPS).contrast(before)
    nothing = before.subtract(before)
    for empty in (nothing, Background(model, BEFORE[:0])):
        with pytest.raises(InputError, match="the other background has no rows"):
            before.contrast(empty)
        with pytest.raises(InputError, match="this background has no rows"):
            empty.contrast(before)
    twice = Background(model, BEFORE, sample_weight=np.full(len(BEFORE), 2.0))
    with pytest.raises(InputError, match=r"all 40 rows .* not all of their weight: 40 would be left without any row"):
        twice.subtract(before)
    assert twice.subtract(twice).native.weight == 0.0
