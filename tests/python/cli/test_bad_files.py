"""What `arborshap explain` refuses: one line that says what and where, exit status 1 or 2, and nothing left behind."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from xgboost import XGBRegressor

from support.cli_files import Files

HEADER = "age,bmi,pressure,sugar\n"
LINE = "1,2,3,4\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + LINE * 8 + "1,2,high,4\n" + LINE, "row 8 (line 10 of the file), column 'pressure': 'high' is not a"),
        (HEADER + LINE + "\n\n1,2,3,1_000\n", "row 1 (line 5 of the file), column 'sugar': '1_000' is not a number"),
        (HEADER + "1,2,3\n", "row 0 (line 2 of the file): there are 3 cells, but the header has 4 columns"),
        (HEADER + LINE + "1,2,3,4,5\n", "row 1 (line 3 of the file): there are 5 cells"),
        (HEADER + "1," + "x" * 99 + ",3,4\n", "column 'bmi': '" + "x" * 37 + "...' is not"),
        ("age,bmi,sugar\n1,2,3\n", "has no column 'pressure', which the model needs"),
        (
            "age,bmi,pressure,sugar,pulse\n1,2,3,4,5\n",
            "has the column 'pulse', which the model does not know; --ignore-unknown skips",
        ),
        ("age,bmi,age,sugar\n1,2,3,4\n", "the column name 'age' is used more than once"),
        ("age;bmi;pressure;sugar\n1;2;3;4\n", "its cells look separated by ';': give --sep ';'"),
        ("age;bmi;pressure;sugar;note, if any\n1;2;3;4;\n", "its cells look separated by ';': give --sep ';'"),
        ("0.5,1.5,2.5,3.5\n1,2,3,4\n", "its first line must name the columns"),
        (HEADER, "has no rows"),
        ("", "is empty"),
        (HEADER + '1,2,3,"4\n' + LINE * 30000, "in the row that begins on line 2: field larger than field limit"),
        (
            HEADER + LINE + '1,2,3,"4\n' + LINE * 3,
            "in the row that begins on line 3: unexpected end of data; a quote is opened",
        ),
    ],
)
def test_csv(files: Files, text: str, message: str) -> None:
    files.write("bad.csv", text)
    line = files.refused("bad.csv", "out.csv", "--chunk-rows", 3)
    assert message in line
    assert "rows '" in line
    assert "bad.csv'" in line
    assert message in files.refused("rows.csv", "out.csv", background="bad.csv").replace("background", "rows")


@pytest.mark.parametrize("option", ["--id", "--ignore"])
def test_a_quote_never_closed_swallows_no_rows(files: Files, option: str) -> None:
    """In a column that is not explained nothing else would tell."""
    files.write("notes.csv", HEADER.strip() + ',note\n1,2,3,4,a\n1,2,3,4,"b\n' + "1,2,3,4,c\n" * 5)
    assert "begins on line 3" in files.refused("notes.csv", "out.csv", option, "note")


def test_an_empty_line_may_be_a_row_of_one_column(files: Files) -> None:
    """To pass over it would give every row below it the values of the next."""
    model = XGBRegressor(n_estimators=2, max_depth=2, n_jobs=1).fit(files.rows[["age"]], files.rows["sugar"])
    model.save_model(files.path("model.json"))
    np.save(files.path("one.npy"), files.rows[["age"]].to_numpy())
    files.write("one.csv", "age\n1\n\n3\n")
    line = files.refused("one.csv", "out.csv", background="one.npy")
    assert "row 1 (line 4 of the file): there is an empty line before it; write NA" in line
    files.write("one.csv", 'age\n1\n""\n3\n\n')
    assert files.explain("one.csv", "out.npy", background="one.npy") == 0
    assert np.load(files.path("out.npy")).shape == (3, 1)


def test_missing_cells_and_truth_values_are_numbers(files: Files) -> None:
    words = ["", "NA", "n/a", "null", "None", "nan", " NaN "]
    files.write("words.csv", HEADER + "".join(f"1,{word},True,false\n" for word in words))
    assert files.explain("words.csv", "words.npy") == 0
    np.save(files.path("numbers.npy"), np.array([[1, np.nan, 1, 0]] * len(words)))
    assert files.explain("numbers.npy", "numbers_out.npy") == 0
    np.testing.assert_array_equal(np.load(files.path("words.npy")), np.load(files.path("numbers_out.npy")))


def test_a_byte_order_mark_is_no_part_of_a_name(files: Files) -> None:
    files.path("excel.csv").write_bytes(b"\xef\xbb\xbf" + (HEADER + LINE).replace("\n", "\r\n").encode())
    assert files.explain("excel.csv", "out.csv") == 0


def test_text_in_another_encoding(files: Files) -> None:
    files.path("latin.csv").write_bytes((HEADER + LINE + "1,2,3,\u00e9\n").encode("latin-1"))
    assert "is not text in UTF-8" in files.refused("latin.csv", "out.csv")


def test_parquet_and_npy(files: Files) -> None:
    whole = files.path("rows.parquet").read_bytes()
    for name, content, message in [
        ("cut.parquet", whole[:-30], "cannot be read as Parquet"),
        ("no.parquet", b"age,bmi", "cannot be read as Parquet"),
        ("no.npy", b"age,bmi", "cannot be read as .npy"),
        ("empty.npy", b"", "cannot be read as .npy"),
    ]:
        files.path(name).write_bytes(content)
        assert message in files.refused(name, "out.npy")
    damaged = bytearray(whole)
    damaged[4:400] = bytes(396)  # the footer is whole, the data are not
    files.path("damaged.parquet").write_bytes(damaged)
    assert "damaged.parquet" in files.refused("damaged.parquet", "out.npy")
    texts = files.rows.assign(bmi="high")
    texts.to_parquet(files.path("text.parquet"))
    assert "among rows 0 to 59: X: column 'bmi' has dtype" in files.refused("text.parquet", "out.npy")
    files.rows.drop(columns="bmi").to_parquet(files.path("few.parquet"))
    assert "has no column 'bmi'" in files.refused("few.parquet", "out.npy")
    np.save(files.path("wide.npy"), np.zeros((3, 5)))
    assert "has 5 columns, but the model has 4 features" in files.refused("wide.npy", "out.npy")
    np.save(files.path("flat.npy"), np.zeros(3))
    assert "has shape (3,); rows must be a 2-D matrix" in files.refused("flat.npy", "out.npy")
    np.savez(files.path("several.npz"), files.rows.to_numpy())
    files.path("several.npz").rename(files.path("several.npy"))
    assert "cannot be read as .npy" in files.refused("several.npy", "out.npy")
    np.save(files.path("objects.npy"), np.array([[None] * 4]), allow_pickle=True)
    assert "cannot be read as .npy" in files.refused("objects.npy", "out.npy")


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999999999, 4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4)}",
        "{'descr': [('a', '<f8'),",
    ],
)
def test_headers_of_npy_that_make_no_sense(files: Files, header: str) -> None:
    text = header.ljust(117).encode() + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)
    files.path("odd.npy").write_bytes(content)
    assert "odd.npy' cannot be read as .npy" in files.refused("odd.npy", "out.npy")


def test_a_late_error_leaves_an_older_output_alone(files: Files) -> None:
    files.write("out.csv", "from yesterday")
    files.write("late.csv", HEADER + LINE * 50 + "1,2,3,four\n")
    assert "row 50" in files.refused("late.csv", "out.csv", "--chunk-rows", 5)
    assert files.path("out.csv").read_text() == "from yesterday"


@pytest.mark.parametrize("read", ["rows.csv", "model.json", "rows.npy", "groups.json"])
def test_nothing_is_written_over_what_is_read(files: Files, read: str) -> None:
    files.write("groups.json", "{}")
    os.symlink(files.path(read), files.path("link.csv"))
    before = files.path(read).read_bytes()
    assert "is also an input" in files.refused("rows.csv", "link.csv", "--groups", files.path("groups.json"))
    assert files.path(read).read_bytes() == before


def test_places_that_cannot_be_written(files: Files) -> None:
    assert "there is no directory" in files.refused("rows.csv", "nowhere/out.csv")
    files.path("folder.csv").mkdir()
    assert "is a directory" in files.refused("rows.csv", "folder.csv")
    page = files.path("out.csv")
    assert "cannot both be written" in files.refused("rows.csv", "out.csv", "--report", page)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top-k", 2, "--index", "taylor"], "--top-k ranks players"),
        (["--top-k", 5], "--top-k 5 is too large; there are 4 players"),
        (["--id", "who"], "has no column 'who' to copy; it has 'age'"),
        (["--ignore", "who"], "--ignore who: there is no such column"),
        (["--jobs", 0], "error: n_jobs must be"),  # which is no fault of the background
        (["--memory-limit", 1], "memory"),
        (["--id", "age"], "has no column 'age', which the model needs"),
    ],
)
def test_options_that_do_not_fit(files: Files, options: list[object], message: str) -> None:
    assert message in files.refused("rows.csv", "out.csv", *options)


def test_npy_holds_numbers_only(files: Files) -> None:
    assert "but .npy holds only numbers" in files.refused("rows.csv", "out.npy", "--top-k", 2)
    assert "but .npy holds only values" in files.refused("rows.csv", "out.npy", "--id", "age")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"body": ["age"], "body": ["bmi"]}', "the group 'body' is defined twice"),
        ('"age"', "must hold"),
        ('{"body": ["weight"]}', "lists the column 'weight', which the model does not have"),
    ],
)
def test_groups(files: Files, text: str, message: str) -> None:
    files.write("groups.json", text)
    assert message in files.refused("rows.csv", "out.csv", "--groups", files.path("groups.json"))


@pytest.mark.parametrize("missing", ["model.json", "rows.csv", "groups.json"])
def test_files_that_are_not_there(files: Files, missing: str) -> None:
    files.write("groups.json", "{}")
    files.path(missing).unlink()
    line = files.refused("rows.csv", "out.csv", "--groups", files.path("groups.json"))
    assert missing in line
    assert "there is no" in line


def test_errors_for_machines(files: Files) -> None:
    files.write("bad.csv", HEADER + "1,2,3,four\n")
    assert files.explain("bad.csv", "out.csv", "--json") == 1
    printed = files.capsys.readouterr()
    told = json.loads(printed.out)
    assert told["kind"] == "InputError"
    assert "column 'sugar': 'four' is not a number" in told["error"]
    assert printed.err == ""


@pytest.mark.parametrize(
    "options",
    [
        ["--out", "out.xlsx"],
        ["--out", ".csv"],
        ["--out", "out.csv", "--index", "owen"],
        ["--out", "out.csv", "--top-k", "0"],
        ["--out", "out.csv", "--memory-limit", "lots"],
        ["--out", "out.csv", "--chunk-rows", "-1"],
        [],
    ],
)
def test_wrong_usage_is_two(files: Files, options: list[str]) -> None:
    assert files.run("--rows", files.path("rows.csv"), *options) == 2
    assert "usage: arborshap explain" in files.capsys.readouterr().err
