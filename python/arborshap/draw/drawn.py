"""What a plot draws of an explanation: values by rows and players, cells by rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.draw.style import checked_max_display, is_date, number, short_cell, short_name, short_names
from arborshap.exceptions import InputError
from arborshap.game.indices import PAIR_INDICES
from arborshap.result.value_unit import ValueUnit
from arborshap.rows.numbers import is_missing

if TYPE_CHECKING:
    from arborshap.result.explanation import Explanation


@dataclass(frozen=True, slots=True)
class Drawn:
    """One number per row and player.

    Attributes
    ----------
    values
        The values: (rows, players).
    base
        The base values: (rows,).
    names
        The players' names.
    cells
        The rows themselves, (rows, columns); ``None`` if the explanation has none.
    columns, owners
        The columns' names, and the player that owns each column.
    one_row
        Whether the explanation is of a single row, rather than of several rows of which there is one.
    """

    values: NDArray[Any]
    base: NDArray[Any]
    names: list[str]
    cells: NDArray[Any] | None
    columns: list[str]
    owners: list[str]
    one_row: bool

    @classmethod
    def of(cls, explanation: Explanation, plot: str) -> Drawn:
        """Read an explanation, or raise an error that says what to select from it first."""
        check_output(explanation, plot)
        if explanation.index in PAIR_INDICES:
            raise InputError(
                f"plot.{plot} draws one value per player, but {explanation.index} values belong to pairs of players; "
                "use plot.heatmap, or explain with index='shapley'"
            )
        one_row = not explanation.has("row")
        n = 1 if one_row else len(explanation.values)
        if n == 0:
            raise InputError(f"plot.{plot} has no rows to draw")
        n_players = explanation.values.size // n
        values = explanation.values.reshape(n, n_players)
        names = explanation.feature_names if explanation.has("player") else explanation.feature_names[:1]
        if n_players == 0:
            raise InputError(f"plot.{plot} has no players to draw")
        cells = None if explanation.data is None else explanation.data.reshape(n, len(explanation.data_names))
        base = explanation.base_values.reshape(n)
        return cls(values, base, names, cells, explanation.data_names, explanation.data_players, one_row)

    def columns_of(self, player: str) -> list[int]:
        """Return the positions of a player's columns."""
        return [column for column, owner in enumerate(self.owners) if owner == player]

    def cell_text(self, row: int, player: str) -> str | None:
        """Return the player's cell in a row, or one cell per column; ``None`` if the rows are not kept."""
        return None if self.cells is None else text_of_cells(self.cells[row], self.columns_of(player), self.columns)

    def labels(self, row: int, players: list[int]) -> list[str]:
        """Return the names of some players, each with its cell in a row."""
        cells = [self.cell_text(row, self.names[player]) for player in players]
        names = short_names(self.names[player] for player in players)
        return [name if cell is None else f"{name} = {cell}" for name, cell in zip(names, cells, strict=True)]


def text_of_cells(row: NDArray[Any], columns: list[int], names: list[str]) -> str:
    """Return the cells of a player's columns as text; for one-hot columns, the name of the column that is 1."""
    if len(columns) == 1:
        return short_cell(row[columns[0]])
    cells = [row[column] for column in columns]
    known = [(column, cell) for column, cell in zip(columns, cells, strict=True) if not is_missing(cell)]
    hot = [column for column, cell in known if cell == 1]
    if len(hot) == 1 and sum(cell == 0 for _, cell in known) == len(cells) - 1:
        return short_name(names[hot[0]], 24)
    shown = [short_name(short_cell(cell), 10) for cell in (cells if len(cells) <= 4 else cells[:3])]
    return ", ".join(shown if len(cells) <= 4 else [*shown, "…"])


def shown_and_others(sizes: NDArray[Any], max_display: int) -> tuple[list[int], list[int]]:
    """Return the players to show, largest first, and the players to sum in the last line if there are too many."""
    order = np.argsort(-sizes, kind="stable").tolist()
    most = checked_max_display(max_display)
    if len(order) <= most:
        return order, []
    return order[: most - 1], order[most - 1 :]


def value_name(explanation: Explanation) -> str:
    """Name the values and their unit."""
    return name_of_values(explanation.index, explanation.model_output, explanation.unit)


def name_of_values(index: str, model_output: str, unit: ValueUnit) -> str:
    """Name values and their unit. Those of a probability or a loss are rescaled, and are not its Shapley values."""
    if model_output != "raw":
        return f"share of the {unit.name}"
    plain = {"shapley": "Shapley value", "banzhaf": "Banzhaf value"}.get(index, "effect")
    return {"prediction": f"{plain} (unit of the prediction)", "model output": plain}.get(
        unit.name, f"{plain} ({unit.name})"
    )


def with_converted(unit: ValueUnit, sums: float, text: str) -> str:
    """Write what a sum becomes in brackets behind it, such as a probability behind log-odds."""
    becomes = unit.converted(sums)
    return text if becomes is None else f"{text} ({unit.becomes} {number(float(becomes))})"


def others_label(n: int) -> str:
    """Label the line that sums all other players."""
    return f"{n} others together"


def numbers_of(column: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return a column of cells as numbers, with NaN for missing cells; ``None`` for text and other unordered cells.

    Dates become days since 1970, as in matplotlib.
    """
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    if column.dtype.kind not in "OM":
        return None
    missing = [is_missing(cell) for cell in column]
    known = [cell for cell, is_absent in zip(column, missing, strict=True) if not is_absent]
    if known and all(map(is_date, known)):
        moments = [cell.replace(tzinfo=None) if getattr(cell, "tzinfo", None) else cell for cell in known]
        known = (np.array(moments, dtype="datetime64[us]").astype(np.float64) / 86_400e6).tolist()
    elif not all(isinstance(cell, (int, float, np.number, np.bool_)) for cell in known):
        return None
    numbers = np.full(len(column), np.nan)
    numbers[~np.array(missing, dtype=bool)] = known
    return numbers


def are_booleans(column: NDArray[Any]) -> bool:
    """Whether a column holds only truth values, apart from missing cells."""
    if column.dtype.kind != "O":
        return column.dtype.kind == "b"
    known = [cell for cell in column if not is_missing(cell)]
    return bool(known) and all(isinstance(cell, (bool, np.bool_)) for cell in known)


def check_output(explanation: Explanation, plot: str) -> None:
    """Raise `InputError` for several outputs, and say how to choose one."""
    if explanation.has("output"):
        names = explanation.output_names or []
        first = names[0] if names else "0"
        raise InputError(
            f"plot.{plot} draws one output, but there are {len(names)}; choose one with "
            f'explanation[..., "{first}"].plot.{plot}(); there are {", ".join(map(repr, names[:10]))}'
        )
