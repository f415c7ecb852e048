"""Ray, run for real on this machine: the recipe of the page. `make test-ray` brings Ray along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

pytest.importorskip("ray", reason="`make test-ray` brings Ray along")

import ray
from sklearn.ensemble import GradientBoostingRegressor

from arborshap import Background, TreeExplainer
from support.distributed_page import code_under
from support.models.case import data

FRAME = pd.DataFrame(data(gaps=False).X, columns=list("abcde"))
MODEL = GradientBoostingRegressor(n_estimators=6, max_depth=3, random_state=0).fit(FRAME, data().y)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_the_recipe(cluster: None) -> None:
    rows = ray.data.from_pandas(FRAME).repartition(5)
    names: dict[str, Any] = {"model": MODEL, "rows": rows}
    exec(code_under("Ray").replace("10_000", "40"), names)
    assert names["background"].to_bytes() == Background(MODEL, FRAME).to_bytes()
    values = names["values"].to_pandas()
    usual = TreeExplainer(MODEL, FRAME, engine="pattern").shap_values(FRAME)
    assert list(values.columns) == list(FRAME.columns)
    np.testing.assert_array_equal(in_order(values.to_numpy()), in_order(usual))


def in_order(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Batches come back in any order."""
    return values[np.lexsort(values.T)]
