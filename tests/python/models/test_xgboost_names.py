"""Names of categories beyond ASCII, which XGBoost writes wrongly if it is trained on a pandas frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from arborshap import InputError, TreeExplainer
from arborshap.models import load
from arborshap.models.cut_names import as_cut
from arborshap.models.recoding import XGBoostRecoding
from support.oracle import shapley, worths

xgboost = pytest.importorskip("xgboost", minversion="3.1")  # earlier versions save no names

TOWNS = ["Bern", "Zürich", "Genf", "東京", "Chur"]
CODES = np.random.default_rng(4).integers(0, len(TOWNS), 120)
AGE = np.round(np.random.default_rng(5).normal(size=120), 2)


def frame(order: list[str] = TOWNS, rows: slice = slice(None)) -> pd.DataFrame:
    towns = pd.Categorical([TOWNS[code] for code in CODES], categories=order)
    return pd.DataFrame({"town": towns, "age": AGE})[rows].reset_index(drop=True)


def trained(rows: Any) -> Any:
    target = np.array([1.0, -2.0, 0.5, 3.0, -1.0])[CODES] + AGE * (CODES > 1)
    options = {"max_depth": 3, "nthread": 1, "max_cat_to_onehot": 1}
    return xgboost.train(options, xgboost.DMatrix(rows, target, enable_categorical=True), 4)


def test_names_are_mended_by_a_background_and_kept_in_files(tmp_path: Path) -> None:
    booster = trained(frame())
    booster.save_model(tmp_path / "model.json")
    codes = np.column_stack([CODES, AGE])

    def predict(rows: Any) -> Any:
        matrix = xgboost.DMatrix(
            rows, feature_types=booster.feature_types, feature_names=booster.feature_names, enable_categorical=True
        )
        return booster.predict(matrix).reshape(-1, 1)

    expected = shapley(worths(predict, codes[:6], codes[20:40]))[..., 0]
    for model in (booster, tmp_path / "model.json"):
        explainer = TreeExplainer(model, frame(rows=slice(20, 40)))
        assert explainer.categories == {"town": TOWNS}
        loaded = TreeExplainer.from_bytes(explainer.to_bytes())
        records = frame(rows=slice(6)).astype({"town": object}).to_dict("records")
        for one in (explainer, loaded):
            for rows in (frame(rows=slice(6)), frame(TOWNS[::-1], slice(6)), records):
                np.testing.assert_allclose(one.shap_values(rows), expected, atol=2e-6)
        with pytest.raises(InputError, match=r"'Züric', which is not one of the categories.*'Zürich'"):
            loaded.shap_values([{"town": "Züric", "age": 0.0}])


def test_names_that_are_not_known_are_refused_and_not_guessed() -> None:
    encode = XGBoostRecoding([as_cut(TOWNS), None], unsure=[0])  # newer versions of XGBoost write the names rightly
    before = pd.DataFrame({"town": pd.Categorical(["Bern"]), "age": [0.0]})
    np.testing.assert_array_equal(encode(before), [[0.0, 0.0]])  # names before the first one beyond ASCII
    few = pd.DataFrame({"town": pd.Categorical(["Bern", "Chur"]), "age": [0.0, 1.0]})
    for rows in (frame(TOWNS[::-1]), few):
        with pytest.raises(InputError, match=r"column 'town': it is not known which code .*in the same order"):
            encode(rows)
    with pytest.raises(InputError, match=r"it is not known which code 'Chur' has.*XGBoost writes the names"):
        encode(np.array([["Chur", 1.0]], object))
    codes = np.array([[4, 1.0], [1, 2.0]])
    np.testing.assert_array_equal(encode(codes), codes)


def test_a_piece_of_one_name_is_not_taken_for_another() -> None:
    assert as_cut(["üa", "a", "b"]) == ["ü", "a", "a"]
    recoding = XGBoostRecoding([["ü", "a", "a"]], unsure=[0])
    with pytest.raises(InputError, match="it is not known which code 'a' has"):
        recoding(np.array([["a"]], object))
    np.testing.assert_array_equal(recoding(pd.DataFrame({"x": pd.Categorical(["a"], ["üa", "a", "b"])})), [[1.0]])
    np.testing.assert_array_equal(recoding(np.array([["b"]], object)), [[2.0]])


def test_names_that_xgboost_wrote_rightly_stay() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.Table.from_pandas(frame())
    model = load(trained(table))
    assert model.encode is not None
    codes = model.encode(table)
    single = np.array([["Chur", 1.0]], object)  # known, since the rows before held "Zürich"
    np.testing.assert_array_equal(model.encode(single), [[codes[CODES == 4][0, 0], 1.0]])
    assert len({tuple(pair) for pair in zip(CODES, codes[:, 0], strict=True)}) == len(TOWNS)
