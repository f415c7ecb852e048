"""Coalition values as a game of shapiq: ``CoalitionGame(explainer, row)``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from shapiq import Game

from arborshap import InputError, TreeExplainer


class CoalitionGame(Game):  # type: ignore[misc, unused-ignore]
    """The game of one row: what each coalition of players is worth, averaged exactly over the whole background.

    shapiq's exact computer, approximators and plots accept it like any other game. The players are those of the
    explainer, so groups and the raw columns of pipelines are players too.

    Parameters
    ----------
    explainer
        The explainer.
    row
        One row, in any form that the explainer takes.
    output
        The output that the game is about, by position or name, if the model has several.
    normalize
        Whether to subtract the worth of the empty coalition, which is the expected value. shapiq does so by default.

    Attributes
    ----------
    explainer : TreeExplainer
        The explainer.
    """

    def __init__(
        self, explainer: TreeExplainer, row: Any, output: int | str | None = None, *, normalize: bool = True
    ) -> None:
        self.explainer = explainer
        self._row = row
        self._output = self._position(output)
        empty = self._worth([])
        if empty.shape != (1,):
            raise InputError(f"a game is about one row, but row has {len(empty)} rows; pass one of them")
        super().__init__(
            n_players=len(explainer.feature_names),
            normalize=normalize,
            normalization_value=float(empty[0]),
            player_names=list(explainer.feature_names),
        )

    def value_function(self, coalitions: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return what coalitions are worth; each is a row of truth values, one per player."""
        members = (np.flatnonzero(coalition).tolist() for coalition in np.atleast_2d(coalitions))
        return np.array([self._worth(players)[0] for players in members])

    def _worth(self, players: list[int]) -> NDArray[np.float64]:
        values = self.explainer.coalition_values(self._row, players)
        return values if self.explainer.n_outputs == 1 else values[:, self._output]

    def _position(self, output: int | str | None) -> int:
        n, names = self.explainer.n_outputs, self.explainer.output_names or []
        if output is None and n == 1:
            return 0
        if isinstance(output, str) and output in names:
            return names.index(output)
        if isinstance(output, int) and not isinstance(output, bool) and 0 <= output < n:
            return output
        raise InputError(f"output must be a position from 0 to {n - 1} or one of {names}, got {output!r}")
