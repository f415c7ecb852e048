"""CSV files of every kind: separators, decimal commas, gzip, pipes, categories, and the same numbers with pyarrow."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lightgbm import LGBMRegressor
from xgboost import XGBRegressor

from arborshap import TreeExplainer
from arborshap.cli import csv_arrow, csv_sink, csv_table, main
from arborshap.cli.csv_sink import CsvSink
from arborshap.cli.csv_table import CsvTable
from arborshap.cli.dialect import Dialect
from arborshap.cli.table import ChosenColumns
from arborshap.exceptions import InputError
from support.cli_files import NAMES, Files
from support.patience import HANG
from support.pipeline_cases import fitted


def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise csv_arrow.NotPlain
        yield

    monkeypatch.setattr(csv_table, "arrow_batches", refuse)
    monkeypatch.setattr(csv_sink, "_arrow", lambda: None)


@pytest.fixture(params=["pyarrow", "cell by cell"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "pyarrow":
        without_pyarrow(monkeypatch)
    return str(request.param)


def matrix(table: CsvTable, n_columns: int, chunk_rows: int = 7, ids: Sequence[int] = ()) -> Any:
    batches = list(table.batches(ChosenColumns(list(range(n_columns)), list(ids)), chunk_rows))
    assert all(batch.n_rows <= chunk_rows for batch in batches)
    return np.concatenate([batch.rows for batch in batches])


# --- the same numbers, whoever reads --------------------------------------------------------------------------------

CELLS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(width=32, allow_nan=False).map(str),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(
        [
            "",
            "NA",
            "n/a",
            "None",
            "null",
            "NaN",
            "nan",
            "NONE",
            "NuLL",
            "true",
            "False",
            "TRUE",
            "inf",
            "-Infinity",
            "INF",
        ]
    ),
    st.sampled_from(
        [
            " 1.5",
            "2.5 ",
            "\t3",
            "+4",
            "1e400",
            "-1e-400",
            "5.",
            ".5",
            "1E5",
            "0x10",
            "1_0",
            "\u0661",
            "1d2",
            "--1",
            "nan(1)",
            "-nan",
        ]
    ),
)


@example([("1", "2", "nan(1)")], "\n")
@example([("1", "2", "-nan")], "\n")
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_pyarrow_reads_the_very_same_numbers(tmp_path: Path, rows: list[tuple[str, ...]], end: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(end.join(["a,b,c", *(",".join(row) for row in rows), ""]).encode())
    table = CsvTable(path, "rows", Dialect())
    columns = ChosenColumns([0, 1, 2])
    found: list[Any] = []
    for batches in (table._one_by_one(columns, 5, 0), table.batches(columns, 7)):  # noqa: SLF001
        try:
            found.append(np.concatenate([batch.rows for batch in batches]))
        except InputError as refused:
            found.append(str(refused))
    np.testing.assert_array_equal(found[0], found[1])


def test_pyarrow_is_used_and_gives_way_where_it_must(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    columns = ChosenColumns([0, 1], [2])
    plain = "a,b,c\n" + "".join(f"{i},{i / 3!r},name {i}\n" for i in range(50))
    path.write_text(plain)
    batches = list(csv_arrow.arrow_batches(path, Dialect(), 3, columns, 20))
    assert [batch.n_rows for batch in batches] == [20, 20, 10]
    np.testing.assert_array_equal(np.concatenate([b.rows for b in batches])[:, 1], np.arange(50) / 3)
    assert batches[2].ids[0].to_pylist() == [f"name {i}" for i in range(40, 50)]
    for odd in (
        plain + '1,2,"x"\n',
        plain + "1,2\r3,4\n",
        plain + "1,NuLL,x\n",
        plain + "1,2\n",
        plain.replace("name", "\0"),
    ):
        path.write_bytes(odd.encode())
        with pytest.raises(csv_arrow.NotPlain):
            list(csv_arrow.arrow_batches(path, Dialect(), 3, columns, 20))


def test_the_other_reader_goes_on_where_pyarrow_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    numbers = np.random.default_rng(0).normal(size=(2000, 3))
    lines = [",".join(map(repr, row)) for row in numbers.tolist()]
    lines[1500] = "1,NuLL,3"
    path.write_text("\n".join(["a,b,c", *lines]))
    monkeypatch.setattr(csv_arrow, "_BLOCK", 2**14)
    numbers[1500] = [1, np.nan, 3]
    np.testing.assert_array_equal(matrix(CsvTable(path, "rows", Dialect()), 3, 100), numbers)
    lines[1700] = "1,two,3"
    path.write_text("\n".join(["a,b,c", *lines]))
    with pytest.raises(InputError, match=r"row 1700 \(line 1702 of the file\), column 'b': 'two' is not a number"):
        matrix(CsvTable(path, "rows", Dialect()), 3, 100)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_written_so_that_they_are_read_back(reader: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**63, 3000).view(np.float64)
    with np.errstate(all="ignore"):
        random = bits.astype(dtype)
    numbers = np.concatenate([random[np.isfinite(random)], np.array([0.0, -0.0, 1e-7, 1e22, 123456789.0, 0.1], dtype)])
    texts = [f'a "quoted", {i}; line\nbreak' if i % 3 else "" for i in range(len(numbers))]
    file = io.BytesIO()
    sink = CsvSink(file, ["x, y", "text"], Dialect(), is_compressed=False)
    sink.write([numbers, texts])
    sink.close()
    header, *rows = csv.reader(io.StringIO(file.getvalue().decode(), newline=""), strict=True)
    assert header == ["x, y", "text"]
    np.testing.assert_array_equal(np.array([float(row[0]) for row in rows], dtype), numbers)
    assert [row[1] for row in rows] == texts


# --- dialects -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sep", "decimal", "options"),
    [
        ("excel.csv", ";", ",", ["--sep", ";", "--decimal", ","]),
        ("rows.tsv", "\t", ".", []),
        ("tabs.csv", "\t", ".", ["--sep", "tab"]),
        ("rows.csv.gz", ",", ".", []),
        ("rows.tsv.gz", "\t", ".", []),
        ("indexed.csv", ",", ".", []),
    ],
)
def test_dialects_and_gzip(files: Files, reader: str, name: str, sep: str, decimal: str, options: list[str]) -> None:
    files.rows.to_csv(files.path(name), sep=sep, decimal=decimal, index=name == "indexed.csv")
    expected = TreeExplainer(str(files.path("model.json")), files.rows).shap_values(files.rows)
    assert files.explain(name, "out.npy", "--chunk-rows", 7, *options, background=name) == 0
    np.testing.assert_array_equal(np.load(files.path("out.npy")), expected)
    out = name.replace("rows", "values")
    assert files.explain(name, f"new-{out}", *options, background=name) == 0
    written = pd.read_csv(files.path(f"new-{out}"), sep=sep, decimal=decimal)
    assert list(written.columns) == NAMES
    np.testing.assert_array_equal(written.to_numpy(), expected)


def test_what_is_wrong_with_a_dialect_is_told(files: Files) -> None:
    files.write("comma.csv", 'age,bmi,pressure,sugar\n1,2,"3,5",4\n')
    line = files.refused("comma.csv", "out.csv")
    assert "'3,5' is not a number; if it has a decimal comma, give --decimal ," in line
    assert "',' cannot separate cells and be the decimal point" in files.refused(
        "rows.csv", "out.csv", "--decimal", ","
    )
    files.write("dots.csv", "age;bmi;pressure;sugar\n1;2;1.234,5;4\n")
    options = ["--sep", ";", "--decimal", ","]
    assert "'1.234,5' is not a number" in files.refused("dots.csv", "out.csv", *options)
    assert files.explain("rows.csv", "out.csv", "--sep", "ab") == 2
    assert "'ab' must be one character" in files.capsys.readouterr().err
    files.path("no.csv.gz").write_bytes(b"age,bmi\n1,2\n")
    assert "cannot be read as gzip" in files.refused("no.csv.gz", "out.csv")
    whole = gzip.compress(files.path("rows.csv").read_bytes() * 50)
    files.path("cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert "cut.csv.gz' cannot be read as gzip" in files.refused("cut.csv.gz", "out.csv")


def test_a_column_without_a_name_may_be_the_models_own(files: Files, tmp_path: Path) -> None:
    frame = files.rows.reset_index(names="Unnamed: 0")
    model = XGBRegressor(n_estimators=3, max_depth=2, n_jobs=1).fit(frame, frame["sugar"])
    model.save_model(files.path("model.json"))
    files.rows.to_csv(files.path("indexed.csv"))
    assert files.explain("indexed.csv", "out.npy", background="indexed.csv") == 0
    assert np.load(files.path("out.npy")).shape == (60, 5)


# --- pipes ----------------------------------------------------------------------------------------------------------


def test_standard_input_and_output(files: Files) -> None:
    command = [sys.executable, "-m", "arborshap", "explain", str(files.path("model.json")), "--out", "-"]
    command += ["--background", str(files.path("rows.npy")), "--rows", "-"]
    text = files.path("rows.csv").read_bytes()
    done = subprocess.run(command, input=text, capture_output=True, timeout=HANG, check=True)
    assert files.explain("rows.csv", "out.csv") == 0
    assert done.stdout == files.path("out.csv").read_bytes()
    assert done.stderr == b""
    wrong = subprocess.run(command, input=b"age,bmi\n1,2\n", capture_output=True, timeout=HANG)
    assert wrong.returncode == 1
    assert b"error: rows '-' has no column 'pressure'" in wrong.stderr
    both = [*command, "--background", "-"]
    wrong = subprocess.run(both, input=text, capture_output=True, timeout=HANG)
    assert b"cannot both come from standard input" in wrong.stderr
    wrong = subprocess.run([*command, "--json"], input=text, capture_output=True, timeout=HANG)
    assert b"--json prints a summary where the values would go" in wrong.stdout


# --- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_unknown_columns_are_skipped_if_asked_for(files: Files, ending: str) -> None:
    wide = files.rows.assign(**{f"extra {i}": i for i in range(5)}, word="x")[["word", *NAMES[::-1], "extra 3"]]
    getattr(wide, f"to_{ending}")(files.path(f"wide.{ending}"), index=False)
    assert "has the column 'word', 'extra 3'" in files.refused(f"wide.{ending}", "out.npy")
    assert files.explain(f"wide.{ending}", "out.npy", "--ignore-unknown", background=f"wide.{ending}") == 0
    expected = TreeExplainer(str(files.path("model.json")), files.rows).shap_values(files.rows)
    np.testing.assert_array_equal(np.load(files.path("out.npy")), expected)
    files.rows[["age"]].to_csv(files.path("few.csv"), index=False)
    assert "has no column 'bmi'" in files.refused("few.csv", "out.npy", "--ignore-unknown")


@pytest.mark.parametrize("name", [None, "patient", "age"])
def test_the_index_that_pandas_wrote_is_skipped(files: Files, name: str | None) -> None:
    frame = files.rows.drop(columns="age") if name == "age" else files.rows
    kept = frame[files.rows["sugar"] > 0]
    index = files.rows.loc[kept.index, "age"] if name == "age" else kept.index
    kept.set_index(pd.Index(index, name=name)).to_parquet(files.path("filtered.parquet"))
    assert files.explain("filtered.parquet", "out.npy", background="filtered.parquet") == 0
    rows = files.rows[files.rows["sugar"] > 0]
    expected = TreeExplainer(str(files.path("model.json")), rows).shap_values(rows)
    np.testing.assert_array_equal(np.load(files.path("out.npy")), expected)
    if name == "patient":
        assert files.explain("filtered.parquet", "out.csv", "--id", "patient") == 0
        assert pd.read_csv(files.path("out.csv"))["patient"].tolist() == kept.index.tolist()


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_base_value_and_prediction(files: Files, out: str) -> None:
    explainer = TreeExplainer(str(files.path("model.json")), files.rows)
    predicted = explainer.forest.margin(files.rows)[:, 0]
    read = pd.read_csv if out.endswith("csv") else pd.read_parquet
    for options in ([], ["--top-k", 2], ["--index", "banzhaf"], ["--float32"], ["--index", "taylor"]):
        assert files.explain("rows.parquet", out, "--with-prediction", *options) == 0
        table = read(files.path(out))
        assert list(table.columns[-2:]) == ["base_value", "prediction"]
        close = 1e-6 if "--float32" in options else 1e-15
        np.testing.assert_allclose(table["prediction"], predicted, rtol=close)
        np.testing.assert_allclose(table["base_value"], explainer.expected_value, rtol=close)
        if not options or "taylor" in options:
            values = table.drop(columns=["base_value", "prediction"]).sum(axis=1)
            np.testing.assert_allclose(values + table["base_value"], table["prediction"], rtol=1e-6)
    assert "but .npy holds only values" in files.refused("rows.csv", "out.npy", "--with-prediction")


# --- categories and pipelines ---------------------------------------------------------------------------------------


def category_frame(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    towns = pd.Categorical(rng.choice(["Basel", "Chur", "NA", "2"], n), categories=["Basel", "Chur", "NA", "2"])
    frame = pd.DataFrame({"town": towns, "size": rng.normal(size=n)})
    frame.loc[::9, "town"] = np.nan
    return frame


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_categories_by_name(files: Files, library: str) -> None:
    frame = category_frame()
    y = frame["size"] + frame["town"].map({"Chur": 9.0, "NA": -5.0, "2": 30.0}).astype(float).fillna(1.0)
    if library == "xgboost":
        XGBRegressor(n_estimators=8, max_depth=3, enable_categorical=True, n_jobs=1).fit(frame, y).save_model(
            files.path("model.json")
        )
    else:
        model = LGBMRegressor(n_estimators=8, min_child_samples=2, min_data_per_group=2, verbose=-1, n_jobs=1).fit(
            frame, y
        )
        model.booster_.save_model(files.path("model.json"))
    frame.to_csv(files.path("towns.csv"), index=False)
    frame.to_parquet(files.path("towns.parquet"))
    assert files.explain("towns.csv", "out.npy", "--chunk-rows", 9, background="towns.csv") == 0
    assert files.explain("towns.parquet", "expected.npy", background="towns.parquet") == 0
    np.testing.assert_array_equal(np.load(files.path("out.npy")), np.load(files.path("expected.npy")))
    assert np.abs(np.load(files.path("out.npy"))[:, 0]).max() > 0
    files.write("wrong.csv", "town,size\nChur,1\nParis,2\n")
    line = files.refused("wrong.csv", "out.npy", background="towns.csv")
    assert "row 1 of column 'town' is 'Paris', which is not one of the categories of training: 'Basel', 'Chur'" in line


def test_a_saved_pipeline_is_explained_from_csv(files: Files) -> None:
    it = fitted("unknown categories ignored")
    it.explainer.save(files.path("model.json"))
    it.X.to_csv(files.path("raw.csv"), index=False)
    it.X.to_parquet(files.path("raw.parquet"))
    for name in ("raw.csv", "raw.parquet"):
        assert (
            main(
                [
                    "explain",
                    str(files.path("model.json")),
                    "--rows",
                    str(files.path(name)),
                    "--out",
                    str(files.path("out.npy")),
                ]
            )
            == 0
        )
        np.testing.assert_array_equal(np.load(files.path("out.npy")), it.explainer.shap_values(it.X))
