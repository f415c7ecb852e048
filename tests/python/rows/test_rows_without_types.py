"""Rows whose cells have no types: categories are given by their own text, and unknown text is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from arborshap import InputError, TreeExplainer
from arborshap.cli import main

pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
TOWNS = ["Bern", "Chur", "Genf"]
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=90),
        "town": pd.Categorical(RNG.choice(TOWNS, 90), categories=TOWNS),
        "member": RNG.random(90) < 0.5,
    }
)
FRAME.loc[::7, "town"] = np.nan
Y = FRAME["size"] + 3 * (FRAME["town"] == "Chur") - 2 * (FRAME["town"] == "Bern") + FRAME["member"]
MODELS: dict[str, Any] = {
    "xgboost": lambda: xgboost.XGBRegressor(
        n_estimators=5, max_depth=3, enable_categorical=True, max_cat_to_onehot=1, n_jobs=1
    ),
    "lightgbm": lambda: lightgbm.LGBMRegressor(
        n_estimators=5, num_leaves=5, min_data_per_group=1, cat_smooth=1, n_jobs=1, verbose=-1
    ),
    "sklearn": lambda: HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=5, categorical_features="from_dtype"),
}
RECORDS = [
    {key: None if cell != cell else cell for key, cell in row.items()} for row in FRAME.to_dict(orient="records")
]


def remembers_categories() -> bool:
    return tuple(int(part) for part in xgboost.__version__.split(".")[:2]) >= (3, 1)


@pytest.fixture(params=list(MODELS), scope="module")
def explainer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TreeExplainer:
    if request.param == "xgboost" and not remembers_categories():
        pytest.skip("this version of XGBoost does not remember categories")
    path = tmp_path_factory.mktemp("saved") / "explainer"
    TreeExplainer(MODELS[request.param]().fit(FRAME, Y), FRAME).save(path)
    return TreeExplainer.load(path)


FORMS: dict[str, Any] = {
    "dicts": lambda: RECORDS,
    "dicts in another order": lambda: [dict(reversed(row.items())) for row in RECORDS],
    "JSON": lambda: json.loads(json.dumps(RECORDS)),
    "lists": lambda: [list(row.values()) for row in RECORDS],
    "array of objects": lambda: FRAME.astype(object).to_numpy(),
    "text column": lambda: FRAME.astype({"town": object}),
    "polars text": lambda: pl.from_dicts(RECORDS),
    "arrow text": lambda: pa.Table.from_pylist(RECORDS),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_values_of_the_frame(explainer: TreeExplainer, form: str) -> None:
    np.testing.assert_array_equal(explainer.shap_values(FORMS[form]()), explainer.shap_values(FRAME))


def test_one_row(explainer: TreeExplainer) -> None:
    expected = explainer.shap_values(FRAME)
    for i in (0, 1):  # the town of row 0 is missing
        np.testing.assert_array_equal(explainer.shap_values(FRAME.iloc[i]), expected[i])
        np.testing.assert_array_equal(explainer.shap_values(RECORDS[i]), expected[i])
        np.testing.assert_array_equal(explainer.shap_values(list(RECORDS[i].values())), expected[i])


def test_the_categories_can_be_asked_for(explainer: TreeExplainer) -> None:
    assert explainer.categories == {"town": TOWNS}


@pytest.mark.parametrize("rows", [[{**RECORDS[1], "town": "Basel"}], [[0.5, "Basel", True]]])
def test_unknown_text_is_refused_by_name_and_list(explainer: TreeExplainer, rows: Any) -> None:
    if explainer.facts().library.startswith("scikit-learn"):
        pytest.skip("scikit-learn itself takes an unknown category for a missing one")
    expected = (
        "X: row 0 of column 'town' is 'Basel', which is not one of the categories of training: 'Bern', 'Chur', 'Genf'"
    )
    with pytest.raises(InputError, match=expected):
        explainer.shap_values(rows)


def test_codes_still_count_beside_text(explainer: TreeExplainer) -> None:
    if explainer.facts().library.startswith("scikit-learn"):
        pytest.skip("codes are not categories for scikit-learn")
    by_name = explainer.shap_values([[0.5, "Chur", True]])
    np.testing.assert_array_equal(explainer.shap_values([{"size": 0.5, "town": 1, "member": True}]), by_name)
    np.testing.assert_array_equal(explainer.shap_values([[0.5, 1.0, 1.0]]), by_name)
    for code in (3, -1, 0.5):
        with pytest.raises(InputError, match="not one of the categories of training"):
            explainer.shap_values([{"size": 0.5, "town": code, "member": True}])


def test_numbers_that_are_categories_are_given_as_text() -> None:
    if not remembers_categories():
        pytest.skip("this version of XGBoost does not remember categories")
    frame = FRAME.assign(town=FRAME["town"].cat.rename_categories({"Bern": 10, "Chur": 20, "Genf": 30}))
    explainer = TreeExplainer(MODELS["xgboost"]().fit(frame, Y), frame)
    expected = explainer.shap_values(frame[1:2])
    row = {**RECORDS[1], "town": str(frame["town"][1])}
    np.testing.assert_array_equal(explainer.shap_values([row]), expected)
    with pytest.raises(InputError, match="give the category as text, such as '10'"):
        explainer.shap_values([{**row, "town": 20}])


def test_columns_of_dicts_are_those_of_the_model(explainer: TreeExplainer) -> None:
    with pytest.raises(InputError, match="X: row 1 has no 'town' and has 'city', which the model does not know"):
        explainer.shap_values([RECORDS[0], {"size": 1.0, "city": "Chur", "member": False}])
    with pytest.raises(InputError, match="X: row 1 has 'city', which the model does not know"):
        explainer.shap_values([RECORDS[0], {**RECORDS[1], "city": "Chur"}])


def test_dicts_without_categories() -> None:
    numbers = FRAME[["size", "member"]].astype(float)
    explainer = TreeExplainer(xgboost.XGBRegressor(n_estimators=3, n_jobs=1).fit(numbers, Y), numbers)
    expected = explainer.shap_values(numbers)
    np.testing.assert_array_equal(explainer.shap_values(numbers.to_dict(orient="records")), expected)
    assert explainer.categories == {}
    with pytest.raises(InputError, match="X: row 0 of column 'size' is 'large', not a number"):
        explainer.shap_values([{"size": "large", "member": 1.0}])


def test_dicts_for_a_pipeline() -> None:
    numbers = FRAME[["size", "member"]].astype(float)
    pipeline = make_pipeline(StandardScaler(), HistGradientBoostingRegressor(max_iter=3)).fit(numbers, Y)
    explainer = TreeExplainer(pipeline, numbers)
    backwards = numbers[["member", "size"]].to_dict(orient="records")
    np.testing.assert_array_equal(explainer.shap_values(backwards), explainer.shap_values(numbers))


def test_inspect_lists_them(explainer: TreeExplainer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explainer.save(tmp_path / "saved")
    assert main(["inspect", str(tmp_path / "saved")]) == 0
    assert "town          Bern, Chur, Genf" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "saved"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["categories"] == {"town": TOWNS}
