"""Spark ML: its six tree models, with categories; skipped if there is no Spark (`make test-spark` brings it along)."""

from __future__ import annotations

import os
import sys
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.models.case import BuiltCase, Case, columns_of, data

_SETTINGS = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


@cache
def table() -> Any:
    """The rows with all targets; column 3 holds categories."""
    pytest.importorskip("pyspark", reason="`make test-spark` brings Spark along")
    from pyspark.ml.feature import VectorIndexer
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    given = data(gaps=False)
    rows = [
        (Vectors.dense(x), float(y), float(binary), float(label))
        for x, y, binary, label in zip(given.X.tolist(), given.y, given.binary, given.classes, strict=True)
    ]
    frame = session.createDataFrame(rows, ["raw", "y", "binary", "classes"])
    # The categories are 0 to 11, so their positions are themselves.
    return VectorIndexer(inputCol="raw", outputCol="features", maxCategories=12).fit(frame).transform(frame).cache()


def _fit(kind: str, target: str, **options: Any) -> BuiltCase:
    frame = table()
    from pyspark.ml import classification, regression
    from pyspark.ml.linalg import Vectors

    module = classification if "Class" in kind else regression
    model = getattr(module, kind)(labelCol=target, seed=7, maxDepth=3, **options).fit(frame)

    def raw(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        vectors = [Vectors.dense(row) for row in rows.tolist()]
        if kind == "GBTClassifier":
            # Spark's probability is logistic in twice the margin.
            chance = np.array([model.predictProbability(vector)[1] for vector in vectors])
            return columns_of(0.5 * np.log(chance / (1.0 - chance)))
        if "Class" in kind:
            return np.array([model.predictProbability(vector).toArray() for vector in vectors])
        return columns_of(np.array([model.predict(vector) for vector in vectors]))

    return BuiltCase(model, data(gaps=False).rows, raw)


CASES = [
    Case(f"spark-{name}", "pyspark", kind, what, build)
    for name, kind, what, build in (
        ("tree", "DecisionTreeRegressionModel", "categories", partial(_fit, "DecisionTreeRegressor", "y")),
        (
            "classes",
            "DecisionTreeClassificationModel",
            "multi-class",
            partial(_fit, "DecisionTreeClassifier", "classes"),
        ),
        (
            "forest",
            "RandomForestRegressionModel",
            "categories",
            partial(_fit, "RandomForestRegressor", "y", numTrees=4),
        ),
        (
            "forest-classes",
            "RandomForestClassificationModel",
            "multi-class",
            partial(_fit, "RandomForestClassifier", "classes", numTrees=4),
        ),
        ("boosting", "GBTRegressionModel", "categories", partial(_fit, "GBTRegressor", "y", maxIter=4)),
        ("boosting-binary", "GBTClassificationModel", "binary", partial(_fit, "GBTClassifier", "binary", maxIter=4)),
    )
]
