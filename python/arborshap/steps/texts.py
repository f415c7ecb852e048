"""Which raw columns hold text, so that rows without types (CSV, JSON, lists) can be read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from arborshap.steps.containers import Chain, Framed, Parts
from arborshap.steps.encoding import Encoded, OneHot
from arborshap.steps.functions import Applied
from arborshap.steps.imputing import Imputed
from arborshap.steps.selecting import Selected
from arborshap.steps.step import Cell, Step

Texts: TypeAlias = dict[int, list[Cell]]
"""The columns that hold text, each with its known categories; an imputer knows none."""


def texts_of(steps: Sequence[Step], n_columns: int) -> Texts:
    """Find the input columns of consecutive steps that hold text."""
    found: Texts = {}
    origins: Sequence[int | None] = range(n_columns)
    for step in steps:
        for column, categories in _texts(step).items():
            origin = origins[column] if column < len(origins) else None
            if origin is not None:
                found[origin] = found.get(origin) or categories
        origins = [None if column is None else origins[column] for column in _unchanged(step, len(origins))]
    return found


def missing_text(categories: Sequence[Cell]) -> float | None:
    """Return how a missing cell of a text column is written: None if the encoder knows only that, otherwise NaN."""
    knows_nan = any(isinstance(cell, float) and math.isnan(cell) for cell in categories)
    return None if None in categories and not knows_nan else math.nan


def _texts(step: Any) -> Texts:
    match step:
        case OneHot() | Encoded():
            return {j: cells for j, cells in enumerate(step.categories) if any(isinstance(cell, str) for cell in cells)}
        case Imputed():
            return {j: [] for j, cell in enumerate(step.fill) if isinstance(cell, str)}
        case Parts():
            found: Texts = {}
            for part, positions in zip(step.steps, step.positions, strict=True):
                for j, cells in _texts(part).items():
                    found[int(positions[j])] = found.get(int(positions[j])) or cells
            return found
        case Chain() | Framed():
            return texts_of(step.steps, step.n_inputs or 0)
    return {}


def _unchanged(step: Any, n_columns: int) -> list[int | None]:
    """For each column that a step makes, the input column that it is, if a text would come through."""
    match step:
        case Applied(function="identity"):
            return list(range(n_columns))
        case Imputed():
            return [*step.kept.tolist(), *([None] * len(step.marked))]
        case Selected():
            return list(step.kept.tolist())
        case Parts():
            return [
                None if column is None else int(positions[column])
                for part, positions in zip(step.steps, step.positions, strict=True)
                for column in _unchanged(part, len(positions))
            ]
        case Chain() | Framed():
            through: list[int | None] = list(range(n_columns))
            for inner in step.steps:
                through = [None if column is None else through[column] for column in _unchanged(inner, len(through))]
            return through
    return [None] * step.n_outputs(n_columns)
