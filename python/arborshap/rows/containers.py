"""Rows inside an `xgboost.DMatrix` or a `catboost.Pool`, where their values can be had."""

from __future__ import annotations

from typing import Any

import numpy as np

from arborshap.exceptions import InputError
from arborshap.rows.numbers import Matrix, matrix_from_sparse


def rows_inside(data: Any, what: str) -> tuple[Matrix, list[str] | None] | None:
    """Return the rows inside a container and the names of their columns; ``None`` for anything else.

    Raises
    ------
    InputError
        If the container does not keep the values as they were given.
    """
    for cls in type(data).__mro__:
        match cls.__module__.partition(".")[0], cls.__name__:
            case "xgboost", "QuantileDMatrix":
                raise InputError(f"{what} is a QuantileDMatrix, which keeps bins and not values; {_ADVICE}")
            case "xgboost", "DMatrix":
                return _of_dmatrix(data, what)
            case "catboost", "Pool":
                return _of_pool(data, what)
    return None


_ADVICE = "give the frame or array that it was made from"


def _of_dmatrix(data: Any, what: str) -> tuple[Matrix, list[str] | None]:
    if "c" in (data.feature_types or ()):
        raise InputError(f"{what} is a DMatrix with category columns, of which it keeps only codes; {_ADVICE}")
    # What a DMatrix does not store is missing, whatever the model's library makes of sparse matrices.
    return matrix_from_sparse(data.get_data(), what, zero_is_missing=True), data.feature_names


def _of_pool(data: Any, what: str) -> tuple[Matrix, list[str] | None]:
    import catboost

    try:
        matrix = np.require(data.get_features(), np.float32, ["C", "A"])
    except catboost.CatBoostError as error:
        raise InputError(f"{what} is a Pool that does not give its values back ({error}); {_ADVICE}") from error
    names = [str(name) for name in data.get_feature_names()]
    return matrix, names if all(names) and names != [str(j) for j in range(len(names))] else None
