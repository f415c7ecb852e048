"""Files of rows: the names of their columns, and how to read them a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from arborshap.exceptions import InputError
from arborshap.rows.frames import check_names, order_of


@dataclass(frozen=True, slots=True)
class ChosenColumns:
    """The positions of the columns to explain, in the model's order, and of the columns to copy.

    Attributes
    ----------
    order, ids
        The positions in the file.
    texts
        The columns to explain that hold text, as positions in `order`, each with the categories that are known.
    """

    order: list[int]
    ids: list[int] = field(default_factory=list)
    texts: Mapping[int, Sequence[object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    rows
        A matrix in the model's order, or a frame, as an explainer accepts it.
    n_rows
        Number of rows.
    ids
        The columns that are only copied, each with `n_rows` cells.
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
    path
        The file.
    what
        What to call the file in messages, such as "rows" or "background".
    names
        The names of its columns; None if it has none.
    n_rows
        Number of rows; None if it is known only at the end of the file.
    index
        Columns that only label the rows, as the index of a pandas frame does; they need not be explained.
    """

    path: Path
    what: str
    names: list[str] | None
    n_rows: int | None
    index: tuple[str, ...]

    def batches(self, columns: ChosenColumns, chunk_rows: int) -> Iterator[Batch]:
        """Read the file from its beginning, at most `chunk_rows` rows at a time."""
        ...


def choose_columns(
    table: Table,
    model_names: Sequence[str] | None,
    n_features: int,
    *,
    ignored: Sequence[str] = (),
    ids: Sequence[str] = (),
    ignores_unknown: bool = False,
    texts: Mapping[int, Sequence[object]] | None = None,
    spaces_are_underscores: bool = False,
) -> ChosenColumns:
    """Find the model's columns in a file: by name if both have names, otherwise by position.

    Parameters
    ----------
    table
        The file.
    model_names
        The names of the model's columns; None if the model does not know them.
    n_features
        Number of columns that the model needs.
    ignored
        Columns to skip if the file has them.
    ids
        Columns to copy to the output instead of explaining them.
    ignores_unknown
        Whether columns that the model does not know are skipped.
    texts
        The model's columns that hold text, by their positions, with their known categories.
    spaces_are_underscores
        Whether the model's names have underscores in place of spaces (LightGBM).

    Returns
    -------
    ChosenColumns
        The positions of the columns.

    Raises
    ------
    InputError
        If a column is missing or unknown, or if a column to copy does not exist.
    """
    where = f"{table.what} {str(table.path)!r}"
    if table.names is None:
        if ids:
            raise InputError(f"{where} has no column names, so --id {ids[0]} cannot be found")
        return ChosenColumns(list(range(n_features)), texts=texts or {})
    for name in ids:
        if name not in table.names:
            raise InputError(f"{where} has no column {name!r} to copy; it has {', '.join(map(repr, table.names[:10]))}")
    set_apart = {*ignored, *ids, *(set(table.index) - set(model_names or ()))}
    left = [j for j, name in enumerate(table.names) if name not in set_apart]
    positions = [table.names.index(name) for name in ids]
    if model_names is None:
        if len(left) != n_features:
            raise InputError(
                f"{where} has {len(left)} columns, but the model has {n_features} features and does not name them; "
                "skip the other columns with --ignore"
            )
        return ChosenColumns(left, positions, texts or {})
    spelled = [table.names[j] for j in left]
    if spaces_are_underscores:
        spelled = check_names((name.replace(" ", "_") for name in spelled), where)
    if ignores_unknown:
        known = set(model_names)
        left = [j for j, name in zip(left, spelled, strict=True) if name in known]
        spelled = [name for name in spelled if name in known]
    try:
        order = order_of(spelled, model_names, where)
    except InputError as error:
        unknown = [name for name in table.names if name not in model_names]
        if (mark := _separator(unknown, model_names)) is not None:
            raise InputError(f"{error}; its cells look separated by '{mark}': give --sep '{mark}'") from None
        is_unknown = not set(spelled) <= set(model_names)
        raise InputError(f"{error}; --ignore-unknown skips such columns") if is_unknown else error from None
    return ChosenColumns([left[j] for j in order], positions, texts or {})


def _separator(unknown: Sequence[str], wanted: Sequence[str]) -> str | None:
    """Return what separates wanted names inside unknown ones, if they were read with a wrong separator."""
    known = set(wanted)
    return next((mark for mark in ";|" if any(known.intersection(name.split(mark)) for name in unknown)), None)
