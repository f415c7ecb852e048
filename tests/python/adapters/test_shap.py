"""The adapter in shap's shape, with the real shap: its values, attributes, plots, files, and what it refuses."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

import catboost
import lightgbm
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import shap
import xgboost
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import arborshap
from arborshap import InputError
from arborshap.adapters.shap import TreeExplainer
from support import oracle

NAMES = ["a", "b", "c", "d"]
RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(RNG.normal(size=(150, 4)), columns=NAMES)
Y = FRAME["a"] * FRAME["b"] + FRAME["c"]
THREE = np.digitize(Y, [-0.6, 0.6])
REGRESSOR = RandomForestRegressor(5, max_depth=4, random_state=0).fit(FRAME, Y)
BOOSTED = xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1).fit(FRAME, Y)
BINARY = xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(FRAME, Y > 0)
CLASSES = RandomForestClassifier(5, max_depth=3, random_state=0).fit(FRAME, THREE)
EXPLAINER = TreeExplainer(REGRESSOR, FRAME)
EXPECTED = arborshap.TreeExplainer(REGRESSOR, FRAME).shap_values(FRAME)


class TestValues:
    def test_they_are_the_definition_against_the_whole_background(self) -> None:
        X = FRAME.to_numpy()[:3]
        worth = oracle.worths(lambda rows: REGRESSOR.predict(pd.DataFrame(rows, columns=NAMES)), X, FRAME)
        np.testing.assert_allclose(EXPLAINER.shap_values(FRAME[:3]), oracle.shapley(worth)[:, :, 0], atol=1e-12)
        np.testing.assert_allclose(
            EXPLAINER.shap_interaction_values(FRAME[:3]), oracle.interaction(worth)[..., 0], atol=1e-12
        )
        assert EXPLAINER.expected_value == pytest.approx(REGRESSOR.predict(FRAME).mean())

    @pytest.mark.parametrize("model", [BOOSTED, BINARY, CLASSES, REGRESSOR], ids=lambda m: type(m).__name__)
    @pytest.mark.parametrize("data", [None, FRAME[:100]], ids=["path-dependent", "interventional"])
    def test_they_have_shaps_shapes_and_are_shaps_where_shap_is_right(self, model: Any, data: Any) -> None:
        ours, theirs = TreeExplainer(model, data), shap.TreeExplainer(model, data)
        rows = FRAME.astype(np.float32).astype(np.float64)  # shap sends other numbers the wrong way
        assert ours.shap_values(rows).shape == theirs.shap_values(rows, check_additivity=False).shape
        np.testing.assert_allclose(
            ours.shap_values(rows),
            theirs.shap_values(rows, check_additivity=False),
            atol=2e-2 if data is not None else 1e-4,
        )
        explained, known = ours(rows), theirs(rows, check_additivity=False)
        assert isinstance(explained, shap.Explanation)
        assert (explained.shape, explained.base_values.shape) == (known.shape, known.base_values.shape)
        np.testing.assert_array_equal(explained.data, known.data)
        assert explained.feature_names == known.feature_names

    def test_interactions_by_a_call(self) -> None:
        explained = EXPLAINER(FRAME[:5], interactions=True)
        np.testing.assert_array_equal(explained.values, EXPLAINER.shap_interaction_values(FRAME[:5]))
        np.testing.assert_allclose(explained.values.sum(2), EXPECTED[:5])

    @pytest.mark.parametrize("row", [FRAME.iloc[3], FRAME.to_numpy()[3]], ids=["Series", "vector"])
    def test_a_single_row_has_no_axis_of_rows(self, row: Any) -> None:
        np.testing.assert_allclose(EXPLAINER.shap_values(row), EXPECTED[3])
        explained = EXPLAINER(row)
        assert np.ndim(explained.base_values) == 0
        np.testing.assert_allclose(explained.base_values + explained.values.sum(), REGRESSOR.predict(FRAME)[3])

    @pytest.mark.parametrize("model", [BOOSTED, CLASSES], ids=["one output", "several"])
    def test_the_matrix_of_a_single_row_has_a_base_value_per_feature(self, model: Any) -> None:
        explainer = TreeExplainer(model, FRAME)
        explained = explainer(FRAME.iloc[3], interactions=True)
        assert explained.base_values.shape == explained.values.shape[1:]
        several = explainer(FRAME[3:4], interactions=True)
        np.testing.assert_array_equal(explained.values, several.values[0])
        for part in (explained[1], explained[:, 1]):
            np.testing.assert_array_equal(np.unique(part.base_values), np.unique(several.base_values))

    @pytest.mark.parametrize("kind", ["float32", "sparse", "DMatrix"])
    def test_rows_of_other_kinds(self, kind: str) -> None:
        explainer = TreeExplainer(BOOSTED, FRAME)
        rows = FRAME.to_numpy(np.float32)
        made: Any = {
            "float32": rows,
            "sparse": scipy.sparse.csr_matrix(rows),
            "DMatrix": xgboost.DMatrix(rows, feature_names=NAMES),
        }[kind]
        np.testing.assert_allclose(explainer.shap_values(made), explainer.shap_values(FRAME), atol=1e-6)
        assert explainer(made).data.shape == FRAME.shape

    def test_labels_are_ignored_unless_a_loss_is_explained(self) -> None:
        np.testing.assert_array_equal(EXPLAINER.shap_values(FRAME, Y), EXPECTED)
        np.testing.assert_array_equal(EXPLAINER(FRAME, Y).values, EXPECTED)


class TestOutputs:
    def test_predict_proba_of_two_classes_has_two_outputs(self) -> None:
        explainer = TreeExplainer(BINARY, FRAME, model_output="predict_proba")
        values, probabilities = explainer.shap_values(FRAME), BINARY.predict_proba(FRAME)
        assert values.shape == (150, 4, 2)
        np.testing.assert_allclose(values.sum(1) + explainer.expected_value, probabilities, atol=1e-6)
        explained = explainer(FRAME)
        np.testing.assert_allclose(explained.values.sum(1) + explained.base_values, probabilities, atol=1e-6)

    def test_predict_is_what_the_model_predicts(self) -> None:
        model = lightgbm.LGBMRegressor(n_estimators=3, objective="poisson", verbose=-1, n_jobs=1).fit(FRAME, np.exp(Y))
        explainer = TreeExplainer(model, FRAME, model_output="predict")
        np.testing.assert_allclose(
            explainer.shap_values(FRAME).sum(1) + explainer.expected_value, model.predict(FRAME), atol=1e-9
        )

    def test_one_output_by_its_number(self) -> None:
        every, second = TreeExplainer(CLASSES, FRAME), TreeExplainer(CLASSES, FRAME, model_output=1)
        np.testing.assert_array_equal(second.shap_values(FRAME), every.shap_values(FRAME)[..., 1])
        np.testing.assert_array_equal(second(FRAME).base_values, every(FRAME).base_values[..., 1])
        assert second.expected_value == every.expected_value[1]
        with pytest.raises(InputError, match="model_output=3 is not an output of this model, which has 3"):
            TreeExplainer(CLASSES, FRAME, model_output=3)

    def test_the_expected_loss_is_a_function_of_the_label(self) -> None:
        explainer = TreeExplainer(BINARY, FRAME, model_output="log_loss")
        probability = BINARY.predict_proba(FRAME)[:, 1].astype(np.float64)
        assert explainer.expected_value(1) == pytest.approx(-np.log(probability).mean(), abs=1e-6)
        expected = [-np.log(1 - probability).mean(), -np.log(probability).mean()]
        np.testing.assert_allclose(explainer.expected_value(np.array([0, 1])), expected, atol=1e-6)
        labels = (Y > 0).astype(int).to_numpy()
        loss = -np.log(np.where(labels, probability, 1 - probability))
        explained = explainer(FRAME, labels)
        np.testing.assert_allclose(explained.values.sum(1) + explained.base_values, loss, atol=1e-5)


class TestBackgrounds:
    def test_every_row_is_used(self) -> None:
        assert EXPLAINER.explainer.facts().n_background == len(FRAME)
        np.testing.assert_array_equal(EXPLAINER.data, FRAME)
        np.testing.assert_array_equal(EXPLAINER.masker.data, FRAME)
        assert EXPLAINER.data_missing.shape == FRAME.shape
        assert EXPLAINER.data_feature_names == NAMES

    @pytest.mark.parametrize("masker", [shap.maskers.Independent, shap.maskers.Partition])
    def test_maskers(self, masker: Any) -> None:
        given = masker(FRAME, max_samples=len(FRAME))
        explainer = TreeExplainer(REGRESSOR, given)
        assert explainer.masker is given
        np.testing.assert_array_equal(explainer.data, FRAME)
        np.testing.assert_array_equal(explainer.shap_values(FRAME), EXPECTED)

    def test_a_dmatrix(self) -> None:
        rows = FRAME.to_numpy(np.float32, copy=True)
        rows[0, 0] = np.nan
        explainer = TreeExplainer(BOOSTED, xgboost.DMatrix(rows, feature_names=NAMES))
        np.testing.assert_array_equal(explainer.data, rows)
        np.testing.assert_array_equal(
            explainer.shap_values(FRAME), arborshap.TreeExplainer(BOOSTED, rows).shap_values(FRAME)
        )

    def test_a_pool(self) -> None:
        model = catboost.CatBoostRegressor(iterations=3, depth=2, verbose=0, thread_count=1, allow_writing_files=False)
        model.fit(FRAME, Y)
        explainer = TreeExplainer(model, catboost.Pool(FRAME))
        np.testing.assert_array_equal(explainer.data, FRAME.astype(np.float32))
        assert explainer.masker.data.shape == FRAME.shape
        assert explainer.data_feature_names == NAMES
        assert not hasattr(TreeExplainer(model, catboost.Pool(FRAME.to_numpy())), "data_feature_names")

    def test_none(self) -> None:
        explainer = TreeExplainer(REGRESSOR)
        assert explainer.data is explainer.masker is explainer.data_missing is None
        assert explainer.feature_perturbation == "tree_path_dependent"
        with pytest.warns(FutureWarning, match="path-dependent values are computed; give data"):
            asked = TreeExplainer(REGRESSOR, feature_perturbation="interventional")
        np.testing.assert_array_equal(asked.shap_values(FRAME), explainer.shap_values(FRAME))

    def test_groups_and_pipelines_which_shap_does_not_have(self) -> None:
        grouped = TreeExplainer(REGRESSOR, FRAME, groups={"both": ["a", "b"]})(FRAME)
        assert grouped.feature_names == ["both", "c", "d"]
        pipeline = make_pipeline(StandardScaler(), clone(REGRESSOR)).fit(FRAME, Y)
        explained = TreeExplainer(pipeline, FRAME)(FRAME)
        np.testing.assert_allclose(explained.values.sum(1) + explained.base_values, pipeline.predict(FRAME))
        shap.plots.bar(grouped, show=False)
        plt.close("all")


class TestNames:
    def test_columns_with_other_names_are_taken_by_position(self) -> None:
        renamed = FRAME.set_axis(list("pqrs"), axis=1)
        with pytest.warns(UserWarning, match=r"\['p', 'q', 'r', 's'\] are not those of the model.*by position"):
            np.testing.assert_array_equal(EXPLAINER.shap_values(renamed), EXPECTED)
        with pytest.warns(UserWarning, match="by position"):
            assert EXPLAINER(renamed).feature_names == list("pqrs")
        with pytest.warns(UserWarning, match="by position"):
            np.testing.assert_array_equal(EXPLAINER.shap_values(renamed.iloc[3]), EXPECTED[3])
        with pytest.warns(UserWarning, match="by position"):
            background = TreeExplainer(REGRESSOR, renamed)
        np.testing.assert_array_equal(background.shap_values(FRAME), EXPECTED)

    def test_by_name_if_only_the_order_differs(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(EXPLAINER.shap_values(FRAME[NAMES[::-1]]), EXPECTED)

    def test_a_known_name_in_another_place_leaves_a_doubt(self) -> None:
        doubtful = FRAME.set_axis(["b", "a", "c", "other"], axis=1)
        with pytest.raises(InputError, match="no column 'd'"):
            EXPLAINER.shap_values(doubtful)
        with pytest.raises(InputError, match="no column 'd'"):
            EXPLAINER.shap_values(FRAME[["a", "b", "c"]])

    def test_without_names_shap_numbers_the_features(self) -> None:
        model = RandomForestRegressor(2, random_state=0).fit(FRAME.to_numpy(), Y)
        assert TreeExplainer(model, FRAME.to_numpy())(FRAME.to_numpy()).feature_names is None
        assert TreeExplainer(model, FRAME.to_numpy(), feature_names=list("wxyz"))(
            FRAME.to_numpy()
        ).feature_names == list("wxyz")


class TestRefusals:
    def test_approximate_values(self) -> None:
        for ask in (
            lambda: EXPLAINER(FRAME, approximate=True),
            lambda: EXPLAINER.shap_values(FRAME, approximate=True),
            lambda: TreeExplainer(REGRESSOR, FRAME, approximate=True),
            lambda: TreeExplainer(REGRESSOR, FRAME, approximate="yes"),
        ):
            with pytest.raises(InputError, match="Saabas values"):
                ask()

    def test_some_of_the_trees(self) -> None:
        with pytest.raises(InputError, match="tree_limit=2 asks for some of the 5 trees"):
            EXPLAINER.shap_values(FRAME, tree_limit=2)
        harmless: Any
        for harmless in (None, -1, -7, 5, 10, np.int64(5)):
            np.testing.assert_array_equal(EXPLAINER.shap_values(FRAME, tree_limit=harmless), EXPECTED)
        harmful: Any = "5"
        with pytest.raises(InputError, match="tree_limit must be None or a whole number, not '5'"):
            EXPLAINER.shap_values(FRAME, tree_limit=harmful)

    def test_links(self) -> None:
        TreeExplainer(REGRESSOR, FRAME, link=shap.links.identity)
        with pytest.raises(InputError, match="model_output='probability'"):
            TreeExplainer(REGRESSOR, FRAME, link=shap.links.logit)

    def test_models_and_names_with_shaps_own_errors(self) -> None:
        from shap.utils._exceptions import InvalidFeaturePerturbationError, InvalidModelError

        with pytest.raises(InvalidModelError, match=r"Model type not yet supported by TreeExplainer: .*LinearReg"):
            TreeExplainer(LinearRegression().fit(FRAME, Y))
        with pytest.raises(arborshap.UnsupportedModelError, match="model_output='log_loss': the margins of this"):
            TreeExplainer(REGRESSOR, FRAME, model_output="log_loss")
        with pytest.raises(InvalidFeaturePerturbationError, match="not 'random'"):
            TreeExplainer(REGRESSOR, feature_perturbation="random")
        assert not TreeExplainer.supports_model_with_masker(LinearRegression(), None)
        assert TreeExplainer.supports_model_with_masker(REGRESSOR, None)

    @pytest.mark.parametrize(
        "setting",
        [
            {"groups": {"both": ["a", "b"]}},
            {"model_output": "probability"},
            {"data": FRAME[:3]},
            {"feature_perturbation": "tree_path_dependent"},
            {"approximate": True},
            {"link": shap.links.logit},
        ],
        ids=lambda setting: next(iter(setting)),
    )
    def test_settings_that_an_explainer_already_has(self, setting: dict[str, Any]) -> None:
        ours = arborshap.TreeExplainer(REGRESSOR, FRAME)
        name = next(iter(setting))
        with pytest.raises(InputError, match=f"has its own {name}; leave {name} out"):
            TreeExplainer(ours, **setting)

    def test_an_explainer_keeps_its_background_and_takes_settings(self) -> None:
        ours = arborshap.TreeExplainer(REGRESSOR, FRAME)
        wrapped = TreeExplainer(ours, FRAME, feature_perturbation="interventional", link=shap.links.identity, n_jobs=1)
        np.testing.assert_array_equal(wrapped.shap_values(FRAME), EXPECTED)
        np.testing.assert_array_equal(wrapped.data, FRAME)
        assert wrapped.explainer.facts().n_threads == 1
        assert TreeExplainer(ours).explainer.facts().n_threads == ours.facts().n_threads


class TestShapsOwnUses:
    def test_it_is_an_instance(self) -> None:
        assert isinstance(EXPLAINER, shap.TreeExplainer)
        assert isinstance(EXPLAINER, shap.Explainer)
        assert EXPLAINER.link is shap.links.identity

    def test_the_model_is_shaps(self) -> None:
        model = GradientBoostingRegressor(n_estimators=3).fit(FRAME, Y)
        ensemble = TreeExplainer(model, FRAME).model
        assert type(ensemble).__name__ == "TreeEnsemble"
        np.testing.assert_allclose(ensemble.predict(FRAME.to_numpy()), model.predict(FRAME))
        pipeline = make_pipeline(StandardScaler(), clone(REGRESSOR)).fit(FRAME, Y)
        assert TreeExplainer(pipeline, FRAME).model is pipeline

    def test_its_check_of_sums(self) -> None:
        EXPLAINER.assert_additivity(EXPECTED, REGRESSOR.predict(FRAME))
        with pytest.raises(Exception, match="Additivity check failed"):
            EXPLAINER.assert_additivity(EXPECTED, REGRESSOR.predict(FRAME) + 1)

    def test_plots_draw_it(self) -> None:
        explained = EXPLAINER(FRAME)
        shap.plots.beeswarm(explained, order=explained.abs.max(0), show=False)
        shap.plots.bar(explained.cohorts(2).abs.mean(0), show=False)
        shap.plots.waterfall(explained[0], show=False)
        shap.plots.heatmap(explained, instance_order=explained.sum(1), show=False)
        shap.plots.scatter(explained[:, "a"], color=explained, show=False)
        shap.plots.violin(explained, show=False)
        shap.plots.force(explained[0], matplotlib=True, show=False)
        shap.plots.decision(EXPLAINER.expected_value, EXPECTED[:5], FRAME[:5], show=False)
        shap.summary_plot(EXPECTED, FRAME, show=False)
        plt.close("all")

    @pytest.mark.parametrize("way", ["shap", "pickle", "copy"])
    @pytest.mark.parametrize("output", ["raw", "predict_proba"])
    def test_it_is_kept(self, way: str, output: str) -> None:
        explainer = TreeExplainer(BINARY, FRAME, model_output=output)
        assert explainer.model is not None
        if way == "shap":
            file = io.BytesIO()
            explainer.save(file)
            file.seek(0)
            kept = shap.Explainer.load(file)
        else:
            kept = pickle.loads(pickle.dumps(explainer)) if way == "pickle" else copy.deepcopy(explainer)
        assert type(kept) is TreeExplainer
        np.testing.assert_array_equal(kept.shap_values(FRAME), explainer.shap_values(FRAME))
        np.testing.assert_array_equal(kept.expected_value, explainer.expected_value)
        np.testing.assert_array_equal(kept.data, explainer.data)
        assert kept(FRAME).feature_names == NAMES
        assert type(kept.model).__name__ == "TreeEnsemble"

    def test_a_model_that_lives_elsewhere_stays_there(self) -> None:
        class OfSpark(RandomForestRegressor):  # type: ignore[misc]
            _java_obj = property(lambda self: object())

            def __reduce__(self) -> Any:
                raise TypeError("cannot be pickled")

        explainer = TreeExplainer(OfSpark(2, random_state=0).fit(FRAME, Y), FRAME)
        kept = pickle.loads(pickle.dumps(explainer))
        np.testing.assert_array_equal(kept.shap_values(FRAME), explainer.shap_values(FRAME))
        assert kept.model is None

    def test_the_model_may_be_saved_elsewhere(self) -> None:
        file = io.BytesIO()
        EXPLAINER.save(file, model_saver=False)
        file.seek(0)
        loaded = TreeExplainer.load(file)
        assert loaded.model is None
        np.testing.assert_array_equal(loaded.shap_values(FRAME), EXPECTED)
        file.seek(0)
        assert TreeExplainer.load(file, model_loader=lambda _: REGRESSOR).model is not None
