"""Explanations as result frames, of the kind that the rows came in."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_choice
from arborshap.exceptions import InputError

if TYPE_CHECKING:
    from arborshap.result.explanation import Explanation

KINDS = ("pandas", "polars", "pyarrow")


def frame_of(explanation: Explanation, kind: str | None) -> Any:
    """Make a result frame of an explanation's values.

    Parameters
    ----------
    explanation
        The explanation.
    kind
        The library of the frame to make. The default is the library of the frame that the rows came in, or pandas.
    """
    came_in, axes = explanation.frame_kind, [(axis.kind, axis.names) for axis in explanation.axes]
    library = checked_choice("kind", kind, KINDS) if kind is not None else (came_in.kind if came_in else "pandas")
    kinds = [axis for axis, _ in axes]
    index = came_in.index if came_in is not None else None
    labels = explanation.row_labels if index is None else index
    if kinds in (["row"], ["row", "player"], ["row", "output"]):
        values = explanation.values
        names = list(axes[1][1]) if len(axes) == 2 else ["value"]
        if len(set(names)) < len(names):
            raise InputError("a frame has one column per player, but a player is selected more than once")
        columns = {name: values if len(axes) == 1 else values[:, j] for j, name in enumerate(names)}
        return _frame(library, columns, labels)
    return _frame(library, _long(explanation.values, axes, labels), None)


def _long(values: NDArray[Any], axes: Sequence[tuple[str, Sequence[str]]], labels: Any) -> dict[str, Any]:
    """Make the columns of a long frame: one line per value, with its row, players and output."""
    columns: dict[str, Any] = {}
    for at, (kind, names) in enumerate(axes):
        along = (np.arange(values.shape[at]) if labels is None else np.asarray(labels)) if kind == "row" else names
        places = np.arange(values.shape[at]).reshape([-1 if other == at else 1 for other in range(values.ndim)])
        taken = np.broadcast_to(places, values.shape).ravel()
        cells = np.empty(len(along), dtype=object if kind != "row" else np.asarray(along).dtype)
        cells[:] = along
        columns["other_player" if kind in columns else kind] = cells[taken]
    columns["value"] = values.ravel()
    return columns


def _frame(library: str, columns: dict[str, Any], labels: Any) -> Any:
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(f"to_frame() makes a {library} frame here: pip install {library}") from error
    match library:
        case "pandas":
            return module.DataFrame(columns, index=labels)
        case "polars":
            return module.DataFrame(columns)
        case _:
            return module.table(columns)
