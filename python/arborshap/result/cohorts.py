"""Contrasts between cohorts: why groups of rows have different mean predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.result.comparison import Comparison, frame_of_columns, long_columns, position_of
from arborshap.result.explanation import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AGAINST = ("rest", "each other")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CohortContrasts(Comparison):
    """Why the mean predictions of cohorts differ, as `cohort_contrasts` returns it.

    Attributes
    ----------
    names
        The names of the cohorts.
    against
        ``"rest"`` if each cohort is compared with all others together, ``"each other"`` if with every other one.
    values
        The contributions of the players to each gap: (cohorts, players[, outputs]) against the rest, or (cohorts,
        cohorts, players[, outputs]), where ``values[a, b]`` sums to the mean of a minus the mean of b.
    standard_error
        How far each value may be off because the rows are samples, in the shape of `values`. NaN for a gap if one
        of its two sides has a single row or no error bars; ``None`` if that holds for every gap.
    means
        The mean prediction of each cohort: (cohorts[, outputs]).
    reference_means
        The mean prediction of what each cohort is compared with: of the rest, or of the cohort itself.
    n_rows, feature_names, output_names, index, model_output, unit
        The number of rows of each cohort, the names, and what was computed; see `Explanation`.
    """

    names: list[str]
    against: str
    means: NDArray[np.float64]
    reference_means: NDArray[np.float64]

    @property
    def gaps(self) -> NDArray[np.float64]:
        """The differences of mean predictions: (cohorts[, outputs]), or (cohorts, cohorts[, outputs])."""
        if self.against == "rest":
            return self.means - self.reference_means
        return self.means[:, np.newaxis] - self.means[np.newaxis]

    def contrast(self, name: str, other: str | None = None) -> Explanation:
        """Return the explanation of one gap: of a cohort and the rest, or of a cohort and another one."""
        row = position_of(name, self.names, "cohort")
        if self.against == "rest":
            if other is not None:
                raise InputError("each cohort was compared with the rest; use against='each other' to compare two")
            return self.explanation((row,), self.reference_means[row])
        if other is None:
            raise InputError("name the cohort to compare with, as in contrasts.contrast('a', 'b')")
        column = position_of(other, self.names, "cohort")
        return self.explanation((row, column), self.means[column])

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per value: cohort, against, player, output if several, value."""
        if self.against == "rest":
            lines = [(name, "rest") for name in self.names]
            values, errors = self.values, self.standard_error
        else:
            n = len(self.names)
            pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
            lines = [(self.names[i], self.names[j]) for i, j in pairs]
            at = tuple(np.array(pairs).T)
            values, errors = self.values[at], None if self.standard_error is None else self.standard_error[at]
        columns = {"cohort": [line[0] for line in lines], "against": [line[1] for line in lines]}
        names = {"player": self.feature_names} | ({"output": self.output_names} if self.output_names else {})
        return frame_of_columns(long_columns(columns, values, errors, names))

    def plot(
        self,
        *,
        reference: str | None = None,
        output: int | str | None = None,
        max_display: int = 12,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the contributions as a map of colours: one line per cohort, one column per player. Needs matplotlib.

        Parameters
        ----------
        reference
            The cohort that all others are compared with, if they were compared with each other. The default is the
            first one.
        output
            The output to draw, by position or name, if there are several.
        max_display
            Most players to draw, chosen by their size; the last column is the sum of all others.
        ax
            Where to draw. The default is a new figure.
        """
        from arborshap.draw.cohorts import draw_cohorts  # noqa: PLC0415 (a door: plots know cohorts)

        return draw_cohorts(self, reference, output, max_display, ax)

    def __repr__(self) -> str:
        return f"<CohortContrasts {self.index}: {len(self.names)} cohorts against {self.against}>"
