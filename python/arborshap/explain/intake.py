"""Counting rows, batch after batch, in all the ways that a background needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.checks import checked_flag, checked_weights
from arborshap.exceptions import InputError
from arborshap.explain.counts import Counts
from arborshap.explain.deals import N_DEALS, Deals, deal_out
from arborshap.explain.labels import OutputName
from arborshap.explain.outputs import output_of
from arborshap.explain.parts import WeightedIntake
from arborshap.explain.reader import Reader
from arborshap.rows.frames import Rows
from arborshap.rows.numbers import Matrix


class Intake:
    """Counts rows, in all weightings of an output if one is asked for, and deal by deal if error bars are."""

    def __init__(self, reader: Reader, model_output: OutputName, n_threads: int, *, error_bars: bool) -> None:
        checked_flag("error_bars", error_bars)
        self._reader = reader
        output, columns = output_of(reader.model, model_output, has_background=True), reader.columns
        native = _core.Background(
            reader.model.forest.native, players=columns.players, n_players=columns.n_players, n_threads=n_threads
        )
        weighted = None if output is None else WeightedIntake.of(output, reader, n_threads)
        self._whole = _Pile(native, weighted, n_threads)
        self._deals = [self._whole.of_a_deal() for _ in range(N_DEALS if error_bars else 0)]

    @property
    def counts(self) -> Counts:
        """The counts of all rows."""
        return self._whole.counts

    @property
    def deals(self) -> Deals | None:
        """The counts of the deals."""
        return Deals(tuple(pile.counts for pile in self._deals)) if self._deals else None

    def add(self, rows: Rows, weights: Any, what: str, *, verify: bool) -> None:
        """Count more rows; `what` names them in messages."""
        matrix = rows.matrix
        if len(matrix) == 0:
            return
        if verify:
            self._reader.verify_again(matrix, what)
        try:
            checked = checked_weights(weights, len(matrix))
            self._whole.add(matrix, checked)
        except InputError as error:
            raise InputError(f"{what}: {error}") from error
        self._whole.add_weighted(matrix, checked, what)
        if not self._deals:
            return
        of_row = deal_out(matrix)
        for deal, pile in enumerate(self._deals):
            own = np.flatnonzero(of_row == deal)
            some = None if checked is None else checked[own]
            if len(own) and (some is None or some.any()):
                pile.add(matrix[own], some)
                pile.add_weighted(matrix[own], some, what)


class _Pile:
    """The counts of some of the rows."""

    def __init__(self, native: _core.Background, weighted: WeightedIntake | None, n_threads: int) -> None:
        self._native, self._weighted, self._n_threads = native, weighted, n_threads

    def of_a_deal(self) -> _Pile:
        """Return another one without rows, whose weightings need only a few digits."""
        weighted = None if self._weighted is None else self._weighted.coarse()
        return _Pile(self._native.empty(), weighted, self._n_threads)

    @property
    def counts(self) -> Counts:
        return Counts(self._native, None if self._weighted is None else self._weighted.parts)

    def add(self, rows: Matrix, weights: NDArray[np.float64] | None) -> None:
        self._native.add(rows, weights, n_threads=self._n_threads)

    def add_weighted(self, rows: Matrix, weights: NDArray[np.float64] | None, what: str) -> None:
        if self._weighted is not None:
            self._weighted.add(rows, weights, what)
