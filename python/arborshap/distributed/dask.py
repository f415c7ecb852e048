"""Backgrounds, explanations and importance of Dask arrays and dataframes: ``pip install 'arborshap[dask]'``.

A graph contains the explainer once, as bytes, and the task of every partition refers to it. A worker fetches it once
and keeps it for all its tasks; it does not need the model's library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np

from arborshap import Background, Importance, TopValues, TreeExplainer
from arborshap._util.checks import checked_choice, checked_dtype
from arborshap.distributed import dask_tasks, tasks
from arborshap.distributed.shipped import ShippedExplainer
from arborshap.exceptions import InputError
from arborshap.explain.importance import number_of_players
from arborshap.explain.labels import OutputName
from arborshap.game.groups import Groups
from arborshap.game.indices import INDICES, PLAYER_INDICES, IndexName, PlayerIndexName, order_of_index

Part = TypeVar("Part")


def background(
    model: Any,
    data: Any,
    *,
    groups: Groups | None = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    verify: bool = True,
    model_output: OutputName = "raw",
    error_bars: bool = False,
    n_jobs: int = 1,
) -> Background:
    """Count a background where its partitions are, and merge the counts.

    Pass the result to ``TreeExplainer(model, background)``. It is the same to the last bit, however the rows are
    partitioned and whichever worker counts them. It is computed immediately, with the scheduler that `dask.compute`
    would use.

    Parameters
    ----------
    model
        The model, as for `TreeExplainer`. It stays on the client; workers get its trees.
    data
        A Dask array or dataframe. Partitions may be empty.
    groups, feature_names
        As for `TreeExplainer`.
    model_output
        What the background will be used to explain, as for `Background`.
    error_bars
        Whether to keep what the standard errors of `Background.contrast` need. These errors depend on the partitions,
        because rows are dealt out within each partition; no other number does.
    sample_weight
        The weight of each row: a Dask array or series with the partitions of `data`.
    verify
        Whether to compare our margins with the library's own predictions, on the client, on the first thousand rows.
    n_jobs
        Number of threads per task. Dask runs one task per thread of a worker, so one is usually enough.

    Returns
    -------
    Background
        The counts of all rows.
    """
    cut_weights = _cut_alike(sample_weight, "sample_weight", data, "data")
    rows = _pieces(data)
    weights = _pieces_beside(cut_weights, rows)
    reader = tasks.reader(model, _first_rows(rows), groups, feature_names, verify, model_output)
    sent = _broadcast(ShippedExplainer.of(reader, "shapley", n_jobs))
    count = _delayed(tasks.background_of)
    counted = [
        count(sent, piece, some, f"partition {i}", error_bars=error_bars)
        for i, (piece, some) in enumerate(zip(rows, weights, strict=True))
    ]
    return _reduced(tasks.merged, counted)


def explain(
    explainer: TreeExplainer,
    X: Any,
    *,
    y: Any = None,
    index: IndexName = "shapley",
    dtype: Any = np.float64,
    n_jobs: int = 1,
) -> Any:
    """Explain rows partition by partition, when the result is computed.

    Parameters
    ----------
    explainer
        The explainer.
    X
        A Dask array or dataframe. Partitions may be empty.
    y
        The label of each row, for a loss only: a Dask array or series with the partitions of `X`.
    index
        ``"shapley"``, ``"banzhaf"``, ``"taylor"`` or ``"interaction"``.
    dtype
        float64, or float32 to halve the memory of a large result.
    n_jobs
        Number of threads per task.

    Returns
    -------
    Dask array or dataframe
        The same kind as `X`. An array has the shape of the explainer's values, with the chunks of `X` along its rows. A
        dataframe has the form of `Explanation.to_frame`: one column per player, with the index of `X`; for an index of
        pairs or for several outputs, one line per value.
    """
    checked_choice("index", index, INDICES)
    kind = checked_dtype(dtype)
    labels = _cut_alike(y, "y", X)
    sent = _broadcast(ShippedExplainer.of(explainer, index, n_jobs))
    if not _is_frame(X):
        return _map_blocks(
            dask_tasks.values_block, explainer, X, labels, sent, _axes(explainer, index), kind, index=index, dtype=kind
        )
    like = explainer(X._meta, None if y is None else y._meta, index=index, dtype=kind).to_frame("pandas")
    frame = X.map_partitions(dask_tasks.explained_frame, sent, labels, index, kind, meta=dask_tasks.with_texts(like))
    is_long = len(_axes(explainer, index)) > 1
    return frame.clear_divisions() if is_long else frame


def top_values(
    explainer: TreeExplainer,
    X: Any,
    k: int,
    *,
    y: Any = None,
    index: PlayerIndexName = "shapley",
    dtype: Any = np.float64,
    n_jobs: int = 1,
) -> Any:
    """Compute the `k` values with the largest absolute value in each row, and their players, on demand.

    Parameters
    ----------
    explainer, X, y, dtype, n_jobs
        As for `explain`.
    k
        Number of values to keep per row.
    index
        ``"shapley"`` or ``"banzhaf"``.

    Returns
    -------
    TopValues of Dask arrays, or a Dask dataframe
        For an array, the result of `TreeExplainer.top_values`; compute both arrays together. For a dataframe, the
        columns ``player_1``, ``value_1``, ``player_2`` and so on, followed by the name of the output if there are
        several. Players are categories.
    """
    checked_choice("index", index, PLAYER_INDICES)
    kind, k = checked_dtype(dtype), number_of_players(k, len(explainer.feature_names))
    labels = _cut_alike(y, "y", X)
    sent = _broadcast(ShippedExplainer.of(explainer, index, n_jobs))
    axes = (k, *_axes(explainer, index)[1:])
    if not _is_frame(X):
        both = np.dtype([("player", np.int32), ("value", kind)])
        packed = _map_blocks(dask_tasks.top_block, explainer, X, labels, sent, axes, both, k=k, index=index, dtype=kind)
        return TopValues(packed["player"], packed["value"])
    explainer.check_rows(X._meta)
    nothing = TopValues(np.empty((0, *axes), np.int32), np.empty((0, *axes), kind))
    like = dask_tasks.frame_of_top(explainer, nothing, X._meta.index)
    return X.map_partitions(dask_tasks.top_frame, sent, labels, k, index, kind, meta=like)


def importance(
    explainer: TreeExplainer,
    X: Any,
    *,
    y: Any = None,
    index: IndexName = "shapley",
    sample_weight: Any = None,
    n_jobs: int = 1,
) -> Importance:
    """Compute the mean absolute value of the values over all rows; each partition returns only a sum.

    It is computed immediately. Floating-point sums are added in the order of the partitions, so the last bits may
    depend on the partitions, but not on the workers.

    Parameters
    ----------
    explainer, X, y, n_jobs
        As for `explain`.
    index
        ``"shapley"`` or ``"banzhaf"`` for players; ``"taylor"`` or ``"interaction"`` for pairs of players.
    sample_weight
        The weight of each row: a Dask array or series with the partitions of `X`.

    Returns
    -------
    Importance
        The means and the names.
    """
    checked_choice("index", index, INDICES)
    rows = _pieces(X)
    both = {"y": y, "sample_weight": sample_weight}
    labels, weights = (_pieces_beside(_cut_alike(of, what, X), rows) for what, of in both.items())
    sent = _broadcast(ShippedExplainer.of(explainer, index, n_jobs))
    add = _delayed(tasks.sizes_of)
    sums = [
        add(sent, piece, label, weight, index, f"partition {i}")
        for i, (piece, label, weight) in enumerate(zip(rows, labels, weights, strict=True))
    ]
    return explainer.importance_of(_reduced(tasks.total_of, sums), index)


def _is_frame(rows: Any) -> bool:
    return type(rows).__module__.startswith("dask.dataframe")


def _cut_alike(beside: Any, what: str, rows: Any, rows_name: str = "X") -> Any:
    """Check that the rows are a Dask collection, and that `beside` is one with the same partitions."""
    if find_spec("dask") is None:
        raise ImportError("arborshap.distributed.dask needs Dask: pip install 'arborshap[dask]'")
    if _is_frame(rows):
        if beside is None:
            return None
        if not _is_frame(beside) or beside.npartitions != rows.npartitions or beside.divisions != rows.divisions:
            raise InputError(f"{what} must be a Dask series with the partitions of {rows_name}, such as a column of it")
        return beside
    if not _is_array(rows) or rows.ndim != 2:
        raise InputError(
            f"{rows_name} must be a Dask array of rows and columns, or a Dask dataframe; got a {type(rows).__name__}. "
            "For rows in memory, use TreeExplainer itself"
        )
    if beside is None:
        return None
    if not _is_array(beside) or beside.ndim != 1:
        raise InputError(f"{what} must be a Dask array with one number per row of {rows_name}")
    if not np.isnan([beside.shape[0], rows.shape[0]]).any():
        if beside.shape[0] != rows.shape[0]:
            raise InputError(f"{what} has {beside.shape[0]} entries, but {rows_name} has {rows.shape[0]} rows")
        return beside.rechunk((rows.chunks[0],))
    if beside.numblocks[0] != rows.numblocks[0]:
        raise InputError(f"{what} must have the same chunks as {rows_name}, because their sizes are not known")
    return beside


def _is_array(rows: Any) -> bool:
    return type(rows).__module__.startswith("dask.array")


def _pieces(rows: Any) -> list[Any]:
    """List the partitions, each a delayed matrix or frame."""
    if _is_frame(rows):
        return list(rows.to_delayed())
    return list(rows.rechunk({1: -1}).to_delayed()[:, 0])


def _pieces_beside(beside: Any, rows: list[Any]) -> list[Any]:
    return [None] * len(rows) if beside is None else list(beside.to_delayed())


def _first_rows(pieces: Iterable[Any]) -> Any:
    """Compute the first rows that exist; the other rows stay on their workers."""
    rows: Any = ()
    for piece in pieces:
        rows = piece[: tasks.VERIFIED].compute()
        if len(rows):
            break
    return rows


def _broadcast(sent: ShippedExplainer) -> Any:
    """Make the explainer one node of the graph, on which all tasks depend.

    Scattered data would be lost with the worker that holds them; a node of the graph is sent again.
    """
    from dask import delayed

    return delayed(sent, name=f"explainer-{sent.fingerprint}", traverse=False)


def _delayed(function: Callable[..., Any]) -> Any:
    from dask import delayed

    return delayed(function, pure=True)


def _reduced(merge: Callable[[Iterable[Part]], Part], parts: list[Any]) -> Part:
    """Merge partial results in a tree, and compute the whole."""
    merge_some = _delayed(merge)
    while len(parts) > 1:
        parts = [merge_some(parts[i : i + tasks.FAN_IN]) for i in range(0, len(parts), tasks.FAN_IN)]
    whole: Part = parts[0].compute()
    return whole


def _axes(explainer: TreeExplainer, index: str) -> tuple[int, ...]:
    """Return the shape of one row's values."""
    players = (len(explainer.feature_names),) * order_of_index(index)
    return players if explainer.n_outputs == 1 else (*players, explainer.n_outputs)


def _map_blocks(
    function: Any,
    explainer: TreeExplainer,
    X: Any,
    y: Any,
    sent: Any,
    axes: tuple[int, ...],
    block_dtype: Any,
    **options: Any,
) -> Any:
    """Map a function over the blocks of an array; it gets each block with its labels and its position."""
    import dask.array as da

    explainer.check_rows(np.empty((0, X.shape[1])))
    rows = X.rechunk({1: -1})
    return da.map_blocks(
        function,
        *([rows] if y is None else [rows, y[:, np.newaxis]]),
        sent=sent,
        options=options,
        chunks=(rows.chunks[0], *((length,) for length in axes)),
        new_axis=list(range(2, len(axes) + 1)) or None,
        meta=np.empty((0,) * (len(axes) + 1), block_dtype),
    )
