"""Views of many rows at once: how much each player, or pair of players, matters, without ever holding all values.

Values are computed for a few rows at a time and folded into the result, so that a million rows by 200 players take the
memory of one such chunk. `TreeExplainer.importance`, `interaction_importance` and `top_values` are the doors to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arborshap._checks import checked_dtype, checked_weights
from arborshap._progress import Report, reporting
from arborshap.exceptions import InputError
from arborshap.explanation import PAIR_INDICES

if TYPE_CHECKING:
    from arborshap.explainer import IndexName, TreeExplainer

Array = NDArray[Any]

_CHUNK = 2**22
"""Values computed at a time: 32 MiB of float64, and still enough rows for every core."""


class TopValues(NamedTuple):
    """The values of largest size in each row, the largest first; of equal ones, the first player's.

    Attributes
    ----------
    players
        Whose they are, as positions in `feature_names`: (rows, k), or (rows, k, outputs).
    values
        The values, with their signs, in the same shape.
    """

    players: NDArray[np.int32]
    values: Array


@dataclass(frozen=True, slots=True, eq=False)
class Importance:
    """How much each player, or each pair of players, matters over some rows: the mean size of its values.

    Attributes
    ----------
    values
        The mean |value| over the rows: (players,) or (players, outputs); for an index of pairs (players, players) or
        (players, players, outputs), main effects on the diagonal and half of a pair's effect on either side of it.
    feature_names
        The players' names, in the order of `values`.
    index
        What was averaged: ``"shapley"``, ``"banzhaf"``, ``"taylor"`` or ``"interaction"``.
    n_rows
        How many rows were averaged over.
    output_names
        The outputs' names, for a model that has several.
    """

    values: NDArray[np.float64]
    feature_names: list[str]
    index: str
    n_rows: int
    output_names: list[str] | None = None

    def ranked(self, k: int | None = None) -> list[tuple[str, float]] | list[tuple[str, str, float]]:
        """List the `k` most important with their importance, the largest first; all if `k` is left out.

        Several outputs are added up. For an index of pairs each pair is listed once, with both of its halves; a player
        beside itself is its main effect.
        """
        if k is not None and (isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1):
            raise InputError(f"k must be a whole number from 1 up, or None for all; got {k!r}")
        players, sizes = self._largest_first()
        names = self.feature_names
        if len(players) == 1:
            return [(names[i], float(sizes[i])) for i in players[0][:k]]
        first, second = (axis[:k] for axis in players)
        return [(names[i], names[j], float(sizes[i, j])) for i, j in zip(first, second, strict=True)]

    def to_frame(self) -> Any:
        """Turn into a pandas DataFrame: names and importance, largest first, and a column per output if several."""
        try:
            import pandas as pd
        except ImportError as missing:
            raise ImportError("Importance.to_frame() makes a pandas DataFrame: pip install pandas") from missing
        players, sizes = self._largest_first()
        labels = ("player",) if len(players) == 1 else ("player", "other")
        names = np.array(self.feature_names, dtype=object)
        columns: dict[str, Any] = {label: names[axis] for label, axis in zip(labels, players, strict=True)}
        columns["importance"] = sizes[players]
        if self.output_names is not None:
            by_output = self._whole_pairs()[players]
            columns |= {name: by_output[:, j] for j, name in enumerate(self.output_names)}
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        largest = ", ".join(f"{' x '.join(map(str, names))} {size:.4g}" for *names, size in self.ranked(3))
        return f"<Importance {self.index}: {len(self.feature_names)} players over {self.n_rows} rows; {largest}>"

    def _whole_pairs(self) -> NDArray[np.float64]:
        """Both halves of each pair in one place."""
        if self.index not in PAIR_INDICES:
            return self.values
        whole = 2 * self.values
        diagonal = np.arange(len(whole))
        whole[diagonal, diagonal] = self.values[diagonal, diagonal]
        return whole

    def _largest_first(self) -> tuple[tuple[NDArray[np.intp], ...], NDArray[np.float64]]:
        """The positions of players or pairs from the most to the least important, and the importance of each."""
        sizes = self._whole_pairs()
        if self.output_names is not None:
            sizes = sizes.sum(axis=-1)
        if self.index not in PAIR_INDICES:
            return (np.argsort(-sizes, kind="stable"),), sizes
        first, second = np.triu_indices(len(sizes))
        order = np.argsort(-sizes[first, second], kind="stable")
        return (first[order], second[order]), sizes


@dataclass(frozen=True, slots=True, eq=False)
class SumOfSizes:
    """The sum of |value| over some rows: what an importance is made of, and what parts of the rows add up to.

    Attributes
    ----------
    total
        The (weighted) sum, in the shape of one row's values; ``None`` where there were no rows.
    weight
        The sum of the rows' weights: without weights, how many they are.
    n_rows
        How many rows there were.
    """

    total: Array | None
    weight: float
    n_rows: int

    def plus(self, other: SumOfSizes) -> SumOfSizes:
        """Add the sum over other rows."""
        parts = [total for total in (self.total, other.total) if total is not None]
        total = parts[0] + parts[1] if len(parts) == 2 else parts[0] if parts else None
        return SumOfSizes(total, self.weight + other.weight, self.n_rows + other.n_rows)

    def mean(self, explainer: TreeExplainer, index: str) -> Importance:
        """Turn into the mean, with the explainer's names."""
        if self.total is None:
            raise InputError("X has no rows; importance is a mean over rows")
        mean = self.total / self.weight
        outputs = None
        if mean.ndim > _order(index):
            outputs = explainer.output_names or [str(output) for output in range(mean.shape[-1])]
        return Importance(mean, explainer.feature_names, index, self.n_rows, outputs)


def importance(
    explainer: TreeExplainer, X: Any, y: Any, index: IndexName, sample_weight: Any, progress: bool | Report
) -> Importance:
    """Average the size of the values over the rows; see `TreeExplainer.importance`."""
    return sum_of_sizes(explainer, X, y, index, sample_weight, progress).mean(explainer, index)


def sum_of_sizes(
    explainer: TreeExplainer, X: Any, y: Any, index: IndexName, sample_weight: Any, progress: bool | Report
) -> SumOfSizes:
    """Add up the size of the values over the rows, of which there may be none."""
    weights = _weights(sample_weight)
    total: Array | None = None
    n_rows = 0
    for values in _chunks(explainer, X, y, index, progress):
        np.abs(values, out=values)
        start, n_rows = n_rows, n_rows + len(values)
        if weights is None:
            part = values.sum(axis=0)
        elif n_rows > len(weights):
            raise InputError(f"sample_weight has {len(weights)} weights, but X has more rows; give one weight per row")
        else:
            part = np.tensordot(weights[start:n_rows], values, axes=1)
        total = part if total is None else total + part
    if total is not None and weights is not None and len(weights) != n_rows:
        raise InputError(f"sample_weight has {len(weights)} weights, but X has {n_rows} rows; give one weight per row")
    return SumOfSizes(total, float(n_rows if weights is None else weights.sum()), n_rows)


def top_values(
    explainer: TreeExplainer, X: Any, y: Any, k: int, index: IndexName, dtype: Any, progress: bool | Report
) -> TopValues:
    """Keep the `k` largest values of each row; see `TreeExplainer.top_values`."""
    kind = checked_dtype(dtype)
    k = number_of_players(explainer, k)
    parts: list[TopValues] = []
    for values in _chunks(explainer, X, y, index, progress):
        players = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(values, players, axis=1)
        parts.append(TopValues(players.astype(np.int32), kept.astype(kind, copy=False)))
    if not parts:
        raise InputError("X has no rows")
    return TopValues(np.concatenate([part.players for part in parts]), np.concatenate([part.values for part in parts]))


def number_of_players(explainer: TreeExplainer, k: Any) -> int:
    """Return how many players' values to keep, which must be at least one and at most all."""
    n_players = len(explainer.feature_names)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= n_players:
        raise InputError(f"k must be a number of players, from 1 to {n_players}; got {k!r}")
    return int(k)


def batches(X: Any) -> Iterator[Any] | None:
    """Return X as an iterator of batches of rows if that is what it is, and None for rows."""
    is_reader = hasattr(X, "read_next_batch")  # pyarrow's RecordBatchReader, which is iterable but no iterator
    return iter(X) if is_reader or hasattr(X, "__next__") else None


def _chunks(explainer: TreeExplainer, X: Any, y: Any, index: IndexName, progress: bool | Report) -> Iterator[Array]:
    """Compute the values of a few rows at a time, of all rows or of all batches, one after the other."""
    labels = None if y is None else np.asarray(y)
    several = batches(X)
    n_rows = 0
    if several is None:
        with reporting(progress) as report:
            for values in _chunks_of(explainer, X, "X", labels, index, report):
                n_rows += len(values)
                yield values
            if report is not None:
                report(1.0)
    elif progress is not False:
        raise InputError("progress needs to know the number of rows, and batches do not tell; count them as they come")
    else:
        for number, batch in enumerate(several):
            rest = None if labels is None else labels[n_rows:]
            for values in _chunks_of(explainer, batch, f"batch {number} of X", rest, index, None):
                n_rows += len(values)
                yield values
    if labels is not None and len(labels) != n_rows:
        raise InputError(f"y has {len(labels)} labels, but X has {n_rows} rows; give one label per row")


def _chunks_of(
    explainer: TreeExplainer, rows: Any, what: str, labels: Array | None, index: IndexName, report: Report | None
) -> Iterator[Array]:
    matrix = explainer._read(rows, what).matrix
    numbers_a_row = prod([len(explainer.feature_names)] * _order(index)) * explainer._n_outputs
    step = max(1, _CHUNK // max(1, numbers_a_row))
    for start in range(0, len(matrix), step):
        chunk = slice(start, min(start + step, len(matrix)))
        y = None if labels is None else labels[chunk]
        yield explainer._explain(matrix[chunk], index, np.float64, False, y)
        if report is not None:
            report(chunk.stop / len(matrix))


def _order(index: str) -> int:
    return 2 if index in PAIR_INDICES else 1


def _weights(sample_weight: Any) -> NDArray[np.float64] | None:
    """One weight per row; how many rows there are shows when they have come."""
    if sample_weight is not None and not hasattr(sample_weight, "__len__"):
        raise InputError(f"sample_weight must be one number per row, got {sample_weight!r}")
    return checked_weights(sample_weight, 0 if sample_weight is None else len(sample_weight))
