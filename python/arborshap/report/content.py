"""What a report shows of an explanation: some of its rows, and figures over all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw.drawn import are_booleans, value_name
from arborshap.draw.style import is_date
from arborshap.exceptions import InputError
from arborshap.game.indices import is_efficient, order_of_index
from arborshap.report.packing import packed
from arborshap.report.wording import unit_sentence, values_in
from arborshap.result.explanation import Explanation
from arborshap.rows.numbers import is_missing

MAX_CELLS = 2**22
"""Most numbers of one kind that a page carries; if there are more, it shows fewer rows."""
EXACT_CELLS = 2**19
"""Most values that a page carries in float64; more are carried in float32."""


@dataclass(frozen=True, slots=True)
class Content:
    """An explanation in the form that the page needs.

    Attributes
    ----------
    values : array, (rows, players, outputs)
        The values of single players for all rows; the values of pairs are summed.
    pairs : array or None, (rows, players, players, outputs)
        The values of pairs, if these were explained.
    base : array, (rows, outputs)
        The base values.
    data : array or None, (rows, columns)
        The rows as they were given.
    shown : array of int
        The positions of the rows that the page carries.
    """

    explanation: Explanation
    values: NDArray[Any]
    pairs: NDArray[Any] | None
    base: NDArray[Any]
    data: NDArray[Any] | None
    shown: NDArray[np.intp]

    @classmethod
    def of(cls, explanation: Explanation, max_rows: int) -> Content:
        """Restore all axes of an explanation that was sliced, and choose the rows to show."""
        kinds = [axis.kind for axis in explanation.axes]
        order = order_of_index(explanation.index)
        names = explanation.players_by_axis()
        if len(names) != order or any(one != names[0] for one in names):
            raise InputError("a report needs the same players on every axis; select rows or outputs only")
        values, base, data = explanation.values, explanation.base_values, explanation.data
        if "row" not in kinds:
            values, base = values[np.newaxis], base[np.newaxis]
            data = None if data is None else data[np.newaxis]
        if "output" not in kinds:
            values, base = values[..., np.newaxis], base[..., np.newaxis]
        if len(values) == 0:
            raise InputError("the explanation has no rows to report; explain at least one")
        pairs = values if order == 2 else None
        values = values if pairs is None else pairs.sum(axis=2)
        width = max(values.shape[1] * values.shape[2], 0 if data is None else data.shape[1], 1)
        n_shown = min(len(values), max_rows, max(1, MAX_CELLS // width))
        return cls(explanation, values, pairs, base, data, evenly_spaced(len(values), n_shown))

    @property
    def outputs(self) -> list[str]:
        """The outputs' names; a single output without a name has an empty one."""
        return self.explanation.output_names or [""]

    def payload(self) -> dict[str, Any]:
        """Return the page's data that every explanation has."""
        explanation, shown = self.explanation, self.shown
        values = self.values[shown].transpose(2, 1, 0)
        exact = values.size <= EXACT_CELLS
        labels = explanation.row_labels
        return {
            "index": explanation.index,
            "base_name": "Expected value" if explanation.reference is None else "Prediction of the reference",
            **self._end_payload(),
            **self._unit_payload(),
            "players": explanation.feature_names,
            "outputs": self.outputs,
            "n_rows": len(self.values),
            "row_numbers": packed(shown),
            "row_labels": None if labels is None else [str(label) for label in labels[shown]],
            "values": packed(values if exact else values.astype(np.float32)),
            "exact": exact and values.dtype == np.float64,
            "base": packed(self.base[shown].T),
            "importance": packed(mean_size(self.values).T),
            **self._data_payload(),
        }

    def _unit_payload(self) -> dict[str, Any]:
        unit = self.explanation.unit
        return {
            "unit": {
                "name": unit.name,
                "becomes": unit.becomes,
                "curve": None if unit.curve is None else unit.curve.to_json(),
            },
            "unit_says": unit_sentence(unit),
            "values_in": values_in(unit),
            "value_name": value_name(self.explanation),
        }

    def _end_payload(self) -> dict[str, Any]:
        """Return the names of the number at which a row's values end, and of the predicted number."""
        provenance = self.explanation.provenance
        predicted = {"log_loss": "loss", "squared_error": "squared error"}.get(
            self.explanation.model_output, "prediction"
        )
        adds_up = False
        if not is_efficient(self.explanation.index):
            end = f"With the Banzhaf values, which need not add up to the {predicted}"
        elif provenance is not None and self.explanation.feature_names != provenance.explainer.feature_names:
            end = f"With these players only, so this is not the {predicted}"
        else:
            end, adds_up = f"{predicted.capitalize()} of this row", True
        return {"end_name": end, "predicted": predicted, "adds_up": adds_up}

    def _data_payload(self) -> dict[str, Any]:
        explanation = self.explanation
        player_of = {name: i for i, name in enumerate(explanation.feature_names)}
        columns: list[dict[str, Any]] = [
            {"name": name, "player": player_of[player], "levels": None, "ordered": False}
            for name, player in zip(explanation.data_names, explanation.data_players, strict=True)
        ]
        if self.data is None:
            return {"columns": columns, "data": None}
        cells, levels = numbers_and_levels(self.data[self.shown])
        for column, found in zip(columns, levels, strict=True):
            column |= {"levels": found.names, "ordered": found.ordered}
        return {"columns": columns, "data": packed(cells.T)}


def evenly_spaced(n: int, k: int) -> NDArray[np.intp]:
    """Choose the positions of k of n rows, about evenly spaced."""
    return (np.arange(k) * n // k).astype(np.intp)


@dataclass(frozen=True, slots=True)
class Levels:
    """The texts that the codes of a column stand for.

    Attributes
    ----------
    names
        The text of each code; ``None`` if the column holds numbers.
    ordered
        Whether the codes are in the order of the cells, as those of truth values and dates are.
    """

    names: list[str] | None = None
    ordered: bool = False


def numbers_and_levels(data: NDArray[Any]) -> tuple[NDArray[Any], list[Levels]]:
    """Turn columns of truth values, dates and texts into codes, with NaN for missing cells."""
    if data.dtype.kind in "fiu":
        return data, [Levels()] * data.shape[1]
    cells = np.empty(data.shape, dtype=np.float64)
    levels = []
    for j in range(data.shape[1]):
        missing = np.array([is_missing(cell) for cell in data[:, j]], dtype=bool)
        cells[missing, j] = np.nan
        cells[~missing, j], found = _codes(data[~missing, j])
        levels.append(found)
    return cells, levels


def _codes(present: NDArray[Any]) -> tuple[NDArray[np.float64], Levels]:
    """Return the cells of a column, none of which is missing, as numbers, and what the numbers stand for."""
    if are_booleans(present):
        return present.astype(np.float64), Levels(["False", "True"], ordered=True)
    if all(isinstance(cell, (int, float, np.number)) for cell in present):
        return present.astype(np.float64), Levels()
    texts = np.array([str(cell) for cell in present], dtype=object)
    names, codes = np.unique(texts, return_inverse=True)
    # The texts of dates sort as the dates do.
    return codes.astype(np.float64), Levels([str(name) for name in names], all(map(is_date, present)))


def mean_size(values: NDArray[Any]) -> NDArray[np.float64]:
    """Compute the mean absolute value over the rows, in chunks, because a copy of all rows may not fit."""
    total = np.zeros(values.shape[1:])
    step = max(1, MAX_CELLS // max(1, total.size))
    for start in range(0, len(values), step):
        total += np.abs(values[start : start + step]).sum(axis=0, dtype=np.float64)
    return total / len(values)
