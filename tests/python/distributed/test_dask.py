"""Dask on a cluster of processes: the same bits as on one machine, however rows are cut and whatever dies."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from arborshap import Background, InputError, ModelError, TreeExplainer, drift_contributions
from arborshap.distributed import dask as on_dask
from arborshap.distributed.shipped import ShippedExplainer
from arborshap.explain.state import State
from support.models import lightgbm_cases
from support.models.case import data
from support.patience import HANG

X = data(gaps=False).X
FRAME = pd.DataFrame(X, columns=list("abcde"), index=pd.RangeIndex(1000, 1000 + len(X), name="id"))
MODEL = GradientBoostingRegressor(n_estimators=6, max_depth=3, random_state=0).fit(FRAME, data().y)
CLASSES = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(FRAME, data().classes)
EXPLAINER = TreeExplainer(MODEL, Background(MODEL, FRAME))
WEIGHTS = np.linspace(0.25, 4.0, len(X))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two worker processes without scikit-learn: an explainer must not need it there."""

    def forbid_scikit_learn() -> None:  # nested, or workers would import this file and scikit-learn with it
        assert "sklearn" not in sys.modules
        sys.modules["sklearn"] = None  # type: ignore[assignment]

    patience = {  # a worker that starts late on a busy machine is not lost
        "distributed.comm.timeouts.connect": HANG,
        "distributed.deploy.lost-worker-timeout": HANG,
    }
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5, "distributed.worker.memory.target": False}),
        dask.config.set(patience),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(forbid_scikit_learn)
        yield client


def chunked(rows: Any = X, size: int = 37) -> Any:
    return da.from_array(rows, chunks=(size, *rows.shape[1:]))


def partitioned(frame: Any = FRAME, n: int = 9) -> Any:
    return dd.from_pandas(frame, npartitions=n)


def test_background_of_any_partitions(client: Client) -> None:
    whole = Background(MODEL, FRAME).to_bytes()
    for n in (1, 20):  # 20 partitions take two levels of merging
        assert on_dask.background(MODEL, partitioned(n=n)).to_bytes() == whole
    unnamed = Background(MODEL, X)
    assert on_dask.background(MODEL, da.from_array(X, chunks=(50, 2))).to_bytes() == unnamed.to_bytes()
    weighted = on_dask.background(MODEL, chunked(), sample_weight=da.from_array(WEIGHTS, chunks=50))
    assert weighted.to_bytes() == Background(MODEL, X, sample_weight=WEIGHTS).to_bytes()
    frame = partitioned(FRAME.assign(w=WEIGHTS))
    groups = {"pair": ["a", "d"]}
    grouped = on_dask.background(MODEL, frame[list("edcba")], sample_weight=frame["w"], groups=groups)
    assert grouped.to_bytes() == Background(MODEL, FRAME, sample_weight=WEIGHTS, groups=groups).to_bytes()
    assert TreeExplainer(MODEL, grouped).feature_names == ["pair", "b", "c", "e"]


@pytest.mark.parametrize("output", ["raw", "prediction"])
def test_populations_counted_where_they_are_can_be_compared(client: Client, output: Any) -> None:
    model = lightgbm_cases.train("positive", objective="poisson")
    cuts = X[:150], X[150:]
    here = [Background(model, rows, model_output=output) for rows in cuts]
    there = [on_dask.background(model, chunked(rows), model_output=output, error_bars=True) for rows in cuts]
    change = there[1].contrast(there[0], model=model)
    np.testing.assert_array_equal(change.values, here[1].contrast(here[0]).values)
    assert change.model_output == output
    assert change.standard_error is not None
    in_one = [Background(model, rows, model_output=output, error_bars=True) for rows in cuts]
    expected = in_one[1].contrast(in_one[0]).standard_error
    assert expected is not None
    np.testing.assert_allclose(change.standard_error, expected, rtol=0.6)  # the deals are others
    drift = drift_contributions(model, {"before": there[0], "after": there[1]})
    np.testing.assert_array_equal(drift.values[0], change.values)


def test_predictions_after_the_link(client: Client) -> None:
    model = lightgbm_cases.train("positive", objective="poisson")
    counted = on_dask.background(model, chunked(), model_output="prediction")
    assert counted.to_bytes() == Background(model, X, model_output="prediction").to_bytes()
    explainer = TreeExplainer(model, counted, model_output="prediction")
    usual = explainer.with_settings(engine="pattern").values(X)
    np.testing.assert_array_equal(on_dask.explain(explainer, chunked()).compute(), usual)
    np.testing.assert_allclose(usual.sum(axis=1) + explainer.expected_value, model.predict(X), rtol=1e-9)


@pytest.mark.parametrize("index", ["shapley", "banzhaf", "taylor", "interaction"])
def test_arrays(client: Client, index: Any) -> None:
    lazy = on_dask.explain(EXPLAINER, chunked(), index=index)
    usual = EXPLAINER(X, index=index).values
    assert lazy.shape == usual.shape
    assert lazy.chunks[0] == chunked().chunks[0]
    assert lazy.dtype == np.float64
    np.testing.assert_array_equal(lazy.compute(), usual)


@pytest.mark.parametrize("index", ["shapley", "taylor"])
def test_frames(client: Client, index: Any) -> None:
    lazy = on_dask.explain(EXPLAINER, partitioned(), index=index)
    usual = EXPLAINER(FRAME, index=index).to_frame()
    assert list(lazy.columns) == list(usual.columns)
    assert list(lazy.dtypes) == list(usual.dtypes)
    assert lazy.known_divisions == (index == "shapley")
    computed = lazy.compute()
    pd.testing.assert_frame_equal(computed if index == "shapley" else computed.reset_index(drop=True), usual, rtol=0)
    np.testing.assert_array_equal(computed.to_numpy(), usual.to_numpy())


def test_several_outputs_and_float32(client: Client) -> None:
    explainer = TreeExplainer(CLASSES, Background(CLASSES, FRAME))
    values = explainer.shap_values(X, dtype=np.float32)
    lazy = on_dask.explain(explainer, chunked(), dtype=np.float32)
    assert lazy.shape == values.shape == (len(X), 5, 3)
    assert lazy.dtype == np.float32
    np.testing.assert_array_equal(lazy.compute(), values)
    long = on_dask.explain(explainer, partitioned(), dtype=np.float32).compute()
    np.testing.assert_array_equal(long["value"].to_numpy(), values.ravel())
    assert list(long["output"].unique()) == explainer(X[:1]).output_names


def test_top_values(client: Client) -> None:
    usual = EXPLAINER.top_values(X, 2, dtype=np.float32)
    top = on_dask.top_values(EXPLAINER, chunked(), 2, dtype=np.float32)
    assert (top.players.shape, top.values.dtype) == ((len(X), 2), np.float32)
    players, values = dask.compute(*top)
    np.testing.assert_array_equal(players, usual.players)
    np.testing.assert_array_equal(values, usual.values)
    frame = on_dask.top_values(EXPLAINER, partitioned(), 2, dtype=np.float32)
    computed = frame.compute()
    assert list(frame.columns) == list(computed.columns) == ["player_1", "value_1", "player_2", "value_2"]
    assert list(frame.dtypes) == list(computed.dtypes)
    assert list(computed["player_2"]) == [list("abcde")[j] for j in usual.players[:, 1]]
    np.testing.assert_array_equal(computed["value_2"], usual.values[:, 1])
    explainer = TreeExplainer(CLASSES, FRAME)
    assert "value_1_2" in on_dask.top_values(explainer, partitioned(), 1).compute().columns
    with pytest.raises(InputError, match="k must be a number of players, from 1 to 5; got 6"):
        on_dask.top_values(EXPLAINER, chunked(), 6)


@pytest.mark.parametrize("index", ["shapley", "taylor"])
def test_importance(client: Client, index: Any) -> None:
    usual = EXPLAINER.importance(X, index=index)
    ours = on_dask.importance(EXPLAINER, chunked(), index=index)
    assert (ours.n_rows, ours.feature_names, ours.index) == (len(X), usual.feature_names, index)
    np.testing.assert_allclose(ours.values, usual.values, rtol=1e-14)
    with dask.config.set(scheduler="sync"):
        again = on_dask.importance(EXPLAINER, chunked(), index=index)
    np.testing.assert_array_equal(ours.values, again.values)
    weights = np.where(np.arange(len(X)) < 80, 0.0, WEIGHTS)  # two partitions without any weight
    weighted = on_dask.importance(EXPLAINER, chunked(), index=index, sample_weight=da.from_array(weights, chunks=60))
    expected = EXPLAINER.importance(X, index=index, sample_weight=weights)
    np.testing.assert_allclose(weighted.values, expected.values, rtol=1e-14)
    assert weighted.n_rows == len(X)


def test_a_loss_has_labels_beside_its_rows(client: Client) -> None:
    explainer = TreeExplainer(CLASSES, X[:20], model_output="log_loss")
    y = data().classes
    usual = explainer.shap_values(X, y)
    labels = da.from_array(y, chunks=50)
    np.testing.assert_array_equal(on_dask.explain(explainer, chunked(), y=labels).compute(), usual)
    frame = partitioned(FRAME.assign(y=y))
    np.testing.assert_array_equal(on_dask.explain(explainer, frame[list("abcde")], y=frame["y"]).compute(), usual)
    np.testing.assert_allclose(
        on_dask.importance(explainer, chunked(), y=labels).values, np.abs(usual).mean(axis=0), rtol=1e-13
    )


def test_empty_partitions(client: Client) -> None:
    frame = partitioned(n=6)
    some = frame[frame["a"] > 10.0 * (frame.index < 1150)]  # the first partitions lose all or most rows
    kept = some.compute()
    assert 0 in some.map_partitions(len).compute().to_list()
    assert on_dask.background(MODEL, some).to_bytes() == Background(MODEL, kept).to_bytes()
    pd.testing.assert_frame_equal(on_dask.explain(EXPLAINER, some).compute(), EXPLAINER(kept).to_frame(), rtol=0)
    assert len(on_dask.top_values(EXPLAINER, some, 3).compute()) == len(kept)
    assert on_dask.importance(EXPLAINER, some).n_rows == len(kept)
    blocks = some.to_dask_array()  # chunks of unknown sizes
    np.testing.assert_array_equal(on_dask.explain(EXPLAINER, blocks).compute(), EXPLAINER.shap_values(kept))
    with pytest.raises(InputError, match="data has no rows"):
        on_dask.background(MODEL, frame[frame["a"] > 1e9])
    with pytest.raises(InputError, match="X has no rows"):
        on_dask.importance(EXPLAINER, frame[frame["a"] > 1e9])


def test_a_worker_killed_during_the_job(client: Client, tmp_path: Path) -> None:
    """In the middle of each job a worker kills itself, once; another takes its partitions over."""

    def deadly(rows: Any, mark: str, at: float) -> Any:
        if (rows["a"] == at).any() and not os.path.exists(mark):
            with open(mark, "w") as note:
                note.write(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    frame = partitioned(n=12)
    at = float(FRAME["a"].iloc[len(X) // 2])
    counted = on_dask.background(MODEL, frame.map_partitions(deadly, str(tmp_path / "one"), at, meta=frame._meta))
    assert counted.to_bytes() == Background(MODEL, FRAME).to_bytes()
    explainer = TreeExplainer(MODEL, counted)
    rows = frame.map_partitions(deadly, str(tmp_path / "two"), at, meta=frame._meta)
    explained = on_dask.explain(explainer, rows).compute()
    np.testing.assert_array_equal(explained.to_numpy(), EXPLAINER.shap_values(FRAME))
    assert list(explained.index) == list(FRAME.index)
    killed = {int((tmp_path / name).read_text()) for name in ("one", "two")}
    assert len(killed) == 2, "each job should have lost a worker"
    client.wait_for_workers(2, timeout=HANG)
    assert not killed & {*client.run(os.getpid).values()}


def test_partitions_that_do_not_fit_are_named(client: Client) -> None:
    def third_is_different(rows: Any, change: str, partition_info: Any = None) -> Any:
        if partition_info is None or partition_info["number"] != 3:
            return rows
        return rows.drop(columns="e") if change == "columns" else rows.astype({"b": str})

    def with_change(change: str) -> Any:
        frame = partitioned()
        return frame.map_partitions(third_is_different, change, meta=frame._meta, enforce_metadata=False)

    for change, message in {"columns": "partition 3: .* has no column 'e'", "types": "partition 3: .*'b'"}.items():
        rows = with_change(change)
        with pytest.raises(InputError, match=message):
            on_dask.background(MODEL, rows)
        with pytest.raises(InputError, match=message):
            on_dask.explain(EXPLAINER, rows).compute()
        with pytest.raises(InputError, match=message):
            on_dask.top_values(EXPLAINER, rows, 1).compute()
        with pytest.raises(InputError, match=message):
            on_dask.importance(EXPLAINER, rows)
    weights = da.from_array(np.where(np.arange(len(X)) == 40, -1.0, 1.0), chunks=37)
    with pytest.raises(InputError, match="partition 1: data: sample_weight of row 3 is -1"):
        on_dask.background(MODEL, chunked(), sample_weight=weights)


def test_bad_arguments_are_refused_before_any_work() -> None:
    with pytest.raises(InputError, match="X has 4 columns, but the model has 5"):
        on_dask.explain(EXPLAINER, chunked(X[:, :4]))
    with pytest.raises(InputError, match="X has no column 'c'"):
        on_dask.explain(EXPLAINER, partitioned(FRAME.drop(columns="c")))
    with pytest.raises(InputError, match=r"data must be a Dask array .* got a ndarray"):
        on_dask.background(MODEL, X)
    with pytest.raises(InputError, match="sample_weight has 7 entries, but data has"):
        on_dask.background(MODEL, chunked(), sample_weight=da.ones(7))
    with pytest.raises(InputError, match="sample_weight must be a Dask array"):
        on_dask.importance(EXPLAINER, chunked(), sample_weight=WEIGHTS)
    with pytest.raises(InputError, match="y must be a Dask series with the partitions of X"):
        on_dask.explain(EXPLAINER, partitioned(), y=partitioned(n=2)["a"])
    with pytest.raises(InputError, match="index must be"):
        on_dask.explain(EXPLAINER, chunked(), index="owen")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="explainer must be a TreeExplainer, got a GradientBoostingRegressor"):
        on_dask.explain(MODEL, chunked())


def test_the_explainer_is_in_a_graph_once_and_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from arborshap.explain import saved

    size = len(EXPLAINER.to_bytes())
    for lazy in (on_dask.explain(EXPLAINER, chunked(size=3)), on_dask.explain(EXPLAINER, partitioned(n=60))):
        (optimized,) = dask.optimize(lazy)
        sent = [pickle.dumps(task) for task in dict(optimized.__dask_graph__()).values()]
        assert sum(len(task) > size for task in sent) == 1

    read = []
    original = saved.from_pickle

    def counted(*parts: Any) -> State:
        read.append(1)
        return original(*parts)

    monkeypatch.setattr(saved, "from_pickle", counted)
    explainer = TreeExplainer(MODEL, Background(MODEL, X[:50]))
    for _ in range(2):
        on_dask.explain(explainer, chunked()).compute(scheduler="threads", num_workers=4)
    assert len(read) == 1


def test_bytes_of_another_version(client: Client) -> None:
    sent = ShippedExplainer.of(EXPLAINER, "shapley", 1)
    saved = EXPLAINER.with_settings(engine="pattern", n_jobs=1).to_bytes()
    assert sent.content.count(saved) == 1
    assert saved[8:12] != b"\xff\xff\xff\xff"
    changed = saved[:8] + b"\xff\xff\xff\xff" + saved[12:]
    other = ShippedExplainer(sent.content.replace(saved, changed), "of another version")
    from arborshap.distributed import tasks

    with pytest.raises(ModelError, match=r"partition 5: .*version"):
        client.submit(tasks.values_of, other, X, None, "shapley", np.float64, "partition 5").result()


def test_partitions_do_not_choose_their_own_engine() -> None:
    """Against a background in memory a few rows would go by pairs, and many by tables: the last bits would differ."""
    explainer = TreeExplainer(MODEL, X)
    cut = on_dask.explain(explainer, chunked(size=1)).compute(scheduler="sync")
    np.testing.assert_array_equal(cut, TreeExplainer(MODEL, X, engine="pattern").shap_values(X))
    assert ShippedExplainer.of(explainer, "shapley", 1).explainer().facts().engine == "pattern"
    forced = TreeExplainer(MODEL, X, engine="traversal")
    assert ShippedExplainer.of(forced, "shapley", 1).explainer().facts().engine == "traversal"


def test_pipelines_take_raw_rows_to_the_workers() -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=3)).fit(FRAME, data().y)
    with dask.config.set(scheduler="threads"):
        counted = on_dask.background(pipeline, partitioned())
        explainer = TreeExplainer(pipeline, counted)
        usual = TreeExplainer(pipeline, FRAME, engine="pattern").shap_values(FRAME)
        np.testing.assert_array_equal(on_dask.explain(explainer, partitioned()).compute().to_numpy(), usual)


@pytest.mark.parametrize(("engine", "module"), [("dask", "dask"), ("spark", "pyspark")])
def test_without_the_engine_the_error_says_what_to_install(engine: str, module: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None\nfrom arborshap.distributed import {engine} as on\n"
    ran = subprocess.run([sys.executable, "-c", code + "on.background(None, None)"], capture_output=True, text=True)
    assert f"ImportError: arborshap.distributed.{engine} needs" in ran.stderr
    assert f"pip install 'arborshap[{engine}]'" in ran.stderr
