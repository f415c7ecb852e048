"""Wrappers: what they compose, how they nest, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from arborshap import InputError, TreeExplainer
from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.models import load
from support.models.case import columns_of, data
from support.models.wrapper_cases import boosted, class_forest, forest, hist, hist_classifier, light
from support.oracle import shapley, worths

GIVEN = data(gaps=False)


def assert_exact(model: Any, rows: Any, predict: Any, tolerance: float = 1e-9) -> TreeExplainer:
    """Compare Shapley values of raw columns with the definition, played through the wrapper's own prediction."""
    X, Z = rows[:3], rows[10:15]
    explainer = TreeExplainer(model, Z)
    worth = worths(predict, np.asarray(X, np.float64), np.asarray(Z, np.float64))
    values = explainer.shap_values(X)
    expected = shapley(worth).reshape(values.shape)
    np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance * np.abs(worth).max())
    assert np.abs(values).max() > 0
    return explainer


def searched(model: Any, **grid: Any) -> Any:
    from sklearn.model_selection import GridSearchCV

    return GridSearchCV(model, grid, cv=2)


def test_a_search_over_a_pipeline_and_a_pipeline_that_ends_in_a_search() -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    for last, tolerance in ((forest(), 1e-9), (boosted(), 2e-5), (light(), 1e-9)):
        name = type(last).__name__.lower()
        outside = searched(make_pipeline(StandardScaler(), last), **{f"{name}__max_depth": [2, 3]})
        within = make_pipeline(StandardScaler(), searched(last, max_depth=[2, 3]))
        twice = make_pipeline(StandardScaler(), searched(make_pipeline(StandardScaler(), last)))
        for model in (outside, within, twice):
            model.fit(GIVEN.X, GIVEN.y)
            assert_exact(model, GIVEN.rows, lambda rows, model=model: columns_of(model.predict(rows)), tolerance)


def test_frozen_and_self_trained_models() -> None:
    from sklearn.semi_supervised import SelfTrainingClassifier

    partly = np.where(np.arange(len(GIVEN.X)) % 5 == 0, -1, GIVEN.binary)  # -1 is a label that is not known
    model = SelfTrainingClassifier(class_forest())
    with pytest.raises(ModelError, match="this SelfTrainingClassifier is not fitted"):
        TreeExplainer(model, GIVEN.rows)
    assert_exact(model.fit(GIVEN.X, partly), GIVEN.rows, model.predict_proba)
    frozen = pytest.importorskip("sklearn.frozen")
    model = frozen.FrozenEstimator(forest().fit(GIVEN.X, GIVEN.y))
    assert_exact(model, GIVEN.rows, lambda rows: columns_of(model.predict(rows)))


def test_wrappers_in_wrappers() -> None:
    from sklearn.ensemble import VotingRegressor
    from sklearn.multioutput import MultiOutputRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    voting = VotingRegressor([("forest", forest()), ("xgboost", searched(boosted(), max_depth=[2]))], weights=[3, 1])
    model = searched(make_pipeline(StandardScaler(), MultiOutputRegressor(voting)))
    model.fit(GIVEN.X, GIVEN.pair)
    explainer = assert_exact(model, GIVEN.rows, model.predict, 2e-5)
    library = explainer.facts().library
    assert library.count("scikit-learn") == 1
    assert " with xgboost " in library


def test_outputs_are_named_after_targets_and_classes() -> None:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.multioutput import MultiOutputClassifier

    words = np.array(["low", "middle", "high"])[GIVEN.classes]
    model = OneVsRestClassifier(class_forest()).fit(GIVEN.X, words)
    assert TreeExplainer(model, GIVEN.rows).output_names == ["high", "low", "middle"]
    both = np.stack([words, np.array(["no", "yes"])[GIVEN.binary]], axis=1)
    model = MultiOutputClassifier(class_forest()).fit(GIVEN.X, both)
    names = ["0: high", "0: low", "0: middle", "1: no", "1: yes"]
    assert TreeExplainer(model, GIVEN.rows).output_names == names
    # A member that tells two classes apart has one score, which is that of the second class.
    model = MultiOutputClassifier(hist_classifier()).fit(GIVEN.X, both)
    assert TreeExplainer(model, GIVEN.rows).output_names == [*names[:3], "1: yes"]


def test_one_against_the_rest_with_two_classes_and_with_a_constant_label() -> None:
    from sklearn.multiclass import OneVsRestClassifier

    model = OneVsRestClassifier(class_forest()).fit(GIVEN.X, GIVEN.binary)
    assert_exact(model, GIVEN.rows, model.predict_proba)
    labels = np.column_stack([GIVEN.binary, np.ones_like(GIVEN.binary), 1 - GIVEN.binary])
    with pytest.warns(UserWarning, match="present in all training examples"):
        model = OneVsRestClassifier(class_forest()).fit(GIVEN.X, labels)
    explainer = assert_exact(model, GIVEN.rows, model.predict_proba)
    np.testing.assert_array_equal(explainer.shap_values(GIVEN.rows[:2])[:, :, 1], 0.0)


def test_one_model_per_output_repeats_trees_or_pads_leaves_whichever_is_smaller() -> None:
    from sklearn.multioutput import MultiOutputClassifier

    for n_targets, has_vectors in ((2, True), (30, False)):
        labels = (GIVEN.X[:, [0]] > np.linspace(-1, 1, n_targets)).astype(int)
        model = MultiOutputClassifier(class_forest()).fit(GIVEN.X, labels)
        forest_read = load(model).forest
        assert (forest_read.value.ndim == 2) == has_vectors
        expected = np.hstack(model.predict_proba(GIVEN.rows))
        np.testing.assert_allclose(forest_read.margin(GIVEN.rows), expected, rtol=0, atol=1e-12)


def test_links_that_all_members_share_give_probabilities() -> None:
    from sklearn.multioutput import MultiOutputClassifier

    model = MultiOutputClassifier(hist_classifier()).fit(GIVEN.X, GIVEN.labels)
    explainer = TreeExplainer(model, GIVEN.rows[:20], model_output="probability")
    found = explainer(GIVEN.rows[:5])
    expected = np.column_stack([each[:, 1] for each in model.predict_proba(GIVEN.rows[:5])])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, expected, rtol=0, atol=1e-12)


def test_scores_of_adaboost_become_its_probabilities() -> None:
    from sklearn.ensemble import AdaBoostClassifier

    model = AdaBoostClassifier(n_estimators=4, random_state=0).fit(GIVEN.X, GIVEN.binary)
    assert_exact(model, GIVEN.rows, lambda rows: columns_of(model.decision_function(rows)))
    found = TreeExplainer(model, GIVEN.rows[:20], model_output="probability")(GIVEN.rows[:5])
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, model.predict_proba(GIVEN.rows[:5])[:, 1], rtol=0, atol=1e-12)


def test_a_stack_of_three_libraries_gives_probabilities() -> None:
    from sklearn.ensemble import ExtraTreesClassifier, StackingClassifier

    named = [("forest", class_forest()), ("trees", ExtraTreesClassifier(3, max_depth=3, random_state=0))]
    for target, column in ((GIVEN.binary, slice(1, 2)), (GIVEN.classes, slice(None))):
        model = StackingClassifier(named, cv=2).fit(GIVEN.X, target)
        found = TreeExplainer(model, GIVEN.rows[:20], model_output="probability")(GIVEN.rows[:5])
        total = found.values.sum(axis=1) + found.base_values
        expected = model.predict_proba(GIVEN.rows[:5])[:, column]
        np.testing.assert_allclose(total.reshape(expected.shape), expected, rtol=0, atol=1e-12)


def test_a_stack_whose_weights_are_all_zero_is_a_constant() -> None:
    from sklearn.ensemble import StackingRegressor
    from sklearn.linear_model import Lasso

    model = StackingRegressor([("a", forest())], Lasso(alpha=1e6), cv=2).fit(GIVEN.X, GIVEN.y)
    explainer = TreeExplainer(model, GIVEN.rows)
    np.testing.assert_array_equal(explainer.shap_values(GIVEN.rows[:3]), 0.0)
    assert explainer.expected_value == pytest.approx(GIVEN.y.mean())


def test_the_samplers_of_a_pipeline_are_skipped() -> None:
    pytest.importorskip("imblearn")
    from imblearn.over_sampling import RandomOverSampler
    from imblearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sampler, scaler = RandomOverSampler(random_state=0), StandardScaler()
    for steps in ([scaler, sampler], [sampler, scaler], [sampler]):
        model = make_pipeline(*steps, class_forest()).fit(GIVEN.X, GIVEN.classes)
        assert_exact(model, GIVEN.rows, model.predict_proba)
        search = searched(make_pipeline(*steps, class_forest())).fit(GIVEN.X, GIVEN.classes)
        assert_exact(search, GIVEN.rows, search.predict_proba)


def test_models_that_were_stored_by_joblib_or_skops(tmp_path: Path) -> None:
    import joblib
    from sklearn.ensemble import VotingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    voting = VotingRegressor([("forest", forest()), ("boosting", hist())])
    model = searched(make_pipeline(StandardScaler(), voting)).fit(GIVEN.X, GIVEN.y)
    expected = TreeExplainer(model, GIVEN.rows).shap_values(GIVEN.rows[:5])
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(TreeExplainer(again, GIVEN.rows).shap_values(GIVEN.rows[:5]), expected)
    stored = pytest.importorskip("skops.io")
    stored.dump(model, tmp_path / "model.skops")
    again = stored.load(tmp_path / "model.skops", trusted=stored.get_untrusted_types(file=tmp_path / "model.skops"))
    np.testing.assert_array_equal(TreeExplainer(again, GIVEN.rows).shap_values(GIVEN.rows[:5]), expected)


# --- rows ---------------------------------------------------------------------------------------------------------


def frames() -> tuple[pd.DataFrame, NDArray[Any]]:
    given = data(gaps=False)
    frame = pd.DataFrame(given.X, columns=["a", "b", "c", "town", "e"])
    frame["town"] = pd.Categorical.from_codes(given.X[:, 3].astype(int) % 4, ["Basel", "Chur", "Genf", "Thun"])
    return frame, given.pair


@pytest.mark.filterwarnings(
    "ignore:X does not have valid feature names", "ignore:the columns of X are in another order"
)
def test_frames_with_category_columns() -> None:
    from sklearn.multioutput import MultiOutputRegressor

    frame, pair = frames()
    for member, tolerance in (
        (light(), 1e-9),
        (boosted(enable_categorical=True), 2e-5),
        (hist(categorical_features="from_dtype"), 1e-9),
    ):
        model = MultiOutputRegressor(member).fit(frame, pair)
        explanation = TreeExplainer(model, frame[:40])(frame[:9][list(frame)[::-1]])
        assert sorted(explanation.feature_names) == sorted(frame)
        total = explanation.values.sum(axis=1) + explanation.base_values
        np.testing.assert_allclose(total, model.predict(frame[:9]), rtol=0, atol=10 * tolerance)


def test_sparse_rows_that_members_read_differently_are_refused() -> None:
    from sklearn.ensemble import VotingRegressor

    model = VotingRegressor([("a", boosted()), ("b", forest())]).fit(GIVEN.X, GIVEN.y)
    explainer = TreeExplainer(model, GIVEN.rows)
    for one in (explainer, TreeExplainer.from_bytes(explainer.to_bytes())):
        with pytest.raises(InputError, match=r"missing to XGBoost and zero to other members.*dense"):
            one.shap_values(csr_matrix(GIVEN.rows))


def test_names_with_spaces_that_one_member_changes() -> None:
    from sklearn.ensemble import VotingRegressor

    frame = pd.DataFrame(GIVEN.X, columns=["mean radius", "b", "c", "d", "e"])
    for named in ([("light", light()), ("forest", forest())], [("forest", forest()), ("light", light())]):
        model = VotingRegressor(named).fit(frame, GIVEN.y)
        explanation = TreeExplainer(model, frame[:20])(frame[:5])
        total = explanation.values.sum(axis=1) + explanation.base_values
        np.testing.assert_allclose(total, model.predict(frame[:5]), rtol=0, atol=1e-9)


# --- what is refused ----------------------------------------------------------------------------------------------


def test_wrappers_that_are_not_fitted() -> None:
    from sklearn.ensemble import VotingRegressor
    from sklearn.multioutput import MultiOutputRegressor

    for model in (searched(forest()), VotingRegressor([("a", forest())]), MultiOutputRegressor(forest())):
        for explained in (load, TreeExplainer):
            with pytest.raises(ModelError, match=f"this {type(model).__name__} is not fitted; call fit"):
                explained(model)


def test_a_search_without_refit_says_what_to_do() -> None:
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(forest(), {"max_depth": [2]}, cv=2, refit=False).fit(GIVEN.X, GIVEN.y)
    with pytest.raises(ModelError, match="no best_estimator_, because refit=False; set refit=True"):
        TreeExplainer(search, GIVEN.rows)


def test_members_that_cannot_be_explained_are_named() -> None:
    from sklearn.ensemble import VotingRegressor
    from sklearn.linear_model import LinearRegression

    model = VotingRegressor([("forest", forest()), ("line", LinearRegression())]).fit(GIVEN.X, GIVEN.y)
    with pytest.raises(UnsupportedModelError, match=r"VotingRegressor, member 'line': .*LinearRegression"):
        load(model)


def test_means_of_functions_of_sums_are_refused() -> None:
    from sklearn.ensemble import VotingClassifier, VotingRegressor

    counts = np.abs(GIVEN.y)
    model = VotingRegressor([("a", forest()), ("log", hist(loss="poisson"))]).fit(GIVEN.X, counts)
    with pytest.raises(UnsupportedModelError, match=r"what predict of its members returns.*'log'.*its link is log"):
        load(model)
    model = VotingClassifier([("a", class_forest()), ("b", hist_classifier())], voting="soft")
    with pytest.raises(UnsupportedModelError, match=r"what predict_proba of its.*'b'.*its link is logistic"):
        load(model.fit(GIVEN.X, GIVEN.binary))
    with pytest.raises(UnsupportedModelError, match=r"voting='hard'.*fit it with voting='soft'"):
        load(VotingClassifier([("a", class_forest())], voting="hard").fit(GIVEN.X, GIVEN.binary))


def test_weights_that_sum_to_zero() -> None:
    from sklearn.ensemble import VotingRegressor

    model = VotingRegressor([("a", forest()), ("b", forest())], weights=[1.0, -1.0]).fit(GIVEN.X, GIVEN.y)
    with pytest.raises(ModelError, match="VotingRegressor: its weights sum to 0"):
        load(model)


def test_members_with_other_columns() -> None:
    from sklearn.ensemble import VotingRegressor

    model = VotingRegressor([("a", forest()), ("b", forest())]).fit(GIVEN.X, GIVEN.y)
    model.estimators_[1] = forest().fit(GIVEN.X[:, :4], GIVEN.y)
    with pytest.raises(ModelError, match="VotingRegressor: one of its members has 4 columns, but it is given 5"):
        load(model)
    frame = pd.DataFrame(GIVEN.X, columns=list("abcde"))
    model.fit(frame, GIVEN.y)
    model.estimators_[1] = forest().fit(frame[list("edcba")], GIVEN.y)
    with pytest.raises(ModelError, match=r"fitted on different columns.*same order"):
        load(model)


def test_members_with_other_outputs() -> None:
    from sklearn.ensemble import VotingRegressor

    model = VotingRegressor([("a", forest()), ("b", forest())]).fit(GIVEN.X, GIVEN.y)
    model.estimators_[1] = forest().fit(GIVEN.X, GIVEN.pair)
    with pytest.raises(ModelError, match=r"different numbers of outputs: \[1, 2\]"):
        load(model)
