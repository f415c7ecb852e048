"""Backgrounds, explanations and importance of Spark DataFrames: ``pip install 'arborshap[spark]'``.

The explainer is broadcast as bytes. A Python worker unpickles it once and keeps it for all its tasks; it needs
arborshap, numpy and pyarrow, but not the model's library.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from arborshap import Background, Importance, TreeExplainer
from arborshap._util.checks import checked_choice, checked_dtype
from arborshap.distributed import tasks
from arborshap.distributed.shipped import ShippedExplainer, check_explainer
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
    sample_weight: str | None = None,
    feature_names: Sequence[str] | None = None,
    verify: bool = True,
    model_output: OutputName = "raw",
    error_bars: bool = False,
) -> Background:
    """Count a background where its partitions are, and merge the counts.

    Pass the result to ``TreeExplainer(model, background)``. It is the same to the last bit, however the rows are
    partitioned and whichever executor counts them.

    Parameters
    ----------
    model
        The model, as for `TreeExplainer`. It stays on the driver; executors get its trees.
    data
        A DataFrame with the model's columns and `sample_weight`.
    groups, feature_names
        As for `TreeExplainer`.
    model_output
        What the background will be used to explain, as for `Background`.
    error_bars
        Whether to keep what the standard errors of `Background.contrast` need. These errors depend on the partitions,
        because rows are dealt out within each partition; no other number does.
    sample_weight
        The name of the column with the weight of each row.
    verify
        Whether to compare our margins with the library's own predictions, on the driver, on a thousand rows.

    Returns
    -------
    Background
        The counts of all rows.
    """
    beside = _present(data, "data", {"sample_weight": sample_weight})
    features = [name for name in data.columns if name not in beside]
    first_rows = data.select(_quoted(features)).limit(tasks.VERIFIED).toArrow()
    sent = _broadcast(data, tasks.reader(model, first_rows, groups, feature_names, verify, model_output), "shapley")

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        where = _here()
        parts = (
            tasks.background_of(
                sent.value, batch.select(features), _column(batch, sample_weight), where, error_bars=error_bars
            )
            for batch in batches
        )
        yield from _in_one(tasks.merged, parts)

    parts = _mapped(data, counted, "part binary").rdd.map(lambda row: pickle.loads(row.part))
    whole: Background = parts.treeReduce(Background.merge)
    sent.unpersist()
    return whole


def explain(
    explainer: TreeExplainer,
    X: Any,
    *,
    keep: Sequence[str] = (),
    y: str | None = None,
    index: IndexName = "shapley",
    dtype: Any = np.float64,
) -> Any:
    """Explain the rows of a DataFrame, when the result is computed.

    Parameters
    ----------
    explainer
        The explainer.
    X
        A DataFrame with the model's columns, `y` and the columns to `keep`.
    keep
        Names of columns to copy to the result, such as a key. The model must not use them. Rows of Spark have no order,
        so only such a column can identify them.
    y
        The name of the column with the label of each row, for a loss only.
    index
        ``"shapley"``, ``"banzhaf"``, ``"taylor"`` or ``"interaction"``.
    dtype
        float64, or float32 to halve the memory of a large result.

    Returns
    -------
    DataFrame
        The columns to keep, and one column per player with its value in each row. For an index of pairs, the value is
        an array: the player's line of the matrix. For several outputs, it is an array with one value per output. For
        both, it is an array of arrays.
    """
    checked_choice("index", index, INDICES)
    kind = checked_dtype(dtype)
    kept, features = _checked_columns(explainer, X, keep, y, None)
    sent = _broadcast(X, explainer, index)

    def explained(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows, labels = batch.select(features), _column(batch, y)
            values = tasks.values_of(sent.value, rows, labels, index, kind, _here())
            columns = [_arrow(values[:, player]) for player in range(values.shape[1])]
            yield _beside(batch, kept, names, columns)

    names = explainer.feature_names
    depth = order_of_index(index) - 1 + (explainer.n_outputs > 1)
    return _mapped(X, explained, _schema(X, kept, dict.fromkeys(names, (kind.name, depth))))


def top_values(
    explainer: TreeExplainer,
    X: Any,
    k: int,
    *,
    keep: Sequence[str] = (),
    y: str | None = None,
    index: PlayerIndexName = "shapley",
    dtype: Any = np.float64,
) -> Any:
    """Compute the `k` values with the largest absolute value in each row, and their players, on demand.

    Parameters
    ----------
    explainer, X, keep, y, dtype
        As for `explain`.
    k
        Number of values to keep per row.
    index
        ``"shapley"`` or ``"banzhaf"``.

    Returns
    -------
    DataFrame
        The columns to keep, and two arrays with the largest value first: ``players`` (names) and ``values``. For
        several outputs, each entry is an array with one entry per output.
    """
    checked_choice("index", index, PLAYER_INDICES)
    kind, k = checked_dtype(dtype), number_of_players(k, len(explainer.feature_names))
    kept, features = _checked_columns(explainer, X, keep, y, ["players", "values"])
    sent = _broadcast(X, explainer, index)

    def explained(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows, labels = batch.select(features), _column(batch, y)
            top = tasks.top_values_of(sent.value, rows, labels, k, index, kind, _here())
            yield _beside(batch, kept, ["players", "values"], [_arrow(names[top.players]), _arrow(top.values)])

    names = np.array(explainer.feature_names, dtype=object)
    depth = 1 + (explainer.n_outputs > 1)
    made = {"players": ("string", depth), "values": (kind.name, depth)}
    return _mapped(X, explained, _schema(X, kept, made))


def importance(
    explainer: TreeExplainer,
    X: Any,
    *,
    y: str | None = None,
    index: IndexName = "shapley",
    sample_weight: str | None = None,
) -> Importance:
    """Compute the mean absolute value of the values over all rows; each partition returns only a sum.

    Floating-point sums are added in the order of the partitions, so the last bits may depend on the partitions, but not
    on the executors.

    Parameters
    ----------
    explainer
        The explainer.
    X
        A DataFrame with the model's columns, `y` and `sample_weight`.
    y
        The name of the column with the label of each row, for a loss only.
    index
        ``"shapley"`` or ``"banzhaf"`` for players; ``"taylor"`` or ``"interaction"`` for pairs of players.
    sample_weight
        The name of the column with the weight of each row.

    Returns
    -------
    Importance
        The means and the names.
    """
    checked_choice("index", index, INDICES)
    beside = _present(X, "X", {"y": y, "sample_weight": sample_weight})
    _, features = _checked_columns(explainer, X, beside, None, [])
    sent = _broadcast(X, explainer, index)

    def added_up(batches: Iterator[Any]) -> Iterator[Any]:
        where = _here()
        sums = (
            tasks.sizes_of(
                sent.value, batch.select(features), _column(batch, y), _column(batch, sample_weight), index, where
            )
            for batch in batches
        )
        yield from _in_one(tasks.total_of, sums)

    parts = [pickle.loads(row.part) for row in _mapped(X, added_up, "part binary").collect()]
    sent.unpersist()
    if not parts:
        raise InputError("X has no rows; importance is a mean over rows")
    return explainer.importance_of(tasks.total_of(parts), index)


def _present(frame: Any, what: str, named: dict[str, str | None]) -> list[str]:
    """List the columns that the caller named; each must exist."""
    if find_spec("pyspark") is None:
        raise ImportError("arborshap.distributed.spark needs Spark: pip install 'arborshap[spark]'")
    if not hasattr(frame, "mapInArrow"):
        raise InputError(
            f"{what} must be a Spark DataFrame, got a {type(frame).__name__}. For rows in memory, use TreeExplainer "
            "itself"
        )
    for purpose, name in named.items():
        if name is not None and name not in frame.columns:
            raise InputError(f"{what} has no column {name!r}, which {purpose} names")
    return [name for name in named.values() if name is not None]


def _checked_columns(
    explainer: TreeExplainer, X: Any, keep: Sequence[str], y: str | None, made: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the columns to keep and the model's columns, without reading a row.

    The result will have the columns `made`, or one column per player if `made` is ``None``.
    """
    check_explainer(explainer)
    if isinstance(keep, str):
        raise InputError(f"keep must be a list of names, got {keep!r}")
    kept = _present(X, "X", {f"keep[{i}]": name for i, name in enumerate(keep)})
    beside = {*kept, *_present(X, "X", {"y": y})}
    made = explainer.feature_names if made is None else made
    taken = [name for name in kept if name in made]
    if taken:
        raise InputError(f"the result already has a column {taken[0]!r}; rename the column to keep")
    features = [name for name in X.columns if name not in beside]
    explainer.check_rows(X.select(_quoted(features)).limit(0).toArrow())
    return kept, features


def _quoted(names: Sequence[str]) -> list[str]:
    """Quote names, because Spark reads a dot in a bare name as a field of a structure."""
    return ["`" + name.replace("`", "``") + "`" for name in names]


def _broadcast(frame: Any, explainer: TreeExplainer, index: IndexName) -> Any:
    context = frame.sparkSession.sparkContext
    cores_per_task = int(context.getConf().get("spark.task.cpus", "1"))
    return context.broadcast(ShippedExplainer.of(explainer, index, cores_per_task))


def _mapped(frame: Any, function: Callable[[Iterator[Any]], Iterator[Any]], schema: Any) -> Any:
    """Map a function over the batches, under plain column names, because `mapInArrow` fails for names with a dot."""
    names = frame.columns

    def with_names(batches: Iterator[Any]) -> Iterator[Any]:
        return function(batch.rename_columns(names) for batch in batches)

    return frame.toDF(*(f"column_{i}" for i in range(len(names)))).mapInArrow(with_names, schema)


def _here() -> str:
    from pyspark import TaskContext

    task = TaskContext.get()
    return f"partition {task.partitionId() if task else '?'}"


def _column(batch: Any, name: str | None) -> NDArray[Any] | None:
    return None if name is None else np.asarray(batch.column(name).to_numpy(zero_copy_only=False))


def _in_one(merge: Callable[[Iterable[Part]], Part], parts: Iterator[Part]) -> Iterator[Any]:
    """Merge the results of a partition's batches; a partition without rows yields nothing."""
    import pyarrow as pa

    for first in parts:
        part = pickle.dumps(merge(chain([first], parts)))
        yield pa.RecordBatch.from_arrays([pa.array([part], pa.binary())], ["part"])


def _beside(batch: Any, kept: list[str], names: Sequence[str], columns: list[Any]) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([*(batch.column(name) for name in kept), *columns], [*kept, *names])


def _arrow(values: NDArray[Any]) -> Any:
    """Turn the first axis into rows and all others into lists."""
    import pyarrow as pa

    if values.ndim == 1:
        return pa.array(np.ascontiguousarray(values), pa.string() if values.dtype == object else None)
    rows, width = values.shape[:2]
    inner = _arrow(values.reshape(rows * width, *values.shape[2:]))
    return pa.ListArray.from_arrays(np.arange(0, rows * width + 1, width, dtype=np.int32), inner)


def _schema(X: Any, kept: list[str], made: dict[str, tuple[str, int]]) -> Any:
    """Return the schema: the columns to keep, and the columns to make, each with its type and its depth of arrays."""
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, StringType, StructField, StructType

    fields = [X.schema[name] for name in kept]
    for name, (of, depth) in made.items():
        kind: Any = {"string": StringType, "float64": DoubleType, "float32": FloatType}[of]()
        for _ in range(depth):
            kind = ArrayType(kind)
        fields.append(StructField(name, kind))
    return StructType(fields)
