"""Deep models as libraries train them: every engine gives the same values, for every index.

Their paths have too many players for the sum over all coalitions; the core's own tests compare such paths with what
each pair of rows gets at each leaf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBRegressor

from arborshap import TreeExplainer
from support.oracle import ENGINES, INDICES

FEATURES = 30


def rows(n: int, seed: int) -> Any:
    """Make rows with gaps, whose last column is a category."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES)).round(2)
    X[:, -1] = rng.integers(0, 40, n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def trained(name: str) -> Any:
    X = rows(1000, seed=0)
    seen = np.nan_to_num(X)
    y = seen[:, 0] * seen[:, 1] + np.sin(seen[:, 2:20]).sum(axis=1) + (seen[:, -1] % 3)
    if name == "xgboost":
        return XGBRegressor(n_estimators=2, max_depth=16, n_jobs=1).fit(X, y)
    if name == "lightgbm":
        model = LGBMRegressor(n_estimators=3, num_leaves=255, min_child_samples=2, n_jobs=1, verbose=-1)
        return model.fit(X, y, categorical_feature=[FEATURES - 1])
    classes = np.digitize(y, np.quantile(y, [0.2, 0.5, 0.8]))
    return RandomForestClassifier(n_estimators=2, random_state=0).fit(X, classes)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "sklearn"])
def test_every_engine_gives_the_same(name: str) -> None:
    model, X, Z = trained(name), rows(5, seed=1), rows(70, seed=2)
    X[:, 12:] = Z[0, 12:]  # rows that have much in common meet far down a tree
    Z[:, 12:24] = Z[0, 12:24]
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(Z))
    groups = {"first": [0, 7, 20], "second": [3, 4]}
    for options in ({}, {"sample_weight": weights}, {"groups": groups}):
        reference = TreeExplainer(model, Z, engine="traversal", **options)
        for index in INDICES:
            expected = reference(X, index=index).values  # type: ignore[arg-type]
            size = np.abs(reference(X).values).max()
            assert size > 0
            for engine in ENGINES:
                explainer = TreeExplainer(model, Z, engine=engine, **options)
                values = explainer(X, index=index).values  # type: ignore[arg-type]
                np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * size, err_msg=f"{index} by {engine}")
