"""arborshap as a backend of shapash, with the real shapash: `make test-tools` brings it along."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier, XGBRegressor

pytest.importorskip("shapash", reason="`make test-tools` brings shapash along")

import category_encoders
from shapash import SmartExplainer

from arborshap import InputError, UnsupportedModelError
from arborshap.adapters.shapash import ArborshapBackend
from support import oracle
from support.people import by_definition, classes, numbers, people, pipeline, target

FRAME, NUMBERS = people(), numbers(people())
X, Z = NUMBERS[:5], NUMBERS[20:32]


def compiled(model: Any, x: pd.DataFrame, backend: ArborshapBackend, **options: Any) -> SmartExplainer:
    explainer = SmartExplainer(model=model, backend=backend, **options)
    explainer.compile(x=x)
    return explainer


def contributions(explainer: SmartExplainer) -> Any:
    return explainer.check_attributes("contributions")


def base_values(explainer: SmartExplainer) -> Any:
    return explainer.check_attributes("explain_data")["base_values"]


def interactions(explainer: SmartExplainer, **options: Any) -> Any:
    return explainer.check_attributes("get_interaction_values")(**options)


def test_a_regressor() -> None:
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(NUMBERS, target(FRAME))
    explainer = compiled(model, X, ArborshapBackend(model, Z))
    values, base = by_definition(model.predict, X, Z)
    np.testing.assert_allclose(contributions(explainer), values[..., 0], atol=1e-6)
    np.testing.assert_allclose(base_values(explainer), np.full(len(X), base[0]), atol=1e-6)
    assert list(contributions(explainer).index) == list(X.index)
    explainer.plot.local_plot(index=X.index[2], plot_type="waterfall")
    explainer.plot.contribution_plot("income")
    explainer.plot.features_importance()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model_output", ["raw", "probability"])
@pytest.mark.parametrize("kind", [RandomForestClassifier, XGBClassifier])
def test_each_class_of_a_classifier(kind: Any, model_output: str, n_classes: int) -> None:
    model = kind(n_estimators=5, max_depth=3, random_state=0).fit(NUMBERS, classes(FRAME, n_classes))
    explainer = compiled(model, X, ArborshapBackend(model, Z, model_output=model_output))
    assert len(contributions(explainer)) == n_classes
    found = np.stack(contributions(explainer), axis=2)
    if kind is XGBClassifier and model_output == "raw":
        values, base = by_definition(lambda rows: model.predict(rows, output_margin=True), X, Z)
        if n_classes == 2:
            values, base = np.concatenate([-values, values], axis=2), np.array([-base[0], base[0]])
    else:
        values, base = by_definition(model.predict_proba, X, Z)
    np.testing.assert_allclose(base_values(explainer), np.tile(base, (len(X), 1)), atol=1e-5)
    if kind is XGBClassifier and model_output == "probability":
        # Rescaled margins are not the values of the game of probabilities, but they have its sums.
        found, values = found.sum(axis=1), values.sum(axis=1)
    np.testing.assert_allclose(found, values, atol=1e-5)
    explainer.plot.local_plot(index=X.index[2], label=1)


def test_a_pipeline_in_its_raw_columns() -> None:
    model = pipeline(RandomForestRegressor(n_estimators=5, random_state=0)).fit(FRAME, target(FRAME))
    x, z = FRAME[:5], FRAME[20:32]
    explainer = compiled(model, x, ArborshapBackend(model, z))
    values, _ = by_definition(model.predict, x, z)
    assert list(contributions(explainer).columns) == ["age", "town", "income"]
    np.testing.assert_allclose(contributions(explainer), values[..., 0], atol=1e-12)


def test_columns_of_an_encoder_play_as_one() -> None:
    encoder = category_encoders.OneHotEncoder(cols=["town"]).fit(FRAME)
    encoded = encoder.transform(FRAME)
    model = RandomForestRegressor(n_estimators=5, random_state=0).fit(encoded, target(FRAME))
    x, z = encoded[:5], encoded[20:32]
    explainer = compiled(model, x, ArborshapBackend(model, z), preprocessing=encoder)
    assert list(encoded.columns) == ["age", "town_1", "town_2", "town_3", "income"]
    values, _ = by_definition(model.predict, x, z, players=[0, 1, 1, 1, 2])
    alone, _ = by_definition(model.predict, x, z)
    assert np.abs(alone[:, 1:4].sum(axis=1) - values[:, 1]).max() > 0.001  # a sum over columns is another number
    assert list(contributions(explainer).columns) == ["age", "town", "income"]
    np.testing.assert_allclose(contributions(explainer), values[..., 0], atol=1e-6)
    pairs, _ = by_definition(model.predict, x, z, players=[0, 1, 1, 1, 2], index=oracle.interaction)
    np.testing.assert_allclose(interactions(explainer), pairs[..., 0], atol=1e-6)
    explainer.plot.interactions_plot("town", "income")


@pytest.mark.parametrize("kind", [RandomForestClassifier, XGBClassifier])
def test_interactions_of_each_class(kind: Any) -> None:
    model = kind(n_estimators=5, max_depth=3, random_state=0).fit(NUMBERS, classes(FRAME, 2))
    explainer = compiled(model, X, ArborshapBackend(model, Z))
    predict = model.predict_proba if kind is RandomForestClassifier else partial(model.predict, output_margin=True)
    pairs, _ = by_definition(predict, X, Z, index=oracle.interaction)
    np.testing.assert_allclose(interactions(explainer, label=1), pairs[..., -1], atol=1e-5)
    np.testing.assert_allclose(interactions(explainer, label=0), -pairs[..., -1], atol=1e-5)
    explainer.plot.top_interactions_plot(nb_top_interactions=2)


def test_new_rows_are_compared_with_the_same_background() -> None:
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(NUMBERS, target(FRAME))
    predictor = compiled(model, Z, ArborshapBackend(model)).to_smartpredictor()
    predictor.add_input(x=X)
    values, _ = by_definition(model.predict, X, Z)
    np.testing.assert_allclose(predictor.detail_contributions()[X.columns], values[..., 0], atol=1e-6)


def test_a_step_that_mixes_columns_is_refused() -> None:
    model = make_pipeline(PCA(2), RandomForestRegressor(n_estimators=2)).fit(NUMBERS, target(FRAME))
    with (
        pytest.warns(UserWarning, match="PCA"),
        pytest.raises(InputError, match=r"shapash shows one number per column, but 'age \+ income \+ bern'"),
    ):
        compiled(model, X, ArborshapBackend(model, Z))


def test_a_model_that_is_no_tree_is_refused() -> None:
    model = LinearRegression().fit(NUMBERS, target(FRAME))
    with pytest.raises(UnsupportedModelError, match="LinearRegression"):
        compiled(model, X, ArborshapBackend(model, Z))
