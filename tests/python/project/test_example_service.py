"""The example service: it answers what the explainer says, and says what is wrong with a request."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from lightgbm import LGBMRegressor
from xgboost import XGBClassifier, XGBRegressor

from arborshap import TreeExplainer
from support.pipeline_cases import fitted
from support.places import EXAMPLES

SOURCE = EXAMPLES / "service" / "service.py"
NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def service() -> ModuleType:
    spec = importlib.util.spec_from_file_location("service", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["service"] = importlib.util.module_from_spec(spec)  # pydantic looks its types up there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def explainer(tmp_path_factory: pytest.TempPathFactory) -> TreeExplainer:
    X = np.random.default_rng(0).normal(size=(50, 3))
    path = tmp_path_factory.mktemp("model") / "model.json"
    XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1).fit(X, X[:, 0] * X[:, 1]).save_model(path)
    made = TreeExplainer(str(path), X, feature_names=NAMES)
    made.metadata = {"trained": "2026-11-01"}
    return made


@pytest.fixture
def client(service: ModuleType, explainer: TreeExplainer) -> TestClient:
    return TestClient(service.create_app(explainer))


@pytest.mark.parametrize("n_rows", [1, 40])
def test_rows_by_position_and_by_name(client: TestClient, explainer: TreeExplainer, n_rows: int) -> None:
    rows = np.random.default_rng(1).normal(size=(n_rows, 3))
    lists: list[list[float | None]] = rows.tolist()
    lists[0][1] = None
    rows[0, 1] = np.nan
    expected = {
        "model_id": explainer.model_id,
        "base_value": explainer.expected_value,
        "features": NAMES,
        "prediction": explainer(rows).predictions.tolist(),
        "values": explainer.shap_values(rows).tolist(),
    }
    by_name = [dict(zip(NAMES[::-1], row[::-1], strict=True)) for row in lists]
    for body in (lists, by_name):
        answer = client.post("/explain", json={"rows": body})
        assert answer.status_code == 200
        assert answer.json() == expected


def test_only_the_largest(client: TestClient, explainer: TreeExplainer) -> None:
    rows = np.random.default_rng(1).normal(size=(4, 3))
    answer = client.post("/explain", json={"rows": rows.tolist(), "top": 2}).json()
    top = explainer.top_values(rows, 2)
    assert answer["values"] == top.values.tolist()
    assert answer["features"] == [[NAMES[player] for player in row] for row in top.players]
    assert answer["prediction"] == explainer(rows).predictions.tolist()


def test_several_outputs(service: ModuleType) -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(X, np.arange(50) % 3)
    explainer = TreeExplainer(model, X)
    client = TestClient(service.create_app(explainer))
    answer = client.post("/explain", json={"rows": X[:2].tolist()}).json()
    assert answer["values"] == explainer.shap_values(X[:2]).tolist()
    assert answer["base_value"] == np.asarray(explainer.expected_value).tolist()
    top = client.post("/explain", json={"rows": X[:2].tolist(), "top": 1}).json()
    assert np.shape(top["features"]) == np.shape(top["values"]) == (2, 1, 3)


def test_categories_by_name(service: ModuleType) -> None:
    rng = np.random.default_rng(0)
    towns = pd.Categorical(rng.choice(["Bern", "Zürich"], 50))
    frame = pd.DataFrame({"size": rng.normal(size=50), "town": towns, "member": rng.random(50) < 0.5})
    model = LGBMRegressor(n_estimators=3, num_leaves=4, min_data_per_group=1, n_jobs=1, verbose=-1)
    explainer = TreeExplainer(model.fit(frame, frame["size"] + 2.0 * (towns == "Bern")), frame)
    client = TestClient(service.create_app(TreeExplainer.from_bytes(explainer.to_bytes())))
    assert client.get("/health").json()["categories"] == {"town": ["Bern", "Zürich"]}
    rows: list[dict[str, Any]] = [
        {"size": 0.5, "town": "Zürich", "member": True},
        {"size": None, "town": None, "member": False},
    ]
    answer = client.post("/explain", json={"rows": rows}).json()
    typed = pd.DataFrame(rows).astype({"town": towns.dtype, "member": bool})
    assert answer["values"] == explainer.shap_values(typed).tolist()
    np.testing.assert_allclose(answer["prediction"], model.predict(typed))
    unknown = client.post("/explain", json={"rows": [{**rows[0], "town": "Genf"}]})
    assert unknown.status_code == 422
    assert "'Genf', which is not one of the categories of training: 'Bern', 'Zürich'" in unknown.json()["detail"]


def test_health(client: TestClient, explainer: TreeExplainer) -> None:
    answer = client.get("/health").json()
    assert (answer["status"], answer["columns"]) == ("ready", NAMES)
    assert (answer["model_id"], answer["metadata"]) == (explainer.model_id, {"trained": "2026-11-01"})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"rows": [[1, 2, 3], [1, 2]]}, "row 1 has 2 values, but there are 3 columns"),
        ({"rows": [{"a": 1, "b": 2, "x": 3}]}, "row 0: columns ['c'] are missing, and columns ['x'] are unknown"),
        ({"rows": [[1, 2, 3], [1, 2, "3"]]}, "row 1 of column 'c' is '3', not a number"),
        ({"rows": [{"a": 1, "b": "2", "c": 3}]}, "row 0 of column 'b' is '2', not a number"),
        ({"rows": []}, "at least 1 item"),
        ({"rows": [[1, 2, 3]], "top": 4}, "top is 4, but there are 3 features"),
        ({"rows": [[1, 2, 3]], "tpo": 1}, "tpo: Extra inputs"),
        ({"rows": [[1, 2, 3]] * 10_001}, "at most 10000 items"),
        ([1, 2], "body"),
    ],
)
def test_bad_requests_are_told_why(client: TestClient, body: Any, message: str) -> None:
    answer = client.post("/explain", json=body)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_a_body_that_is_cut_short(client: TestClient) -> None:
    answer = client.post("/explain", content='{"rows":[[1,2', headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("body: not valid JSON after 13 characters: Expecting")


def test_from_the_environment(
    service: ModuleType, explainer: TreeExplainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explainer.save(tmp_path / "model.explainer")
    monkeypatch.setenv("EXPLAINER", str(tmp_path / "model.explainer"))
    client = TestClient(service.from_environment())
    rows = np.random.default_rng(1).normal(size=(3, 3))
    answer = client.post("/explain", json={"rows": rows.tolist()}).json()
    assert answer["values"] == explainer.shap_values(rows).tolist()


def test_a_saved_pipeline_is_served(service: ModuleType, tmp_path: Path) -> None:
    it = fitted("unknown categories ignored")
    it.explainer.save(tmp_path / "pipeline.explainer")
    loaded = TreeExplainer.load(tmp_path / "pipeline.explainer")
    client = TestClient(service.create_app(loaded))
    rows = [{name: None if cell != cell else cell for name, cell in row.items()} for row in it.X.to_dict("records")]
    answer = client.post("/explain", json={"rows": rows}).json()
    assert answer["values"] == it.explainer.shap_values(it.X).tolist()
    assert client.get("/health").json()["categories"] == {"town": ["Bern", "Chur", "Genf", "Thun"]}
    refusing = TreeExplainer.from_bytes(fitted("principal components").explainer.to_bytes())
    client = TestClient(service.create_app(refusing))
    refused = client.post("/explain", json={"rows": [rows[1] | {"town": "Nowhere"}]})
    assert refused.status_code == 422
    assert "row 0 of column 'town', which is 'Nowhere'; the known categories are" in refused.json()["detail"]
    refused = client.post("/explain", json={"rows": [rows[1] | {"w": "many"}]})
    assert refused.status_code == 422
    assert "must hold numbers" in refused.json()["detail"]
