"""Explainers as MLflow models, with the real MLflow: `make test-tools` brings it along."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from xgboost import XGBRegressor

pytest.importorskip("mlflow", reason="`make test-tools` brings MLflow along")

import mlflow
import mlflow.sklearn
import mlflow.xgboost

from arborshap import ArborshapError, InputError, ModelError, TreeExplainer, UnsupportedModelError, __version__
from arborshap.adapters.mlflow import load_model, log_model, save_model
from support.people import by_definition, classes, numbers, people, pipeline, target

FRAME, NUMBERS = people(), numbers(people())
X, Z = NUMBERS[:5], NUMBERS[20:32]
MODEL = XGBRegressor(n_estimators=5, max_depth=3).fit(NUMBERS, target(FRAME))
VALUES, BASE = by_definition(MODEL.predict, X, Z)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Track in a folder of the test's own; the small MLflow of the tests comes without a database."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield
    mlflow.set_tracking_uri(None)


def test_a_saved_explainer_explains_frames(tmp_path: Path) -> None:
    save_model(TreeExplainer(MODEL, Z), tmp_path / "model")
    found = mlflow.pyfunc.load_model(str(tmp_path / "model")).predict(X)
    assert list(found.columns) == [*X.columns, "base_value"]
    assert list(found.index) == list(X.index)
    np.testing.assert_allclose(found[X.columns], VALUES[..., 0], atol=1e-6)
    np.testing.assert_allclose(found["base_value"], BASE[0], atol=1e-6)


def test_the_folder_has_no_pickle_and_names_what_it_needs(tmp_path: Path) -> None:
    save_model(TreeExplainer(MODEL, Z), tmp_path / "model", extra_pip_requirements=["xgboost"], metadata={"a": 1})
    files = {path.relative_to(tmp_path / "model").as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"MLmodel", "conda.yaml", "python_env.yaml", "requirements.txt", "data/model.explainer"}
    needed = (tmp_path / "model" / "requirements.txt").read_text().split()
    assert f"arborshap=={__version__}" in needed
    assert "xgboost" in needed
    assert mlflow.models.Model.load(str(tmp_path / "model")).metadata == {"a": 1}


def test_loading_needs_no_model_library(tmp_path: Path) -> None:
    save_model(TreeExplainer(MODEL, Z), tmp_path / "model")
    X.to_csv(tmp_path / "rows.csv", index=False)
    script = """
import sys
import mlflow, pandas as pd
rows = pd.read_csv(sys.argv[2])
print(mlflow.pyfunc.load_model(sys.argv[1]).predict(rows)["age"].sum())
assert not {"xgboost", "sklearn"} & {*sys.modules}
"""
    command = [sys.executable, "-c", script, str(tmp_path / "model"), str(tmp_path / "rows.csv")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(VALUES[:, 0].sum(), abs=1e-5)


def test_a_logged_and_registered_explainer_has_the_same_bits() -> None:
    explainer = TreeExplainer(MODEL, Z)
    with mlflow.start_run():
        info = log_model(explainer, name="explainer", input_example=X, registered_model_name="people")
    assert [column.name for column in info.signature.inputs] == list(X.columns)
    assert [column.name for column in info.signature.outputs] == [*X.columns, "base_value"]
    for address in (info.model_uri, "models:/people/1"):
        np.testing.assert_array_equal(load_model(address, n_jobs=1).shap_values(X), explainer.shap_values(X))


def test_rows_of_every_kind(tmp_path: Path) -> None:
    save_model(TreeExplainer(MODEL, Z), tmp_path / "model")
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    one = X.iloc[3]
    for rows in (one, dict(one), {name: [cell] for name, cell in one.items()}, X[3:4].to_numpy()):
        found = served.predict(rows)
        assert list(found.columns) == [*X.columns, "base_value"]
        np.testing.assert_allclose(found[X.columns], VALUES[3:4, :, 0], atol=1e-6)
    assert served.predict(X[:0]).shape == (0, 4)
    with pytest.raises(InputError, match="has no column 'income'"):
        served.predict(X[["age", "bern"]])


def test_a_loss_cannot_be_served(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="model_output='squared_error' needs the label of each row"):
        save_model(TreeExplainer(MODEL, Z, model_output="squared_error"), tmp_path / "model")


def test_several_outputs_are_blocks_of_columns(tmp_path: Path) -> None:
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(
        NUMBERS, classes(FRAME, 3).map(dict(enumerate(["low", "middle", "high"])))
    )
    save_model(TreeExplainer(model, Z), tmp_path / "model")
    found = mlflow.pyfunc.load_model(str(tmp_path / "model")).predict(X)
    values, base = by_definition(model.predict_proba, X, Z)
    for k, name in enumerate(model.classes_):
        np.testing.assert_allclose(found[[f"{name}: {column}" for column in X]], values[..., k], atol=1e-12)
        np.testing.assert_allclose(found[f"{name}: base_value"], base[k], atol=1e-12)
    assert found.shape == (len(X), 3 * 4)


def test_a_pipeline_in_its_raw_columns(tmp_path: Path) -> None:
    model = pipeline(RandomForestRegressor(n_estimators=5, random_state=0)).fit(FRAME, target(FRAME))
    save_model(TreeExplainer(model, FRAME[20:32]), tmp_path / "model", input_example=FRAME[:2])
    found = mlflow.pyfunc.load_model(str(tmp_path / "model")).predict(FRAME[:5])
    values, _ = by_definition(model.predict, FRAME[:5], FRAME[20:32])
    np.testing.assert_allclose(found[["age", "town", "income"]], values[..., 0], atol=1e-12)


def test_an_example_with_categories_is_saved_as_texts(tmp_path: Path) -> None:
    frame = FRAME.astype({"town": "category"})
    model = LGBMRegressor(n_estimators=5, min_child_samples=3, verbose=-1).fit(frame, target(FRAME))
    explainer = TreeExplainer(model, frame)
    save_model(explainer, tmp_path / "model", input_example=frame[:2])
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    found = served.predict(FRAME[:5])  # texts, as in the example
    np.testing.assert_array_equal(found[list(FRAME.columns)], explainer.shap_values(frame[:5]))


def test_the_old_word_for_the_name_of_a_logged_model() -> None:
    with mlflow.start_run():
        info = log_model(TreeExplainer(MODEL, Z), artifact_path="explainer")
    assert load_model(info.model_uri).n_outputs == 1


def test_what_is_no_explainer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"take an arborshap\.TreeExplainer, not a XGBRegressor"):
        save_model(MODEL, tmp_path / "model")
    mlflow.xgboost.save_model(MODEL, tmp_path / "other", model_format="json", pip_requirements=[])
    with pytest.raises(ModelError, match="has no explainer, only the flavours"):
        load_model(str(tmp_path / "other"))


def test_a_player_called_like_the_base_value_is_refused(tmp_path: Path) -> None:
    frame = NUMBERS.rename(columns={"age": "base_value"})
    model = RandomForestRegressor(n_estimators=2).fit(frame, target(FRAME))
    with pytest.raises(InputError, match="two columns of an explanation would be called 'base_value'"):
        save_model(TreeExplainer(model, frame), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def evaluated(model: Any, evaluators: list[str], **config: Any) -> Any:
    rows = NUMBERS.assign(target=target(FRAME))
    flavour = mlflow.xgboost if isinstance(model, XGBRegressor) else mlflow.sklearn
    form = {"model_format": "json"} if flavour is mlflow.xgboost else {"serialization_format": "cloudpickle"}
    with mlflow.start_run():
        address = flavour.log_model(model, name="model", pip_requirements=[], **form).model_uri
        return mlflow.models.evaluate(
            address,
            rows,
            targets="target",
            model_type="regressor",
            evaluators=evaluators,
            evaluator_config={"arborshap": config},
        )


def test_the_evaluator_is_found_and_logs_what_matters(tmp_path: Path) -> None:
    assert "arborshap" in mlflow.models.list_evaluators()
    result = evaluated(MODEL, ["arborshap"], background=Z, log_explainer=True)
    names = {"arborshap_importance.csv", "arborshap_importance.png", "arborshap_report.html"}
    assert {*result.artifacts} == names
    expected = TreeExplainer(MODEL, Z).importance(NUMBERS).to_frame()
    table = pd.read_csv(mlflow.artifacts.download_artifacts(result.artifacts["arborshap_importance.csv"].uri))
    pd.testing.assert_frame_equal(table, expected)
    result.save(tmp_path / "result")
    again = mlflow.models.EvaluationResult.load(tmp_path / "result")
    assert b"<html" in again.artifacts["arborshap_report.html"].content
    logged = mlflow.search_logged_models(output_format="list")
    explainer = next(model for model in logged if model.name == "explainer")
    assert load_model(explainer.model_uri).facts().n_background == len(Z)


def test_models_without_trees_are_left_to_others(caplog: pytest.LogCaptureFixture) -> None:
    model = LinearRegression().fit(NUMBERS, target(FRAME))
    result = evaluated(model, ["regressor", "arborshap"])
    assert not result.artifacts
    assert "r2_score" in result.metrics
    assert "LinearRegression" in caplog.text
    with pytest.raises(UnsupportedModelError, match="LinearRegression"):
        evaluated(model, ["arborshap"], ignore_exceptions=False)


def test_an_explainer_that_cannot_be_logged_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    def doubled(rows: Any) -> Any:
        return rows * 2

    model = make_pipeline(FunctionTransformer(doubled), RandomForestRegressor(n_estimators=2))
    model.fit(NUMBERS, target(FRAME))
    assert "arborshap_report.html" in evaluated(model, ["arborshap"], log_explainer=True).artifacts
    assert "arborshap logs no explainer: " in caplog.text
    with pytest.raises(ArborshapError, match="doubled"):
        evaluated(model, ["arborshap"], log_explainer=True, ignore_exceptions=False)


def test_a_setting_that_the_evaluator_does_not_have_is_named(caplog: pytest.LogCaptureFixture) -> None:
    evaluated(MODEL, ["arborshap"], backgroud=Z)
    assert "arborshap's evaluator has no setting 'backgroud'; it has background, " in caplog.text


def test_the_evaluator_can_be_switched_off() -> None:
    result = evaluated(MODEL, ["regressor", "arborshap"], log_model_explainability=False)
    assert not [name for name in result.artifacts if name.startswith("arborshap")]
