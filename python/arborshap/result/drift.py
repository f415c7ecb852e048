"""The drift of a mean prediction over a sequence of periods."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import whole_number
from arborshap.exceptions import InputError
from arborshap.result.comparison import Comparison, frame_of_columns, long_columns, position_of
from arborshap.result.explanation import Explanation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SINCE = ("first", "previous")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Drift(Comparison):
    """How the mean prediction moved over periods, and through which players, as `drift_contributions` returns it.

    Attributes
    ----------
    periods
        The names of the periods, in the order of time.
    since
        ``"first"`` if each period is compared with the first one, ``"previous"`` if with the one before it.
    values
        The contributions to each change: (periods - 1, players[, outputs]), from the second period on.
    standard_error
        How far each value may be off because the rows are samples, in the shape of `values`. NaN for a change if
        one of its two periods has a single row or no error bars; ``None`` if that holds for every change.
    means
        The mean prediction of each period: (periods[, outputs]).
    n_rows, feature_names, output_names, index, model_output, unit
        The number of rows of each period, the names, and what was computed; see `Explanation`.
    """

    periods: list[str]
    since: str
    means: NDArray[np.float64]

    def contrast(self, period: str) -> Explanation:
        """Return the explanation of the change to one period, with error bars if they are known."""
        at = position_of(period, self.periods, "period")
        if at == 0:
            raise InputError(f"{period!r} is the first period, which is compared with no other")
        return self.explanation((at - 1,), self.means[0 if self.since == "first" else at - 1])

    def ranked(self, k: int | None = None) -> list[tuple[str, float]]:
        """List the `k` players that moved the mean most, with their largest contribution to any change, by its size.

        Of several outputs, the one that moved most counts.
        """
        if k is not None:
            k = whole_number("k", k, 1, 2**62, "a whole number from 1 up, or None for all")
        flat = np.moveaxis(self.values, 1, -1).reshape(-1, len(self.feature_names))
        at = np.abs(flat).argmax(axis=0)
        largest = flat[at, np.arange(len(at))]
        order = np.argsort(-np.abs(largest), kind="stable")[:k]
        return [(self.feature_names[j], float(largest[j])) for j in order]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per value: period, since, player, output if several, value."""
        return frame_of_columns(self.columns())

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of `to_frame` as arrays."""
        later = self.periods[1:]
        earlier = [self.periods[0]] * len(later) if self.since == "first" else self.periods[:-1]
        names = {"player": self.feature_names} | ({"output": self.output_names} if self.output_names else {})
        return long_columns({"period": later, "since": earlier}, self.values, self.standard_error, names)

    def plot(self, *, output: int | str | None = None, max_display: int = 7, ax: Axes | None = None) -> Axes:
        """Draw the contributions over the periods, stacked above and below zero. Needs matplotlib.

        Parameters
        ----------
        output
            The output to draw, by position or name, if there are several.
        max_display
            Most bands to draw. If there are more players, the last band is the sum of theirs.
        ax
            Where to draw. The default is a new figure.

        Returns
        -------
        Axes
            One band per player; the line is their sum, the change in the mean prediction since the first period.
        """
        from arborshap.draw.drift import draw_drift  # noqa: PLC0415 (a door: plots know drifts)

        return draw_drift(self, output, max_display, ax)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Write a page that shows the drift in a browser: one file that needs no network.

        Parameters
        ----------
        path
            The file to write, such as ``"drift.html"``. It appears complete or not at all.
        title
            The heading of the page.
        """
        from arborshap.report import write_drift_report  # noqa: PLC0415 (a door: the report knows drifts)

        return write_drift_report(self, path, title=title)

    def __repr__(self) -> str:
        largest = ", ".join(f"{name} {value:+.4g}" for name, value in self.ranked(3))
        return f"<Drift {self.index}: {len(self.periods)} periods since the {self.since}; {largest}>"
