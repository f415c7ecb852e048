"""Global importance by loss against its definition: all coalitions, through the model's own predictions."""

from __future__ import annotations

from itertools import combinations, permutations
from math import factorial
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import log_loss, mean_squared_error
from xgboost import XGBClassifier, XGBRegressor

from arborshap import InputError, TreeExplainer
from support.models.case import data

DATA = data(gaps=True, rows=120)
X, Y = DATA.X, DATA.y
FULL = data(gaps=False, rows=120).X
ROWS = slice(0, 15)
N = X.shape[1]


def definition(mean_loss: Any) -> Any:
    """Shapley values of how much the loss falls, over all coalitions of the columns."""
    everybody = range(N)
    losses = {players: mean_loss(list(players)) for k in range(N + 1) for players in combinations(everybody, k)}
    values = np.zeros(N)
    for players in losses:
        for j in set(everybody) - set(players):
            weight = factorial(len(players)) * factorial(N - len(players) - 1) / factorial(N)
            values[j] += weight * (losses[players] - losses[tuple(sorted({*players, j}))])
    return values


def means(predict: Any, rows: Any, background: Any, columns: list[int], weights: Any = None) -> Any:
    """Predict every row on some columns with all background rows elsewhere, and average."""
    mixed = np.repeat(background[np.newaxis], len(rows), axis=0)
    mixed[:, :, columns] = rows[:, np.newaxis, columns]
    predicted = np.asarray(predict(mixed.reshape(-1, N)))
    return np.average(predicted.reshape(len(rows), len(background), *predicted.shape[1:]), axis=1, weights=weights)


def test_squared_error() -> None:
    model = GradientBoostingRegressor(n_estimators=8, max_depth=3, random_state=0).fit(FULL, Y)
    found = TreeExplainer(model, FULL).sage_values(FULL[ROWS], Y[ROWS])
    expected = definition(lambda s: mean_squared_error(Y[ROWS], means(model.predict, FULL[ROWS], FULL, s)))
    np.testing.assert_allclose(found.values, expected, atol=1e-10)
    assert found.loss == "squared error"
    assert found.n_permutations == 0
    assert not found.standard_error.any()
    assert found.loss_with == pytest.approx(mean_squared_error(Y[ROWS], model.predict(FULL[ROWS])))
    assert found.values.sum() == pytest.approx(found.loss_without - found.loss_with)


def test_weights_of_both_kinds() -> None:
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(X, Y)
    of_background, of_rows = np.linspace(0.5, 2.0, len(X)), np.linspace(1.0, 3.0, 15)
    explainer = TreeExplainer(model, X, sample_weight=of_background)
    found = explainer.sage_values(X[ROWS], Y[ROWS], sample_weight=of_rows)

    def loss(columns: list[int]) -> float:
        predicted = means(model.predict, X[ROWS], X, columns, of_background)
        return float(mean_squared_error(Y[ROWS], predicted, sample_weight=of_rows))

    np.testing.assert_allclose(found.values, definition(loss), atol=1e-5)


def test_log_loss_of_mean_margins() -> None:
    for labels in (DATA.binary, DATA.classes):
        model = XGBClassifier(n_estimators=4, max_depth=3).fit(X, labels)
        found = TreeExplainer(model, X).sage_values(X[ROWS], labels[ROWS])

        def loss(columns: list[int], model: Any = model, labels: Any = labels) -> float:
            margins = means(lambda rows: model.predict(rows, output_margin=True), X[ROWS], X, columns)
            margins = np.column_stack([np.zeros(len(margins)), margins]) if margins.ndim == 1 else margins
            powers = np.exp(margins)
            return float(log_loss(labels[ROWS], powers / powers.sum(axis=1, keepdims=True), labels=np.unique(labels)))

        np.testing.assert_allclose(found.values, definition(loss), atol=2e-6)
        assert found.loss == "log loss"


def test_log_loss_of_mean_probabilities() -> None:
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(FULL, DATA.classes)
    boosted = XGBClassifier(n_estimators=4, max_depth=3).fit(X, DATA.binary)
    cases = [
        (TreeExplainer(forest, FULL), forest, FULL, DATA.classes),
        (TreeExplainer(boosted, X, model_output="probability"), boosted, X, DATA.binary),
    ]
    for explainer, model, rows, labels in cases:
        found = explainer.sage_values(rows[ROWS], labels[ROWS])

        def loss(columns: list[int], model: Any = model, rows: Any = rows, labels: Any = labels) -> float:
            probabilities = np.clip(means(model.predict_proba, rows[ROWS], rows, columns), 1e-12, 1.0)
            return float(-np.log(probabilities[np.arange(15), labels[ROWS]]).mean())

        np.testing.assert_allclose(found.values, definition(loss), atol=2e-6)


def test_class_names_and_several_numbers() -> None:
    names = np.array(["no", "yes"])[DATA.binary]
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(FULL, names)
    numbered = RandomForestClassifier(3, max_depth=3, random_state=0).fit(FULL, DATA.binary)
    found = TreeExplainer(model, FULL).sage_values(FULL[ROWS], names[ROWS])
    same = TreeExplainer(numbered, FULL).sage_values(FULL[ROWS], DATA.binary[ROWS])
    np.testing.assert_array_equal(found.values, same.values)
    targets = RandomForestClassifier(2, max_depth=2, random_state=0).fit(FULL, DATA.class_pair)
    with pytest.raises(InputError, match="several targets"):
        TreeExplainer(targets, FULL).sage_values(FULL[ROWS], DATA.binary[ROWS])
    both = RandomForestRegressor(3, max_depth=3, random_state=0).fit(FULL, DATA.pair)
    found = TreeExplainer(both, FULL).sage_values(FULL[ROWS], DATA.pair[ROWS])
    expected = definition(lambda s: mean_squared_error(DATA.pair[ROWS], means(both.predict, FULL[ROWS], FULL, s)))
    np.testing.assert_allclose(found.values, expected, atol=1e-10)


def _wide() -> tuple[Any, Any]:
    """Make ten columns, so that not all coalitions are computed, and a model that uses nine of them."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 10))
    rows[:, 4] = 0.0
    target = rows[:, 0] * 2.0 + rows[:, 1] * rows[:, 2] + 0.3 * rows[:, [3, 5, 6, 7, 8, 9]].sum(axis=1)
    return rows, target


def test_labels_may_be_objects() -> None:
    """As a column of a frame of mixed types is."""
    for model in (XGBClassifier(n_estimators=2, max_depth=2), RandomForestClassifier(2, max_depth=3, random_state=0)):
        explainer = TreeExplainer(model.fit(X, DATA.classes), X[:10])
        expected = explainer.sage_values(X, DATA.classes).values
        np.testing.assert_array_equal(explainer.sage_values(X, DATA.classes.astype(object)).values, expected)


def test_permutations() -> None:
    rows, target = _wide()
    model = XGBRegressor(n_estimators=25, max_depth=4).fit(rows, target)
    explainer = TreeExplainer(model, rows)
    fractions: list[float] = []
    found = explainer.sage_values(rows[:30], target[:30], tolerance=0.05, progress=fractions.append)
    assert found.n_permutations >= 16
    assert found.values[4] == found.standard_error[4] == 0.0
    assert found.values.sum() == pytest.approx(found.loss_without - found.loss_with, rel=1e-9)
    assert 0.0 < found.standard_error.max() <= 0.05 * np.ptp(found.values)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    again = explainer.sage_values(rows[:30], target[:30], tolerance=0.05)
    np.testing.assert_array_equal(again.values, found.values)
    other = explainer.sage_values(rows[:30], target[:30], tolerance=0.05, seed=1)
    assert (other.values != found.values).any()
    # The exact values of the nine columns that matter, by all coalitions: few standard errors away.
    used = [j for j in range(10) if j != 4]
    exact = np.zeros(10)
    losses = {
        s: float(np.square(explainer.coalition_values(rows[:30], [*s, 4]) - target[:30]).mean())
        for k in range(10)
        for s in combinations(used, k)
    }
    for s in losses:
        for j in set(used) - set(s):
            weight = factorial(len(s)) * factorial(8 - len(s)) / factorial(9)
            exact[j] += weight * (losses[s] - losses[tuple(sorted({*s, j}))])
    for one in (found, other):
        assert (np.abs(one.values - exact) <= 5.0 * one.standard_error + 1e-12).all()
    assert explainer.sage_values(rows[:30], target[:30], tolerance=1e-9, max_permutations=20).n_permutations == 20


def test_all_permutations_give_the_values_of_all_coalitions() -> None:
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(X, Y)
    explainer = TreeExplainer(model, X, groups={"first": [0, 1], "last": [3, 4]})
    found = explainer.sage_values(X[ROWS], Y[ROWS])
    gains = np.zeros(3)
    for order in permutations(range(3)):
        for k, player in enumerate(order):
            with_it, without = (explainer.coalition_values(X[ROWS], list(order[:end])) for end in (k + 1, k))
            gains[player] += (np.square(without - Y[ROWS]).mean() - np.square(with_it - Y[ROWS]).mean()) / 6
    np.testing.assert_allclose(found.values, gains, atol=1e-9)


def test_what_is_shown() -> None:
    rows, target = _wide()
    model = XGBRegressor(n_estimators=10, max_depth=3).fit(rows, target)
    found = TreeExplainer(model, rows).sage_values(rows[:40], target[:40], tolerance=0.2)
    assert found.ranked(1)[0][0] == "x0"
    frame = found.to_frame()
    assert list(frame.columns) == ["player", "value", "standard error"]
    assert frame["value"].is_monotonic_decreasing
    assert "squared error" in repr(found)
    ax = found.plot(max_display=5)
    assert len(ax.patches) == 5
    assert ax.get_xlabel().startswith("fall of the mean squared error; bars: ")


def test_bad_input() -> None:
    model = XGBClassifier(n_estimators=3, max_depth=2).fit(X, DATA.binary)
    explainer = TreeExplainer(model, X)
    regression = TreeExplainer(XGBRegressor(n_estimators=3, max_depth=2).fit(X, Y), X)
    calls: list[tuple[Any, str]] = [
        (lambda: explainer.sage_values(X, None), "y is missing"),
        (lambda: explainer.sage_values(X, DATA.binary[:5]), "one label per row"),
        (lambda: explainer.sage_values(X, [[1], *([1, 0] for _ in X[1:])]), "one label per row"),
        (lambda: explainer.sage_values(X, DATA.binary + 5), "labels are 0, 1"),
        (lambda: explainer.sage_values(X[:0], []), "no rows"),
        (lambda: explainer.sage_values(X, DATA.binary, tolerance=0.0), "tolerance"),
        (lambda: explainer.sage_values(X, DATA.binary, tolerance="small"), "tolerance"),  # type: ignore[arg-type]
        (lambda: explainer.sage_values(X, DATA.binary, max_permutations=3), "max_permutations"),
        (lambda: explainer.sage_values(X, DATA.binary, seed=-1), "seed"),
        (lambda: explainer.sage_values(X, DATA.binary, sample_weight=[1.0]), "sample_weight"),
        (lambda: regression.sage_values(X, ["a"] * len(X)), "must be numbers"),
        (lambda: regression.sage_values(X, np.zeros(len(X), "datetime64[s]")), "must be numbers"),
        (lambda: regression.sage_values(X, np.ma.masked_less(Y, Y[3] + 1e-9)), "y of row .* is masked"),
        (lambda: explainer.sage_values(X, np.ma.masked_equal(DATA.binary, 1)), "y of row .* is masked"),
        (
            lambda: explainer.sage_values(X, DATA.binary, sample_weight=np.ma.masked_equal(np.ones(len(X)), 1.0)),
            "sample_weight of row 0 is masked",
        ),
        (lambda: regression.sage_values(X, DATA.pair), "one number per prediction"),
        (lambda: regression.sage_values(X, np.full(len(X), np.nan)), "row 0"),
    ]
    for call, message in calls:
        with pytest.raises(InputError, match=message):
            call()
    loss = TreeExplainer(model, X, model_output="log_loss")
    with pytest.raises(InputError, match="a loss needs the label"):
        loss.sage_values(X, DATA.binary)
