"""Error bars of contrasts from counts: against the spread of rows, by simulation, merged, subtracted and sent."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from arborshap import Background, InputError, ModelError, TreeExplainer
from arborshap.explain.counts import Counts
from arborshap.explain.deals import N_DEALS, Deals, deal_out
from support.models.case import data

X, Y = data(gaps=False).X, data(gaps=False).y
MODEL = GradientBoostingRegressor(n_estimators=8, max_depth=3, random_state=0).fit(X, Y)
DEEP = GradientBoostingRegressor(n_estimators=2, max_depth=None, random_state=0).fit(X, Y)


def population(n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return X[rng.integers(len(X), size=n)] + 0.3 * rng.standard_normal((n, X.shape[1]))


@pytest.mark.parametrize("model", [MODEL, DEEP], ids=["counts", "distinct rows"])
def test_few_rows_are_a_deal_each(model: Any) -> None:
    """Then the error is that of the rows' own values."""
    before, after = X[:20], X[20:45]
    parts = [Background(model, rows, error_bars=True) for rows in (before, after)]
    error = parts[1].contrast(parts[0]).standard_error
    pairs = TreeExplainer(model, before).pair_values(after)
    ours, theirs = pairs.mean(axis=1), pairs.mean(axis=0)
    expected = np.sqrt(ours.var(axis=0, ddof=1) / len(ours) + theirs.var(axis=0, ddof=1) / len(theirs))
    assert error is not None
    np.testing.assert_allclose(error, expected, rtol=1e-9, atol=1e-9 * expected.max())


@pytest.mark.parametrize("index", ["shapley", "taylor"])
def test_errors_in_the_unit_of_the_prediction(index: Any) -> None:
    """They come from fewer weightings than the values, but three digits of an error are enough."""
    model = GradientBoostingClassifier(n_estimators=8, max_depth=3, random_state=0).fit(X, np.median(Y) < Y)
    before, after = X[:12], X[12:30]
    parts = [Background(model, rows, error_bars=True, model_output="probability") for rows in (before, after)]
    sent = [Background.from_bytes(part.to_bytes()) for part in parts]
    error = sent[1].contrast(sent[0], index, model=model).standard_error
    pairs = np.stack(
        [TreeExplainer(model, z[np.newaxis], model_output="probability").values(after, index=index) for z in before]
    )
    ours, theirs = pairs.mean(axis=0), pairs.mean(axis=1)
    expected = np.sqrt(ours.var(axis=0, ddof=1) / len(ours) + theirs.var(axis=0, ddof=1) / len(theirs))
    assert error is not None
    np.testing.assert_allclose(error, expected, rtol=2e-3, atol=1e-9)
    raw = sent[1].contrast(sent[0], model=model, model_output="raw").standard_error
    plain = [Background(model, rows, error_bars=True) for rows in (before, after)]
    assert raw is not None
    np.testing.assert_array_equal(raw, plain[1].contrast(plain[0]).standard_error)


def test_a_loss_has_error_bars_of_the_raw_output() -> None:
    model = GradientBoostingClassifier(n_estimators=3, max_depth=3, random_state=0).fit(X, np.median(Y) < Y)
    parts = [Background(model, rows, error_bars=True, model_output="log_loss") for rows in (X[:90], X[90:])]
    sent = Background.from_bytes(parts[1].to_bytes())
    assert sent.contrast(parts[0], model_output="raw").standard_error is not None
    assert sent.merge(parts[0]).has_error_bars


@pytest.mark.parametrize("index", ["taylor", "interaction"])
def test_errors_of_pairs_of_players(index: Any) -> None:
    before, after = X[:12], X[12:30]
    parts = [Background(MODEL, rows, error_bars=True) for rows in (before, after)]
    error = parts[1].contrast(parts[0], index).standard_error
    against_all = TreeExplainer(MODEL, before).values(after, index=index)
    against_one = np.stack(
        [TreeExplainer(MODEL, z[np.newaxis]).values(after, index=index).mean(axis=0) for z in before]
    )
    expected = np.sqrt(against_all.var(axis=0, ddof=1) / len(after) + against_one.var(axis=0, ddof=1) / len(before))
    assert error is not None
    np.testing.assert_allclose(error, expected, rtol=1e-9, atol=1e-9 * expected.max())


@pytest.mark.parametrize(("output", "n"), [("raw", 60), ("probability", 12)])
def test_errors_cover_the_truth(output: Any, n: int) -> None:
    model = GradientBoostingClassifier(n_estimators=5, max_depth=3, random_state=0).fit(X, np.median(Y) < Y)
    before, after = population(20_000, 1), population(20_000, 2) + 0.2
    truth = Background(model, after, model_output=output).contrast(Background(model, before, model_output=output))
    inside = []
    for k in range(n):
        some = slice(300 * k, 300 * k + 300)
        parts = [
            Background(model, rows[some], error_bars=True, model_output=output, verify=False, n_jobs=1)
            for rows in (before, after)
        ]
        contrast = parts[1].contrast(parts[0], n_jobs=1)
        assert contrast.standard_error is not None
        inside.append(np.abs(contrast.values - truth.values) < 1.96 * contrast.standard_error)
    assert 0.85 < np.mean(inside) < 0.995


def test_weights() -> None:
    """Rows of weight 0 are none, and a weight of 2 for all changes nothing."""
    weights = np.where(np.arange(60) % 3 == 0, 0.0, 2.0)
    before = Background(MODEL, X[100:], error_bars=True)
    some = Background(MODEL, X[:60], sample_weight=weights, error_bars=True).contrast(before)
    plain = Background(MODEL, X[:60][weights > 0], error_bars=True).contrast(before)
    np.testing.assert_allclose(some.values, plain.values, atol=1e-13)
    assert some.standard_error is not None
    np.testing.assert_allclose(np.log(some.standard_error / plain.standard_error), 0.0, atol=0.7)


def test_merged_subtracted_and_sent() -> None:
    days = [Background(MODEL, population(50, seed), error_bars=True) for seed in range(4)]
    window = days[0].merge(days[1]).merge(days[2])
    moved = window.merge(days[3]).subtract(days[0])
    again = days[1].merge(days[2]).merge(days[3])
    assert moved.to_bytes() == again.to_bytes()
    assert "with error bars" in repr(moved)
    sent = pickle.loads(pickle.dumps(moved))
    np.testing.assert_array_equal(sent.contrast(days[0]).standard_error, again.contrast(days[0]).standard_error)
    # All deals together are all rows.
    assert moved.deals is not None
    whole = moved.deals.counts[0]
    for deal in moved.deals.counts[1:]:
        whole = whole.merge(deal)
    assert whole.to_bytes({}) == moved.counts.to_bytes({})

    batches = Background.from_batches(MODEL, [population(50, seed) for seed in range(1, 4)], error_bars=True)
    assert batches.to_bytes() == again.to_bytes()
    worker = TreeExplainer(MODEL, X).background_part(population(50, 1), error_bars=True)
    assert worker.to_bytes() == days[1].to_bytes()


def test_without_error_bars() -> None:
    plain, barred = Background(MODEL, X[:100]), Background(MODEL, X[100:], error_bars=True)
    assert not plain.has_error_bars
    for one, other in ((plain, barred), (barred, plain)):
        assert one.contrast(other).standard_error is None
        assert not one.merge(other).has_error_bars
    single = Background(MODEL, X[:1], error_bars=True)
    assert single.contrast(Background(MODEL, X[1:2], error_bars=True)).standard_error is None
    error = single.contrast(barred).standard_error  # the single row was asked about, the others are a sample
    assert error is not None
    assert error.max() > 0.0


def test_rows_dealt_out_in_another_way_are_refused() -> None:
    rows = population(80, 7)
    whole = Background(MODEL, rows, error_bars=True)
    halves = [Background(MODEL, rows[:40], error_bars=True), Background(MODEL, rows[:40])]
    with pytest.raises(InputError, match="subtract the very part that was merged"):
        whole.subtract(halves[0])
    assert not whole.subtract(halves[1]).has_error_bars


def test_deals_are_random_and_of_equal_size() -> None:
    rows = population(3001, 3)
    deals = deal_out(rows)
    sizes = np.bincount(deals, minlength=N_DEALS)
    assert set(sizes) <= {100, 101}
    periodic = np.bincount(deals[::N_DEALS], minlength=N_DEALS)  # rows that come in turns are not dealt in turns
    assert periodic.max() < 20
    firsts = [deal_out(population(1, seed))[0] for seed in range(300)]  # many parts of a single row
    assert len(set(firsts)) == N_DEALS


def test_damaged_deals_are_refused() -> None:
    part = Background(MODEL, X[:90], error_bars=True)
    assert part.deals is not None
    good = part.deals.to_texts()["deals"]
    assert Deals.from_texts({}, part.counts) is None
    for wrong in (good[1:], ["?", *good[1:]], ["AAAA", *good[1:]]):
        with pytest.raises(ModelError):
            Deals.from_texts({"deals": wrong}, part.counts)
    other = Background(MODEL, X[90:], error_bars=True)
    assert isinstance(other.counts, Counts)
    with pytest.raises(ModelError, match="do not fit"):
        Deals.from_texts({"deals": good}, other.counts)
