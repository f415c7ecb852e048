"""Curves: the mean prediction as a function of one or two players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import is_whole
from arborshap.exceptions import InputError
from arborshap.result.comparison import frame_of_columns
from arborshap.result.value_unit import ValueUnit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The mean prediction over the background for given values of one or two players, or accumulated local effects.

    Attributes
    ----------
    feature_names
        The name of each player.
    grid_values
        The values of each player at which the curve was computed.
    average
        The mean prediction: (outputs, values), or (outputs, values, values) for two players; ``None`` if only the rows'
        own curves were asked for.
    individual
        The predictions of single rows: (outputs, rows, values[, values]); ``None`` if they were not asked for.
    missing
        The mean prediction if the value is missing, (outputs,); ``None`` for two players, or if the model takes no
        missing values.
    output_names
        The names of the outputs, if they have names.
    unit
        The unit of the predictions.
    observed
        The values of each player in the rows X that were given; ``None`` without rows.
    accumulated
        Whether `average` holds accumulated local effects, whose mean over the rows is 0, instead of mean predictions.
    """

    feature_names: list[str]
    grid_values: list[NDArray[Any]]
    average: NDArray[np.float64] | None
    individual: NDArray[np.float64] | None
    missing: NDArray[np.float64] | None
    output_names: list[str] | None
    unit: ValueUnit
    observed: list[NDArray[Any]] | None = None
    accumulated: bool = False

    def __repr__(self) -> str:
        sizes = " x ".join(f"{len(values)} values of {name}" for name, values in self._axes())
        return f"<Curve: {sizes}>"

    def _axes(self) -> list[tuple[str, NDArray[Any]]]:
        return list(zip(self.feature_names, self.grid_values, strict=True))

    def to_sklearn(self) -> Any:
        """Return a Bunch like that of `sklearn.inspection.partial_dependence`, for its `PartialDependenceDisplay`."""
        from sklearn.utils import Bunch

        found = {"average": self.average, "individual": self.individual}
        return Bunch(grid_values=self.grid_values, **{key: value for key, value in found.items() if value is not None})

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per point.

        It has a column for each player, ``output`` if there are several, and ``value``. If there are curves of single
        rows, it also has the column ``row``, which is empty in the lines of the average. A line without a value of the
        player holds the mean prediction for a missing value (`missing`).
        """
        from arborshap.result.curve_columns import columns_of_curve  # noqa: PLC0415 (few callers make frames of curves)

        return frame_of_columns(columns_of_curve(self))

    def plot(self, *, output: int | str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the curve as a step function with the rows' own curves behind it, or two players as a map of colours.

        Parameters
        ----------
        output
            The output to draw, by position or name, if there are several.
        ax
            Where to draw.
        """
        from arborshap.draw.curve import draw_curve  # noqa: PLC0415 (a door: plots know curves)

        return draw_curve(self, self.output_position(output), ax)

    def output_position(self, output: int | str | None) -> int:
        """Return the position of an output; ``None`` stands for the only one."""
        values = self.average if self.average is not None else self.individual
        assert values is not None
        return output_position(output, len(values), self.output_names)


def output_position(output: int | str | None, n_outputs: int, names: list[str] | None) -> int:
    """Return the position of an output that is given by position or name; ``None`` stands for the only one."""
    if output is None:
        if n_outputs > 1:
            raise InputError(f"there are {n_outputs} outputs; choose one with output=")
        return 0
    if isinstance(output, str) and names is not None and output in names:
        return names.index(output)
    if is_whole(output) and 0 <= output < n_outputs:
        return int(output)
    listed = f" or one of {names}" if names else ""
    raise InputError(f"output must be a position from 0 to {n_outputs - 1}{listed}; got {output!r}")
