"""Gaps between cohorts and the drift over periods: by the definition, through the model's own prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from xgboost import XGBRegressor

from arborshap import Background, InputError, TreeExplainer, cohort_contrasts, drift_contributions
from support.models.case import data
from support.oracle import shapley, worths

X, Y = data(gaps=False).X, data(gaps=False).y
MODEL = XGBRegressor(n_estimators=6, max_depth=4, random_state=0).fit(X, Y)
COHORTS = {"a": X[:20], "b": X[20:35], "c": X[35:65]}


def _by_definition(predict: Any, ours: Any, theirs: Any) -> Any:
    return shapley(worths(predict, ours, theirs)).mean(axis=0)


def test_against_the_rest() -> None:
    found = cohort_contrasts(MODEL, COHORTS)
    assert found.standard_error is not None
    assert found.standard_error.shape == found.values.shape == (3, 5)
    for i, (name, rows) in enumerate(COHORTS.items()):
        rest = np.concatenate([other for key, other in COHORTS.items() if key != name])
        expected = _by_definition(MODEL.predict, rows, rest)[:, 0]
        np.testing.assert_allclose(found.values[i], expected, atol=3e-6)
        gap = MODEL.predict(rows).mean() - MODEL.predict(rest).mean()
        np.testing.assert_allclose([found.gaps[i], found.values[i].sum()], gap, atol=1e-5)
        one = found.contrast(name)
        np.testing.assert_array_equal(one.values, found.values[i])
        np.testing.assert_allclose(one.predictions, MODEL.predict(rows).mean(), rtol=1e-5)
    assert found.n_rows == [20, 15, 30]
    frame = found.to_frame()
    assert list(frame.columns) == ["cohort", "against", "player", "value", "standard_error"]
    assert frame.set_index(["cohort", "player"])["value"]["b", "x3"] == found.values[1, 3]


def test_a_cohort_may_have_any_name() -> None:
    a, b, c = COHORTS.values()
    expected = cohort_contrasts(MODEL, COHORTS)
    found = cohort_contrasts(MODEL, {"a": a, "all but a": b, "c": c})
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.n_rows == expected.n_rows


def test_against_each_other_in_probabilities_and_groups() -> None:
    model = GradientBoostingClassifier(n_estimators=5, max_depth=3, random_state=0).fit(X, np.median(Y) < Y)
    found = cohort_contrasts(model, COHORTS, "each other", model_output="probability", groups={"both": [1, 3]})
    assert found.unit.name == "probability"
    for i, one in enumerate(COHORTS):
        for j, other in enumerate(COHORTS):
            explainer = TreeExplainer(model, COHORTS[other], model_output="probability", groups={"both": [1, 3]})
            expected = explainer.shap_values(COHORTS[one]).mean(axis=0)
            np.testing.assert_allclose(found.values[i, j], expected, atol=1e-12)
            mean = model.predict_proba(COHORTS[one])[:, 1].mean()
            np.testing.assert_allclose(found.means[i], mean, atol=1e-12)
            np.testing.assert_allclose(found.contrast(one, other).predictions, mean, atol=1e-12)
    np.testing.assert_array_equal(found.values, -found.values.swapaxes(0, 1))
    np.testing.assert_allclose(found.values.sum(axis=2), found.gaps, atol=1e-12)
    frame = found.to_frame()
    assert len(frame) == 6 * 4
    line = frame[(frame.cohort == "c") & (frame.against == "a") & (frame.player == "both")]
    assert line["value"].item() == found.values[2, 0, found.feature_names.index("both")]


def test_several_outputs() -> None:
    labels = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    model = RandomForestClassifier(n_estimators=4, max_depth=4, random_state=0).fit(X, labels)
    found = cohort_contrasts(model, COHORTS)
    expected = _by_definition(model.predict_proba, COHORTS["a"], np.concatenate([COHORTS["b"], COHORTS["c"]]))
    np.testing.assert_allclose(found.values[0], expected, atol=1e-12)
    assert found.output_names == ["0", "1", "2"]
    assert list(found.to_frame().columns) == ["cohort", "against", "player", "output", "value", "standard_error"]
    drift = drift_contributions(model, COHORTS)
    assert drift.values.shape == (2, 5, 3)
    np.testing.assert_allclose(drift.values.sum(axis=1), drift.means[1:] - drift.means[0], atol=1e-12)
    assert drift.contrast("c").has("output")
    assert len(drift.ranked(2)) == 2
    assert abs(drift.ranked(1)[0][1]) == np.abs(drift.values).max()


@pytest.mark.parametrize("since", ["first", "previous"])
def test_drift(since: Any) -> None:
    drift = drift_contributions(MODEL, COHORTS, since)
    names = list(COHORTS)
    for t in (1, 2):
        before = names[0 if since == "first" else t - 1]
        expected = _by_definition(MODEL.predict, COHORTS[names[t]], COHORTS[before])[:, 0]
        np.testing.assert_allclose(drift.values[t - 1], expected, atol=3e-6)
        one = drift.contrast(names[t])
        np.testing.assert_allclose(one.base_values, MODEL.predict(COHORTS[before]).mean(), rtol=1e-5)
        np.testing.assert_allclose(one.predictions, MODEL.predict(COHORTS[names[t]]).mean(), rtol=1e-5)
        assert one.standard_error is not None
    frame = drift.to_frame()
    assert frame["since"].unique().tolist() == (["a"] if since == "first" else ["a", "b"])
    assert frame["value"].to_numpy().reshape(2, 5).tolist() == drift.values.tolist()
    assert repr(drift).startswith(f"<Drift shapley: 3 periods since the {since}; ")


def test_backgrounds_bytes_and_explainers() -> None:
    parts = {name: Background(MODEL, rows, error_bars=True) for name, rows in COHORTS.items()}
    sent = {name: Background.from_bytes(part.to_bytes()) for name, part in parts.items()}
    explainer = TreeExplainer(MODEL, X)
    saved = TreeExplainer.from_bytes(explainer.to_bytes())
    expected = cohort_contrasts(MODEL, COHORTS)
    for model in (MODEL, explainer, saved):
        for given in (parts, sent, COHORTS, COHORTS | {"b": sent["b"]}):
            found = cohort_contrasts(model, given)
            np.testing.assert_array_equal(found.values, expected.values)
            np.testing.assert_array_equal(found.standard_error, expected.standard_error)
    np.testing.assert_array_equal(sent["a"].contrast(sent["b"], model=saved).values, expected_pair(parts))
    plain = cohort_contrasts(MODEL, COHORTS | {"b": Background(MODEL, COHORTS["b"])})
    assert plain.standard_error is None
    assert plain.to_frame()["standard_error"].isna().all()
    assert cohort_contrasts(MODEL, COHORTS, error_bars=False).standard_error is None


def expected_pair(parts: dict[str, Background]) -> Any:
    return parts["a"].contrast(parts["b"]).values


def test_bad_input() -> None:
    for call in (cohort_contrasts, drift_contributions):
        strangers: list[Any] = [X, None, [X, X], "ab"]
        for wrong in strangers:
            with pytest.raises(InputError, match="must be a dictionary"):
                call(MODEL, wrong)
        with pytest.raises(InputError, match="at least two"):
            call(MODEL, {"a": X})
        with pytest.raises(InputError, match="same name"):
            call(MODEL, {1: X, "1": X})
        with pytest.raises(InputError, match="'b' has no rows"):
            call(MODEL, {"a": X, "b": X[:0]})
        with pytest.raises(InputError, match=r"'b': .*columns"):
            call(MODEL, {"a": X, "b": X[:, :3]})
        with pytest.raises(InputError, match="must be 'shapley' or 'banzhaf'"):
            call(MODEL, COHORTS, index="taylor")  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"against|since"):
            call(MODEL, COHORTS, "last")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="brings its own"):
            call(TreeExplainer(MODEL, X), COHORTS, model_output="prediction")
        with pytest.raises(InputError, match="path-dependent explainer"):
            call(TreeExplainer(MODEL), COHORTS)
    part = Background.from_bytes(Background(MODEL, X).to_bytes())
    with pytest.raises(InputError, match="path-dependent explainer"):
        part.contrast(part, model=TreeExplainer(MODEL))
    other = RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, Y > 0)
    with pytest.raises(InputError, match="do not belong together"):
        cohort_contrasts(MODEL, COHORTS | {"c": Background(other, X)})
    classifier = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, Y > 0)
    mixed = {"a": Background(classifier, X), "b": Background(classifier, X, model_output="probability")}
    with pytest.raises(InputError, match="different outputs"):
        drift_contributions(classifier, mixed)
    assert not drift_contributions(classifier, mixed, model_output="raw").values.any()
    found = cohort_contrasts(MODEL, COHORTS)
    with pytest.raises(InputError, match="no cohort 'd'; there are 'a', 'b', 'c'"):
        found.contrast("d")
    with pytest.raises(InputError, match="compared with the rest"):
        found.contrast("a", "b")
    with pytest.raises(InputError, match="name the cohort"):
        cohort_contrasts(MODEL, COHORTS, "each other").contrast("a")
    with pytest.raises(InputError, match="k must be"):
        drift_contributions(MODEL, COHORTS).ranked(0)
    with pytest.raises(InputError, match="first period"):
        drift_contributions(MODEL, COHORTS).contrast("a")


def test_a_single_row_tells_no_error() -> None:
    periods = {"a": X[:20], "b": X[20:21], "c": X[21:50]}
    drift = drift_contributions(MODEL, periods)
    assert drift.standard_error is not None
    assert np.isnan(drift.standard_error[0]).all()
    known = drift_contributions(MODEL, {"a": X[:20], "c": X[21:50]}).standard_error
    np.testing.assert_array_equal(drift.standard_error[1:], known)
    assert drift.contrast("b").standard_error is None
    assert drift.contrast("c").standard_error is not None
    assert drift_contributions(MODEL, periods, "previous").standard_error is None
    gaps = cohort_contrasts(MODEL, periods, "each other").standard_error
    assert gaps is not None
    assert np.isnan(gaps).all(axis=2).tolist() == [[False, True, False], [True, False, True], [False, True, False]]
    rest = cohort_contrasts(MODEL, periods)
    assert rest.standard_error is not None
    assert np.isnan(rest.standard_error).all(axis=1).tolist() == [False, True, False]
    assert cohort_contrasts(MODEL, {"a": X[:1], "b": X[1:2]}).standard_error is None


def test_error_bars_are_true_or_false() -> None:
    parts = {"a": Background(MODEL, X[:20]), "b": Background(MODEL, X[20:], error_bars=np.False_)}  # type: ignore[arg-type]
    assert drift_contributions(MODEL, parts).standard_error is None
    explainer = TreeExplainer(MODEL, X)
    calls: list[Any] = [
        lambda flag: drift_contributions(MODEL, parts, error_bars=flag),
        lambda flag: cohort_contrasts(MODEL, COHORTS, error_bars=flag),
        lambda flag: Background(MODEL, X, error_bars=flag),
        lambda flag: Background.from_batches(MODEL, [X], error_bars=flag),
        lambda flag: explainer.background_part(X, error_bars=flag),
    ]
    for call in calls:
        for flag in ("yes", 1, None):
            with pytest.raises(InputError, match="error_bars must be True or False; got"):
                call(flag)
