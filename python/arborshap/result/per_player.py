"""The data of an explanation with one column per player, which is how shap and its plots see data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from arborshap.result.explanation import Explanation


def to_shap(explanation: Explanation) -> Any:
    """Return a `shap.Explanation` of the same values."""
    import shap

    data, display = data_per_player(explanation)
    base = explanation.base_values
    names = explanation.feature_names
    # No instance_names: shap cannot slice an explanation that has them twice.
    return shap.Explanation(
        values=explanation.values,
        base_values=base if base.ndim else float(base),
        data=data,
        display_data=display,
        feature_names=names if explanation.has("player") else names[0],
        output_names=explanation.output_names if explanation.has("output") else None,
    )


def data_per_player(explanation: Explanation) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Return the data with one column per player, and the cells to print if that loses information."""
    given, names = explanation.data, explanation.feature_names
    if given is None or explanation.data_players == names:
        return given, None
    if not set(names) <= set(explanation.data_players) or not explanation.has("player"):
        return None, None
    data = np.full((*given.shape[:-1], len(names)), np.nan, dtype=given.dtype)
    display = data.astype(object)
    owners = np.array(explanation.data_players)
    for j, player in enumerate(names):
        columns = given[..., owners == player]
        if columns.shape[-1] == 1:
            data[..., j] = display[..., j] = columns[..., 0]
        else:
            cells = columns.reshape(-1, columns.shape[-1])
            texts = [", ".join(_short(cell) for cell in row) for row in cells]
            display[..., j] = np.array(texts, dtype=object).reshape(columns.shape[:-1])
    return data, display


def _short(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, (float, np.floating)) else str(cell)
