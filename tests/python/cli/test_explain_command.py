"""`arborshap explain`: what it writes is what `TreeExplainer` gives, for every kind of file and every option."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from lightgbm import LGBMRegressor
from sklearn.datasets import load_iris
from xgboost import XGBClassifier, XGBRegressor

from arborshap import TreeExplainer
from arborshap.cli import main
from support.cli_files import NAMES, Files


def read(path: Path) -> pd.DataFrame:
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    with path.open(newline="") as file:  # Python's own float() gives back the very number that was written
        names, *lines = csv.reader(file)
    cells = {name: list(column) for name, column in zip(names, zip(*lines, strict=True), strict=True)}
    is_text = {name: name.startswith(("player_", "who")) for name in names}
    return pd.DataFrame({name: cells[name] if is_text[name] else list(map(float, cells[name])) for name in names})


@pytest.fixture
def explainer(files: Files) -> TreeExplainer:
    return TreeExplainer(str(files.path("model.json")), files.rows)


@pytest.mark.parametrize(("rows", "background"), list(product(["rows.csv", "rows.parquet", "rows.npy"], repeat=2)))
def test_every_kind_of_input(files: Files, explainer: TreeExplainer, rows: str, background: str) -> None:
    assert files.explain(rows, "out.npy", "--chunk-rows", 7, background=background) == 0
    np.testing.assert_array_equal(np.load(files.path("out.npy")), explainer.shap_values(files.rows))
    assert files.capsys.readouterr() == ("", "")  # nobody looks on, so nothing is said


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
def test_tables_name_the_players(files: Files, explainer: TreeExplainer, out: str, index: Any) -> None:
    assert files.explain("rows.csv", out, "--index", index, "--chunk-rows", 25) == 0
    table = read(files.path(out))
    assert list(table.columns) == NAMES
    np.testing.assert_array_equal(table.to_numpy(), explainer(files.rows, index=index).values)


@pytest.mark.parametrize("index", ["taylor", "interaction"])
def test_pairs_are_written_once_and_add_up(files: Files, explainer: TreeExplainer, index: Any) -> None:
    values = explainer(files.rows, index=index).values
    for out in ("out.csv", "out.parquet", "out.npy"):
        assert files.explain("rows.parquet", out, "--index", index) == 0
    np.testing.assert_array_equal(np.load(files.path("out.npy")), values)
    for out in ("out.csv", "out.parquet"):
        table = read(files.path(out))
        assert list(table.columns[:5]) == ["age", "age x bmi", "age x pressure", "age x sugar", "bmi"]
        np.testing.assert_allclose(table.sum(axis=1), values.sum(axis=(1, 2)), rtol=1e-9)
        np.testing.assert_array_equal(table["age x sugar"], 2 * values[:, 0, 3])


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_the_largest_of_each_row(files: Files, explainer: TreeExplainer, out: str) -> None:
    assert files.explain("rows.csv", out, "--top-k", 2) == 0
    table = read(files.path(out))
    assert list(table.columns) == ["player_1", "value_1", "player_2", "value_2"]
    top = explainer.top_values(files.rows, 2)
    np.testing.assert_array_equal(table[["value_1", "value_2"]], top.values)
    np.testing.assert_array_equal(table[["player_1", "player_2"]], np.array(NAMES, dtype=object)[top.players])


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out.npy"])
def test_single_precision(files: Files, explainer: TreeExplainer, out: str) -> None:
    assert files.explain("rows.csv", out, "--float32") == 0
    path = files.path(out)
    written = np.load(path) if out.endswith("npy") else read(path).to_numpy()
    expected = explainer.shap_values(files.rows, dtype=np.float32)
    np.testing.assert_array_equal(written.astype(np.float32), expected)
    if not out.endswith("csv"):
        assert written.dtype == np.float32
    else:
        assert max(len(cell) for line in path.read_text().splitlines() for cell in line.split(",")) < 17


@pytest.mark.parametrize("groups", ['{"body": ["age", "bmi"]}', "[0, 0, 1, 2]"])
def test_groups(files: Files, groups: str) -> None:
    files.write("groups.json", groups)
    assert files.explain("rows.csv", "out.parquet", "--groups", files.path("groups.json")) == 0
    grouped = TreeExplainer(str(files.path("model.json")), files.rows, groups=json.loads(groups))
    table = read(files.path("out.parquet"))
    assert list(table.columns) == grouped.feature_names
    np.testing.assert_array_equal(table.to_numpy(), grouped.shap_values(files.rows))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_columns_come_by_name_and_identifiers_are_copied(
    files: Files, explainer: TreeExplainer, kind: str, out: str
) -> None:
    shuffled = files.rows[NAMES[::-1]].assign(target=1.5)
    shuffled.insert(2, "who", [f"person, {i}" for i in range(60)])
    shuffled.to_csv(files.path("people.csv"), index=False)
    shuffled.to_parquet(files.path("people.parquet"))
    rows = f"people.{kind}"
    assert files.explain(rows, out, "--id", "who", "--ignore", "target", "--chunk-rows", 11, background=rows) == 0
    table = read(files.path(out))
    assert list(table.columns) == ["who", *NAMES]
    assert list(table["who"]) == list(shuffled["who"])
    np.testing.assert_array_equal(table[NAMES].to_numpy(), explainer.shap_values(files.rows))


def test_without_a_background_values_are_path_dependent(files: Files) -> None:
    assert files.run("--rows", files.path("rows.csv"), "--out", files.path("out.npy")) == 0
    expected = TreeExplainer(str(files.path("model.json"))).shap_values(files.rows)
    np.testing.assert_array_equal(np.load(files.path("out.npy")), expected)


def test_summary_for_machines(files: Files, explainer: TreeExplainer) -> None:
    assert files.explain("rows.csv", "out.parquet", "--json", "--memory-limit", "200MB", "--jobs", 1) == 0
    printed = files.capsys.readouterr()
    summary = json.loads(printed.out)
    assert printed.err == ""
    assert summary.pop("seconds") >= 0
    assert summary == {
        "out": str(files.path("out.parquet")),
        "report": None,
        "rows": 60,
        "index": "shapley",
        "players": NAMES,
        "outputs": None,
        "expected_value": explainer.expected_value,
        "background_rows": 60,
    }
    about = json.loads(pyarrow.parquet.read_schema(files.path("out.parquet")).metadata[b"arborshap"])
    assert about["expected_value"] == explainer.expected_value


@pytest.mark.parametrize("model_output", ["raw", "probability"])
def test_several_outputs(tmp_path: Path, model_output: Any) -> None:
    X, y = load_iris(as_frame=True, return_X_y=True)
    model = XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1).fit(X, y)
    model.save_model(tmp_path / "model.ubj")
    X.to_csv(tmp_path / "rows.csv", index=False)
    rows = str(tmp_path / "rows.csv")
    arguments = ["explain", str(tmp_path / "model.ubj"), "--background", rows, "--rows", rows]
    explainer = TreeExplainer(str(tmp_path / "model.ubj"), X, model_output=model_output)
    values = explainer.shap_values(X)
    for out in ("out.csv", "out.npy", "top.csv"):
        more = ["--top-k", "1"] if out == "top.csv" else []
        assert main([*arguments, "--out", str(tmp_path / out), "--model-output", model_output, *more]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), values)
    table = read(tmp_path / "out.csv")
    outputs = explainer.output_names or ["0", "1", "2"]
    assert list(table.columns) == [f"{name}:{output}" for name in X.columns for output in outputs]
    np.testing.assert_array_equal(table.to_numpy(), values.reshape(150, -1))
    assert list(read(tmp_path / "top.csv").columns[:2]) == [f"player_1:{outputs[0]}", f"value_1:{outputs[0]}"]


def test_categories_of_parquet_stay_categories(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=80), "kind": pd.Categorical(rng.choice(["a", "b", "c", "d"], 80))})
    model = XGBRegressor(n_estimators=8, max_depth=3, enable_categorical=True, n_jobs=1)
    model.fit(X, X["size"] * (X["kind"] == "b"))
    model.save_model(tmp_path / "model.json")
    X.to_parquet(tmp_path / "rows.parquet")
    rows, out = str(tmp_path / "rows.parquet"), str(tmp_path / "out.npy")
    model_file = str(tmp_path / "model.json")
    arguments = ["explain", model_file, "--background", rows, "--rows", rows, "--out", out, "--chunk-rows", "30"]
    assert main(arguments) == 0
    np.testing.assert_array_equal(np.load(out), TreeExplainer(model_file, X).shap_values(X))


def test_a_page_to_look_at(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.explain("rows.csv", "out.csv", "--report", files.path("page.html"), "--json") == 0
    printed = files.capsys.readouterr()
    assert json.loads(printed.out)["report"] == str(files.path("page.html"))
    assert printed.err == ""
    page = files.path("page.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert all(name in page for name in NAMES)
    monkeypatch.setattr("arborshap.cli.explain.REPORTED", 20)
    assert files.explain("rows.parquet", "out.csv", "--report", files.path("page.html")) == 0
    assert files.capsys.readouterr().err == "arborshap: the report shows the first 20 rows\n"
    assert len(read(files.path("out.csv"))) == 60


def test_a_page_is_not_left_behind_by_a_late_error(files: Files) -> None:
    files.write("late.csv", ",".join(NAMES) + "\n" + "1,2,3,4\n" * 9 + "1,2,3,four\n")
    assert "row 9" in files.refused("late.csv", "out.csv", "--chunk-rows", 5, "--report", files.path("page.html"))


def test_what_a_saved_explainer_cannot_do_here(files: Files) -> None:
    saved = str(files.path("saved.explainer"))
    named = ["--rows", str(files.path("rows.csv")), "--out", str(files.path("out.csv"))]
    TreeExplainer(str(files.path("model.json")), files.rows).save(saved)
    assert main(["explain", saved, *named, "--ignore", "aeg"]) == 1
    assert "--ignore aeg: there is no such column" in files.capsys.readouterr().err
    model = XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(files.rows, files.rows["age"] > 0)
    TreeExplainer(model, files.rows, model_output="log_loss").save(saved)
    assert main(["explain", saved, *named]) == 1
    assert "explains losses, which need labels" in files.capsys.readouterr().err


def test_a_saved_explainer_needs_nothing_else(files: Files) -> None:
    groups = {"body": ["age", "bmi"]}
    explainer = TreeExplainer(str(files.path("model.json")), files.rows, groups=groups)
    saved = files.path("saved.explainer")
    explainer.save(saved)
    named = ["--rows", str(files.path("rows.csv")), "--out", str(files.path("out.csv"))]
    assert main(["explain", str(saved), *named]) == 0
    table = read(files.path("out.csv"))
    assert list(table.columns) == ["body", "pressure", "sugar"]
    np.testing.assert_array_equal(table.to_numpy(), explainer.shap_values(files.rows))
    for option, value in [("--background", files.path("rows.npy")), ("--model-output", "raw")]:
        assert main(["explain", str(saved), *named, option, str(value)]) == 1
        assert f"leave out {option}" in files.capsys.readouterr().err
    assert main(["inspect", str(saved), "--json"]) == 0
    facts = json.loads(files.capsys.readouterr().out)
    assert (facts["players"], facts["background_rows"]) == (["body", "pressure", "sugar"], 60)
    assert main(["inspect", str(saved)]) == 0
    assert "background      60 rows" in files.capsys.readouterr().out
    saved.write_bytes(saved.read_bytes()[:-20])
    assert main(["explain", str(saved), *named]) == 1
    assert "saved.explainer" in files.capsys.readouterr().err


def test_a_background_in_many_batches(files: Files, explainer: TreeExplainer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arborshap.cli.explainers._BACKGROUND_ROWS", 13)
    for background in ("rows.csv", "rows.parquet", "rows.npy"):
        assert files.explain("rows.csv", "out.npy", background=background) == 0
        np.testing.assert_array_equal(np.load(files.path("out.npy")), explainer.shap_values(files.rows))
    files.rows.assign(bmi="high").to_parquet(files.path("text.parquet"))
    refusal = files.refused("rows.csv", "out.npy", background="text.parquet")
    assert "background '" in refusal
    assert "column 'bmi' has dtype" in refusal


def test_lightgbm_spells_spaces_as_underscores(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 3)), columns=["mean area", "worst area", "texture"])
    model = LGBMRegressor(n_estimators=5, min_child_samples=5, n_jobs=1, verbose=-1).fit(X, X["mean area"])
    model.booster_.save_model(tmp_path / "model.txt")
    X[X.columns[::-1]].to_csv(tmp_path / "rows.csv", index=False)
    rows, out = str(tmp_path / "rows.csv"), tmp_path / "out.npy"
    assert main(["explain", str(tmp_path / "model.txt"), "--background", rows, "--rows", rows, "--out", str(out)]) == 0
    np.testing.assert_array_equal(np.load(out), TreeExplainer(model, X).shap_values(X))
