"""Standard errors: against the spread of pairs, and against many backgrounds drawn from one population."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

from arborshap import Background, InputError, TreeExplainer
from support.models.case import data

X, Y = data(gaps=False).X, data(gaps=False).y
MODEL = GradientBoostingRegressor(n_estimators=8, max_depth=3, random_state=0).fit(X, Y)


def population(n: int, seed: int) -> Any:
    """Draw rows from a population that never ends: the training rows, shaken a little."""
    rng = np.random.default_rng(seed)
    return X[rng.integers(len(X), size=n)] + 0.3 * rng.standard_normal((n, X.shape[1]))


def test_the_spread_of_pairs() -> None:
    Z = X[:20]
    explainer = TreeExplainer(MODEL, Z)
    pairs = explainer.pair_values(X[30:34])
    expected = pairs.std(axis=1, ddof=1) / np.sqrt(len(Z))
    np.testing.assert_allclose(explainer.standard_error(X[30:34]), expected, atol=1e-8)


@pytest.mark.parametrize("index", ["shapley", "banzhaf", "taylor", "interaction"])
def test_backgrounds_drawn_again_and_again(index: Any) -> None:
    rows = X[:6]
    draws = [TreeExplainer(MODEL, population(240, seed), verify=False) for seed in range(120)]
    spread = np.std([explainer.values(rows, index=index) for explainer in draws], axis=0, ddof=1)
    errors = [explainer.standard_error(rows, index=index) for explainer in draws[:12]]
    estimated = np.sqrt(np.mean(np.square(errors), axis=0))
    matters = spread > 1e-3 * spread.max()
    # 120 draws know their spread to 7 percent, and 12 estimates from 30 parts each theirs to 4 percent.
    assert np.abs(np.log(estimated[matters] / spread[matters])).max() < 0.45
    assert abs(np.log(estimated[matters].sum() / spread[matters].sum())) < 0.1


def test_contrasts_cover_the_truth() -> None:
    before, after = population(20_000, 1), population(20_000, 2) + 0.2
    truth = TreeExplainer(MODEL, before).contrast(after, before).values
    explainer = TreeExplainer(MODEL, before[:200])
    inside = []
    for k in range(60):
        some = slice(300 * k, 300 * k + 300)
        contrast = explainer.contrast(after[some], before[some])
        assert contrast.standard_error is not None
        inside.append(np.abs(contrast.values - truth) < 1.96 * contrast.standard_error)
    assert 0.88 < np.mean(inside) < 0.99


def test_what_does_not_vary_has_no_error() -> None:
    Z = np.repeat(X[:1], 90, axis=0)
    assert not TreeExplainer(MODEL, Z).standard_error(X[5:8]).any()


def test_shapes_groups_and_outputs() -> None:
    labels = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    forest = RandomForestClassifier(n_estimators=4, max_depth=3, random_state=0).fit(X, labels)
    explainer = TreeExplainer(forest, X, groups={"both": [0, 1]})
    for index in ("shapley", "taylor"):
        assert explainer.standard_error(X[:3], index=index).shape == explainer.values(X[:3], index=index).shape
    contrast = explainer.contrast(X[:9], X[9:30])
    assert contrast.standard_error is not None
    assert contrast.standard_error.shape == contrast.values.shape
    both = contrast["both"]
    assert both.standard_error is not None
    np.testing.assert_array_equal(both.standard_error, contrast.standard_error[contrast.feature_names.index("both")])
    assert explainer.contrast(X[0], X[1]).standard_error is None
    assert contrast.abs.standard_error is None


def test_background_size() -> None:
    explainer = TreeExplainer(MODEL, population(600, 3))
    error = np.sqrt((explainer.standard_error(X[:40]) ** 2).mean(axis=0)).max()
    assert explainer.background_size(error, X[:40]) in (600, 601)
    assert abs(explainer.background_size(error / 3, X[:40]) - 5400) <= 1
    assert explainer.background_size(1e9) == 1
    assert explainer.background_size(error) > 1


def test_bad_input() -> None:
    explainer = TreeExplainer(MODEL, X)
    for error in (0.0, -1.0, np.nan, np.inf, "small"):
        with pytest.raises(InputError, match="positive number"):
            explainer.background_size(error)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no rows"):
        explainer.background_size(0.1, X[:0])
    assert explainer.standard_error(X[:0]).shape == (0, X.shape[1])
    with pytest.raises(InputError, match="no sampling error"):
        TreeExplainer(MODEL).standard_error(X[:2])
    with pytest.raises(InputError, match="two background rows"):
        TreeExplainer(MODEL, X[:1]).standard_error(X[:2])
    deep = GradientBoostingRegressor(n_estimators=2, max_depth=None, random_state=0).fit(X, Y)
    with pytest.raises(InputError, match="lost its order"):
        TreeExplainer(deep, Background(deep, X)).standard_error(X[:2])
