"""Models of other libraries in detail: survival, distributions, anomalies, and dictionaries of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arborshap import InputError, ModelError, TreeExplainer, UnsupportedModelError, survival_curve
from arborshap.models import load
from support.models.case import Case, data
from support.models.other_cases import CASES, dictionary, lifetimes
from support.trained import built


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_other_explainers_are_saved_without_the_library(case: Case) -> None:
    X = built(case).X
    explainer = TreeExplainer(built(case).model, X[20:])
    again = TreeExplainer.from_bytes(explainer.to_bytes())
    np.testing.assert_array_equal(again(X[:5]).values, explainer(X[:5]).values)
    assert again(X[:5]).output_names == explainer(X[:5]).output_names


def survival_forest(**options: Any) -> Any:
    ensemble = pytest.importorskip("sksurv.ensemble")
    return ensemble.RandomSurvivalForest(n_estimators=3, max_depth=3, **options).fit(data().X, lifetimes())


def test_other_survival_curves_are_step_functions() -> None:
    forest = survival_forest(random_state=1)
    X = data().rows
    known = forest.unique_times_
    times = [known[0], (known[4] + known[5]) / 2, known[-1]]
    steps = forest.predict_survival_function(X)
    explainer = TreeExplainer(survival_curve(forest, times), X)
    explanation = explainer(X)
    assert explanation.output_names == [f"time {time:g}" for time in times]
    sums = explanation.values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(sums, [[step(time) for time in times] for step in steps], atol=1e-12)
    assert load(survival_curve(forest)).forest.n_outputs == len(known)
    hazard = load(survival_curve(forest, [times[1]], curve="cumulative_hazard")).forest
    assert hazard.n_outputs == 1
    # The risk is the sum of the hazards over the times of events.
    every = load(survival_curve(forest, curve="cumulative_hazard")).forest.margin(X)
    risk = every[:, forest.is_event_time_].sum(axis=1)
    np.testing.assert_allclose(risk, load(forest).forest.margin(X)[:, 0], rtol=1e-12)


@pytest.mark.parametrize(
    ("times", "curve", "message"),
    [
        ([1e9], "survival", "outside the times of training"),
        ([np.nan], "survival", "outside the times of training"),
        ([], "survival", "at least one"),
        (["soon"], "survival", "list of numbers"),
        (3.0, "survival", "list of numbers"),
        ([2.0, 2.0], "survival", "more than once"),
        ([2.0], "hazard", 'curve must be "survival" or'),
    ],
)
def test_other_times_of_a_curve_are_refused(times: Any, curve: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        survival_curve(survival_forest(), times, curve)


def test_other_survival_models_are_refused() -> None:
    linear = pytest.importorskip("sksurv.linear_model")
    ensemble = pytest.importorskip("sksurv.ensemble")
    with pytest.raises(ModelError, match="this RandomSurvivalForest is not fitted"):
        load(ensemble.RandomSurvivalForest())
    with pytest.raises(ModelError, match="keeps no curves"):
        survival_curve(survival_forest(low_memory=True))
    with pytest.raises(UnsupportedModelError, match="not a sum of survival trees"):
        load(linear.CoxPHSurvivalAnalysis())
    with pytest.raises(UnsupportedModelError, match="learners are linear"):
        load(ensemble.ComponentwiseGradientBoostingSurvivalAnalysis())
    boosting = ensemble.GradientBoostingSurvivalAnalysis(n_estimators=2).fit(data(gaps=False).X, lifetimes())
    with pytest.raises(UnsupportedModelError, match="only the forests and trees of scikit-survival"):
        survival_curve(boosting)
    with pytest.raises(UnsupportedModelError, match="str is not supported: it is not a sum of survival trees"):
        survival_curve("forest")


def test_other_distributions_have_an_output_per_parameter() -> None:
    ngboost = pytest.importorskip("ngboost")
    given = data(gaps=False)
    model = ngboost.NGBRegressor(n_estimators=4, verbose=False).fit(given.X, given.y)
    explainer = TreeExplainer(model, given.X[:50])
    explanation = explainer(given.rows)
    assert explanation.output_names == ["mean", "log of the standard deviation"]
    predicted = model.pred_dist(given.rows).params
    sums = explanation.values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(sums[:, 0], predicted["loc"], atol=1e-12)
    np.testing.assert_allclose(np.exp(sums[:, 1]), predicted["scale"], rtol=1e-12)
    classifier = ngboost.NGBClassifier(n_estimators=4, verbose=False).fit(given.X, given.binary)
    probability = TreeExplainer(classifier, given.X[:50], model_output="probability")
    total = probability(given.rows).values.sum(axis=1) + probability.expected_value
    np.testing.assert_allclose(total, classifier.predict_proba(given.rows)[:, 1], atol=1e-9)


def test_other_learners_of_ngboost_are_refused() -> None:
    ngboost = pytest.importorskip("ngboost")
    from sklearn.linear_model import Ridge

    given = data(gaps=False)
    with pytest.raises(ModelError, match="this NGBRegressor is not fitted"):
        load(ngboost.NGBRegressor())
    model = ngboost.NGBRegressor(n_estimators=2, Base=Ridge(), verbose=False).fit(given.X, given.y)
    with pytest.raises(UnsupportedModelError, match="base learners are Ridge"):
        load(model)


def test_other_detectors_of_pyod_are_refused() -> None:
    pytest.importorskip("pyod")
    from pyod.models.iforest import IForest
    from pyod.models.knn import KNN

    with pytest.raises(ModelError, match="this IForest is not fitted"):
        load(IForest())
    with pytest.raises(UnsupportedModelError, match="only IForest"):
        load(KNN())


def test_other_quantiles_are_refused() -> None:
    quantile_forest = pytest.importorskip("quantile_forest")
    given = data(gaps=False)
    model = quantile_forest.RandomForestQuantileRegressor(n_estimators=3)
    with pytest.raises(ModelError, match="not fitted"):
        load(model)
    model.set_params(default_quantiles=[0.1, 0.9]).fit(given.X, given.y)
    with pytest.raises(UnsupportedModelError, match=r"predicts quantiles.*default_quantiles=\"mean\""):
        load(model)
    pooled = quantile_forest.RandomForestQuantileRegressor(default_quantiles="mean", max_samples_leaf=None)
    with pytest.raises(UnsupportedModelError, match=r"weighs each tree.*max_samples_leaf=1"):
        load(pooled.fit(given.X, given.y))


def test_other_dictionaries_are_those_of_shap() -> None:
    shap = pytest.importorskip("shap")
    X = data(gaps=False).rows
    model = dictionary()
    for dtype in (np.float32, np.float64):
        model["input_dtype"] = dtype
        theirs = shap.TreeExplainer(model).model.predict(X)
        np.testing.assert_allclose(load(model, n_columns=5).forest.margin(X), theirs, atol=1e-12)
    singular = [
        {
            name: tree[other]
            for name, other in {**{key: key for key in tree}, **old}.items()
            if name in tree or name in old
        }
        for tree in model["trees"]
        for old in [{"feature": "features", "threshold": "thresholds", "value": "values"}]
    ]
    for tree in singular:
        del tree["features"], tree["thresholds"], tree["values"]
    again = load({**model, "trees": singular}, n_columns=5).forest
    np.testing.assert_array_equal(again.margin(X), load(model, n_columns=5).forest.margin(X))
    assert load({"trees": model["trees"], "tree_output": "log_odds"}).link.name == "logistic"
    assert load({"trees": model["trees"]}).forest.n_features == 5


def test_other_dictionaries_are_checked() -> None:
    X = data().rows
    model = dictionary()
    first = model["trees"][0]

    def refused(message: str, **changed: Any) -> None:
        with pytest.raises(ModelError, match=message):
            TreeExplainer({**model, "trees": [{**first, **changed}]}, X)

    refused("tree 0, node 0: children_default is neither", children_default=np.array([4, -1, 3, -1, -1]))
    refused("tree 0: its arrays have different lengths", thresholds=np.array([0.5]))
    refused("tree 0: values must have one row per node", values=np.zeros((2, 2)))
    refused("only 5 columns", features=np.array([9, -1, 4, -1, -1]))
    refused("'children_left' must be a list", children_left=None)
    refused("node 0", children_left=np.array([0, -1, 3, -1, -1]), children_default=np.array([0, -1, 3, -1, -1]))
    with pytest.raises(ModelError, match="no trees"):
        load({"trees": []})
    with pytest.raises(ModelError, match="'num_class', which is not known"):
        load({**model, "num_class": 3})
    with pytest.raises(ModelError, match="'trees' must be a list"):
        load({"trees": 3})
    with pytest.raises(UnsupportedModelError, match="dict is not supported"):
        load({"learner": {}})
