"""What all comparisons of several populations have: names, a unit, and explanations of single changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.result.explanation import Explanation
from arborshap.result.value_unit import ValueUnit

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Comparison:
    """Several changes of the mean prediction, each attributed to players.

    Attributes
    ----------
    values
        The contributions of the players; the last axes are players and, if there are several, outputs.
    standard_error
        How far each value may be off because the rows are samples, in the shape of `values`. NaN for a change if
        one of its two populations has a single row or no error bars; ``None`` if that holds for every change.
    n_rows
        The number of rows of each population.
    feature_names
        The players' names, in the order of `values`.
    output_names
        The outputs' names, if there are several outputs; otherwise ``None``.
    index, model_output, unit
        What was computed, and in which unit; see `Explanation`.
    """

    values: Array
    standard_error: Array | None
    n_rows: list[int]
    feature_names: list[str]
    output_names: list[str] | None
    index: str
    model_output: str
    unit: ValueUnit

    def explanation(self, at: tuple[int, ...], base: Any) -> Explanation:
        """Return one of the changes; its base value is the mean prediction of the reference."""
        error = None if self.standard_error is None else self.standard_error[at]
        return Explanation(
            self.values[at][np.newaxis],
            np.asarray(base)[np.newaxis],
            feature_names=self.feature_names,
            index=self.index,
            model_output=self.model_output,
            output_names=self.output_names,
            unit=self.unit,
            standard_error=None if error is None or np.isnan(error).all() else error[np.newaxis],
        )[0]

    def of_output(self, numbers: Array, output: int | str | None, n_axes: int) -> Array:
        """Return the numbers of one output; there are `n_axes` axes besides that of the outputs."""
        if numbers.ndim == n_axes:
            if output is not None:
                raise InputError(f"there is only one output, so leave out output={output!r}")
            return numbers
        names = self.output_names or [str(k) for k in range(numbers.shape[-1])]
        if isinstance(output, str) and output in names:
            return numbers[..., names.index(output)]
        if isinstance(output, int) and not isinstance(output, bool) and 0 <= output < len(names):
            return numbers[..., output]
        raise InputError(f"there are several outputs; choose one with output=, from {', '.join(map(repr, names[:10]))}")


def position_of(name: object, names: list[str], what: str) -> int:
    """Return where a name stands; `what` says what it names."""
    if str(name) in names:
        return names.index(str(name))
    raise InputError(f"there is no {what} {name!r}; there are {', '.join(map(repr, names[:10]))}")


def long_columns(
    columns: dict[str, list[Any]], values: Array, errors: Array | None, names: dict[str, list[str]]
) -> dict[str, NDArray[Any]]:
    """Return the columns of a table with one line per value.

    Parameters
    ----------
    columns
        For each line of `values`, the cells of columns that come first.
    values, errors
        The values, (lines, players[, outputs]), and their standard errors.
    names
        The names of the players and, if there are several, of the outputs.
    """
    each = int(np.prod(values.shape[1:]))
    table = {name: np.repeat(np.array(cells, dtype=object), each) for name, cells in columns.items()}
    grids = np.indices(values.shape)
    for axis, (name, along) in enumerate(names.items(), start=1):
        table[name] = np.array(along, dtype=object)[grids[axis].ravel()]
    table["value"] = values.ravel()
    table["standard_error"] = np.full(values.size, np.nan) if errors is None else errors.ravel()
    return table


def frame_of_columns(columns: dict[str, NDArray[Any]]) -> Any:
    """Return a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError as missing:
        raise ImportError("to_frame() makes a pandas DataFrame: pip install pandas") from missing
    return pd.DataFrame(columns)
