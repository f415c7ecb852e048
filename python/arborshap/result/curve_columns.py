"""Curves as tables with one line per point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError

if TYPE_CHECKING:
    from arborshap.result.curve import Curve

Columns = dict[str, NDArray[Any]]


def columns_of_curve(curve: Curve) -> Columns:
    """Return the columns of ``Curve.to_frame``."""
    parts = []
    if curve.average is not None:
        parts.append(_lines(curve, curve.average[:, np.newaxis], [None], curve.grid_values))
        if curve.missing is not None and not _has_missing(curve.grid_values[0]):
            parts.append(_lines(curve, curve.missing[:, np.newaxis, np.newaxis], [None], [np.array([None])]))
    if curve.individual is not None:
        rows = list(range(curve.individual.shape[1]))
        parts.append(_lines(curve, curve.individual, rows, curve.grid_values))
    columns = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    if curve.individual is None:
        del columns["row"]
    elif curve.average is None:
        columns["row"] = columns["row"].astype(np.intp)
    return columns


def _lines(curve: Curve, values: NDArray[Any], rows: list[Any], grid: list[NDArray[Any]]) -> Columns:
    """Return one line per value; the axes of `values` are outputs, rows and the points of each player."""
    output, row, *points = (at.ravel() for at in np.indices(values.shape))
    columns: Columns = {"row": np.array(rows, dtype=object)[row]}
    if len(values) > 1:
        columns["output"] = np.array(curve.output_names or range(len(values)), dtype=object)[output]
    for name, along, at in zip(curve.feature_names, grid, points, strict=True):
        if name in (*columns, "value"):
            raise InputError(
                f"the player {name!r} is called like another column of the frame; give it another name, for example "
                "through explainer.feature_names"
            )
        columns[name] = _cells(along)[at]
    columns["value"] = values.ravel()
    return columns


def _cells(along: NDArray[Any]) -> NDArray[Any]:
    """Return one cell per point; a point of a group is a tuple."""
    if along.ndim == 1:
        return along
    cells = np.empty(len(along), dtype=object)
    cells[:] = [tuple(point) for point in along.tolist()]
    return cells


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Join the cells of a column; among numbers, a missing one becomes NaN."""
    kinds = {part.dtype.kind for part in parts if part.dtype != object}
    if kinds and kinds <= set("fiub"):
        parts = [part.astype(np.float64) if part.dtype == object else part for part in parts]
    return np.concatenate(parts)


def _has_missing(along: NDArray[Any]) -> bool:
    return bool(along.dtype.kind == "f" and np.isnan(along).any()) or any(cell is None for cell in along.tolist())
