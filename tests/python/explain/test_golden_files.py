"""Saved explainers of earlier releases: they are read, and their values are the same to the last bit.

docs/saved-format.md promises it, so no file of this folder is ever deleted or written anew. If the format changes, add
files: ``ARBORSHAP_GOLDEN=write`` writes those that are missing.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor, VotingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from arborshap import TreeExplainer

FOLDER = Path(__file__).parent / "golden"
ROWS: list[dict[str, Any]] = [
    {"size": 0.25, "town": "Bern", "age": 41.0},
    {"size": None, "town": "Chur", "age": 17.5},
    {"size": -1.5, "town": None, "age": 60.0},
]
RELEASE = "0.2"


def table() -> Any:
    rng = np.random.default_rng(7)
    towns = pd.Categorical(rng.choice(["Bern", "Chur", "Genf"], 60))
    return pd.DataFrame({"size": rng.normal(size=60), "town": towns, "age": rng.integers(16, 90, 60).astype(float)})


def explainers() -> dict[str, TreeExplainer]:
    frame = table()
    y = frame["size"] + 2.0 * (frame["town"] == "Bern") + frame["age"] / 40
    numbers = frame.drop(columns="town")
    light = lightgbm.LGBMRegressor(
        n_estimators=4, num_leaves=5, min_data_per_group=1, cat_smooth=1, n_jobs=1, verbose=-1
    ).fit(frame, y)
    boosted = xgboost.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(numbers, y > 2)
    found = {
        "categories": TreeExplainer(light, frame, sample_weight=np.arange(60.0)),
        "groups": TreeExplainer(light, frame, groups={"person": ["town", "age"]}),
        "path-dependent": TreeExplainer(boosted),
        "probability": TreeExplainer(boosted, numbers, model_output="probability"),
    }
    found |= recoded(frame, y)
    for name, explainer in found.items():
        explainer.metadata = {"trained": "2026-01-31", "case": name}
    return found


def recoded(frame: Any, y: Any) -> dict[str, TreeExplainer]:
    """Make explainers of models that do something to rows before their trees see them."""
    boosted = xgboost.XGBRegressor(n_estimators=3, max_depth=3, n_jobs=1, enable_categorical=True, max_cat_to_onehot=1)
    hist = HistGradientBoostingRegressor(max_iter=3, max_depth=3, categorical_features="from_dtype")
    text = frame.astype({"town": str})
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), (SimpleImputer(), ["size", "age"]), sparse_threshold=0
    )
    forest = make_pipeline(encoder, RandomForestRegressor(3, max_depth=3, random_state=0))
    catboosted = catboost.CatBoostRegressor(
        iterations=3, depth=3, verbose=0, allow_writing_files=False, cat_features=["town"], max_ctr_complexity=1
    )
    models = {
        "categories-of-XGBoost": (boosted.fit(frame, y), frame),
        "positions-of-categories": (hist.fit(frame, y), frame),
        "categories-of-CatBoost": (catboosted.fit(text, y), text),
        "pipeline": (forest.fit(text, y), text),
        "members": (VotingRegressor([("boosted", boosted), ("forest", forest)]).fit(frame, y), frame),
    }
    return {name: TreeExplainer(model, rows) for name, (model, rows) in models.items()}


def rows_for(explainer: TreeExplainer) -> list[dict[str, Any]]:
    rows = [{name: row[name] for name in explainer.data_names} for row in ROWS]
    # CatBoost refuses a missing category.
    return [{**row, "town": "Chur"} for row in rows] if "catboost" in explainer.facts().library else rows


def test_write_missing_files() -> None:
    if os.environ.get("ARBORSHAP_GOLDEN") != "write":
        pytest.skip("only with ARBORSHAP_GOLDEN=write")
    for name, explainer in explainers().items():
        path = FOLDER / f"{RELEASE}-{name}.explainer"
        if path.exists():
            continue
        explainer.save(path)
        values = {index: explainer.values(rows_for(explainer), index=index).tolist() for index in ("shapley", "taylor")}
        expected = {"values": values, "expected_value": explainer.expected_value, "model_id": explainer.model_id}
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n")


FILES = sorted(FOLDER.glob("*.explainer"))


def test_there_are_files_of_every_kind() -> None:
    kinds = {path.stem.partition("-")[2] for path in FILES}
    assert kinds >= {"categories", "groups", "path-dependent", "probability", "pipeline", "members"}
    assert kinds >= {"categories-of-XGBoost", "positions-of-categories", "categories-of-CatBoost"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_of_earlier_releases_keep_their_meaning(path: Path) -> None:
    explainer = TreeExplainer.load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    for index, values in expected["values"].items():
        found = explainer.values(rows_for(explainer), index=index)
        if explainer.facts().model_output == "raw":
            np.testing.assert_array_equal(found, values)
        else:  # exp is not the same to the last bit on every platform
            np.testing.assert_allclose(found, values, rtol=1e-12)
    np.testing.assert_allclose(explainer.expected_value, expected["expected_value"], rtol=1e-14)
    assert explainer.model_id == expected["model_id"]
    assert explainer.metadata["trained"] == "2026-01-31"
