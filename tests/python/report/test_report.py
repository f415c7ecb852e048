"""The report's file and what it carries, without a browser."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from base64 import b64decode
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from arborshap import TreeExplainer
from arborshap.exceptions import InputError
from arborshap.models.link import Link
from arborshap.report.packing import in_script, packed
from arborshap.result.explanation import Explanation
from arborshap.result.value_unit import ValueUnit
from support import report_cases

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 4))
LABELS = (ROWS[:, 0] + ROWS[:, 1] * ROWS[:, 2] > 0).astype(int)
BINARY = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(ROWS, LABELS)


def carried(explanation: Explanation, folder: Path, **options: Any) -> dict[str, Any]:
    """The data that the page of an explanation carries."""
    page = explanation.report(folder / "page.html", **options).read_text(encoding="utf-8")
    found = re.findall(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    data: dict[str, Any] = json.loads(found[0])
    return data


def unpacked(content: dict[str, Any]) -> np.ndarray[Any, Any]:
    array = np.frombuffer(zlib.decompress(b64decode(content["data"])), np.dtype(content["type"]).newbyteorder("<"))
    return array.reshape(content["shape"])


def gap(data: dict[str, Any]) -> float:
    """The largest difference between a prediction and what its values add up to."""
    return float(unpacked(data["additivity"]["sizes"])[0])


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.array([0, 255]), "uint8"),
        (np.array([-1, 32767]), "int16"),
        (np.array([-1, 70000]), "int32"),
        (np.array([2**32 - 1], dtype=np.uint32), "float64"),
        (np.array([0.5, np.nan, np.inf]), "float32"),
        (np.array([0.1]), "float64"),
        (np.array([1e300]), "float64"),
        (np.array([], dtype=np.int64), "uint8"),
    ],
)
def test_arrays_are_carried_exactly(array: np.ndarray[Any, Any], kind: str) -> None:
    content = packed(array)
    assert content["type"] == kind
    np.testing.assert_array_equal(unpacked(content), array)


def test_nothing_in_the_data_ends_the_script() -> None:
    text = in_script({"<!--": "</script>"})
    assert "<" not in text
    assert json.loads(text) == {"<!--": "</script>"}


def test_the_title_is_text(tmp_path: Path) -> None:
    explanation = TreeExplainer(BINARY, ROWS)(ROWS)
    page = explanation.report(tmp_path / "page.html", title="</title><script>alert(1)</script>").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_the_page_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explanation = TreeExplainer(BINARY, ROWS)(ROWS)
    target = tmp_path / "page.html"
    target.write_text("the old one")

    def fails(part: str, other: Path) -> None:
        assert "</html>" in Path(part).read_text(encoding="utf-8")
        raise OSError("no")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(OSError, match="no"):
        explanation.report(target)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text() == "the old one"
    monkeypatch.undo()
    assert explanation.report(str(target)) == target
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(InputError, match="cannot be written"):
        explanation.report(tmp_path / "nowhere" / "page.html")


def test_rows_beyond_the_limit_are_left_out_evenly(tmp_path: Path) -> None:
    explanation = TreeExplainer(BINARY, ROWS)(ROWS)
    data = carried(explanation, tmp_path, max_rows=20)
    shown = unpacked(data["row_numbers"])
    np.testing.assert_array_equal(shown, np.arange(0, 60, 3))
    np.testing.assert_array_equal(unpacked(data["values"])[0], explanation.values[shown].T)
    assert data["n_rows"] == data["additivity"]["rows"] == 60
    np.testing.assert_allclose(unpacked(data["importance"])[0], np.abs(explanation.values).mean(axis=0))
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(InputError, match="max_rows"):
            explanation.report(tmp_path / "page.html", max_rows=wrong)  # type: ignore[arg-type]


def test_the_gap_is_found_where_values_do_not_add_up(tmp_path: Path) -> None:
    explanation = TreeExplainer(BINARY, ROWS)(ROWS)
    assert gap(carried(explanation, tmp_path)) < 1e-12
    explanation.values[41, 2] += 0.125
    assert gap(carried(explanation, tmp_path)) == pytest.approx(0.125)
    explanation.values[0, 0] = np.nan
    assert np.isnan(gap(carried(explanation, tmp_path)))


def test_what_was_selected_is_what_is_shown(tmp_path: Path) -> None:
    explanation = report_cases.classes().explanation
    names = explanation.output_names
    assert names is not None
    data = carried(explanation[5:9][..., [names[2], names[0]]], tmp_path)
    assert data["outputs"] == [names[2], names[0]]
    np.testing.assert_array_equal(unpacked(data["values"]), explanation.values[5:9][..., [2, 0]].transpose(2, 1, 0))
    assert gap(data) < 1e-12
    one = carried(explanation[7][..., names[1]], tmp_path)
    assert unpacked(one["values"]).shape == (1, len(explanation.feature_names), 1)
    assert gap(one) < 1e-12
    some = carried(explanation[:, explanation.feature_names[:3]], tmp_path)
    assert "additivity" not in some
    assert "only some" in some["no_walk"]
    for alone in (explanation[:, explanation.feature_names[0]], explanation[:0]):
        with pytest.raises(InputError, match="report"):
            alone.report(tmp_path / "page.html")


def test_only_trees_of_the_shown_outputs_are_carried(tmp_path: Path) -> None:
    explanation = report_cases.categories().explanation
    every = carried(explanation, tmp_path)["trees"]
    one = carried(explanation[..., "1"], tmp_path)["trees"]
    assert unpacked(every["numbers"]).tolist() == list(range(24))
    assert unpacked(one["numbers"]).tolist() == list(range(1, 24, 3))
    assert unpacked(one["output"]).tolist() == [0] * 8


def test_a_probability_has_trees_and_what_rescales_them(tmp_path: Path) -> None:
    data = carried(TreeExplainer(BINARY, ROWS, model_output="probability")(ROWS), tmp_path)
    assert gap(data) < 1e-12
    predicted = BINARY.predict_proba(ROWS)[:, 1]
    np.testing.assert_allclose(unpacked(data["margin"])[0], predicted, atol=1e-12)
    margin, slope = (unpacked(data["rescaled"][name])[0] for name in ("margin", "slope"))
    np.testing.assert_allclose(margin, BINARY.decision_function(ROWS), atol=1e-12)
    np.testing.assert_allclose(slope, predicted * (1 - predicted), rtol=1e-12)
    assert data["trees"]["complete"]
    assert "contrasts" not in data
    pairs = TreeExplainer(BINARY, ROWS, model_output="probability")(ROWS, index="taylor").values
    assert data["interactions"]["rows"] == len(ROWS)
    np.testing.assert_allclose(unpacked(data["interactions"]["sizes"])[0], np.abs(pairs).mean(axis=0), atol=1e-12)
    assert data["unit"]["name"] == "probability"
    assert "log-odds" in data["trace_in"]


def test_a_loss_is_not_walked(tmp_path: Path) -> None:
    data = carried(TreeExplainer(BINARY, ROWS, model_output="log_loss")(ROWS, LABELS), tmp_path)
    assert "trees" not in data
    assert "labels" in data["no_walk"]
    assert "additivity" not in data
    assert data["unit"]["name"] == "log loss"


def test_other_indices_and_no_background(tmp_path: Path) -> None:
    explainer = TreeExplainer(BINARY, ROWS)
    banzhaf = carried(explainer(ROWS, index="banzhaf"), tmp_path)
    assert "additivity" not in banzhaf
    assert "interactions" not in banzhaf
    interaction = carried(explainer(ROWS, index="interaction"), tmp_path)
    assert interaction["interactions"]["rows"] == 60
    np.testing.assert_allclose(unpacked(interaction["values"])[0], explainer.shap_values(ROWS).T, atol=1e-12)
    without = carried(TreeExplainer(BINARY)(ROWS), tmp_path)
    assert "path-dependent" in dict(without["computed"])["Background"]
    assert gap(without) < 1e-12


def test_a_contrast_is_measured_from_its_reference(tmp_path: Path) -> None:
    data = carried(TreeExplainer(BINARY, ROWS).contrast(ROWS[0], ROWS[1]), tmp_path)
    assert data["base_name"] == "Prediction of the reference"
    assert "contrast" in dict(data["computed"])["Background"]
    assert gap(data) < 1e-12


def test_cells_of_any_kind(tmp_path: Path) -> None:
    cells = np.array([[1, "b", None, True], [2.5, None, None, False], [np.nan, "a", None, True]], dtype=object)
    values = np.ones((3, 4))
    data = carried(Explanation(values, np.zeros(3), feature_names=list("wxyz"), data=cells), tmp_path)
    assert [column["levels"] for column in data["columns"]] == [None, ["a", "b"], None, ["False", "True"]]
    assert [column["ordered"] for column in data["columns"]] == [False, False, False, True]
    expected = [[1, 2.5, np.nan], [1, np.nan, 0], [np.nan] * 3, [1, 0, 1]]
    np.testing.assert_array_equal(unpacked(data["data"]), expected)


def test_truth_values_and_dates_have_an_order(tmp_path: Path) -> None:
    cells = np.empty((3, 2), dtype=object)
    cells[:, 0] = [True, None, True]
    cells[:, 1] = [date(2026, 3, 1), date(2025, 12, 31), None]
    data = carried(Explanation(np.ones((3, 2)), np.zeros(3), feature_names=["a", "b"], data=cells), tmp_path)
    assert [column["levels"] for column in data["columns"]] == [["False", "True"], ["2025-12-31", "2026-03-01"]]
    assert all(column["ordered"] for column in data["columns"])
    np.testing.assert_array_equal(unpacked(data["data"]), [[1, np.nan, 1], [1, 0, np.nan]])
    whole = Explanation(np.ones((2, 1)), np.zeros(2), feature_names=["a"], data=np.array([[True], [False]]))
    assert carried(whole, tmp_path)["columns"][0]["levels"] == ["False", "True"]


@pytest.mark.parametrize(
    ("unit", "says"),
    [
        (ValueUnit.of("raw", Link.named("logistic")), "All numbers are log-odds: 0 is a probability of one half"),
        (ValueUnit.of("raw", Link.named("logistic", 2.0)), "turns them into a probability, which is in brackets"),
        (ValueUnit.of("raw", Link.named("softmax")), "turns them into a probability, which is in brackets"),
        (ValueUnit.of("raw", Link.named("probability")), "All numbers are probabilities"),
        (
            ValueUnit.of("raw", Link.named("log")),
            "logarithms of the prediction: adding 1 multiplies the prediction by 2.72",
        ),
        (ValueUnit.of("raw", Link.named("identity")), "in the unit of what the model predicts"),
        (ValueUnit.of("raw", Link.named("unknown")), "before the model turns them into what it returns"),
        (ValueUnit.of("raw"), "unit of these numbers is not known"),
        (ValueUnit.of("log_loss", Link.named("logistic")), "log losses"),
        (ValueUnit.of("prediction", Link.named("log")), "in the unit of what the model predicts"),
    ],
)
def test_the_page_says_its_unit(tmp_path: Path, unit: ValueUnit, says: str) -> None:
    explanation = Explanation(np.ones((2, 1)), np.zeros(2), feature_names=["a"], unit=unit)
    data = carried(explanation, tmp_path)
    assert says in data["unit_says"]
    assert data["unit"]["name"] in data["values_in"]


def test_it_costs_nothing_until_it_is_asked_for() -> None:
    code = "import sys, arborshap; sys.exit('arborshap.report' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
