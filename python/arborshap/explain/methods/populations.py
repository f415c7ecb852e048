"""How far values may be off because the background is a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_choice
from arborshap._util.progress import Report
from arborshap.explain.contrasts import background_size_for, standard_error_of
from arborshap.explain.methods.base import Methods
from arborshap.explain.values import of_given_rows
from arborshap.game.indices import INDICES, IndexName


class PopulationMethods(Methods):
    """The background as a sample of a population."""

    def standard_error(
        self, X: Any, *, index: IndexName = "shapley", progress: bool | Report = False
    ) -> NDArray[np.float64]:
        """Compute how far each value may be off because the background is a sample.

        The background is dealt into 30 parts, and the rows are explained against each of them. The spread of the 30
        results gives the standard error. The cost is that of 30 explanations.

        Parameters
        ----------
        X
            The rows, in any form that `data` may have.
        index
            The index; see `__call__`.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        array
            One standard error per value, in the shape of `values`.
        """
        checked_choice("index", index, INDICES)
        return of_given_rows(X, standard_error_of(self.state, self.state.reader.matrix(X), index, progress))

    def background_size(self, error: float, X: Any = None) -> int:
        """Return how many background rows the Shapley values need for a standard error of at most `error`.

        The error is inversely proportional to the square root of the number of background rows. It is measured with
        the present background, as the root mean square over the rows of X, for the player (and output) where it is
        largest. Without X, up to 200 rows of the background are used as the rows to explain.
        """
        return background_size_for(self.state, error, None if X is None else self.state.reader.matrix(X))
