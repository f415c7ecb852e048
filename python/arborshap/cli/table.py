"""Tables of rows in files: what they are called, and how they come, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from arborshap.exceptions import InputError
from arborshap.rows.frames import check_names, order_of


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """Which columns of a file are explained, in the model's order, and which are only copied."""

    order: list[int]
    ids: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    rows
        What an explainer takes: a matrix in the model's order, or a frame.
    n_rows
        How many they are.
    ids
        The columns that are only copied, each of `n_rows` cells.
    done
        The fraction of the file that has been read.
    """

    rows: Any
    n_rows: int
    ids: list[Any]
    done: float


class Table(Protocol):
    """A file of rows.

    Attributes
    ----------
    names
        Its columns' names; None if it has none.
    n_rows
        How many rows it has; None if that shows only at its end.
    what
        What it is to the caller, for messages.
    """

    path: Path
    what: str
    names: list[str] | None
    n_rows: int | None

    def batches(self, columns: ChosenColumns, chunk_rows: int) -> Iterator[Batch]:
        """Read it from its beginning, at most `chunk_rows` rows at a time."""
        ...


def choose_columns(
    table: Table,
    wanted: Sequence[str] | None,
    n_features: int,
    *,
    ignored: Sequence[str] = (),
    ids: Sequence[str] = (),
    spaces_are_underscores: bool = False,
) -> ChosenColumns:
    """Find the model's columns in a file, by name where both have names, else as they stand.

    Parameters
    ----------
    table
        The file.
    wanted
        The model's columns; None if it does not know their names.
    n_features
        How many they are.
    ignored
        Columns to pass over where the file has them.
    ids
        Columns of the file to copy to the output and not to explain.
    spaces_are_underscores
        Whether the model spells its columns with underscores for spaces (LightGBM).

    Returns
    -------
    ChosenColumns

    Raises
    ------
    InputError
        If a column is missing or unknown, or one to copy is not there.
    """
    where = f"{table.what} {str(table.path)!r}"
    if table.names is None:
        if ids:
            raise InputError(f"{where} has no column names, so no column {ids[0]!r} to copy")
        return ChosenColumns(list(range(n_features)))
    for name in ids:
        if name not in table.names:
            raise InputError(f"{where} has no column {name!r} to copy; it has {', '.join(map(repr, table.names[:10]))}")
    set_apart = {*ignored, *ids}
    left = [j for j, name in enumerate(table.names) if name not in set_apart]
    positions = [table.names.index(name) for name in ids]
    if wanted is None:
        if len(left) != n_features:
            raise InputError(
                f"{where} has {len(left)} columns, but the model has {n_features} features and does not name them; "
                "pass over the others with --ignore"
            )
        return ChosenColumns(left, positions)
    spelled = [table.names[j] for j in left]
    if spaces_are_underscores:
        spelled = check_names((name.replace(" ", "_") for name in spelled), where)
    return ChosenColumns([left[j] for j in order_of(spelled, wanted, where)], positions)
