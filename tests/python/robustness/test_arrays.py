"""Rows laid out in any way give the same values, whoever writes to them meanwhile; deep chains work everywhere."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import Forest, ForestBuilder, InputError, ModelError, TreeExplainer, _core

Array = NDArray[Any]
D = 5


@cache
def forest() -> Forest:
    rng = np.random.default_rng(2)
    builder = ForestBuilder(D, rule="<=", precision="float64")
    for _ in range(10):
        feature = rng.integers(0, D, 7)
        nodes = np.arange(7)
        builder.add_tree(
            left=np.pad(2 * nodes + 1, (0, 8), constant_values=-1),
            right=np.pad(2 * nodes + 2, (0, 8), constant_values=-1),
            feature=np.pad(feature, (0, 8)),
            threshold=np.pad(np.round(rng.normal(size=7), 1), (0, 8)),
            value=np.pad(rng.normal(size=8), (7, 0)),
            categories={1: [0, 2, 5]},
            default_left=True,
        )
    return builder.build()


@cache
def rows() -> Array:
    X = np.round(np.random.default_rng(3).normal(size=(300, D)) * 4)
    X[::7, 1] = np.nan
    return X


def misaligned(X: Array) -> Array:
    raw = np.zeros(X.nbytes + 1, np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[:] = X
    assert not view.flags.aligned
    return view


def read_only(X: Array) -> Array:
    copy = X.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "Fortran order": np.asfortranarray,
    "every second of twice the rows": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second of twice the columns": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "turned round twice": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "misaligned": misaligned,
    "misaligned single precision": lambda X: misaligned(X.astype(np.float32)),
    "read-only": read_only,
    "big-endian": lambda X: X.astype(">f8"),
    "big-endian single precision": lambda X: X.astype(">f4"),
    "half precision": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "a subclass": lambda X: X.view(np.recarray),
    "a part of something larger": lambda X: np.pad(X, 3)[3:-3, 3:-3],
    "one row for all": lambda X: np.broadcast_to(X[:1], X.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_bits(layout: str) -> None:
    X = rows()
    laid_out = LAYOUTS[layout](X)
    same = np.repeat(X[:1], len(X), axis=0) if layout == "one row for all" else X
    wanted = TreeExplainer(forest(), X, n_jobs=1).shap_values(same)
    np.testing.assert_array_equal(TreeExplainer(forest(), X, n_jobs=1).shap_values(laid_out), wanted)
    if layout != "one row for all":
        explainer = TreeExplainer(forest(), laid_out, sample_weight=np.ones(2 * len(X))[::2], n_jobs=1)
        np.testing.assert_allclose(explainer.shap_values(X), wanted, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(forest().margin(np.asarray(laid_out, np.float64)), forest().margin(X))


def test_the_native_module_takes_nothing_else() -> None:
    """Whoever calls it past the package is refused too: a slice of a wrong layout would be of other rows."""
    native = TreeExplainer(forest(), rows(), n_jobs=1).state.core
    square = rows()[:D].copy()
    for wrong in (np.asfortranarray(square), square[::-1], misaligned(square), square.astype(">f8"), square[0]):
        with pytest.raises(TypeError, match="rows must be"):
            native.explain(wrong, "shapley", engine="auto", n_threads=1)


def test_the_native_module_checks_the_arrays_of_trees() -> None:
    """No array of a tree may be too short, nor lie where a number of its width cannot be read."""
    whole, real, flags = np.array([1, -1, -1]), np.zeros(3), np.zeros(1, np.uint8)
    right, sets = np.array([2, -1, -1]), {"category_nodes": np.empty(0, np.int64), "categories": np.empty(0, np.uint32)}
    tree = (whole, right, np.zeros(3, np.int32), real, real, flags, flags, real)

    def build(changed: dict[int, Array], offsets: int = 1) -> _core.Forest:
        given: Any = (*(changed.get(i, array) for i, array in enumerate(tree)), 0)
        options: dict[str, Any] = {**sets, "category_offsets": np.zeros(offsets, np.int64), "base": np.zeros(1)}
        return _core.Forest.of_trees([given], n_features=1, n_threads=1, **options)

    assert build({}).n_leaves == 2
    for i in range(1, len(tree)):
        with pytest.raises(ModelError, match=r"tree 0: array `.*` has 2 entries where 3 belong"):
            build({i: np.zeros(2, tree[i].dtype)})
    with pytest.raises(ModelError, match="array `category_offsets` has 2 entries where 1 belong"):
        build({}, offsets=2)
    for i in (0, 1, 2, 3, 7):
        with pytest.raises(TypeError, match="arrays must be aligned"):
            build({i: misaligned(tree[i])})


@pytest.mark.parametrize("shape", [(0, D), (0, 0), (3, 0)])
def test_nothing_at_all(shape: tuple[int, int]) -> None:
    explainer = TreeExplainer(forest(), rows(), n_jobs=1)
    if shape == (0, D):
        assert explainer.shap_values(np.empty(shape)).shape == shape
        assert explainer.taylor_values(np.empty(shape)).shape == (0, D, D)
    else:
        with pytest.raises(InputError, match="has 0 columns, but the model has 5 features"):
            explainer.shap_values(np.empty(shape))


def stump(n_features: int) -> Forest:
    builder = ForestBuilder(n_features, rule="<=", precision="float64")
    last = n_features - 1
    builder.add_tree(
        left=[1, -1, -1], right=[2, -1, -1], feature=[last, 0, 0], threshold=[0.0, 0, 0], value=[0.0, 1, 2]
    )
    return builder.build()


def test_huge_in_one_dimension() -> None:
    long = np.ones((5_000_000, 1), np.float32)
    long[::2] = -1.0
    explainer = TreeExplainer(stump(1), long, n_jobs=1)
    values = explainer.shap_values(long, dtype=np.float32)
    assert values.shape == (5_000_000, 1)
    assert np.abs(values).min() == np.abs(values).max() == 0.5
    wide = np.zeros((1, 2_000_000), np.float32)
    other = wide.copy()
    other[0, -1] = 1.0
    values = TreeExplainer(stump(2_000_000), wide, n_jobs=1).shap_values(other)
    assert values[0, -1] == 1.0
    assert np.count_nonzero(values) == 1


@pytest.mark.parametrize("engine", ["pattern", "sparse", "traversal"])
def test_rows_that_change_during_a_call(engine: str) -> None:
    """Numbers may then be of either state, but each cell is read once and everything after is on our own copies."""
    X = np.repeat(rows(), 40, axis=0)
    weights = np.ones(len(X))
    odd = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, 2.0])
    stop = threading.Event()

    def write() -> None:
        rng = np.random.default_rng(0)
        while not stop.is_set():
            X[rng.integers(0, len(X), 500), rng.integers(0, D, 500)] = rng.choice(odd, 500)
            weights[rng.integers(0, len(X), 50)] = rng.choice([0.5, 1.0, 3.0, np.nan, -1.0], 50)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            try:
                explainer = TreeExplainer(forest(), X, sample_weight=weights, engine=engine, n_jobs=2)
            except InputError:  # of a weight that was just then no number
                explainer = TreeExplainer(forest(), X, engine=engine, n_jobs=2)
            assert explainer.shap_values(X[:200] if engine != "pattern" else X).shape[1] == D
            assert forest().margin(X, n_threads=2).shape == (len(X), 1)
    finally:
        stop.set()
        writer.join()


def chain(depth: int, distinct: int) -> Forest:
    """A path of that many splits, each with a leaf at its side."""
    n, splits = 2 * depth + 1, np.arange(depth)
    left, right, feature = np.full(n, -1), np.full(n, -1), np.zeros(n, np.int64)
    threshold, value, cover = np.zeros(n), np.zeros(n), np.ones(n)
    left[2 * splits], right[2 * splits] = 2 * splits + 1, 2 * splits + 2
    feature[2 * splits], threshold[2 * splits] = splits % distinct, -1.0 - splits // distinct
    value[2 * splits + 1], value[-1] = splits % 7, 1.0
    cover[2 * splits] = depth - splits + 1
    builder = ForestBuilder(distinct, rule="<=", precision="float64")
    builder.add_tree(left=left, right=right, feature=feature, threshold=threshold, value=value, cover=cover)
    return builder.build()


def test_a_chain_of_100_000_nodes(tmp_path: Path) -> None:
    deep = chain(50_000, 200)
    assert deep.n_nodes > 100_000
    rng = np.random.default_rng(1)
    X, Z = np.abs(rng.normal(size=(2, 200))), np.abs(rng.normal(size=(3, 200)))
    X[0, 17], Z[1, 30] = -200.5, -2.5
    explainer = TreeExplainer(deep, Z, n_jobs=1)
    values = explainer.shap_values(X)
    np.testing.assert_allclose(values.sum(axis=1), (deep.margin(X) - deep.margin(Z).mean())[:, 0], atol=1e-12)
    again = TreeExplainer.from_bytes(explainer.to_bytes(), n_jobs=1)
    np.testing.assert_array_equal(again.shap_values(X), values)
    trace = explainer.trace(X[0], Z[1])
    np.testing.assert_allclose(trace.phi, explainer.pair_values(X[:1], Z[1:2])[0, 0], atol=1e-14)
    assert str(trace)
    explainer(X).report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000
