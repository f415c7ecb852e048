"""What a newcomer meets first: names as they wrote them, errors that say what to do, and a word before a long call."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVR

from arborshap import Background, InputError, ModelError, TreeExplainer, UnsupportedModelError
from arborshap._util.progress import human_seconds, reporting
from arborshap.explain import announce

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
SPACED = pd.DataFrame(X, columns=["mean radius", "mean area", "worst area"])


def light(**options: Any) -> Any:
    return lightgbm.LGBMRegressor(n_estimators=3, num_leaves=4, n_jobs=1, verbose=-1, **options)


MIXED = pd.DataFrame({"age": X[:, 0], "town": pd.Categorical(RNG.choice(["Bern", "Chur"], 80)), "member": X[:, 1] > 0})
MIXED_MODELS: dict[str, Any] = {
    "lightgbm": light(min_data_per_group=1),
    "hist": HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5, categorical_features="from_dtype"),
    "pipeline": make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"), RandomForestRegressor(2)
    ),
}


class TestNames:
    def test_spaces_stay_spaces(self) -> None:
        """LightGBM itself writes underscores."""
        model = light().fit(SPACED, Y)
        explainer = TreeExplainer(model, SPACED, groups={"means": ["mean radius", "mean area"]})
        assert explainer.feature_names == ["means", "worst area"]
        explanation = TreeExplainer(model, SPACED)(SPACED)
        assert explanation.feature_names == list(SPACED.columns)
        assert list(explanation.to_frame().columns) == list(SPACED.columns)
        assert explanation[:, "mean radius"].shape == (80,)
        loaded = TreeExplainer.from_bytes(TreeExplainer(model, SPACED).to_bytes())
        assert loaded(SPACED).feature_names == list(SPACED.columns)
        np.testing.assert_array_equal(loaded.shap_values(SPACED), explanation.values)

    def test_columns_of_several_levels(self) -> None:
        frame = pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("g", "a"), ("g", "b"), ("h", "a")]))
        explainer = TreeExplainer(xgboost.XGBRegressor(n_estimators=3, n_jobs=1).fit(frame, Y), frame)
        assert explainer.feature_names == ["g a", "g b", "h a"]
        np.testing.assert_array_equal(explainer.shap_values(frame.iloc[:, ::-1]), explainer.shap_values(frame))

    def test_a_frames_names_win_over_none(self) -> None:
        model = RandomForestRegressor(2, max_depth=3, random_state=0).fit(X, Y)
        explainer = TreeExplainer(model, X, groups={"both": [0, 1]})
        assert explainer(X).feature_names == ["both", "x2"]
        explanation = explainer(SPACED)
        assert explanation.feature_names == ["both", "worst area"]
        assert explanation.data_names == list(SPACED.columns)
        named = TreeExplainer(model, X, feature_names=["a", "b", "c"])
        assert named(X).feature_names == ["a", "b", "c"]

    def test_a_name_alone_is_a_player(self) -> None:
        explanation = TreeExplainer(light().fit(SPACED, Y), SPACED)(SPACED)
        np.testing.assert_array_equal(explanation["mean area"].values, explanation[:, "mean area"].values)
        assert explanation[0]["mean area"].shape == ()

    def test_columns_that_a_pipeline_ignores_may_be_there(self) -> None:
        prepared = make_column_transformer((StandardScaler(), ["mean radius", "mean area"]))
        pipeline = make_pipeline(prepared, HistGradientBoostingRegressor(max_iter=3)).fit(SPACED[SPACED.columns[:2]], Y)
        explainer = TreeExplainer(pipeline, SPACED)
        assert explainer.feature_names == ["mean radius", "mean area"]
        np.testing.assert_array_equal(explainer.shap_values(SPACED), explainer.shap_values(SPACED[SPACED.columns[:2]]))
        with pytest.raises(InputError, match="has no column 'mean area'"):
            explainer.shap_values(SPACED[["mean radius", "worst area"]])


class TestStepsThatJoinColumns:
    def test_the_step_is_named(self) -> None:
        mixing = FunctionTransformer(lambda d: np.exp(d) * np.asarray(d)[:, ::-1] + np.asarray(d)[:, [1]])
        pipeline = make_pipeline(StandardScaler(), mixing, light()).fit(X, Y)
        message = r"step 'functiontransformer' \(FunctionTransformer\) makes features .* not play alone: x0 \+ x1 \+ x2"
        with pytest.warns(UserWarning, match=message) as caught:
            explainer = TreeExplainer(pipeline, X)
        assert caught[0].filename == __file__
        assert explainer.feature_names == ["x0 + x1 + x2"]

    def test_the_advice_works(self) -> None:
        alone = [(f"exp {j}", FunctionTransformer(lambda d: np.exp(d)), [j]) for j in range(3)]
        pipeline = make_pipeline(ColumnTransformer(alone), light()).fit(X, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert TreeExplainer(pipeline, X).feature_names == ["x0", "x1", "x2"]

    def test_groups_that_were_asked_for_are_no_surprise(self) -> None:
        pipeline = make_pipeline(FunctionTransformer(lambda d: np.exp(d)), light()).fit(X, Y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert TreeExplainer(pipeline, X, groups={"all": [0, 1, 2]}).feature_names == ["all"]


class TestErrors:
    def test_the_first_words_say_what_and_what_to_do(self) -> None:
        with pytest.raises(UnsupportedModelError) as caught:
            TreeExplainer(SVR().fit(X, Y), X)
        assert len(str(caught.value)) < 150
        assert "sklearn.svm._classes.SVR is not supported" in str(caught.value)

    def test_swapped_arguments(self) -> None:
        model = light().fit(X, Y)
        for rows in (X, SPACED):
            with pytest.raises(InputError, match=r"model and data are swapped: write TreeExplainer\(model, data\)"):
                TreeExplainer(rows, model)
            with pytest.raises(UnsupportedModelError, match="these are rows; give the model first"):
                TreeExplainer(rows)

    def test_a_saved_explainer_is_not_a_model(self, tmp_path: Path) -> None:
        path = tmp_path / "saved.explainer"
        TreeExplainer(light().fit(X, Y), X).save(path)
        with pytest.raises(UnsupportedModelError, match=r"is a saved explainer; read it with TreeExplainer\.load"):
            TreeExplainer(path, X)
        path.write_bytes(Background(light().fit(X, Y), X).to_bytes())
        with pytest.raises(UnsupportedModelError, match="is a saved background; give the model first, and Background"):
            TreeExplainer(path, X)

    def test_a_model_is_not_a_saved_explainer(self, tmp_path: Path) -> None:
        path = tmp_path / "model.txt"
        light().fit(X, Y).booster_.save_model(path)
        with pytest.raises(ModelError, match=r"not a saved explainer .* give the file of a model to TreeExplainer"):
            TreeExplainer.load(path)

    def test_advice_that_works(self) -> None:
        explainer = TreeExplainer(light().fit(SPACED, Y), SPACED)
        with pytest.raises(InputError, match=r"for a single row, select it with Z\.iloc\[\[i\]\]"):
            explainer.pair_values(SPACED, SPACED.iloc[0])
        explainer.pair_values(SPACED, SPACED.iloc[[0]])

    @pytest.mark.parametrize("name", MIXED_MODELS)
    def test_a_row_of_a_mixed_frame(self, name: str) -> None:
        """A Series has lost the types of its columns, and is read all the same."""
        explainer = TreeExplainer(MIXED_MODELS[name].fit(MIXED, Y), MIXED)
        row = MIXED.iloc[0]
        explainer.check_rows(row)
        expected = explainer(MIXED.iloc[[0]])
        np.testing.assert_array_equal(explainer(row).values, expected.values[0])
        np.testing.assert_array_equal(explainer.taylor_values(row.to_dict()), explainer.taylor_values(MIXED[:1])[0])
        assert explainer(MIXED[:0]).shape == (0, 3)

    def test_sizes_may_be_text(self) -> None:
        explainer = TreeExplainer(light().fit(X, Y), X, memory_limit="1GB")  # type: ignore[arg-type]
        assert explainer.state.settings.memory_limit == 10**9
        with pytest.raises(InputError, match="a size such as '2GiB', or None; got 'much'"):
            TreeExplainer(light().fit(X, Y), X, memory_limit="much")  # type: ignore[arg-type]


class TestLongCalls:
    def test_they_are_announced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        explainer = TreeExplainer(light().fit(X, Y), X, engine="sparse", n_jobs=1)
        monkeypatch.setattr(announce, "LONG", 0.0)
        message = r"explaining 80 rows is estimated to take about .* on one thread, because .*fewer background rows"
        for call in (explainer, explainer.shap_values):
            with pytest.warns(UserWarning, match=message) as caught:
                call(X)
            assert caught[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            explainer.shap_values(X, progress=lambda _: None)

    def test_short_ones_are_not(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            TreeExplainer(light().fit(X, Y), X)(X)

    def test_advice_without_a_background(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(announce, "LONG", 0.0)
        with pytest.warns(UserWarning, match="Explain fewer rows, or give a background"):
            TreeExplainer(light().fit(X, Y)).shap_values(X)


@pytest.mark.parametrize("progress", [False, lambda _: None])
def test_plans_are_logged_if_someone_listens(progress: Any, caplog: pytest.LogCaptureFixture) -> None:
    model = light().fit(X, Y)
    with caplog.at_level("INFO", logger="arborshap"):
        TreeExplainer(model, X)(X, progress=progress)
    assert not caplog.records
    with caplog.at_level("DEBUG", logger="arborshap"):
        explainer = TreeExplainer(model, X[:9], engine="counts", n_jobs=1)
        explainer(X[:7], progress=progress)
        explainer(X[:1])  # one row is fast and silent
    made, explained = caplog.messages
    assert made.startswith("explainer of lightgbm ")
    assert made.endswith("trees=3, features=3, outputs=1, players=3, background rows=9, engine=counts, threads=1")
    assert explained.startswith("index shapley, rows=7: 3 trees by ranked counts: ")


class TestWords:
    def test_plans_have_human_numbers(self) -> None:
        plan = TreeExplainer(light().fit(X, Y), X).explain_plan(1000)
        assert "e-" not in str(plan)
        assert "e0" not in str(plan)
        small = replace(plan, seconds=0.0001, bytes=3000)
        assert ": less than 1 ms on one thread and less than 1 MiB; " in str(small)
        assert ": about 2 s on one thread and 3 MiB; " in str(replace(plan, seconds=2.0, bytes=3 * 2**20))

    @pytest.mark.parametrize(
        ("seconds", "said"),
        [(0.0, "less than 1 ms"), (0.009, "9 ms"), (0.5, "500 ms"), (1.52, "1.5 s"), (59.0, "59 s"), (300.0, "5 min")],
    )
    def test_times(self, seconds: float, said: str) -> None:
        assert human_seconds(seconds) == said

    def test_progress_tells_the_time_left(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        with reporting(True) as report:
            assert report is not None
            report(0.5)
        assert " left" in capsys.readouterr().err
