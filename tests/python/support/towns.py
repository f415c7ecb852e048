"""Rows with columns of categories, CatBoost models of them, and the worth of every coalition of their columns."""

from __future__ import annotations

from typing import Any

import catboost
import numpy as np
import pytest

from support.models.case import columns_of

pd = pytest.importorskip("pandas")

TOWNS = ["Oslo", "Paris", "Zürich", "東京", "x y"]
CATEGORIES = ["town", "job", "flag"]


def frame(rows: int = 400, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    numbers = {"a": rng.normal(size=rows), "b": rng.normal(size=rows)}
    return pd.DataFrame(
        {
            "a": np.where(np.arange(rows) % 9 == 0, np.nan, numbers["a"]),
            "town": rng.choice(TOWNS, rows),
            "job": rng.integers(0, 6, rows),
            "b": numbers["b"],
            "flag": rng.choice(["y", "n"], rows),
        }
    )


def target(rows: Any) -> Any:
    apart = ((rows["town"] == "Oslo") ^ (rows["job"] % 2 == 0)) * 2.0
    return rows["b"] + apart + (rows["job"] % 3) * (rows["town"] == "Paris") * (rows["b"] > 0) + (rows["flag"] == "y")


def fitted(classes: int = 0, **options: Any) -> Any:
    rows = frame()
    kind = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
    label = pd.cut(target(rows), classes, labels=False) if classes else target(rows)
    given = {"iterations": 12, "depth": 4, "random_seed": 1, "thread_count": 1, "max_ctr_complexity": 1, **options}
    return kind(verbose=0, allow_writing_files=False, cat_features=CATEGORIES, **given).fit(rows, label)


def raw(model: Any, rows: Any) -> Any:
    return columns_of(catboost.CatBoost.predict(model, rows, prediction_type="RawFormulaVal"))


def strange_rows() -> Any:
    """Rows to explain: among them categories that did not occur in training."""
    rows = frame(4, seed=5)
    rows.loc[0, "town"] = "never seen"
    rows.loc[1, "job"] = 77
    rows.loc[2, "flag"] = ""
    return rows
