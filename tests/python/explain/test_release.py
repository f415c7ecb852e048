"""Release attribution: the definition, with the model as one more player, through the two models' own predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from arborshap import Background, InputError, release_attribution
from support.models.case import data
from support.oracle import shapley, worths

GAPS, Y = data(gaps=True).X, data(gaps=True).y
X = data(gaps=False).X
BEFORE, AFTER = X[:14], X[20:32] + 0.1
TWO = np.column_stack([Y, Y * Y])
LABELS = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))


def _margin(model: Any) -> Any:
    if isinstance(model, XGBRegressor | XGBClassifier):
        return lambda rows: model.predict(rows, output_margin=True)
    return model.predict_proba if hasattr(model, "predict_proba") else model.predict


def _expected(old: Any, new: Any, before: Any, after: Any, players: list[int] | None = None) -> Any:
    """Play the game by the definition: the last column says which model predicts."""

    def predict(rows: Any) -> Any:
        f, g = (np.reshape(_margin(model)(rows[:, :-1]), (len(rows), -1)) for model in (old, new))
        return np.where(rows[:, -1:] > 0.5, g, f)

    z = np.column_stack([before, np.zeros(len(before))])
    x = np.column_stack([after, np.ones(len(after))])
    return np.squeeze(shapley(worths(predict, x, z, players)).mean(axis=0))


XGB = XGBRegressor(n_estimators=4, max_depth=3, random_state=0).fit(GAPS, Y)
POISSON = LGBMRegressor(n_estimators=2, objective="poisson", verbose=-1).fit(X, np.abs(Y))
HIST = HistGradientBoostingRegressor(max_iter=4, max_depth=3).fit(GAPS, Y)
PAIRS = {
    "retrained": (XGB, XGBRegressor(n_estimators=5, max_depth=4, random_state=1).fit(GAPS[10:], Y[10:])),
    "another library": (HIST, XGB),
    "deep": (RandomForestRegressor(3, random_state=0).fit(X, Y), RandomForestRegressor(3, random_state=1).fit(X, Y)),
    "classes": (
        RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, LABELS),
        RandomForestClassifier(4, max_depth=4, random_state=1).fit(X, LABELS),
    ),
    "a vector and several trees": (
        RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, TWO),
        XGBRegressor(n_estimators=2, max_depth=3).fit(X, TWO),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_definition(name: str) -> None:
    old, new = PAIRS[name]
    change = release_attribution(old, new, BEFORE, AFTER)
    expected = _expected(old, new, BEFORE, AFTER)
    np.testing.assert_allclose(change.values, expected, atol=2e-6 * np.abs(expected).max())
    assert change.feature_names[-1] == "model"
    means = [np.reshape(_margin(m)(r), (len(r), -1)).mean(axis=0) for m, r in ((old, BEFORE), (new, AFTER))]
    np.testing.assert_allclose(np.atleast_1d(change.base_values), means[0], rtol=1e-5)
    np.testing.assert_allclose(np.atleast_1d(change.values.sum(axis=0)), means[1] - means[0], atol=1e-5)
    assert change.standard_error is not None
    assert change.standard_error.shape == change.values.shape


def test_missing_values() -> None:
    before, after = GAPS[:12], GAPS[30:40]
    assert np.isnan(before).any()
    expected = _expected(HIST, XGB, before, after)
    np.testing.assert_allclose(release_attribution(HIST, XGB, before, after).values, expected, atol=1e-6)


def test_groups() -> None:
    groups = {"two": [0, 2]}
    change = release_attribution(HIST, XGB, BEFORE, AFTER, groups=groups)
    names = change.feature_names
    alone = [j for j in range(X.shape[1]) if j not in (0, 2)]
    players = [names.index("two" if j in (0, 2) else f"x{j}") for j in range(X.shape[1])]
    assert len(names) == len(alone) + 2
    expected = _expected(HIST, XGB, BEFORE, AFTER, [*players, len(names) - 1])
    np.testing.assert_allclose(change.values, expected, atol=1e-6)


def test_frames_pipelines_and_other_columns() -> None:
    names = [f"column{j}" for j in range(X.shape[1])]
    frame, after = pd.DataFrame(BEFORE, columns=names), pd.DataFrame(AFTER, columns=names)
    train = pd.DataFrame(X, columns=names)
    old = make_pipeline(StandardScaler(), RandomForestRegressor(3, max_depth=3, random_state=0)).fit(train, Y)
    new = LGBMRegressor(n_estimators=3, num_leaves=5, min_child_samples=5, verbose=-1).fit(train, Y)
    change = release_attribution(old, new, frame, after)
    assert change.feature_names == [*names, "model"]

    def named(model: Any) -> Any:
        return type("Named", (), {"predict": lambda _, rows: model.predict(pd.DataFrame(rows, columns=names))})()

    expected = _expected(named(old), named(new), BEFORE, AFTER)
    np.testing.assert_allclose(change.values, expected, atol=1e-12)


def test_the_same_release_changes_nothing() -> None:
    change = release_attribution(XGB, XGB, BEFORE, BEFORE)
    np.testing.assert_allclose(change.values, 0.0, atol=1e-12)
    assert change.values[-1] == 0.0


def test_bad_input() -> None:
    with pytest.raises(InputError, match="before is a Background"):
        release_attribution(XGB, HIST, Background(XGB, BEFORE), AFTER)
    with pytest.raises(InputError, match=r"before has \d+ columns"):
        release_attribution(XGB, HIST, BEFORE[:, 1:], AFTER)
    with pytest.raises(InputError, match="after has no rows"):
        release_attribution(XGB, HIST, BEFORE, AFTER[:0])
    with pytest.raises(InputError, match="before is missing"):
        release_attribution(XGB, HIST, None, AFTER)
    with pytest.raises(InputError, match="1 outputs, the new one has 3"):
        release_attribution(XGB, PAIRS["classes"][0], BEFORE, AFTER)
    classifier = XGBClassifier(n_estimators=2, max_depth=3).fit(X, LABELS > 0)
    for other, links in ((classifier, "identity and logistic"), (POISSON, "identity and log")):
        with pytest.raises(InputError, match=rf"different units \(their links are {links}\)"):
            release_attribution(XGB, other, BEFORE, AFTER)
    letters = RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, np.array(["a", "b", "d"])[LABELS])
    later = RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, np.array(["a", "b", "c"])[LABELS])
    with pytest.raises(InputError, match=r"classes \['a', 'b', 'd'\], the new one has \['a', 'b', 'c'\]"):
        release_attribution(letters, later, BEFORE, AFTER)
    names = pd.DataFrame(BEFORE, columns=["model", *(f"c{j}" for j in range(1, X.shape[1]))])
    assert release_attribution(XGB, HIST, names, names).feature_names[-1] == "the model itself"
