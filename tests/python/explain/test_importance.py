"""Global views: the same numbers as from all values at once, in the memory of a few rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

import arborshap.explain.importance
from arborshap import Forest, ForestBuilder, InputError, TreeExplainer
from support.memory import grows_at_most

Array = NDArray[np.float64]
NAMES = ["a", "b", "c", "d", "e"]


def forest(n_outputs: int = 1) -> Forest:
    rng = np.random.default_rng(5)
    left = np.array([1, 3, 5, -1, -1, -1, -1])
    builder = ForestBuilder(5, n_outputs, rule="<", precision="float64")
    for tree in range(8):
        builder.add_tree(
            left=left,
            right=np.where(left < 0, -1, left + 1),
            feature=rng.integers(0, 5, 7),
            threshold=rng.normal(size=7),
            value=rng.normal(size=7),
            output=tree % n_outputs,
        )
    return builder.build(feature_names=NAMES)


@pytest.fixture
def X() -> Array:
    return np.random.default_rng(1).normal(size=(90, 5))


@pytest.fixture(params=[1, 2])
def explainer(request: pytest.FixtureRequest, X: Array, monkeypatch: pytest.MonkeyPatch) -> TreeExplainer:
    monkeypatch.setattr(arborshap.explain.importance, "_CHUNK", 170)  # so that 90 rows are many chunks
    return TreeExplainer(forest(request.param), X[:40])


@pytest.mark.parametrize("index", ["shapley", "banzhaf", "taylor", "interaction"])
def test_importance_is_the_mean_size(
    explainer: TreeExplainer, X: Array, index: Literal["shapley", "banzhaf", "taylor", "interaction"]
) -> None:
    values = np.abs(explainer(X, index=index).values)
    result = explainer.importance(X, index=index)
    np.testing.assert_allclose(result.values, values.mean(axis=0), rtol=1e-13)
    assert (result.index, result.n_rows, result.feature_names) == (index, 90, NAMES)
    assert (result.output_names is None) == (explainer.n_outputs == 1)
    weights = np.random.default_rng(2).random(90)
    weighted = explainer.importance(X, index=index, sample_weight=weights)
    np.testing.assert_allclose(weighted.values, np.average(values, axis=0, weights=weights), rtol=1e-13)


def test_interactions_by_their_own_name(explainer: TreeExplainer, X: Array) -> None:
    for index in ("taylor", "interaction"):
        both = explainer.interaction_importance(X, index=index), explainer.importance(X, index=index)
        np.testing.assert_array_equal(both[0].values, both[1].values)
    np.testing.assert_array_equal(
        explainer.interaction_importance(X).values, explainer.importance(X, index="taylor").values
    )


def in_batches(X: Array) -> Iterator[Any]:
    yield X[:7]
    yield pd.DataFrame(X[7:50], columns=NAMES)[NAMES[::-1]]
    yield X[50:50]
    yield X[50:]


def test_batches_are_as_good_as_rows(explainer: TreeExplainer, X: Array) -> None:
    weights = np.arange(90.0)
    whole = explainer.importance(X, sample_weight=weights)
    assert explainer.importance(in_batches(X), sample_weight=weights).n_rows == 90
    np.testing.assert_allclose(
        explainer.importance(in_batches(X), sample_weight=weights).values, whole.values, rtol=1e-12
    )
    for ours, theirs in zip(explainer.top_values(in_batches(X), 3), explainer.top_values(X, 3), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=20))
    np.testing.assert_allclose(explainer.importance(reader).values, explainer.importance(X).values, rtol=1e-12)


def test_top_values(explainer: TreeExplainer, X: Array) -> None:
    values = explainer.shap_values(X)
    players, top = explainer.top_values(X, 2)
    assert players.shape == top.shape == (90, 2, *values.shape[2:])
    by_size = np.sort(np.abs(values), axis=1)[:, ::-1]
    np.testing.assert_array_equal(np.abs(top), by_size[:, :2])
    np.testing.assert_array_equal(np.take_along_axis(values, players, axis=1), top)
    every = explainer.top_values(X, 5, index="banzhaf", dtype=np.float32)
    assert every.values.dtype == np.float32
    np.testing.assert_allclose(every.values.sum(axis=1), explainer.banzhaf_values(X).sum(axis=1), atol=1e-5)


def test_top_values_as_a_frame(explainer: TreeExplainer, X: Array) -> None:
    top = explainer.top_values(X[:3], 2)
    several = top.values.ndim == 3
    frame = top.to_frame(explainer.feature_names, explainer.output_names)
    assert list(frame) == ["row", "rank", *(["output"] if several else []), "player", "value"]
    assert len(frame) == top.values.size
    line = frame[(frame["row"] == 1) & (frame["rank"] == 2)].iloc[0]
    at = (1, 1, 0) if several else (1, 1)
    assert line["player"] == explainer.feature_names[top.players[at]]
    assert line["value"] == top.values[at]
    assert (top.to_frame()["player"].to_numpy() == top.players.ravel()).all()
    with pytest.raises(InputError, match="feature_names has 0 names"):
        top.to_frame([])


def test_of_equal_values_the_first_comes_first() -> None:
    constant = ForestBuilder(5, 1, rule="<", precision="float64")
    constant.add_tree(left=[-1], right=[-1], feature=[0], threshold=[0.0], value=[1.0])
    players, _ = TreeExplainer(constant.build(), np.zeros((3, 5))).top_values(np.ones((4, 5)), 3)
    np.testing.assert_array_equal(players, np.tile([0, 1, 2], (4, 1)))


def test_ranking_and_frame(X: Array) -> None:
    explainer = TreeExplainer(forest(), X)
    result = explainer.importance(X)
    ranked = result.ranked()
    assert [size for *_, size in ranked] == sorted(result.values, reverse=True)
    assert dict(ranked) == dict(zip(NAMES, result.values, strict=True))  # type: ignore[arg-type]
    assert result.ranked(2) == ranked[:2]
    for k in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="k must be a whole number from 1 up"):
            result.ranked(k)  # type: ignore[arg-type]
    frame = result.to_frame()
    assert list(frame.columns) == ["player", "importance"]
    assert list(frame.itertuples(index=False, name=None)) == ranked
    assert ranked[0][0] in repr(result)


def test_ranking_pairs_puts_both_halves_together(X: Array) -> None:
    explainer = TreeExplainer(forest(2), X)
    result = explainer.interaction_importance(X)
    ranked = result.ranked()
    assert len(ranked) == 15  # 10 pairs and 5 main effects
    assert sum(size for *_, size in ranked) == pytest.approx(result.values.sum())
    sizes = {(first, second): size for first, second, size in ranked}  # type: ignore[misc]
    assert sizes["a", "b"] == pytest.approx(2 * result.values[0, 1].sum())
    assert sizes["b", "b"] == pytest.approx(result.values[1, 1].sum())
    frame = result.to_frame()
    assert list(frame.columns) == ["player", "other", "importance", "0", "1"]
    np.testing.assert_allclose(frame["0"] + frame["1"], frame["importance"])


def test_importance_for_a_loss(X: Array) -> None:
    """Labels go with their rows, through chunks and batches."""
    y = (X[:, 0] > 0.2).astype(int)
    model = XGBClassifier(n_estimators=6, max_depth=2, n_jobs=1).fit(X, y)
    loss = TreeExplainer(model, X[:30], model_output="log_loss")
    values = loss.shap_values(X, y)
    np.testing.assert_allclose(loss.importance(X, y).values, np.abs(values).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(loss.importance(iter([X[:7], X[7:]]), y).values, np.abs(values).mean(axis=0), rtol=1e-12)
    largest = np.abs(values).max(axis=1)
    np.testing.assert_array_equal(np.abs(loss.top_values(X, 1, y=y).values[:, 0]), largest)
    with pytest.raises(InputError, match="needs y"):
        loss.importance(X)
    with pytest.raises(InputError, match="y has 91 labels, but X has 90 rows"):
        loss.importance(iter([X[:7], X[7:]]), np.append(y, 0))


def test_importance_in_the_raw_columns_of_a_pipeline(X: Array) -> None:
    frame = pd.DataFrame(X, columns=NAMES).assign(e=np.where(X[:, 4] > 0, "warm", "cold"))
    encode = make_column_transformer((OneHotEncoder(), ["e"]), remainder="passthrough")
    pipeline = make_pipeline(encode, XGBClassifier(n_estimators=6, max_depth=2, n_jobs=1))
    explainer = TreeExplainer(pipeline.fit(frame, (X[:, 0] * X[:, 4] > 0).astype(int)), frame)
    result = explainer.importance(iter([frame[:40], frame[40:]]))
    assert sorted(result.feature_names) == NAMES
    np.testing.assert_allclose(result.values, np.abs(explainer.shap_values(frame)).mean(axis=0), rtol=1e-12)


def test_progress_reaches_one(explainer: TreeExplainer, X: Array) -> None:
    told: list[float] = []
    explainer.importance(X, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 2


def test_refusals(X: Array) -> None:
    explainer = TreeExplainer(forest(), X)
    for arguments, message in [
        ({"X": X[:0]}, "X has no rows"),
        ({"X": iter([])}, "X has no rows"),
        ({"X": iter([X, X[:, :3]])}, "batch 1 of X has 3 columns"),
        ({"X": iter([X]), "progress": True}, "cannot be shown for an iterator of batches"),
        ({"X": X, "sample_weight": np.ones(89)}, "89 weights, but X has more rows"),
        ({"X": X, "sample_weight": np.ones(91)}, "91 weights, but X has 90 rows"),
        ({"X": X, "sample_weight": 3.0}, "one number per row"),
        ({"X": X, "sample_weight": -np.ones(90)}, "of row 0 is -1"),
        ({"X": X, "index": "owen"}, "index must be"),
    ]:
        with pytest.raises(InputError, match=message):
            explainer.importance(**arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="from 1 to 5; got 6"):
        explainer.top_values(X, 6)
    with pytest.raises(InputError, match="index must be"):
        explainer.top_values(X, 2, index="taylor")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="index must be"):
        explainer.interaction_importance(X, index="shapley")  # type: ignore[arg-type]


def test_pairs_of_many_rows_need_no_large_array() -> None:
    """6000 rows by 200 players are 1.9 GB of pairs; the process may grow by 300 MB."""
    before = """
        X = rng.normal(size=(6_000, 200)).astype(np.float32)
        explainer = TreeExplainer(small_trees(100, 200), X[:1000], n_jobs=2)  # every thread has room of its own
    """
    measured = """
        result = explainer.interaction_importance(X)
        assert result.values.shape == (200, 200) and result.n_rows == 6_000
    """
    grows_at_most(300e6, before=before, measured=measured)
