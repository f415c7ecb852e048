"""The explainer as its users meet it: shapes, names, frames, weights, groups, contrasts, and the gate before it all."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import xgboost
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from arborshap import Background, Explanation, Forest, ForestBuilder, TreeExplainer, VerificationError
from arborshap._util.threads import thread_count
from arborshap.exceptions import InputError
from arborshap.explain import values as explain_values
from arborshap.explain.verify import rows_to_verify
from arborshap.models import Model, load

FEATURES = 5
NAMES = ["age", "race_a", "race_b", "race_c", "income"]
Array = NDArray[Any]


@cache
def rows() -> Array:
    X = np.random.default_rng(7).normal(size=(60, FEATURES))
    X[::9, 2] = np.nan
    X.flags.writeable = False
    return X


def target() -> Array:
    X = np.nan_to_num(rows())
    return np.asarray(X[:, 0] * X[:, 1] + X[:, 4] - X[:, 2] ** 2)


@cache
def regressor() -> Any:
    return xgboost.XGBRegressor(n_estimators=8, max_depth=3, n_jobs=1).fit(rows(), target())


@cache
def named_regressor() -> Any:
    frame = pd.DataFrame(rows(), columns=NAMES)
    return xgboost.XGBRegressor(n_estimators=8, max_depth=3, n_jobs=1).fit(frame, target())


@cache
def classifier() -> Any:
    classes = np.digitize(target(), [-0.5, 0.5])
    return xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(rows(), classes)


def margin(model: Any, X: Any) -> Array:
    return np.asarray(model.predict(X, output_margin=True), dtype=np.float64)


# --- shapes and sums --------------------------------------------------------------------------------------------


def test_values_of_one_output_have_no_axis_for_it() -> None:
    explain = TreeExplainer(regressor(), rows())
    X = rows()[:4]
    assert explain.shap_values(X).shape == (4, 5)
    assert explain.banzhaf_values(X).shape == (4, 5)
    assert explain.taylor_values(X).shape == (4, 5, 5)
    assert explain.shap_interaction_values(X).shape == (4, 5, 5)
    assert explain.pair_values(X).shape == (4, 60, 5)
    assert explain.pair_values(X, X[:2]).shape == (4, 2, 5)
    assert isinstance(explain.expected_value, float)
    assert explain(X).base_values.shape == (4,)


def test_values_of_several_outputs_have_it_last() -> None:
    explain = TreeExplainer(classifier(), rows())
    X = rows()[:4]
    assert explain.shap_values(X).shape == (4, 5, 3)
    assert explain.banzhaf_values(X).shape == (4, 5, 3)
    assert explain.taylor_values(X).shape == (4, 5, 5, 3)
    assert explain.shap_interaction_values(X).shape == (4, 5, 5, 3)
    assert explain.pair_values(X).shape == (4, 60, 5, 3)
    assert np.shape(explain.expected_value) == (3,)
    assert explain(X).base_values.shape == (4, 3)


@pytest.mark.parametrize("model", [regressor, classifier])
def test_zero_rows_give_empty_arrays_of_the_right_shape(model: Any) -> None:
    explain = TreeExplainer(model(), rows())
    none, some = rows()[:0], rows()[:2]
    outputs = explain.shap_values(some).shape[2:]
    assert explain.shap_values(none).shape == (0, 5, *outputs)
    assert explain.banzhaf_values(none).shape == (0, 5, *outputs)
    assert explain.taylor_values(none).shape == (0, 5, 5, *outputs)
    assert explain.shap_interaction_values(none, dtype=np.float32).shape == (0, 5, 5, *outputs)
    assert explain.pair_values(none).shape == (0, 60, 5, *outputs)
    assert explain.pair_values(some, none).shape == (2, 0, 5, *outputs)
    explanation = explain(none)
    assert len(explanation) == 0
    assert explanation.base_values.shape == (0, *outputs)


@pytest.mark.parametrize("model", [regressor, classifier])
def test_base_and_values_add_up_to_the_librarys_prediction(model: Any) -> None:
    explanation = TreeExplainer(model(), rows())(rows())
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, margin(model(), rows()), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("model", [regressor, classifier])
def test_the_expected_value_is_the_mean_over_the_whole_background(model: Any) -> None:
    explain = TreeExplainer(model(), rows())
    np.testing.assert_allclose(explain.expected_value, margin(model(), rows()).mean(axis=0), rtol=1e-5, atol=1e-6)


def test_pair_values_average_to_shapley_values_and_add_up_to_each_difference() -> None:
    explain = TreeExplainer(regressor(), rows())
    X = rows()[:6]
    pairs = explain.pair_values(X)
    np.testing.assert_allclose(pairs.mean(axis=1), explain.shap_values(X), rtol=1e-9, atol=1e-12)
    differences = margin(regressor(), X)[:, None] - margin(regressor(), rows())[None, :]
    np.testing.assert_allclose(pairs.sum(axis=2), differences, atol=1e-5)


def test_a_call_can_ask_for_any_index() -> None:
    explain = TreeExplainer(classifier(), rows())
    X = rows()[:3]
    np.testing.assert_array_equal(explain(X).values, explain.shap_values(X))
    np.testing.assert_array_equal(explain(X, index="taylor").values, explain.taylor_values(X))
    np.testing.assert_array_equal(explain(X, index="interaction").values, explain.shap_interaction_values(X))
    np.testing.assert_array_equal(explain(X, index="banzhaf").values, explain.banzhaf_values(X))
    assert explain(X, index="taylor").index == "taylor"


# --- names and frames -------------------------------------------------------------------------------------------


def frames(X: Array) -> list[Any]:
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    shuffled = {name: columns[name] for name in sorted(NAMES, reverse=True)}
    return [pd.DataFrame(shuffled), pl.DataFrame(shuffled), pa.table(shuffled), np.asfortranarray(X), X.tolist()]


def test_every_kind_of_rows_gives_the_same_values() -> None:
    expected = TreeExplainer(named_regressor(), rows()).shap_values(rows()[:7])
    for data, X in zip(frames(rows()), frames(rows()[:7]), strict=True):
        explain = TreeExplainer(named_regressor(), data)
        np.testing.assert_array_equal(explain.shap_values(X), expected)
        assert explain.feature_names == NAMES


def test_a_nameless_model_takes_its_names_from_the_background_frame() -> None:
    explain = TreeExplainer(regressor(), pd.DataFrame(rows(), columns=NAMES))
    assert explain.feature_names == NAMES
    moved = pd.DataFrame(rows()[:3], columns=NAMES)[NAMES[::-1]]
    np.testing.assert_array_equal(explain.shap_values(moved), explain.shap_values(rows()[:3]))
    with pytest.raises(InputError, match="X has no column 'income'"):
        explain.shap_values(moved.drop(columns="income"))


def test_names_come_from_the_caller_or_are_made_up() -> None:
    assert TreeExplainer(regressor(), rows()).feature_names == ["x0", "x1", "x2", "x3", "x4"]
    renamed = TreeExplainer(named_regressor(), pd.DataFrame(rows(), columns=NAMES), feature_names=list("vwxyz"))
    assert renamed.feature_names == list("vwxyz")
    given = TreeExplainer(regressor(), rows(), feature_names=NAMES)
    moved = pd.DataFrame(rows()[:3], columns=NAMES)[NAMES[::-1]]
    np.testing.assert_array_equal(given.shap_values(moved), given.shap_values(rows()[:3]))


def test_an_explanation_carries_what_it_explains() -> None:
    X = pd.DataFrame(rows()[:3], columns=NAMES, index=["p", "q", "r"])
    explanation = TreeExplainer(named_regressor(), rows())(X)
    assert isinstance(explanation, Explanation)
    assert explanation.feature_names == NAMES
    np.testing.assert_array_equal(explanation.data, rows()[:3])
    assert explanation.row_labels is not None
    assert explanation.row_labels.tolist() == ["p", "q", "r"]
    assert explanation[1].base_values == explanation.base_values[0]


def test_entries_a_sparse_matrix_does_not_store_are_missing_to_xgboost() -> None:
    dense = np.where(np.abs(rows()) < 0.8, 0.0, np.nan_to_num(rows()))
    sparse = scipy.sparse.csr_matrix(dense)
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1).fit(sparse, target())
    explanation = TreeExplainer(model, sparse)(sparse)
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, margin(model, sparse), atol=1e-5)
    assert not np.allclose(margin(model, sparse), margin(model, dense), atol=1e-3)


def test_entries_a_sparse_matrix_does_not_store_are_zero_to_everyone_else() -> None:
    dense = np.where(np.abs(rows()) < 0.8, 0.0, np.nan_to_num(rows()))
    forest = stump(threshold=-0.5, default_left=True)
    explain = TreeExplainer(forest, dense)
    values = explain.shap_values(scipy.sparse.csr_array(dense))
    np.testing.assert_array_equal(values, explain.shap_values(dense))
    assert not np.array_equal(values, explain.shap_values(np.where(dense == 0, np.nan, dense)))


def stump(threshold: float, default_left: bool) -> Forest:
    builder = ForestBuilder(FEATURES, rule="<=", precision="float64")
    builder.add_tree(
        left=[1, -1, -1],
        right=[2, -1, -1],
        feature=[0, 0, 0],
        threshold=[threshold, 0, 0],
        value=[0.0, -1.0, 2.0],
        default_left=default_left,
    )
    return builder.build(base=0.5)


@pytest.mark.filterwarnings("ignore:An XGBoost dump")
def test_the_columns_of_a_dump_are_found_in_the_background() -> None:
    expected = TreeExplainer(named_regressor(), rows()).shap_values(rows())
    named = named_regressor().get_booster().get_dump(dump_format="json")
    numbered = regressor().get_booster().get_dump(dump_format="json")
    for data in frames(rows())[:3]:
        explain = TreeExplainer(named, data)
        order = [explain.feature_names.index(name) for name in NAMES]
        np.testing.assert_allclose(explain.shap_values(data)[:, order], expected, atol=1e-6)
    only_first = xgboost.XGBRegressor(n_estimators=2, max_depth=1, n_jobs=1).fit(rows(), rows()[:, 0] > 0)
    for data in (rows(), pd.DataFrame(rows()), scipy.sparse.csr_array(np.nan_to_num(rows()))):
        np.testing.assert_allclose(TreeExplainer(numbered, rows()).shap_values(rows()), expected, atol=1e-6)
        stumps = TreeExplainer(only_first.get_booster().get_dump(dump_format="json"), data)
        assert stumps.feature_names == ["f0", "f1", "f2", "f3", "f4"]


def test_lightgbms_spelling_of_names_is_understood() -> None:
    frame = pd.DataFrame(rows(), columns=[name.replace("_", " ") for name in NAMES])
    model = lightgbm.LGBMRegressor(n_estimators=3, num_leaves=4, n_jobs=1, verbose=-1).fit(frame, target())
    explain = TreeExplainer(model, frame[frame.columns[::-1]])
    np.testing.assert_array_equal(explain.shap_values(frame), TreeExplainer(model, rows()).shap_values(rows()))


def test_a_scikit_learn_classifier_names_its_outputs_and_takes_sparse_zeros_as_zeros() -> None:
    frame = pd.DataFrame(np.where(np.abs(rows()) < 0.8, 0.0, np.nan_to_num(rows())), columns=NAMES)
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(frame, np.where(target() > 0, "high", "low"))
    explanation = TreeExplainer(model, frame)(scipy.sparse.csr_array(frame.to_numpy()))
    assert explanation.output_names == ["high", "low"]
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(frame), atol=1e-12)
    np.testing.assert_allclose(explanation[..., "high"].values, -explanation[..., "low"].values, atol=1e-12)


def test_a_forest_can_be_explained_directly() -> None:
    explain = TreeExplainer(stump(0.0, False), [[1.0, 0, 0, 0, 0], [-1.0, 0, 0, 0, 0]])
    assert explain.expected_value == 1.0
    assert explain.shap_values([[3.0, 9, 9, 9, 9]]).tolist() == [[1.5, 0, 0, 0, 0]]


def test_a_models_own_marker_for_missing_is_followed() -> None:
    marked = np.where(np.isnan(rows()), -999.0, rows())
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1, missing=-999.0).fit(marked, target())
    explanation = TreeExplainer(model, marked)(marked[:9])
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, margin(model, marked[:9]), atol=1e-5)
    np.testing.assert_array_equal(explanation.data, marked[:9])


def test_category_columns_are_encoded_by_the_model_and_shown_as_written() -> None:
    colours = np.array(["red", "green", "blue"])[np.arange(60) % 3]
    frame = pd.DataFrame({"size": rows()[:, 0], "colour": pd.Categorical(colours)})
    y = rows()[:, 0] + (colours == "red")
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1, enable_categorical=True).fit(frame, y)
    explanation = TreeExplainer(model, frame)(frame[["colour", "size"]][:9])
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, margin(model, frame[:9]), atol=1e-5)
    assert explanation.data is not None
    assert explanation[:, "colour"].data is not None
    assert list(explanation.data[:3, 1]) == ["red", "green", "blue"]
    assert np.ptp(explanation[:, "colour"].values) > 0.1


# --- groups -----------------------------------------------------------------------------------------------------


def test_groups_by_name_by_number_and_by_map_are_the_same_players() -> None:
    options: list[Any] = [{"race": NAMES[1:4]}, {"race": [1, 2, 3]}, [0, 1, 1, 1, 2]]
    explainers = [TreeExplainer(named_regressor(), rows(), groups=groups) for groups in options]
    values = [explain.shap_values(rows()[:5]) for explain in explainers]
    assert values[0].shape == (5, 3)
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[0], values[2])
    assert explainers[0].feature_names == ["age", "race", "income"]


def test_groups_work_with_every_index() -> None:
    explain = TreeExplainer(named_regressor(), rows(), groups={"race": NAMES[1:4]})
    X = rows()[:5]
    shapley = explain.shap_values(X)
    np.testing.assert_allclose(explain.taylor_values(X).sum(axis=2), shapley, atol=1e-12)
    np.testing.assert_allclose(explain.shap_interaction_values(X).sum(axis=2), shapley, atol=1e-12)
    np.testing.assert_allclose(explain.pair_values(X).mean(axis=1), shapley, atol=1e-12)
    assert explain.banzhaf_values(X).shape == (5, 3)


def test_one_group_of_everything_gets_the_whole_difference() -> None:
    explain = TreeExplainer(regressor(), rows(), groups={"all": range(5)})
    X = rows()[:5]
    whole = margin(regressor(), X) - margin(regressor(), rows()).mean()
    np.testing.assert_allclose(explain.shap_values(X)[:, 0], whole, atol=1e-5)
    np.testing.assert_allclose(explain.banzhaf_values(X)[:, 0], whole, atol=1e-5)


def test_an_explanation_with_groups_knows_whose_each_column_is() -> None:
    explanation = TreeExplainer(named_regressor(), rows(), groups={"race": NAMES[1:4]})(rows()[:2])
    assert explanation.feature_names == ["age", "race", "income"]
    assert explanation.data_names == NAMES
    assert explanation.data_players == ["age", "race", "race", "race", "income"]
    np.testing.assert_array_equal(explanation[:, "race"].data, rows()[:2, 1:4])


# --- weights, contrast ------------------------------------------------------------------------------------------


def test_a_weight_counts_a_row_as_often() -> None:
    weights = np.arange(60) % 4
    repeated = np.repeat(rows(), weights, axis=0)
    weighted = TreeExplainer(regressor(), rows(), sample_weight=weights)
    plain = TreeExplainer(regressor(), repeated)
    np.testing.assert_allclose(weighted.expected_value, plain.expected_value, rtol=1e-12)
    np.testing.assert_allclose(weighted.shap_values(rows()), plain.shap_values(rows()), rtol=1e-9, atol=1e-12)
    scaled = TreeExplainer(regressor(), rows(), sample_weight=weights * 1e-9)
    np.testing.assert_allclose(scaled.shap_values(rows()), plain.shap_values(rows()), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [regressor, classifier])
def test_a_contrast_of_two_rows_explains_their_difference(model: Any) -> None:
    explain = TreeExplainer(model(), rows())
    x, z = rows()[3], rows()[8]
    contrast = explain.contrast(x, z)
    expected = explain.pair_values(rows()[3:4], rows()[8:9])[0, 0]
    np.testing.assert_allclose(contrast.values, expected, atol=1e-12)
    np.testing.assert_allclose(contrast.base_values, margin(model(), rows()[8:9])[0], atol=1e-5)
    np.testing.assert_array_equal(contrast.data, x)
    np.testing.assert_array_equal(contrast.reference, z)


def test_a_contrast_of_two_groups_is_the_mean_over_their_pairs() -> None:
    explain = TreeExplainer(regressor(), rows())
    x, z = rows()[:4], rows()[10:20]
    contrast = explain.contrast(x, z)
    np.testing.assert_allclose(contrast.values, explain.pair_values(x, z).mean(axis=(0, 1)), atol=1e-12)
    np.testing.assert_allclose(contrast.base_values, margin(regressor(), z).mean(), atol=1e-5)
    assert contrast.data is None
    assert contrast.reference is None


def test_a_contrast_takes_rows_of_a_frame() -> None:
    frame = pd.DataFrame(rows(), columns=NAMES)
    explain = TreeExplainer(named_regressor(), frame, groups={"race": NAMES[1:4]})
    contrast = explain.contrast(frame.iloc[3][NAMES[::-1]], frame[8:9])
    np.testing.assert_allclose(contrast.values, explain.contrast(rows()[3], rows()[8]).values, atol=1e-12)
    assert contrast.feature_names == ["age", "race", "income"]
    with pytest.raises(InputError, match="z has no rows"):
        explain.contrast(rows()[3], rows()[:0])


# --- how it computes --------------------------------------------------------------------------------------------


def test_float32_results_are_the_rounded_float64_ones_however_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    explain = TreeExplainer(classifier(), rows())
    wide = explain.shap_values(rows())
    pairs = explain.pair_values(rows()[:7])
    for size in (2**25, 1, 100):
        monkeypatch.setattr(explain_values, "_CHUNK", size)
        narrow = explain.shap_values(rows(), dtype=np.float32)
        assert narrow.dtype == np.float32
        np.testing.assert_array_equal(narrow, wide.astype(np.float32))
        narrow_pairs = explain.pair_values(rows()[:7], dtype="float32")
        np.testing.assert_array_equal(narrow_pairs, pairs.astype(np.float32))


def test_a_progress_function_hears_the_fraction_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    class Halfway:
        def explain_pairs(self, part: Array, others: Array, *, n_threads: int, progress: Any) -> Array:
            progress(0.5)
            return np.zeros((len(part), len(others), FEATURES, 1))

    explain = TreeExplainer(regressor(), rows())
    state = replace(explain.state, core=Halfway())  # type: ignore[arg-type]
    monkeypatch.setattr(explain_values, "_CHUNK", 4 * FEATURES)  # two rows with two reference rows each
    heard: list[float] = []
    explain_values.pair_values_of(state, rows()[:4], rows()[:2], np.float32, heard.append)
    assert heard == [0.25, 0.75, 1.0]
    heard.clear()
    explain_values.pair_values_of(state, rows()[:4], rows()[:2], np.float64, heard.append)
    assert heard == [0.5, 1.0]


def test_what_a_progress_function_raises_ends_the_call_and_leaves_the_explainer_usable() -> None:
    explain = TreeExplainer(regressor(), np.tile(rows(), (200, 1)), n_jobs=1)

    def stop(fraction: float) -> None:
        raise RuntimeError(f"enough at {fraction}")

    with pytest.raises(RuntimeError, match="enough at"):
        explain.pair_values(np.tile(rows(), (10, 1)), progress=stop)
    assert explain.shap_values(rows()[:2]).shape == (2, 5)


@pytest.mark.parametrize("tqdm", ["", "import sys; sys.modules['tqdm'] = None; sys.modules['tqdm.auto'] = None"])
def test_progress_is_drawn_with_or_without_tqdm(tqdm: str) -> None:
    code = f"""{tqdm}
from arborshap._util.progress import reporting
with reporting(True) as report:
    report(0.25)
    report(0.5)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "arborshap" in shown.stderr
    assert "25%" in shown.stderr if tqdm else "100%" in shown.stderr
    assert shown.stdout == ""


def test_threads_do_not_change_a_bit() -> None:
    one, two = (TreeExplainer(classifier(), rows(), n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.shap_values(rows()), two.shap_values(rows()))
    np.testing.assert_array_equal(one.taylor_values(rows()), two.taylor_values(rows()))
    np.testing.assert_array_equal(one.pair_values(rows()), two.pair_values(rows()))
    np.testing.assert_array_equal(one.expected_value, two.expected_value)


def test_n_jobs_counts_as_scikit_learn_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5, 7}, raising=False)
    assert [thread_count(n) for n in (None, -1, -2, -4, -9, 1, 16)] == [4, 4, 3, 1, 1, 1, 16]


def test_a_result_beyond_the_memory_limit_is_refused_before_it_is_computed() -> None:
    explain = TreeExplainer(regressor(), rows(), memory_limit=2400)
    assert explain.shap_values(rows()).nbytes == 2400
    with pytest.raises(MemoryError, match=r"60 x 60 x 5 x 1 float64 values, takes 144,000 bytes, but .* 2,400"):
        explain.pair_values(rows())
    with pytest.raises(MemoryError, match="takes 72,000 bytes"):
        explain.pair_values(rows(), dtype=np.float32)


def test_a_result_beyond_the_machine_is_refused() -> None:
    explain = TreeExplainer(regressor(), rows())
    X = np.broadcast_to(rows()[0], (3_000_000, 5)).copy()
    with pytest.raises(MemoryError, match="this machine has"):
        explain.pair_values(X, X[:1_000_000])


def test_repr_says_what_is_explained() -> None:
    shown = repr(TreeExplainer(regressor(), rows(), groups=[0, 1, 1, 1, 2]))
    assert "xgboost" in shown
    assert "3 players" in shown
    assert "60 background rows" in shown


# --- the gate ---------------------------------------------------------------------------------------------------


def doubtful(wrong_by: float, row: int = 17) -> Model:
    model = load(regressor())
    assert model.raw_predict is not None
    honest = model.raw_predict

    def raw_predict(X: Array) -> Array:
        prediction = honest(X)
        prediction[row] += wrong_by
        return prediction

    return replace(model, raw_predict=raw_predict)


def test_a_wrong_prediction_of_one_row_is_found_and_shown() -> None:
    with pytest.raises(VerificationError, match=r"row 17 of data: xgboost .* predicts .* 1 of 60 rows differ"):
        TreeExplainer(doubtful(1e-3), rows())
    TreeExplainer(doubtful(1e-3), rows(), verify=False)
    TreeExplainer(doubtful(1e-8), rows())


def test_a_prediction_that_is_no_number_is_found() -> None:
    with pytest.raises(VerificationError, match="row 17 of data"):
        TreeExplainer(doubtful(np.nan), rows())


@pytest.mark.parametrize("vector_leaves", [False, True])
def test_a_small_output_is_checked_at_its_own_size(vector_leaves: bool) -> None:
    builder = ForestBuilder(1, 2, rule="<=", precision="float64")
    tree: dict[str, Any] = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0] * 3, "threshold": [0.0] * 3}
    if vector_leaves:
        builder.add_tree(**tree, value=[[0.0, 0.0], [1e6, 1.0], [2e6, 2.0]])
    else:
        builder.add_tree(**tree, value=[0.0, 1e6, 2e6], output=0)
        builder.add_tree(**tree, value=[0.0, 1.0, 2.0], output=1)
    forest = builder.build()
    data = np.array([[-1.0], [1.0], [2.0]])

    def library(error: Array) -> Model:
        return Model(forest, "a library", raw_predict=lambda X: forest.margin(X) + error, tolerance=1e-6)

    TreeExplainer(library(np.array([0.5, 1e-7])), data)
    with pytest.raises(
        VerificationError, match=r"row 1 of data: a library predicts 2\.001 for output 1, but .* give 2\.0;"
    ):
        TreeExplainer(library(np.array([[0.5, 0.0], [0.5, 0.001], [0.5, 0.0]])), data)


def test_leaves_that_cancel_allow_the_rounding_of_their_own_size() -> None:
    builder = ForestBuilder(1, rule="<=", precision="float64")
    for sign in (1.0, -1.0):
        builder.add_tree(left=[-1], right=[-1], feature=[0], threshold=[0.0], value=[sign * 1e6])
    forest = builder.build()
    rounded = Model(forest, "a library", raw_predict=lambda X: np.full((len(X), 1), 0.01), tolerance=1e-6)
    assert TreeExplainer(rounded, np.zeros((3, 1))).expected_value == 0.0


def test_a_prediction_of_another_shape_is_refused() -> None:
    strange = replace(load(regressor()), raw_predict=lambda X: np.zeros((len(X), 2)))
    with pytest.raises(VerificationError, match=r"shape \(60, 2\)"):
        TreeExplainer(strange, rows())


def test_rows_the_library_itself_refuses_are_reported_with_its_words() -> None:
    infinite = rows().copy()
    infinite[0, 0] = np.inf
    with pytest.raises(InputError, match=r"data: xgboost .* itself refuses"):
        TreeExplainer(regressor(), infinite)
    TreeExplainer(regressor(), infinite, verify=False)


def test_a_large_background_is_checked_on_about_a_thousand_rows_that_reach_far() -> None:
    background = np.random.default_rng(0).normal(size=(5000, 4))
    background[1234, 2] = np.nan
    background[4321, 3] = 99.0
    background[77, 0] = -99.0
    chosen = rows_to_verify(background)
    assert 900 <= len(chosen) <= 1000
    assert len(set(chosen.tolist())) == len(chosen)
    assert {1234, 4321, 77} <= set(chosen.tolist())
    assert np.diff(chosen).max() < 20
    assert rows_to_verify(background[:1000]).tolist() == list(range(1000))


def test_a_background_of_many_columns_is_still_checked_on_a_thousand_rows() -> None:
    background = np.random.default_rng(0).normal(size=(3000, 900)).astype(np.float32)
    background[:, 5] = np.nan
    assert 900 <= len(rows_to_verify(background)) <= 1000


# --- without a background ---------------------------------------------------------------------------------------


def test_without_data_values_are_path_dependent_as_xgboosts_own_are() -> None:
    explain = TreeExplainer(regressor())
    theirs = regressor().get_booster().predict(xgboost.DMatrix(rows()), pred_contribs=True)
    np.testing.assert_allclose(explain.shap_values(rows()), theirs[:, :-1], atol=1e-5)
    np.testing.assert_allclose(explain.expected_value, theirs[0, -1], atol=1e-5)
    assert "path-dependent" in repr(explain)


def test_without_data_pairs_need_their_reference_rows() -> None:
    explain = TreeExplainer(regressor())
    expected = TreeExplainer(regressor(), rows()).pair_values(rows()[:3])
    np.testing.assert_allclose(explain.pair_values(rows()[:3], rows()), expected, atol=1e-12)
    with pytest.raises(InputError, match="this explainer has no background; give the reference rows Z"):
        explain.pair_values(rows()[:3])
    np.testing.assert_allclose(explain.contrast(rows()[0], rows()[1]).values, expected[0, 1], atol=1e-12)


def test_without_data_the_first_rows_that_come_are_verified() -> None:
    for verify in (True, False):
        explain = TreeExplainer(doubtful(1e-3), verify=verify)
        assert explain.shap_values(rows()[:0]).shape == (0, 5)
        if verify:
            with pytest.raises(VerificationError, match="row 17 of X"):
                explain.shap_values(rows())
        else:
            assert explain.shap_values(rows()).shape == (60, 5)


@pytest.mark.parametrize("engine", ["auto", "pattern", "counts", "sparse", "traversal"])
def test_every_engine_gives_the_same_values(engine: str) -> None:
    X = rows()[:9]
    expected = TreeExplainer(classifier(), rows(), engine="traversal").taylor_values(X)
    np.testing.assert_allclose(
        TreeExplainer(classifier(), rows(), engine=engine).taylor_values(X), expected, atol=1e-12
    )


def test_a_plan_says_what_would_run() -> None:
    plan = TreeExplainer(regressor(), rows(), engine="traversal").explain_plan(7)
    ways = (plan.trees_by_tables, plan.trees_by_counts, plan.trees_by_pairs, plan.trees_by_walk)
    assert ways == (0, 0, 0, 8)
    assert str(plan).startswith("8 trees by the traversal: ")
    chosen = TreeExplainer(regressor(), rows()).explain_plan(0, index="taylor")
    assert chosen.trees_by_tables + chosen.trees_by_counts + chosen.trees_by_pairs + chosen.trees_by_walk == 8
    counts = TreeExplainer(regressor(), rows(), engine="counts").explain_plan(7)
    assert counts.trees_by_counts == 8
    assert str(counts).startswith("8 trees by ranked counts: ")
    for wrong in (-1, 1.5, True):
        with pytest.raises(InputError, match="n must be a number of rows"):
            TreeExplainer(regressor(), rows()).explain_plan(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"n must be a number of rows; got ndarray array\(.{,60}\.\.\.$"):
        TreeExplainer(regressor(), rows()).explain_plan(rows())  # type: ignore[arg-type]


def test_an_explanation_does_not_change_with_the_callers_array() -> None:
    explain, data = TreeExplainer(regressor(), rows()), rows()[:3].copy()
    explanation, contrast = explain(data), explain.contrast(data[:1], data[1:2])
    assert explanation.data is not None
    assert contrast.reference is not None
    before, reference = explanation.data.copy(), contrast.reference.copy()
    data[:] = 0
    np.testing.assert_array_equal(explanation.data, before)
    np.testing.assert_array_equal(contrast.reference, reference)


def test_a_frame_with_assigned_names_in_another_order_is_refused() -> None:
    """The model has no names, so it would take the columns by their position."""
    explainer = TreeExplainer(regressor(), rows())
    explainer.feature_names = NAMES
    frame = pd.DataFrame(rows(), columns=NAMES)
    np.testing.assert_array_equal(explainer.shap_values(frame), explainer.shap_values(rows()))
    with pytest.raises(InputError, match="feature_names has them in another order"):
        explainer.shap_values(frame[NAMES[::-1]])


def test_outputs_can_be_renamed_but_not_lost() -> None:
    model = RandomForestClassifier(2, max_depth=3, random_state=0).fit(np.nan_to_num(rows()), np.arange(60) % 3)
    explainer = TreeExplainer(model, np.nan_to_num(rows()))
    explainer.output_names = ["a", "b", "c"]
    assert explainer.interactions(np.nan_to_num(rows()[:2])).output_names == ["a", "b", "c"]
    strangers: list[Any] = [["a", "b"], ["a", "b", "b"], "abc", 5]
    for wrong in strangers:
        with pytest.raises(InputError, match="output_names"):
            explainer.output_names = wrong


def test_players_can_be_renamed_but_not_lost() -> None:
    explain = TreeExplainer(regressor(), rows())
    names = [f"column {j}" for j in range(len(explain.feature_names))]
    explain.feature_names = names
    assert explain(rows()[:2]).feature_names == names
    with pytest.raises(InputError, match="has 1 names"):
        explain.feature_names = ["one"]
    explain.feature_names.append("a stranger")
    assert explain.feature_names == names


def test_settings_change_without_compiling_again() -> None:
    ours = TreeExplainer(regressor(), rows(), n_jobs=1)
    other = ours.with_settings(engine="traversal", n_jobs=2, memory_limit=10**9)
    assert other.state.core is ours.state.core
    assert (other.facts().engine, other.facts().n_threads, other.state.settings.memory_limit) == ("traversal", 2, 10**9)
    assert ours.facts().engine == "auto", "the first one stays as it was"
    np.testing.assert_allclose(other.shap_values(rows()), ours.shap_values(rows()), rtol=1e-10, atol=1e-12)
    with pytest.raises(InputError, match="is unknown"):
        ours.with_settings(engine="fast")


def test_a_part_of_a_background_made_by_an_explainer() -> None:
    ours = TreeExplainer(regressor(), rows(), groups={"both": [0, 1]})
    parts = ours.background_part(rows()[:7]).merge(ours.background_part(rows()[7:]))
    again = TreeExplainer(regressor(), parts)
    assert again.feature_names == ours.feature_names
    np.testing.assert_array_equal(
        again.shap_values(rows()),
        TreeExplainer(regressor(), Background(regressor(), rows(), groups={"both": [0, 1]})).shap_values(rows()),
    )
    with pytest.raises(InputError, match="columns"):
        ours.background_part(rows()[:, :2])


def test_values_are_those_of_the_methods() -> None:
    ours = TreeExplainer(regressor(), rows())
    named: dict[Any, Any] = {
        "shapley": ours.shap_values,
        "banzhaf": ours.banzhaf_values,
        "taylor": ours.taylor_values,
        "interaction": ours.shap_interaction_values,
    }
    for index, method in named.items():
        np.testing.assert_array_equal(ours.values(rows(), index=index), method(rows()))
        chunks = list(ours.value_chunks(rows(), index=index))
        np.testing.assert_array_equal(np.concatenate(chunks), method(rows()))
    with pytest.raises(InputError, match="index must be"):
        ours.values(rows(), index="owen")  # type: ignore[arg-type]
    ours.check_rows(rows())
    with pytest.raises(InputError, match="columns"):
        ours.check_rows(rows()[:, :2])
