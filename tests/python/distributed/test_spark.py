"""Spark, run for real on this machine: the same bits as without it. `make test-spark` brings Spark along."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyspark", reason="`make test-spark` brings Spark along")

from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from arborshap import Background, InputError, TreeExplainer
from arborshap.distributed import spark as on_spark
from support.distributed_page import code_under
from support.models.case import data

X = data(gaps=False).X
NAMES = ["a", "b", "c.d", "d", "e"]  # a dot means something to Spark
FRAME = pd.DataFrame(X, columns=NAMES)
MODEL = GradientBoostingRegressor(n_estimators=6, max_depth=3, random_state=0).fit(FRAME, data().y)
CLASSES = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(FRAME, data().classes)
EXPLAINER = TreeExplainer(MODEL, Background(MODEL, FRAME))
WEIGHTS = np.linspace(0.25, 4.0, len(X))


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # No worker of any test has the model's library.
    without = tmp_path_factory.mktemp("without")
    (without / "sklearn.py").write_text("raise ImportError('a worker does not have it')")
    session = (
        SparkSession.builder.master("local[2, 4]")  # a task may fail three times
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executorEnv.PYTHONPATH", str(without))
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "20")  # several batches a partition
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def table(spark: SparkSession, n: int = 5, **more: Any) -> Any:
    """The rows in `n` partitions, with a key and further columns."""
    frame = FRAME.assign(key=np.arange(len(X)), **more)
    return spark.createDataFrame(frame).repartitionByRange(n, "key")


def in_order(result: Any) -> pd.DataFrame:
    frame: pd.DataFrame = result.toPandas().sort_values("key").reset_index(drop=True)
    return frame


def test_background_of_any_partitions(spark: SparkSession) -> None:
    whole = Background(MODEL, FRAME).to_bytes()
    for n in (1, 9):
        assert on_spark.background(MODEL, table(spark, n).drop("key")).to_bytes() == whole
    weighted = on_spark.background(
        MODEL, table(spark, w=WEIGHTS).drop("key"), sample_weight="w", groups={"pair": ["a", "d"]}
    )
    expected = Background(MODEL, FRAME, sample_weight=WEIGHTS, groups={"pair": ["a", "d"]})
    assert weighted.to_bytes() == expected.to_bytes()


def test_populations_counted_where_they_are_can_be_compared(spark: SparkSession) -> None:
    cuts = FRAME[:150], FRAME[150:]
    here = [Background(MODEL, rows) for rows in cuts]
    there = [on_spark.background(MODEL, spark.createDataFrame(rows).repartition(3), error_bars=True) for rows in cuts]
    change = there[1].contrast(there[0], model=MODEL)
    np.testing.assert_array_equal(change.values, here[1].contrast(here[0]).values)
    assert change.standard_error is not None
    assert change.standard_error.max() > 0.0


def test_explanations_have_keys_names_and_types(spark: SparkSession) -> None:
    explained = on_spark.explain(EXPLAINER, table(spark), keep=["key"])
    assert [(field.name, field.dataType.simpleString()) for field in explained.schema] == [
        ("key", "bigint"),
        *((name, "double") for name in NAMES),
    ]
    np.testing.assert_array_equal(in_order(explained)[NAMES], EXPLAINER.shap_values(X))
    narrow = on_spark.explain(EXPLAINER, table(spark), keep=["key"], index="banzhaf", dtype=np.float32)
    assert narrow.schema["a"].dataType.simpleString() == "float"
    np.testing.assert_array_equal(in_order(narrow)[NAMES], EXPLAINER.banzhaf_values(X, dtype=np.float32))


def test_pairs_and_outputs_are_arrays(spark: SparkSession) -> None:
    def stacked(frame: pd.DataFrame) -> Any:
        columns = [np.array([np.vstack(cell) if depth == 2 else cell for cell in frame[name]]) for name in NAMES]
        return np.stack(columns, axis=1)

    depth = 1
    taylor = in_order(on_spark.explain(EXPLAINER, table(spark), keep=["key"], index="taylor"))
    np.testing.assert_array_equal(stacked(taylor), EXPLAINER.taylor_values(X))
    explainer = TreeExplainer(CLASSES, Background(CLASSES, FRAME))
    several = in_order(on_spark.explain(explainer, table(spark), keep=["key"]))
    np.testing.assert_array_equal(stacked(several), explainer.shap_values(X))
    depth = 2
    lazy = on_spark.explain(explainer, table(spark), keep=["key"], index="taylor")
    assert lazy.schema["a"].dataType.simpleString() == "array<array<double>>"
    np.testing.assert_array_equal(stacked(in_order(lazy)), explainer.taylor_values(X))


def test_top_values(spark: SparkSession) -> None:
    top = on_spark.top_values(EXPLAINER, table(spark), 2, keep=["key"], dtype=np.float32)
    assert top.schema["values"].dataType.simpleString() == "array<float>"
    frame, usual = in_order(top), EXPLAINER.top_values(X, 2, dtype=np.float32)
    np.testing.assert_array_equal(np.vstack(frame["values"]), usual.values)
    assert [list(row) for row in frame["players"]] == [[NAMES[j] for j in row] for row in usual.players]


def test_importance(spark: SparkSession) -> None:
    for index in ("shapley", "taylor"):
        rows = table(spark, w=WEIGHTS).drop("key")
        ours = on_spark.importance(EXPLAINER, rows, index=index, sample_weight="w")
        usual = EXPLAINER.importance(X, index=index, sample_weight=WEIGHTS)
        assert (ours.n_rows, ours.feature_names) == (len(X), NAMES)
        np.testing.assert_allclose(ours.values, usual.values, rtol=1e-14)
        again = on_spark.importance(EXPLAINER, rows, index=index, sample_weight="w")
        np.testing.assert_array_equal(ours.values, again.values)


def test_a_loss_has_labels_in_a_column(spark: SparkSession) -> None:
    explainer = TreeExplainer(CLASSES, X[:20], feature_names=NAMES, model_output="log_loss")
    y = data().classes
    explained = on_spark.explain(explainer, table(spark, label=y), keep=["key"], y="label")
    np.testing.assert_array_equal(in_order(explained)[NAMES], explainer.shap_values(X, y))


def test_empty_partitions(spark: SparkSession) -> None:
    some = table(spark, 6).where("key < 60")  # whole partitions are left without rows
    kept = FRAME[:60]
    assert on_spark.background(MODEL, some.drop("key")).to_bytes() == Background(MODEL, kept).to_bytes()
    np.testing.assert_array_equal(
        in_order(on_spark.explain(EXPLAINER, some, keep=["key"]))[NAMES], EXPLAINER.shap_values(kept)
    )
    nothing = table(spark).where("key < 0").drop("key")
    with pytest.raises(InputError, match="data has no rows"):
        on_spark.background(MODEL, nothing)
    with pytest.raises(InputError, match="X has no rows"):
        on_spark.importance(EXPLAINER, nothing)
    assert on_spark.explain(EXPLAINER, nothing).count() == 0


def test_a_python_worker_killed_during_the_job(spark: SparkSession, tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")

    def deadly(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if len(X) // 2 in batch.column("key").to_pylist() and not os.path.exists(mark):
                with open(mark, "w"):
                    os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    rows = table(spark).withColumnRenamed("c.d", "c")
    dying = rows.mapInArrow(deadly, rows.schema).withColumnRenamed("c", "c.d")
    explained = in_order(on_spark.explain(EXPLAINER, dying, keep=["key"]))
    assert os.path.exists(mark)
    np.testing.assert_array_equal(explained[NAMES], EXPLAINER.shap_values(X))
    os.remove(mark)
    counted = on_spark.background(MODEL, dying.drop("key"))
    assert os.path.exists(mark)
    assert counted.to_bytes() == Background(MODEL, FRAME).to_bytes()


def test_workers_do_not_need_the_model_library(spark: SparkSession) -> None:
    def importing(batches: Iterator[Any]) -> Iterator[Any]:
        importlib.import_module("sklearn")
        yield from batches

    with pytest.raises(PythonException, match="a worker does not have it"):
        spark.range(3).mapInArrow(importing, "id long").collect()
    assert on_spark.explain(EXPLAINER, table(spark).drop("key")).count() == len(X)


def test_bad_input(spark: SparkSession) -> None:
    rows = table(spark)
    with pytest.raises(InputError, match="X has the column 'key', which the model does not know"):
        on_spark.explain(EXPLAINER, rows)
    with pytest.raises(InputError, match=r"X has no column 'c\.d'"):
        on_spark.explain(EXPLAINER, rows.drop("c.d"), keep=["key"])
    with pytest.raises(InputError, match="X has no column 'id', which keep"):
        on_spark.explain(EXPLAINER, rows, keep=["id"])
    with pytest.raises(InputError, match="data has no column 'w', which sample_weight names"):
        on_spark.background(MODEL, rows, sample_weight="w")
    with pytest.raises(InputError, match="the result already has a column 'players'"):
        on_spark.top_values(EXPLAINER, rows.withColumnRenamed("key", "players"), 2, keep=["players"])
    with pytest.raises(InputError, match="data must be a Spark DataFrame, got a DataFrame"):
        on_spark.background(MODEL, FRAME)
    with pytest.raises(InputError, match="explainer must be a TreeExplainer"):
        on_spark.explain(MODEL, rows)
    with pytest.raises(InputError, match="column 'b'"):
        on_spark.explain(EXPLAINER, rows.withColumn("b", rows["b"].cast("string")), keep=["key"])
    with pytest.raises(InputError, match="must be a list of names, got 'key'"):
        on_spark.explain(EXPLAINER, rows, keep="key")


def test_an_error_names_the_partition(spark: SparkSession) -> None:
    explainer = TreeExplainer(CLASSES, X[:20], feature_names=NAMES, model_output="log_loss")
    labels = np.where(np.arange(len(X)) == len(X) - 1, 77, data().classes)
    rows = table(spark, 4, label=labels)
    with pytest.raises(PythonException, match=r"InputError: partition 3: .*77"):
        on_spark.explain(explainer, rows, keep=["key"], y="label").collect()
    weights = np.where(np.arange(len(X)) == 0, -1.0, 1.0)
    with pytest.raises(Exception, match=r"InputError: partition 0: data: sample_weight of row 0 is -1"):
        on_spark.background(MODEL, table(spark, 4, w=weights).drop("key"), sample_weight="w")


def test_the_code_of_the_page(spark: SparkSession) -> None:
    names: dict[str, Any] = {"model": MODEL, "table": table(spark)}
    exec(code_under("Spark"), names)
    np.testing.assert_array_equal(in_order(names["values"])[NAMES], EXPLAINER.shap_values(X))
    assert names["top"].columns == ["key", "players", "values"]
    assert names["importance"].n_rows == len(X)
