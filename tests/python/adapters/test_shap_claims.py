"""What docs/migrating-from-shap.md says that changes, row by row, with the shap that it is about.

`make compat` brings that shap along. If a release of shap changes what a row says, the test of that row fails.
"""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import shap
import xgboost
from shap.utils._exceptions import ExplainerError, InvalidModelError
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import arborshap
from arborshap import TreeExplainer
from support.places import DOCS

PAGE = (DOCS / "migrating-from-shap.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("### What changes\n")[2].partition("\n#### ")[0]
ROWS = re.findall(r"^\| (?!shap|---)([^|]+?) \| [^|]+ \| [^|]+ \|$", TABLE, re.MULTILINE)

pytestmark = [
    pytest.mark.skipif(
        tuple(map(int, shap.__version__.split(".")[:2])) < (0, 54), reason="the page is about shap 0.54: `make compat`"
    ),
    pytest.mark.filterwarnings("ignore"),
]

X, Y = load_diabetes(as_frame=True, return_X_y=True)
LEVEL = np.digitize(Y, [100, 200])
BOOSTED = xgboost.XGBRegressor(n_estimators=10, max_depth=3, n_jobs=1).fit(X, Y)
FOREST = RandomForestRegressor(20, random_state=0).fit(X, Y)
WHOLE = shap.maskers.Independent(X, max_samples=len(X))


def off(explainer: Any, predicted: Any, **options: Any) -> float:
    """Return how far values are from adding up to predictions."""
    return float(np.abs(explainer.shap_values(X, **options).sum(1) + explainer.expected_value - predicted).max())


def background() -> None:
    assert shap.TreeExplainer(BOOSTED, X).data.shape == (100, 10)
    assert TreeExplainer(BOOSTED, X).facts().n_background == len(X) == 442


def interactions() -> None:
    assert not shap.TreeExplainer(BOOSTED, WHOLE).shap_interaction_values(X[:5]).any()
    assert np.abs(TreeExplainer(BOOSTED, X).shap_interaction_values(X[:5])).max() > 1


def categories() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "t": pd.Categorical(rng.choice(list("xyzuvw"), 300))})
    y = frame["a"] + 2 * frame["t"].isin(["x", "u"])
    light = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, min_child_samples=3, n_jobs=1).fit(frame, y)
    with pytest.raises(ExplainerError, match="categorical splits"):
        shap.TreeExplainer(light, frame)
    boosted = xgboost.XGBRegressor(n_estimators=5, enable_categorical=True, max_cat_to_onehot=1, n_jobs=1)
    boosted.fit(frame, y)
    with pytest.raises((TypeError, NotImplementedError)):
        shap.TreeExplainer(boosted, frame).shap_values(frame)
    for model in (light, boosted):
        explainer = TreeExplainer(model, frame)
        sums = explainer.shap_values(frame).sum(1) + explainer.expected_value
        np.testing.assert_allclose(sums, model.predict(frame), atol=1e-5)


def float64() -> None:
    for model in (FOREST, HistGradientBoostingRegressor(max_iter=30).fit(X, Y)):
        theirs = shap.TreeExplainer(model, WHOLE)
        with pytest.raises(Exception, match="Additivity check failed"):
            theirs(X)
        assert off(theirs, model.predict(X), check_additivity=False) > 1
        assert off(TreeExplainer(model, X), model.predict(X)) < 1e-9


def bagged_lightgbm() -> None:
    model = lightgbm.LGBMRegressor(
        n_estimators=20, boosting_type="rf", bagging_fraction=0.5, bagging_freq=1, verbose=-1, n_jobs=1
    ).fit(X, Y)
    assert off(shap.TreeExplainer(model), 20 * model.predict(X)) < 1e-6
    assert off(TreeExplainer(model), model.predict(X)) < 1e-6


def order() -> None:
    turned = X[X.columns[::-1]]
    theirs, ours = shap.TreeExplainer(BOOSTED, WHOLE), TreeExplainer(BOOSTED, X)
    by_position = theirs.shap_values(turned.to_numpy(), check_additivity=False)
    np.testing.assert_array_equal(theirs.shap_values(turned, check_additivity=False), by_position)
    np.testing.assert_array_equal(ours.shap_values(turned), ours.shap_values(X))


def one_hot() -> None:
    assert "groups" not in inspect.signature(shap.TreeExplainer.__init__).parameters
    assert len(TreeExplainer(BOOSTED, X, groups={"blood": ["s1", "s2"]}).feature_names) == 9


def pipelines() -> None:
    model = make_pipeline(StandardScaler(), RandomForestRegressor(3, random_state=0)).fit(X, Y)
    with pytest.raises(InvalidModelError, match="Pipeline"):
        shap.TreeExplainer(model, X)
    assert off(TreeExplainer(model, X), model.predict(X)) < 1e-9


def other_values() -> None:
    for name in ("taylor_values", "banzhaf_values", "pair_values", "contrast"):
        assert not hasattr(shap.TreeExplainer, name)
        assert callable(getattr(TreeExplainer, name))


def threads() -> None:
    assert "n_jobs" not in inspect.signature(shap.TreeExplainer.__init__).parameters
    assert TreeExplainer(BOOSTED, X, n_jobs=1).facts().n_threads == 1


def checks() -> None:
    assert "check_additivity" in inspect.signature(shap.TreeExplainer.shap_values).parameters
    assert inspect.signature(TreeExplainer).parameters["verify"].default is True


def outputs() -> None:
    for model in (xgboost.XGBClassifier(n_estimators=5, n_jobs=1), GradientBoostingClassifier(n_estimators=5)):
        with pytest.raises(Exception, match=r"objective|binary classification"):
            shap.TreeExplainer(model.fit(X, LEVEL), WHOLE, model_output="probability")
    light = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(X, LEVEL)
    sigmoids = 1 / (1 + np.exp(-np.asarray(light.predict(X, raw_score=True))))
    theirs = shap.TreeExplainer(light, WHOLE, model_output="probability")
    assert off(theirs, sigmoids, check_additivity=False) < 1e-6
    assert off(theirs, light.predict_proba(X), check_additivity=False) > 0.1
    ours = TreeExplainer(light, X[:50], model_output="probability")
    assert off(ours, light.predict_proba(X)) < 1e-9


def expected_value() -> None:
    theirs = shap.TreeExplainer(BOOSTED)
    before = theirs.expected_value
    theirs.shap_values(X)
    bias = BOOSTED.get_booster().predict(xgboost.DMatrix(X), pred_contribs=True)[0, -1]
    assert np.shape(before) == (1,)
    assert abs(before[0] - theirs.expected_value) > 0.1
    assert TreeExplainer(BOOSTED).expected_value == pytest.approx(bias, rel=1e-5)


def hardware() -> None:
    assert "GPUTreeExplainer" in shap.__all__
    assert not [name for name in dir(arborshap) if "gpu" in name.lower()]


def pickles() -> None:
    for kind in (shap.TreeExplainer, TreeExplainer):
        explainer = kind(BOOSTED, X[:50])
        again = pickle.loads(pickle.dumps(explainer))
        np.testing.assert_array_equal(again.shap_values(X[:5]), explainer.shap_values(X[:5]))


CLAIMS: dict[str, Callable[[], None]] = {
    "background": background,
    "interactions with a background": interactions,
    "category splits with a background": categories,
    "scikit-learn's forests and HistGradientBoosting on float64 data": float64,
    'LightGBM with `boosting="rf"`': bagged_lightgbm,
    "frames with columns in another order": order,
    "one-hot columns as one player": one_hot,
    "scikit-learn pipelines": pipelines,
    "Shapley-Taylor, Banzhaf, per-pair values, contrast": other_values,
    "threads": threads,
    "check that values add up": checks,
    '`model_output="probability"`, `"log_loss"`': outputs,
    "`expected_value` of an XGBoost model without data": expected_value,
    "GPU, and models that are not [listed](supported-models.md)": hardware,
    "pickling an explainer": pickles,
}


def test_every_row_of_the_table_is_tried() -> None:
    assert list(CLAIMS) == ROWS


@pytest.mark.parametrize("row", CLAIMS)
def test_what_the_page_says_is_true(row: str) -> None:
    CLAIMS[row]()
