"""Import and explain, quickly: what runs on every CPython and platform, with whichever model libraries are there."""

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import TreeExplainer, demo
from models.cases import CASES, BuiltCase, Case

Array = NDArray[np.float64]


def shapley_by_definition(built: BuiltCase, rows: Array, background: Array) -> Array:
    """Mean over all orders of what a feature adds to v(S), the library's mean prediction with S taken from the row."""
    d = rows.shape[1]
    v = {}
    for coalition in (c for size in range(d + 1) for c in combinations(range(d), size)):
        mixed = np.tile(background, (len(rows), 1, 1))
        mixed[:, :, coalition] = rows[:, None, coalition]
        predicted = built.raw_predict(mixed.reshape(-1, d))
        v[coalition] = predicted.reshape(len(rows), len(background), -1).mean(axis=1)
    values = np.zeros((len(rows), d, v[()].shape[1]))
    for coalition in v:
        for i in set(range(d)) - set(coalition):
            weight = 1 / (d * math.comb(d - 1, len(coalition)))
            values[:, i] += weight * (v[tuple(sorted((*coalition, i)))] - v[coalition])
    return values


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_are_the_definition(case: Case) -> None:
    pytest.importorskip(case.library)
    built = case.build()
    rows, background = built.X[:3], built.X[10:18]
    expected = shapley_by_definition(built, rows, background)
    values = TreeExplainer(built.model, background).shap_values(rows)
    scale = np.abs(built.raw_predict(built.X)).max()
    np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=0, atol=case.tolerance * scale)


def test_the_demonstration_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("xgboost")
    pytest.importorskip("sklearn")
    assert demo.main() == 0
    assert "569 rows x 426 background rows = 242,394 pairs" in capsys.readouterr().out
