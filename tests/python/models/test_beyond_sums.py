"""Models whose own predict does more than add up trees: read rightly, refused by name, or warned about."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arborshap import TreeExplainer
from arborshap.exceptions import UnsupportedModelError
from arborshap.models import load
from arborshap.models.json import parse_json
from arborshap.models.xgboost.document import read_document
from support.models.case import data
from support.models.lightgbm_cases import SMALL

pd = pytest.importorskip("pandas")
FOLDER = Path(__file__).parent / "saved"


def document_of(name: str) -> Any:
    return parse_json((FOLDER / name).read_bytes(), name)


def rows_of(name: str) -> tuple[Any, Any]:
    recorded = json.loads((FOLDER / "recorded.json").read_text())[name]
    return np.array(recorded["rows"], np.float64), np.array(recorded["margins"])


@pytest.mark.filterwarnings("ignore:this XGBoost model predicts several expectiles")
class TestExpectiles:
    def test_the_expected_value_is_the_mean_of_the_margins(self) -> None:
        rows, margins = rows_of("expectiles.json")
        with pytest.warns(UserWarning, match="adds the softplus of each output to the expectile below"):
            explainer = TreeExplainer(FOLDER / "expectiles.json", rows)
        np.testing.assert_allclose(explainer.expected_value, margins.mean(axis=0), atol=1e-5)

    def test_the_link_is_named_because_predict_adds_the_steps_up(self) -> None:
        assert load(FOLDER / "expectiles.json").link.name == "running sum of softplus"

    def test_equal_base_scores_are_one_least_step_apart(self) -> None:
        # XGBoost 3.4.1 itself, without trees: base_score=2 gives the margins 2, -13.8155 and -13.8155.
        document = document_of("expectiles.json")
        document["learner"]["learner_model_param"]["base_score"] = "2E0"
        np.testing.assert_allclose(read_document(document).forest.base, [2.0, -13.8155, -13.8155], atol=1e-4)

    def test_a_single_expectile_is_its_own_margin(self) -> None:
        document = document_of("dart.json")
        document["learner"]["objective"] = {"name": "reg:expectileerror"}
        read = read_document(document)
        assert read.link == "identity"
        np.testing.assert_array_equal(read.forest.base, read_document(document_of("dart.json")).forest.base)

    def test_live(self) -> None:
        import xgboost

        given = data()
        parameters = {"objective": "reg:expectileerror", "expectile_alpha": [0.2, 0.8], "nthread": 1}
        try:
            booster = xgboost.train(parameters, xgboost.DMatrix(given.X, given.y), 3)
        except xgboost.core.XGBoostError:
            pytest.skip("this version of XGBoost has no expectiles")
        TreeExplainer(booster, given.rows)  # `verify` compares


class TestQuantiles:
    def test_several_are_sorted_by_predict_and_said_so(self) -> None:
        with pytest.warns(UserWarning, match=r"XGBoost's predict \(since 3\.4\) sorts those of each row") as caught:
            assert load(FOLDER / "quantiles.json").link.name == "sorted"
        assert caught[0].filename == __file__, "the warning names the caller's line"

    def test_versions_that_do_not_sort_are_not_warned_about(self) -> None:
        document = document_of("quantiles.json")
        for version in ([3, 3, 0], [2, 1, 4], None):
            document["version"] = version
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert read_document(document).link == "identity"

    def test_live(self) -> None:
        import xgboost

        given = data()
        parameters = {"objective": "reg:quantileerror", "quantile_alpha": [0.45, 0.5, 0.55], "nthread": 1}
        booster = xgboost.train(parameters, xgboost.DMatrix(given.X, given.y), 20)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = load(booster)
        matrix = xgboost.DMatrix(given.rows)
        differs = bool((booster.predict(matrix) != booster.predict(matrix, output_margin=True)).any())
        assert (model.link.name == "sorted") == differs
        assert any("sorts" in str(warning.message) for warning in caught) == differs


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:pairwise", "survival:cox", "survival:aft"])
def test_several_outputs_of_an_objective_that_has_one_are_refused(objective: str) -> None:
    document = document_of("quantiles.json")
    document["learner"]["objective"] = {"name": objective}
    with pytest.raises(UnsupportedModelError, match=f"XGBoost trains '{objective}' with one output only"):
        read_document(document)


class TestFilesOfUnknownObjectives:
    def test_lightgbm(self, tmp_path: Path) -> None:
        text = (FOLDER / "lightgbm-3.txt").read_text()
        line = next(line for line in text.splitlines() if line.startswith("objective="))
        (tmp_path / "model.txt").write_text(text.replace(line, "objective=cubic power:3"))
        with pytest.warns(
            UserWarning, match="this LightGBM file has the objective 'cubic power:3', which is not known"
        ):
            load(tmp_path / "model.txt")
        (tmp_path / "model.txt").write_text(text.replace(line + "\n", ""))
        with pytest.warns(UserWarning, match="this LightGBM file has no objective of its own"):
            load(tmp_path / "model.txt")

    def test_catboost(self, tmp_path: Path) -> None:
        catboost = pytest.importorskip("catboost")
        given = data()
        model = catboost.CatBoostRegressor(iterations=3, depth=2, verbose=False, allow_writing_files=False)
        path = tmp_path / "model.json"
        model.fit(given.X, given.y).save_model(str(path), format="json")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            load(path)
        path.write_text(path.read_text().replace('"type":"RMSE"', '"type":"Cubic"'))
        with pytest.warns(UserWarning, match="this CatBoost file has the objective 'Cubic', which is not known here"):
            load(path)

    def test_live_models_are_verified_instead(self) -> None:
        import lightgbm

        given = data()
        parameters = {**SMALL, "objective": lambda margin, rows: (margin - rows.get_label(), np.ones(len(margin)))}
        booster = lightgbm.train(parameters, lightgbm.Dataset(given.X, given.y), 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            TreeExplainer(booster, given.rows)


class TestColumnsByPosition:
    """LightGBM's own predict ignores the names of columns, so it predicts other rows than the user has in mind."""

    @pytest.mark.parametrize("saved", [False, True])
    def test_lightgbm_warns(self, saved: bool, tmp_path: Path) -> None:
        given = data()
        names = [f"c{j}" for j in range(given.X.shape[1])]
        frame = pd.DataFrame(given.X, columns=names)
        explainer = TreeExplainer(train_named(frame, given.y), frame)
        if saved:
            explainer.save(tmp_path / "explainer")
            explainer = TreeExplainer.load(tmp_path / "explainer")
        expected = explainer.shap_values(frame)
        with pytest.warns(UserWarning, match="X are in another order than in training.* lightgbm goes by position"):
            values = explainer.shap_values(frame[names[::-1]])
        np.testing.assert_array_equal(values, expected)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            explainer.shap_values(frame)

    def test_others_check_names_themselves(self) -> None:
        from sklearn.tree import DecisionTreeRegressor

        given = data()
        frame = pd.DataFrame(np.nan_to_num(given.X), columns=[f"c{j}" for j in range(given.X.shape[1])])
        explainer = TreeExplainer(DecisionTreeRegressor(max_depth=2).fit(frame, given.y), frame)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            explainer.shap_values(frame.iloc[:, ::-1])


def train_named(frame: Any, y: Any) -> Any:
    import lightgbm

    return lightgbm.LGBMRegressor(n_estimators=3, num_leaves=4, verbose=-1, n_jobs=1).fit(frame, y)
