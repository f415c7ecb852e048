"""Scripts written for shap: its arguments, its containers of rows, single rows, and the attributes that people read."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import shap
import xgboost
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import arborshap
from arborshap import InputError, TreeExplainer, VerificationError
from support import oracle

NAMES = ["a", "b", "c", "d"]
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(60, 4)), columns=NAMES)
Y = FRAME["a"] * FRAME["b"] + FRAME["c"]
FOREST = RandomForestRegressor(4, max_depth=3, random_state=0).fit(FRAME, Y)
BOOSTED = xgboost.XGBRegressor(n_estimators=4, max_depth=3, n_jobs=1).fit(FRAME, Y)
EXPLAINER = TreeExplainer(FOREST, FRAME)
EXPECTED = EXPLAINER.shap_values(FRAME)


def test_it_has_shaps_first_name_too() -> None:
    assert arborshap.Explainer is TreeExplainer


class TestArguments:
    @pytest.mark.parametrize("check_additivity", [True, False])
    @pytest.mark.parametrize("tree_limit", [None, 0, -1, 4, 100])
    def test_harmless_ones_change_nothing(self, check_additivity: bool, tree_limit: int | None) -> None:
        values = EXPLAINER.shap_values(
            FRAME, check_additivity=check_additivity, approximate=False, tree_limit=tree_limit
        )
        np.testing.assert_array_equal(values, EXPECTED)
        called = EXPLAINER(FRAME, check_additivity=check_additivity, approximate=False, interactions=False)
        np.testing.assert_array_equal(called.values, EXPECTED)

    def test_in_shaps_order(self) -> None:
        np.testing.assert_array_equal(EXPLAINER.shap_values(FRAME, None, None, False, False), EXPECTED)
        np.testing.assert_array_equal(EXPLAINER(FRAME, None, False, False, False).values, EXPECTED)
        classifier = RandomForestClassifier(3, max_depth=2, random_state=0).fit(FRAME, Y > 0)
        explainer = TreeExplainer(classifier, FRAME, "probability", "interventional", ["p", "q", "r", "s"])
        assert explainer.feature_names == ["p", "q", "r", "s"]
        assert explainer.facts().model_output in ("raw", "probability")

    def test_interactions(self) -> None:
        expected = EXPLAINER.shap_interaction_values(FRAME)
        np.testing.assert_array_equal(EXPLAINER(FRAME, interactions=True).values, expected)
        assert EXPLAINER(FRAME, interactions=True).index == "interaction"
        with pytest.raises(InputError, match="contradict each other; give only index"):
            EXPLAINER(FRAME, interactions=True, index="banzhaf")

    def test_approximate_values_are_refused(self) -> None:
        for ask in (
            lambda: EXPLAINER.shap_values(FRAME, approximate=True),
            lambda: EXPLAINER(FRAME, approximate=True),
            lambda: TreeExplainer(FOREST, FRAME, approximate=True),
        ):
            with pytest.raises(InputError, match="Saabas values, which are not Shapley values"):
                ask()

    def test_some_of_the_trees_are_refused(self) -> None:
        for ask in (EXPLAINER.shap_values, EXPLAINER.shap_interaction_values):
            with pytest.raises(InputError, match="tree_limit=2 asks for some of the 4 trees, which is another model"):
                ask(FRAME, tree_limit=2)

    def test_links(self) -> None:
        TreeExplainer(FOREST, FRAME, link=shap.links.identity)
        with pytest.raises(InputError, match=r"link='logit' .*model_output='probability'"):
            TreeExplainer(FOREST, FRAME, link=shap.links.logit)

    def test_old_names(self) -> None:
        explainer = TreeExplainer(FOREST, FRAME, feature_dependence="independent", model_output="margin")  # type: ignore[arg-type]
        np.testing.assert_array_equal(explainer.shap_values(FRAME), EXPECTED)
        assert explainer.feature_perturbation == "interventional"
        assert TreeExplainer(FOREST, feature_dependence="tree_path_dependent").feature_perturbation != "interventional"
        with pytest.raises(InputError, match="old name of feature_perturbation"):
            TreeExplainer(FOREST, FRAME, feature_dependence="independent", feature_perturbation="interventional")


class TestPathDependentWithData:
    """Branches are weighted by the rows of data, as in shap, and not by the training rows."""

    ROWS = FRAME.iloc[:25]

    def explained(self, **settings: Any) -> TreeExplainer:
        return TreeExplainer(FOREST, self.ROWS, feature_perturbation="tree_path_dependent", **settings)

    @pytest.mark.parametrize("weights", [None, np.linspace(0.5, 3.0, 25)])
    def test_it_is_the_definition(self, weights: Any) -> None:
        explainer = self.explained(sample_weight=weights)
        assert explainer.feature_perturbation == "tree_path_dependent"
        X = FRAME.to_numpy()[40:44]
        expected = [_path_dependent(self.ROWS.to_numpy(), np.ones(25) if weights is None else weights, x) for x in X]
        np.testing.assert_allclose(explainer.shap_values(X), expected, atol=1e-12)
        np.testing.assert_allclose(explainer(X).predictions, FOREST.predict(FRAME)[40:44])
        assert np.abs(explainer.shap_values(X) - TreeExplainer(FOREST).shap_values(X)).max() > 1e-2

    def test_it_is_shaps(self) -> None:
        for model in (FOREST, BOOSTED):
            data = FRAME.sample(500, replace=True, random_state=0) if model is FOREST else FRAME
            ours = TreeExplainer(model, data, feature_perturbation="tree_path_dependent")
            theirs = shap.TreeExplainer(
                model, shap.maskers.Independent(data, len(data)), feature_perturbation="tree_path_dependent"
            )
            np.testing.assert_allclose(ours.shap_values(FRAME), theirs.shap_values(FRAME), atol=1e-5)

    def test_the_training_rows_give_what_the_model_has(self) -> None:
        model = RandomForestRegressor(4, bootstrap=False, max_features=2, random_state=0).fit(FRAME, Y)
        explainer = TreeExplainer(model, FRAME, feature_perturbation="tree_path_dependent")
        np.testing.assert_array_equal(explainer.shap_values(FRAME), TreeExplainer(model).shap_values(FRAME))

    def test_it_is_saved(self) -> None:
        loaded = TreeExplainer.from_bytes(self.explained().to_bytes())
        np.testing.assert_array_equal(loaded.shap_values(FRAME), self.explained().shap_values(FRAME))

    def test_the_data_name_the_columns(self) -> None:
        plain = RandomForestRegressor(4, max_depth=3, random_state=0).fit(FRAME.to_numpy(), Y)
        explainer = TreeExplainer(plain, self.ROWS, feature_perturbation="tree_path_dependent")
        assert explainer.feature_names == NAMES
        np.testing.assert_array_equal(explainer.shap_values(FRAME[NAMES[::-1]]), self.explained().shap_values(FRAME))

    def test_the_data_verify(self) -> None:
        class Wrong(xgboost.XGBRegressor):
            def get_booster(self) -> Any:
                booster = super().get_booster()
                booster.predict = lambda *_, **__: np.zeros(60)  # type: ignore[method-assign]
                return booster

        wrong = Wrong(n_estimators=2, n_jobs=1).fit(FRAME, Y)
        with pytest.raises(VerificationError):
            TreeExplainer(wrong, FRAME, feature_perturbation="tree_path_dependent")

    def test_no_rows_are_refused(self) -> None:
        with pytest.raises(InputError, match="data has no rows"):
            TreeExplainer(FOREST, FRAME[:0], feature_perturbation="tree_path_dependent")


def _path_dependent(rows: np.ndarray, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The Shapley values of x over all coalitions; absent players go where the weighted rows go."""

    def worth(tree: Any, node: int, reach: np.ndarray, present: tuple[int, ...]) -> float:
        left, feature = tree.children_left[node], tree.feature[node]
        if left == -1:
            return float(tree.value[node, 0, 0])
        goes = rows[:, feature].astype(np.float32) <= tree.threshold[node]
        sides = ((left, reach & goes), (tree.children_right[node], reach & ~goes))
        if feature in present:
            child, there = sides[0 if np.float32(x[feature]) <= tree.threshold[node] else 1]
            return worth(tree, child, there, present)
        shares = np.array([weights[there].sum() for _, there in sides])
        shares = shares / shares.sum() if shares.sum() else np.array([0.5, 0.5])
        return float(sum(s * worth(tree, *side, present) for s, side in zip(shares, sides, strict=True)))

    everything = np.ones(len(rows), dtype=bool)
    coalitions = [tuple(j for j in range(len(x)) if bits >> j & 1) for bits in range(1 << len(x))]
    trees = [tree.tree_ for tree in FOREST.estimators_]
    worths = [np.mean([worth(tree, 0, everything, present) for tree in trees]) for present in coalitions]
    return oracle.shapley(np.array(worths)[:, np.newaxis, np.newaxis])[0, :, 0]


class TestBackgrounds:
    def test_maskers(self) -> None:
        masker = shap.maskers.Independent(FRAME, max_samples=len(FRAME))
        np.testing.assert_array_equal(TreeExplainer(FOREST, masker).shap_values(FRAME), EXPECTED)
        reordered = shap.maskers.Independent(FRAME[NAMES[::-1]], max_samples=len(FRAME))
        np.testing.assert_array_equal(TreeExplainer(FOREST, reordered).shap_values(FRAME), EXPECTED)

    def test_the_weights_of_kmeans_count(self) -> None:
        summary = shap.kmeans(FRAME, 5)
        expected = TreeExplainer(FOREST, summary.data, sample_weight=summary.weights).shap_values(FRAME)
        np.testing.assert_array_equal(TreeExplainer(FOREST, summary).shap_values(FRAME), expected)
        assert np.abs(expected - TreeExplainer(FOREST, summary.data).shap_values(FRAME)).max() > 1e-3
        with pytest.raises(InputError, match="this DenseData has weights of its own"):
            TreeExplainer(FOREST, summary, sample_weight=np.ones(5))

    def test_a_masker_without_rows_is_refused(self) -> None:
        with pytest.raises(InputError, match="cannot be read as"):
            TreeExplainer(FOREST, shap.maskers.Text())


class TestOneRow:
    @pytest.mark.parametrize("row", [FRAME.iloc[3], FRAME.to_numpy()[3], FRAME.to_numpy()[3].tolist()])
    def test_its_result_has_no_axis_of_rows(self, row: Any) -> None:
        np.testing.assert_array_equal(EXPLAINER.shap_values(row), EXPECTED[3])
        explanation = EXPLAINER(row)
        np.testing.assert_array_equal(explanation.values, EXPECTED[3])
        np.testing.assert_allclose(explanation.predictions, FOREST.predict(FRAME)[3])
        assert EXPLAINER.shap_interaction_values(row).shape == (4, 4)

    def test_of_a_series_by_name(self) -> None:
        np.testing.assert_array_equal(EXPLAINER.shap_values(FRAME.iloc[3][::-1]), EXPECTED[3])

    def test_with_its_label(self) -> None:
        classifier = xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(FRAME, Y > 0)
        explainer = TreeExplainer(classifier, FRAME, model_output="log_loss")
        expected = explainer(FRAME[:1], [1])
        np.testing.assert_array_equal(explainer(FRAME.iloc[0], 1).values, expected.values[0])
        np.testing.assert_array_equal(explainer.shap_values(FRAME.iloc[0], 1), expected.values[0])

    def test_of_the_wrong_length(self) -> None:
        with pytest.raises(InputError, match="X has 3 columns, but the model has 4 features"):
            EXPLAINER.shap_values([1.0, 2.0, 3.0])


class TestContainers:
    def test_dmatrix(self) -> None:
        gappy = FRAME.mask(RNG.random(FRAME.shape) < 0.2)
        explainer = TreeExplainer(BOOSTED, FRAME)
        expected = explainer.shap_values(gappy)
        np.testing.assert_array_equal(explainer.shap_values(xgboost.DMatrix(gappy)), expected)
        np.testing.assert_array_equal(explainer.shap_values(xgboost.DMatrix(gappy[NAMES[::-1]])), expected)
        np.testing.assert_array_equal(explainer.shap_values(xgboost.DMatrix(gappy.to_numpy())), expected)

    def test_what_a_dmatrix_lacks_is_missing_for_every_library(self) -> None:
        gappy = FRAME.mask(RNG.random(FRAME.shape) < 0.2)
        model = lightgbm.LGBMRegressor(n_estimators=3, num_leaves=4, n_jobs=1, verbose=-1).fit(gappy, Y)
        explainer = TreeExplainer(model, gappy)
        np.testing.assert_allclose(
            explainer.shap_values(xgboost.DMatrix(gappy.astype(np.float32))),
            explainer.shap_values(gappy.astype(np.float32)),
        )

    def test_dmatrix_of_other_columns(self) -> None:
        with pytest.raises(InputError, match="X has no column 'd', which the model needs and has the column 'e'"):
            TreeExplainer(BOOSTED, FRAME).shap_values(xgboost.DMatrix(FRAME.rename(columns={"d": "e"})))

    def test_codes_without_names_are_refused(self) -> None:
        town = FRAME.assign(d=pd.Categorical(["x", "y"] * 30))
        model = xgboost.XGBRegressor(n_estimators=2, enable_categorical=True, n_jobs=1).fit(town, Y)
        with pytest.raises(InputError, match="DMatrix with category columns, of which it keeps only codes"):
            TreeExplainer(model, town).shap_values(xgboost.DMatrix(town, enable_categorical=True))

    def test_pool(self) -> None:
        catboost = pytest.importorskip("catboost")
        model = catboost.CatBoostRegressor(iterations=3, depth=2, verbose=False, allow_writing_files=False)
        explainer = TreeExplainer(model.fit(FRAME, Y), FRAME)
        expected = explainer.shap_values(FRAME)
        np.testing.assert_array_equal(explainer.shap_values(catboost.Pool(FRAME)), expected)
        np.testing.assert_array_equal(explainer.shap_values(catboost.Pool(FRAME.to_numpy())), expected)
        town = FRAME.assign(d=["x", "y"] * 30)
        with pytest.raises(InputError, match="X is a Pool that does not give its values back"):
            explainer.shap_values(catboost.Pool(town, cat_features=["d"]))


class TestAttributes:
    def test_model_and_data_are_what_was_given(self) -> None:
        assert EXPLAINER.model is FOREST
        assert EXPLAINER.data is FRAME
        assert EXPLAINER.with_settings(n_jobs=1).model is FOREST
        loaded = TreeExplainer.from_bytes(EXPLAINER.to_bytes())
        assert loaded.model is None
        assert loaded.data is None
        assert TreeExplainer(FOREST).data is None

    def test_the_rows_are_not_kept_alive(self) -> None:
        rows = FRAME.to_numpy().copy()
        explainer = TreeExplainer(BOOSTED, rows)
        assert explainer.data is rows
        del rows
        gc.collect()
        assert explainer.data is None

    def test_perturbation(self) -> None:
        assert EXPLAINER.feature_perturbation == "interventional"
        assert TreeExplainer(FOREST).feature_perturbation == "tree_path_dependent"


def test_nothing_here_warns_without_need() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TreeExplainer(FOREST, FRAME)(FRAME, check_additivity=False)
