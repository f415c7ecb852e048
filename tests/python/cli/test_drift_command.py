"""`arborshap sketch` and `arborshap drift`: what they write is what `Background` and `drift_contributions` give."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from xgboost import XGBClassifier

from arborshap import Background, TreeExplainer, drift_contributions
from arborshap.cli import main
from support.cli_files import Files


def run(files: Files, command: str, *words: object) -> int:
    model, *rest = (str(files.path(word)) if isinstance(word, str) and "." in word else str(word) for word in words)
    try:
        return main([command, model, *rest])
    except SystemExit as ended:
        return int(ended.code or 0)


def refused(files: Files, command: str, *words: object) -> str:
    before = sorted(files.directory.iterdir())
    assert run(files, command, *words) == 1
    printed = files.capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert sorted(files.directory.iterdir()) == before
    return printed.err


@pytest.fixture
def weeks(files: Files) -> Files:
    for number, some in enumerate([files.rows[:30], files.rows[30:45] + 0.3, files.rows[45:]]):
        some.to_csv(files.path(f"rows{number}.csv"), index=False)
        assert run(files, "sketch", "model.json", f"rows{number}.csv", "--out", f"week{number}.bg") == 0
    assert files.capsys.readouterr() == ("", "")
    return files


@pytest.mark.parametrize("rows", ["rows.csv", "rows.parquet", "rows.npy"])
@pytest.mark.parametrize("bars", [True, False])
def test_a_sketch_is_a_background(files: Files, rows: str, bars: bool) -> None:
    more = [] if bars else ["--no-error-bars"]
    assert run(files, "sketch", "model.json", rows, "--out", "all.bg", "--minimum-rows", 60, "--json", *more) == 0
    found = Background.from_bytes(files.path("all.bg").read_bytes())
    expected = Background(str(files.path("model.json")), files.rows, error_bars=bars)
    assert found.to_bytes() == expected.to_bytes()
    said = json.loads(files.capsys.readouterr().out)
    assert said.pop("seconds") >= 0
    size = files.path("all.bg").stat().st_size
    assert said == {
        "out": str(files.path("all.bg")),
        "rows": 60,
        "bytes": size,
        "error_bars": bars,
        "model_output": "raw",
    }


@pytest.mark.parametrize("since", ["first", "previous"])
@pytest.mark.parametrize("out", ["drift.csv", "drift.parquet"])
def test_the_numbers(weeks: Files, since: str, out: str) -> None:
    sketches = ["week0.bg", "week1.bg", "week2.bg"]
    words = ["--since", since, "--out", out, "--report", "page.html"]
    assert run(weeks, "drift", "model.json", *sketches, *words) == 0
    rows = {f"week{k}": pd.read_csv(weeks.path(f"rows{k}.csv")) for k in range(3)}
    expected = drift_contributions(str(weeks.path("model.json")), rows, since)  # type: ignore[arg-type]
    path = weeks.path(out)
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    frame = expected.to_frame()
    assert list(table.columns) == list(frame.columns)
    for name in ("period", "since", "player"):
        assert table[name].tolist() == frame[name].tolist()
    np.testing.assert_allclose(table["value"], frame["value"], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(table["standard_error"], frame["standard_error"], rtol=1e-9, atol=1e-12)
    assert "What moved the mean prediction" in weeks.path("page.html").read_text(encoding="utf-8")

    said = weeks.capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in said[1:]]
    assert names == [expected.feature_names[j] for j in np.argsort(-np.abs(expected.values[1]), kind="stable")]
    assert said[0].startswith("mean prediction: ")
    assert "±" in said[1]

    assert run(weeks, "drift", "model.json", *sketches, "--since", since, "--json") == 0
    summary = json.loads(weeks.capsys.readouterr().out)
    np.testing.assert_allclose(summary["values"], expected.values, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(summary["means"], expected.means, rtol=1e-12)
    assert summary["periods"] == ["week0", "week1", "week2"]

    assert run(weeks, "drift", "model.json", *sketches, "--since", since, "--out", "-") == 0
    printed = weeks.capsys.readouterr().out
    assert printed.startswith("period,since,player,value,standard_error\n")
    assert len(printed.splitlines()) == 9


def test_probabilities_outputs_groups_and_saved_explainers(files: Files) -> None:
    rows, y = load_iris(as_frame=True, return_X_y=True)
    XGBClassifier(n_estimators=3, max_depth=2).fit(rows, y == 1).save_model(files.path("two.json"))
    XGBClassifier(n_estimators=3, max_depth=2).fit(rows, y).save_model(files.path("three.json"))
    rows[:70].to_csv(files.path("a.csv"), index=False)
    rows[70:].to_csv(files.path("b.csv"), index=False)
    groups = {"petal": ["petal length (cm)", "petal width (cm)"]}
    files.write("groups.json", json.dumps(groups))
    TreeExplainer(str(files.path("two.json")), rows, groups=groups, model_output="probability").save(
        files.path("two.explainer")
    )
    options = ["--groups", files.path("groups.json"), "--model-output", "probability"]
    for name in ("a", "b"):
        assert run(files, "sketch", "two.json", f"{name}.csv", "--out", f"{name}.bg", *options) == 0
        assert run(files, "sketch", "two.explainer", f"{name}.csv", "--out", f"{name}2.bg") == 0
        assert files.path(f"{name}.bg").read_bytes() == files.path(f"{name}2.bg").read_bytes()
        assert run(files, "sketch", "three.json", f"{name}.csv", "--out", f"{name}3.bg", "--no-error-bars") == 0
    expected = drift_contributions(
        str(files.path("two.json")), {"a": rows[:70], "b": rows[70:]}, groups=groups, model_output="probability"
    )
    for model in ("two.json", "two.explainer"):
        assert run(files, "drift", model, "a.bg", "b.bg", "--json") == 0
        found = json.loads(files.capsys.readouterr().out)
        assert found["model_output"] == "probability"
        assert found["players"] == expected.feature_names
        np.testing.assert_allclose(found["values"], expected.values, atol=1e-14)
        assert run(files, "drift", model, "a.bg", "b.bg", "--json", "--raw") == 0
        assert json.loads(files.capsys.readouterr().out)["model_output"] == "raw"
    assert run(files, "sketch", "two.json", "b.csv", "--out", "raw.bg", *options[:2]) == 0
    mixed = refused(files, "drift", "two.json", "a.bg", "raw.bg")
    assert "make all with the same --model-output, or compare them with --raw" in mixed
    assert run(files, "drift", "two.json", "a.bg", "raw.bg", "--json", "--raw") == 0
    files.capsys.readouterr()
    assert run(files, "drift", "three.json", "a3.bg", "b3.bg") == 0
    said = files.capsys.readouterr().out
    assert said.count("output") == 3
    assert "±" not in said
    assert "leave out --groups" in refused(files, "sketch", "two.explainer", "a.csv", "--out", "c.bg", *options)


def test_a_week_with_a_single_row_has_no_error(weeks: Files) -> None:
    weeks.rows[:1].to_csv(weeks.path("rows3.csv"), index=False)
    assert run(weeks, "sketch", "model.json", "rows3.csv", "--out", "week3.bg") == 0
    sketches = ["week0.bg", "week2.bg", "week3.bg"]
    assert run(weeks, "drift", "model.json", *sketches) == 0
    assert "±" not in weeks.capsys.readouterr().out
    assert run(weeks, "drift", "model.json", *sketches, "--json") == 0
    known, unknown = json.loads(weeks.capsys.readouterr().out)["standard_error"]
    assert len(known) == 4
    assert unknown is None


def test_what_is_refused(weeks: Files) -> None:
    few = refused(weeks, "sketch", "model.json", "rows1.csv", "--out", "new.bg", "--minimum-rows", 16)
    assert "has 15 rows, fewer than the minimum of 16" in few
    assert "is also an input" in refused(weeks, "sketch", "model.json", "rows1.csv", "--out", "rows1.csv")
    assert "no directory" in refused(weeks, "sketch", "model.json", "rows1.csv", "--out", "no.where/new.bg")
    assert "there is no rows file" in refused(weeks, "sketch", "model.json", "none.csv", "--out", "new.bg")
    assert "no such column" in refused(weeks, "sketch", "model.json", "rows1.csv", "--out", "n.bg", "--ignore", "x")
    weeks.write("empty.csv", "age,bmi,pressure,sugar\n")
    assert "has no rows" in refused(weeks, "sketch", "model.json", "empty.csv", "--out", "new.bg")

    two = ("week0.bg", "week1.bg")
    assert "at least two" in refused(weeks, "drift", "model.json", "week0.bg")
    assert "two sketches are called 'week0'" in refused(weeks, "drift", "model.json", "week0.bg", "week0.bg")
    assert "was not written by arborshap sketch" in refused(weeks, "drift", "model.json", "week0.bg", "rows1.csv")
    assert "there is no sketch" in refused(weeks, "drift", "model.json", "week0.bg", "none.bg")
    assert "holds only numbers" in refused(weeks, "drift", "model.json", *two, "--out", "out.npy")
    both = ("--out", "o.csv", "--report", "o.csv")
    assert "name two files" in refused(weeks, "drift", "model.json", *two, *both)
    assert "is also an input" in refused(weeks, "drift", "model.json", *two, "--report", "week0.bg")
    other = XGBClassifier(n_estimators=2).fit(weeks.rows, weeks.rows["age"] > 0)
    other.save_model(weeks.path("other.json"))
    assert "do not belong together" in refused(weeks, "drift", "other.json", *two)
    weeks.path("cut.bg").write_bytes(weeks.path("week0.bg").read_bytes()[:-9])
    assert "cut.bg" in refused(weeks, "drift", "model.json", "week0.bg", "cut.bg")
    assert run(weeks, "drift", "model.json", *two, "--since", "ever") == 2
