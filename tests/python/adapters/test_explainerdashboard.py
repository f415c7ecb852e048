"""arborshap inside explainerdashboard, with the real package: `make test-tools` brings it along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from xgboost import XGBClassifier, XGBRegressor

pytest.importorskip("explainerdashboard", reason="`make test-tools` brings explainerdashboard along")

from explainerdashboard import ClassifierExplainer, ExplainerDashboard, RegressionExplainer

from arborshap import Background, InputError
from arborshap.adapters.explainerdashboard import use_arborshap
from support import oracle
from support.people import TOWNS, by_definition, classes, numbers, people, pipeline, target

FRAME, NUMBERS = people(), numbers(people())
X, Z = NUMBERS[:5], NUMBERS[20:32]

pytestmark = pytest.mark.filterwarnings("ignore")  # the dashboard comments on every choice that it makes


def test_a_regressor_with_interactions() -> None:
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(NUMBERS, target(FRAME))
    explainer = use_arborshap(RegressionExplainer(model, X, target(FRAME[:5]), X_background=Z))
    values, base = by_definition(model.predict, X, Z)
    np.testing.assert_allclose(explainer.get_shap_values_df(), values[..., 0], atol=1e-6)
    assert explainer.shap_base_value() == pytest.approx(base[0], abs=1e-6)
    pairs, _ = by_definition(model.predict, X, Z, index=oracle.interaction)
    assert explainer.interactions_should_work
    np.testing.assert_allclose(explainer.shap_interaction_values(), pairs[..., 0], atol=1e-6)
    one = explainer.get_shap_row(X_row=X[3:4])
    np.testing.assert_allclose(one, values[3:4, :, 0], atol=1e-6)


def test_the_prediction_of_a_regressor_with_a_link_is_explained() -> None:
    counts = np.exp(target(FRAME)).round()
    model = XGBRegressor(n_estimators=5, max_depth=3, objective="count:poisson").fit(NUMBERS, counts)
    explainer = use_arborshap(RegressionExplainer(model, X, counts[:5], X_background=Z))
    sums = explainer.get_shap_values_df().sum(axis=1) + explainer.shap_base_value()
    np.testing.assert_allclose(sums, model.predict(X), atol=1e-5)
    use_arborshap(explainer, model_output="raw")
    raw = explainer.get_shap_values_df().sum(axis=1) + explainer.shap_base_value()
    np.testing.assert_allclose(raw, np.log(model.predict(X)), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_class_of_a_forest(n_classes: int) -> None:
    y = classes(FRAME, n_classes)
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(NUMBERS, y)
    explainer = use_arborshap(ClassifierExplainer(model, X, y[:5], X_background=Z, labels=list("abc")[:n_classes]))
    values, base = by_definition(model.predict_proba, X, Z)
    pairs, _ = by_definition(model.predict_proba, X, Z, index=oracle.interaction)
    assert explainer.model_output == "probability"
    for k in range(n_classes):
        np.testing.assert_allclose(explainer.get_shap_values_df(pos_label=k), values[..., k], atol=1e-12)
        np.testing.assert_allclose(explainer.shap_interaction_values(pos_label=k), pairs[..., k], atol=1e-12)
        np.testing.assert_allclose(explainer.get_shap_row(X_row=X[:1], pos_label=k), values[:1, :, k], atol=1e-12)
        assert explainer.shap_base_value(pos_label=k) == pytest.approx(base[k])


@pytest.mark.parametrize(
    "model",
    [
        XGBClassifier(n_estimators=5, max_depth=3),
        LGBMClassifier(n_estimators=5, min_child_samples=3, verbose=-1),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3),
        CalibratedClassifierCV(RandomForestClassifier(n_estimators=5, random_state=0), cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_probability_by_default_with_interactions(model: Any) -> None:
    y = classes(FRAME, 2)
    explainer = use_arborshap(ClassifierExplainer(model.fit(NUMBERS, y), X, y[:5], X_background=Z))
    assert explainer.interactions_should_work
    for k in range(2):
        values = explainer.get_shap_values_df(pos_label=k)
        sums = values.sum(axis=1) + explainer.shap_base_value(pos_label=k)
        np.testing.assert_allclose(sums, model.predict_proba(X)[:, k], atol=1e-6)
        np.testing.assert_allclose(explainer.shap_interaction_values(pos_label=k).sum(axis=2), values, atol=1e-9)


def test_log_odds_and_probabilities_of_three_classes() -> None:
    y = classes(FRAME, 3)
    model = XGBClassifier(n_estimators=5, max_depth=3).fit(NUMBERS, y)
    explainer = ClassifierExplainer(model, X, y[:5], X_background=Z, labels=list("abc"))
    use_arborshap(explainer)
    assert explainer.model_output == "logodds"  # as the dashboard itself decides for such a model
    margins, base = by_definition(lambda rows: model.predict(rows, output_margin=True), X, Z)
    for k in range(3):
        np.testing.assert_allclose(explainer.get_shap_values_df(pos_label=k), margins[..., k], atol=1e-5)
        assert explainer.shap_base_value(pos_label=k) == pytest.approx(base[k], abs=1e-5)
    assert explainer.interactions_should_work
    use_arborshap(explainer, model_output="probability")  # what was computed before is dropped
    assert not explainer.interactions_should_work  # a softmax has no interactions
    for k in range(3):
        sums = explainer.get_shap_values_df(pos_label=k).sum(axis=1) + explainer.shap_base_value(pos_label=k)
        np.testing.assert_allclose(sums, model.predict_proba(X)[:, k], atol=1e-6)


def test_one_hot_columns_play_as_one() -> None:
    dummies = pd.get_dummies(FRAME).astype(float)
    model = RandomForestRegressor(n_estimators=5, random_state=0).fit(dummies, target(FRAME))
    x, z = dummies[:5], dummies[20:32]
    explainer = use_arborshap(RegressionExplainer(model, x, target(FRAME[:5]), X_background=z, cats=["town"]))
    players = [0, 1, 2, 2, 2]
    values, _ = by_definition(model.predict, x, z, players)
    assert list(dummies.columns) == ["age", "income", *(f"town_{name}" for name in TOWNS)]
    assert list(explainer.get_shap_values_df().columns) == ["age", "income", "town"]
    alone, _ = by_definition(model.predict, x, z)
    assert np.abs(alone[:, 2:].sum(axis=1) - values[:, 2]).max() > 0.01  # a sum over categories is another number
    np.testing.assert_allclose(explainer.get_shap_values_df(), values[..., 0], atol=1e-6)
    pairs, _ = by_definition(model.predict, x, z, players, index=oracle.interaction)
    np.testing.assert_allclose(explainer.shap_interaction_values(), pairs[..., 0], atol=1e-6)


@pytest.mark.parametrize("names", ["arrays inside", "frames inside"])
def test_a_pipeline_in_the_columns_of_its_last_step(names: str) -> None:
    model = pipeline(RandomForestRegressor(n_estimators=5, random_state=0))
    if names == "frames inside":
        model.set_output(transform="pandas")
    model.fit(FRAME, target(FRAME))
    explainer = use_arborshap(RegressionExplainer(model, FRAME[:5], target(FRAME[:5]), X_background=FRAME[20:32]))
    seen = [pd.DataFrame(model[:-1].transform(rows)) for rows in (FRAME[:5], FRAME[20:32])]
    values, _ = by_definition(model[-1].predict, *seen)
    assert len(explainer.get_shap_values_df().columns) == 5
    np.testing.assert_allclose(explainer.get_shap_values_df(), values[..., 0], atol=1e-12)


@pytest.mark.parametrize("classifier", [False, True])
def test_a_pipeline_in_its_raw_columns(classifier: bool) -> None:
    x, z, y = FRAME[:5], FRAME[20:32], classes(FRAME, 2) if classifier else target(FRAME)
    kind = RandomForestClassifier if classifier else RandomForestRegressor
    model = pipeline(kind(n_estimators=5, random_state=0)).fit(FRAME, y)
    made = (ClassifierExplainer if classifier else RegressionExplainer)(model, x, y[:5], X_background=z, shap="kernel")
    explainer = use_arborshap(made)
    values, _ = by_definition(model.predict_proba if classifier else model.predict, x, z)
    assert list(explainer.get_shap_values_df().columns) == ["age", "town", "income"]
    np.testing.assert_allclose(explainer.get_shap_values_df(), values[..., -1], atol=1e-12)
    assert explainer.interactions_should_work


@pytest.mark.parametrize(
    "model",
    [
        XGBClassifier(n_estimators=4, max_depth=3, enable_categorical=True),
        LGBMClassifier(n_estimators=4, min_child_samples=3, verbose=-1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_columns_of_categories(model: Any) -> None:
    frame, y = FRAME.astype({"town": "category"}), classes(FRAME, 2)
    explainer = ClassifierExplainer(model.fit(frame, y), frame[:5], y[:5])
    assert explainer.model_output == "logodds"  # the dashboard falls back, because shap has no probabilities here
    use_arborshap(explainer, frame[20:32])
    assert explainer.model_output == "probability"
    sums = explainer.get_shap_values_df(pos_label=1).sum(axis=1) + explainer.shap_base_value(pos_label=1)
    np.testing.assert_allclose(sums, model.predict_proba(frame[:5])[:, 1], atol=1e-6)
    assert explainer.interactions_should_work
    use_arborshap(explainer, frame[20:32], model_output="logodds")
    margins = {"raw_score": True} if isinstance(model, LGBMClassifier) else {"output_margin": True}
    expected, base = by_definition(lambda rows: model.predict(rows, **margins), frame[:5], frame[20:32])
    values = explainer.get_shap_values_df(pos_label=1)
    np.testing.assert_allclose(values, expected[..., 0], atol=1e-5)
    assert explainer.shap_base_value(pos_label=1) == pytest.approx(base[0], abs=1e-5)
    one = explainer.get_shap_row(X_row=explainer.X[2:3], pos_label=1)
    np.testing.assert_array_equal(one, values[2:3])
    assert explainer.interactions_should_work


def test_a_stored_explainer_keeps_its_values(tmp_path: Path) -> None:
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(NUMBERS, target(FRAME))
    explainer = use_arborshap(RegressionExplainer(model, X, target(FRAME[:5]), X_background=Z))
    explainer.dump(tmp_path / "explainer.joblib")
    again = RegressionExplainer.from_file(tmp_path / "explainer.joblib")
    np.testing.assert_array_equal(again.get_shap_values_df(), explainer.get_shap_values_df())


def test_a_dashboard_is_no_explainer() -> None:
    with pytest.raises(InputError, match=r"takes a ClassifierExplainer or RegressionExplainer, not a type"):
        use_arborshap(ExplainerDashboard)


def test_an_unknown_output_is_refused() -> None:
    model = XGBRegressor(n_estimators=2).fit(NUMBERS, target(FRAME))
    with pytest.raises(InputError, match="model_output"):
        use_arborshap(RegressionExplainer(model, X, target(FRAME[:5])), model_output="odds")


def test_log_odds_that_were_asked_for_stay() -> None:
    y = classes(FRAME, 2)
    model = XGBClassifier(n_estimators=5, max_depth=3).fit(NUMBERS, y)
    explainer = use_arborshap(ClassifierExplainer(model, X, y[:5], X_background=Z, model_output="logodds"))
    assert explainer.model_output == "logodds"
    margins, _ = by_definition(lambda rows: model.predict(rows, output_margin=True), X, Z)
    np.testing.assert_allclose(explainer.get_shap_values_df(pos_label=1), margins[..., 0], atol=1e-5)


@pytest.mark.parametrize("output", ["probability", "logodds"])
def test_outputs_of_classifiers_are_refused_for_regressors(output: str) -> None:
    model = XGBRegressor(n_estimators=2).fit(NUMBERS, target(FRAME))
    with pytest.raises(InputError, match=f"model_output='{output}' is for classifiers; leave it out"):
        use_arborshap(RegressionExplainer(model, X, target(FRAME[:5])), model_output=output)


def test_a_background_of_other_columns_is_refused_and_one_in_parts_is_taken() -> None:
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(NUMBERS, target(FRAME))
    explainer = RegressionExplainer(model, X, target(FRAME[:5]))
    with pytest.raises(InputError, match="the rows have no column 'income'"):
        use_arborshap(explainer, Z[["age", "bern"]])
    with pytest.raises(InputError, match=r"the rows have the shape \(12, 2\); they need the 3 columns of explainer.X"):
        use_arborshap(explainer, Z.to_numpy()[:, :2])
    with pytest.raises(InputError, match="one number per column, but 'both' is one player of several columns"):
        use_arborshap(explainer, Z, groups={"both": ["age", "bern"]})
    parts = Background(model, Z[:5], model_output="prediction").merge(
        Background(model, Z[5:], model_output="prediction")
    )
    use_arborshap(explainer, parts)
    values, _ = by_definition(model.predict, X, Z)
    np.testing.assert_allclose(explainer.get_shap_values_df(), values[..., 0], atol=1e-6)
