"""Global importance by loss: how much of a model's accuracy is due to each player."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import whole_number
from arborshap._util.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False)
class SageValues:
    """How much of the fall of the mean loss is due to each player (SAGE, Covert, Lundberg and Lee).

    Attributes
    ----------
    values
        One number per player; they sum to `loss_without` - `loss_with`. A player with a negative value makes the loss
        larger.
    standard_error
        How far each value may be off because permutations were sampled; zeros if all coalitions were computed.
    feature_names
        The players' names, in the order of `values`.
    loss
        ``"log loss"`` or ``"squared error"``.
    loss_without
        The mean loss of the expected value, which sees no player.
    loss_with
        The mean loss of the model.
    n_rows
        Number of rows in the mean.
    n_permutations
        Number of permutations that were sampled; 0 if all coalitions were computed.
    """

    values: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    feature_names: list[str]
    loss: str
    loss_without: float
    loss_with: float
    n_rows: int
    n_permutations: int

    def __repr__(self) -> str:
        largest = ", ".join(f"{name} {value:.4g}" for name, value in self.ranked(3))
        players, rows = counted(len(self.values), "player"), counted(self.n_rows, "row")
        return f"<SageValues of the {self.loss}: {players} over {rows}; {largest}>"

    def ranked(self, k: int | None = None) -> list[tuple[str, float]]:
        """List the `k` players with the largest values, in descending order; all if `k` is omitted."""
        if k is not None:
            k = whole_number("k", k, 1, 2**62, "a whole number from 1 up, or None for all")
        return [(self.feature_names[i], float(self.values[i])) for i in self._order()[:k]]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of names, values and standard errors, largest value first."""
        try:
            import pandas as pd
        except ImportError as missing:
            raise ImportError("SageValues.to_frame() makes a pandas DataFrame: pip install pandas") from missing
        order = self._order()
        return pd.DataFrame(
            {
                "player": np.array(self.feature_names, dtype=object)[order],
                "value": self.values[order],
                "standard error": self.standard_error[order],
            }
        )

    def plot(self, *, max_display: int = 12, ax: Axes | None = None) -> Axes:
        """Draw one bar per player, largest value first, with its standard error. This needs matplotlib.

        Parameters
        ----------
        max_display
            Most players to draw; the last bar is the sum of all others.
        ax
            Where to draw. The default is a new figure.
        """
        from arborshap.draw.sage import draw_sage  # noqa: PLC0415 (a door: plots know results)

        return draw_sage(self, max_display=max_display, ax=ax)

    def _order(self) -> NDArray[np.intp]:
        return np.argsort(-self.values, kind="stable")
