"""Importance of each player, or pair of players, over many rows; and the largest values of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import whole_number
from arborshap._util.words import counted
from arborshap.exceptions import InputError
from arborshap.game.indices import PAIR_INDICES
from arborshap.result.value_unit import ValueUnit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]


class TopValues(NamedTuple):
    """The values with the largest absolute value in each row, largest first; in a tie, the earlier player comes first.

    Attributes
    ----------
    players
        The players that the values belong to, as positions in `feature_names`: (rows, k), or (rows, k, outputs).
    values
        The values, with their signs, in the same shape.
    """

    players: NDArray[np.int32]
    values: Array

    def to_frame(self, feature_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None) -> Any:
        """Return a long pandas DataFrame with one line per value: its row, its rank from 1, its player and the value.

        Parameters
        ----------
        feature_names
            The players' names, such as ``explainer.feature_names``. Without them, players are positions.
        output_names
            The outputs' names, if there are several outputs. Without them, outputs are positions.

        Returns
        -------
        pandas.DataFrame
            The values, largest first within each row; with several outputs, there is a column ``output`` too.
        """
        try:
            import pandas as pd
        except ImportError as missing:
            raise ImportError("TopValues.to_frame() makes a pandas DataFrame: pip install pandas") from missing
        places = np.indices(self.values.shape).reshape(self.values.ndim, -1)
        columns: dict[str, Any] = {"row": places[0], "rank": places[1] + 1}
        if self.values.ndim == 3:
            columns["output"] = _named(places[2], output_names, "output_names")
        columns["player"] = _named(self.players.ravel(), feature_names, "feature_names")
        return pd.DataFrame(columns | {"value": self.values.ravel()})


def _named(positions: Array, names: Sequence[str] | None, what: str) -> Array:
    if names is None:
        return positions
    if len(names) <= positions.max(initial=-1):
        raise InputError(f"{what} has {len(names)} names, but position {positions.max()} needs one")
    return np.array(list(names), dtype=object)[positions]


@dataclass(frozen=True, slots=True, eq=False)
class Importance:
    """How much each player, or each pair of players, matters over some rows: the mean absolute value of its values.

    Attributes
    ----------
    values
        The mean |value| over the rows: (players,) or (players, outputs). For an index of pairs, (players, players) or
        (players, players, outputs), with main effects on the diagonal and half of each pair's effect on either side of
        it.
    feature_names
        The players' names, in the order of `values`.
    index
        The index that was averaged: ``"shapley"``, ``"banzhaf"``, ``"taylor"`` or ``"interaction"``.
    n_rows
        Number of rows in the mean.
    output_names
        The outputs' names, if the model has several outputs; otherwise ``None``.
    model_output
        The output that was explained; see `TreeExplainer`.
    unit
        The unit of the values, such as log-odds.
    """

    values: NDArray[np.float64]
    feature_names: list[str]
    index: str
    n_rows: int
    output_names: list[str] | None = None
    model_output: str = "raw"
    unit: ValueUnit = ValueUnit()  # noqa: RUF009 (it is frozen)

    def ranked(self, k: int | None = None) -> list[tuple[str, float]] | list[tuple[str, str, float]]:
        """List the `k` most important players or pairs with their importance, in descending order.

        If `k` is omitted, all are listed. Several outputs are summed. For an index of pairs, each pair is listed once,
        with the sum of its two halves, and a main effect is listed as a player paired with itself.
        """
        if k is not None:
            k = whole_number("k", k, 1, 2**62, "a whole number from 1 up, or None for all")
        players, sizes = self._largest_first()
        names = self.feature_names
        if len(players) == 1:
            return [(names[i], float(sizes[i])) for i in players[0][:k]]
        first, second = (axis[:k] for axis in players)
        return [(names[i], names[j], float(sizes[i, j])) for i, j in zip(first, second, strict=True)]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of names and importance, largest first, with one column per output if several."""
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
            by_output = self.whole_pairs()[players]
            columns |= {name: by_output[:, j] for j, name in enumerate(self.output_names)}
        return pd.DataFrame(columns)

    def plot(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw the importance: bars of players, or a heat map of pairs. This needs matplotlib.

        Parameters
        ----------
        max_display
            Most players to draw. If there are more, the last bar is the sum of theirs; a heat map leaves them out.
        ax
            Where to draw. The default is a new figure.

        Returns
        -------
        Axes
            Bars, largest first, with one piece per output if there are several; for pairs, main effects on the diagonal
            and whole effects of pairs below it, summed over the outputs.
        """
        from arborshap.draw.importance import draw_importance  # noqa: PLC0415 (a door: plots know importances)

        return draw_importance(self, max_display=max_display, ax=ax)

    def __repr__(self) -> str:
        largest = ", ".join(f"{' x '.join(map(str, names))} {size:.4g}" for *names, size in self.ranked(3))
        players, rows = counted(len(self.feature_names), "player"), counted(self.n_rows, "row")
        return f"<Importance {self.index}: {players} over {rows}; {largest}>"

    def whole_pairs(self) -> NDArray[np.float64]:
        """Return `values` with whole effects of pairs: the sum of the two halves, on both sides of the diagonal."""
        if self.index not in PAIR_INDICES:
            return self.values
        whole = 2 * self.values
        diagonal = np.arange(len(whole))
        whole[diagonal, diagonal] = self.values[diagonal, diagonal]
        return whole

    def _largest_first(self) -> tuple[tuple[NDArray[np.intp], ...], NDArray[np.float64]]:
        """Return the positions of players or pairs from the most to the least important, and the importance of each."""
        sizes = self.whole_pairs()
        if self.output_names is not None:
            sizes = sizes.sum(axis=-1)
        if self.index not in PAIR_INDICES:
            return (np.argsort(-sizes, kind="stable"),), sizes
        first, second = np.triu_indices(len(sizes))
        order = np.argsort(-sizes[first, second], kind="stable")
        return (first[order], second[order]), sizes
