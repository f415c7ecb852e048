"""Backgrounds, explanations and importance of Spark DataFrames: ``pip install 'arborshap[spark]'``.

The explainer is broadcast as bytes. A Python worker puts it together once and keeps it for all its tasks; it needs
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
) -> Background:
    """Count a background where its partitions are, and merge the counts; ``TreeExplainer(model, background)`` is next.

    However the rows are cut into partitions, and whichever executor does what, the result is the same to the last bit.

    Parameters
    ----------
    model
        The model, as `TreeExplainer` takes it. It stays on the driver: executors get its trees.
    data
        A DataFrame of the model's columns and `sample_weight`.
    groups, feature_names
        As for `TreeExplainer`.
    sample_weight
        The name of the column that has the weight of each row.
    verify
        Compare our margins with the library's own predictions, on the driver, on a thousand rows.
    """
    beside = _present(data, "data", {"sample_weight": sample_weight})
    features = [name for name in data.columns if name not in beside]
    first_rows = data.select(_quoted(features)).limit(tasks.VERIFIED).toArrow()
    sent = _broadcast(data, tasks.reader(model, first_rows, groups, feature_names, verify), "shapley")

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        where = _here()
        parts = (
            tasks.background_of(sent.value, batch.select(features), _column(batch, sample_weight), where)
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
    """Explain the rows of a DataFrame, when they are asked for.

    Parameters
    ----------
    explainer
        The explainer.
    X
        A DataFrame of the model's columns, `y` and those to `keep`.
    keep
        The names of columns that are not the model's and that the result should have too, such as a key: rows of Spark
        have no order to tell them by.
    y
        The name of the column that has the label of each row, for ``model_output="log_loss"`` only.
    index
        ``"shapley"``, ``"banzhaf"``, ``"taylor"`` or ``"interaction"``.
    dtype
        float64, or float32 to halve a big result.

    Returns
    -------
    DataFrame
        The columns to keep, and a column a player with its value in each row. For an index of pairs this is an array,
        the player's row of the matrix, and for several outputs an array of one value each; for both, arrays in arrays.
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
    """Keep only the `k` values of largest size in each row, and whose they are, when they are asked for.

    Parameters
    ----------
    explainer, X, keep, y, dtype
        As for `explain`.
    k
        How many to keep.
    index
        ``"shapley"`` or ``"banzhaf"``.

    Returns
    -------
    DataFrame
        The columns to keep, and two arrays, the largest value first: ``players``, names, and ``values``. For several
        outputs each entry of them is an array, of one entry an output.
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
    """Average the size of the values over all rows; no partition leaves more than a sum behind.

    Sums are of floating-point numbers, in the order of the partitions: other partitions may give other last bits, other
    executors do not.

    Parameters
    ----------
    explainer
        The explainer.
    X
        A DataFrame of the model's columns, `y` and `sample_weight`.
    y
        The name of the column that has the label of each row, for ``model_output="log_loss"`` only.
    index
        ``"shapley"`` or ``"banzhaf"`` for players; ``"taylor"`` or ``"interaction"`` for pairs of them.
    sample_weight
        The name of the column that has the weight of each row.
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


def _present(frame: Any, what: str, wanted: dict[str, str | None]) -> list[str]:
    """List the columns that are named for some purpose; each must be there."""
    if find_spec("pyspark") is None:
        raise ImportError("arborshap.distributed.spark needs Spark: pip install 'arborshap[spark]'")
    if not hasattr(frame, "mapInArrow"):
        raise InputError(
            f"{what} must be a Spark DataFrame, got a {type(frame).__name__}. Rows in memory need no Spark: give them "
            "to TreeExplainer"
        )
    for purpose, name in wanted.items():
        if name is not None and name not in frame.columns:
            raise InputError(f"{what} has no column {name!r}, which {purpose} names")
    return [name for name in wanted.values() if name is not None]


def _checked_columns(
    explainer: TreeExplainer, X: Any, keep: Sequence[str], y: str | None, made: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the columns to keep and the model's, having read no row of them; a column a player is made, or `made`."""
    check_explainer(explainer)
    if isinstance(keep, str):
        raise InputError(f"keep must be a list of names, got {keep!r}")
    kept = _present(X, "X", {f"keep[{i}]": name for i, name in enumerate(keep)})
    beside = {*kept, *_present(X, "X", {"y": y})}
    made = explainer.feature_names if made is None else made
    taken = [name for name in kept if name in made]
    if taken:
        raise InputError(f"the result has a column {taken[0]!r} of its own; rename the one to keep")
    features = [name for name in X.columns if name not in beside]
    explainer.check_rows(X.select(_quoted(features)).limit(0).toArrow())
    return kept, features


def _quoted(names: Sequence[str]) -> list[str]:
    """Spark takes a dot in a name for a field of a structure, unless the name is quoted."""
    return ["`" + name.replace("`", "``") + "`" for name in names]


def _broadcast(frame: Any, explainer: TreeExplainer, index: IndexName) -> Any:
    context = frame.sparkSession.sparkContext
    cores_a_task = int(context.getConf().get("spark.task.cpus", "1"))
    return context.broadcast(ShippedExplainer.of(explainer, index, cores_a_task))


def _mapped(frame: Any, function: Callable[[Iterator[Any]], Iterator[Any]], schema: Any) -> Any:
    """Map a function over the batches; `mapInArrow` fails for names with a dot, so that none gets to see them."""
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
    """Merge what the batches of a partition leave, one after the other; a partition without rows leaves nothing."""
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
    """The columns to keep, and those that are made: of each what it holds, and in how many arrays in arrays."""
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, StringType, StructField, StructType

    fields = [X.schema[name] for name in kept]
    for name, (of, depth) in made.items():
        kind: Any = {"string": StringType, "float64": DoubleType, "float32": FloatType}[of]()
        for _ in range(depth):
            kind = ArrayType(kind)
        fields.append(StructField(name, kind))
    return StructType(fields)
