"""Spark ML's tree models against the definition, and what is refused; `make test-spark` brings Spark along."""

from __future__ import annotations

import numpy as np
import pytest

from arborshap import TreeExplainer, UnsupportedModelError
from arborshap.models import load
from support.models.case import Case
from support.models.spark_cases import CASES, table
from support.oracle import shapley, worths
from support.trained import built

pytest.importorskip("pyspark", reason="`make test-spark` brings Spark along")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_spark_values_are_those_of_the_definition(case: Case) -> None:
    made = built(case)
    X, Z = made.X[:2].copy(), made.X[10:13]
    X[0, 3], X[1, 0] = 77.0, np.nan  # a category that did not occur in training, and a missing value
    explainer = TreeExplainer(made.model, Z)
    expected = shapley(worths(made.raw_predict, X, Z))
    values = explainer(X).values.reshape(expected.shape)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)
    assert np.abs(values).max() > 1e-3
    again = TreeExplainer.from_bytes(explainer.to_bytes())
    np.testing.assert_array_equal(again(X).values, explainer(X).values)


def test_spark_models_that_are_refused() -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.regression import DecisionTreeRegressor, LinearRegression

    frame = table()
    with pytest.raises(UnsupportedModelError, match="chain of stages; give its last stage"):
        load(Pipeline(stages=[DecisionTreeRegressor(labelCol="y", maxDepth=2)]).fit(frame))
    with pytest.raises(UnsupportedModelError, match="LinearRegressionModel is not supported: it is not a fitted tree"):
        load(LinearRegression(labelCol="y").fit(frame))
    with pytest.raises(UnsupportedModelError, match="DecisionTreeRegressor is not supported: it is not a fitted tree"):
        load(DecisionTreeRegressor())
