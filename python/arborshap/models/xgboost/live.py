"""Live XGBoost models: a `Booster`, or any of the scikit-learn wrappers around one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported
from arborshap.models.ubjson import parse_ubjson
from arborshap.models.xgboost.document import TOLERANCE, read_document


def load(model: Any) -> Model:
    """Read a fitted model; a wrapper only up to its best iteration, as it predicts itself."""
    import xgboost

    is_wrapper = isinstance(model, xgboost.XGBModel)
    if not is_wrapper and not isinstance(model, xgboost.Booster):
        raise unsupported(model)
    if is_wrapper and not model.__sklearn_is_fitted__():
        raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
    booster = model.get_booster() if is_wrapper else model
    try:
        raw = booster.save_raw("ubj")
    except xgboost.core.XGBoostError as error:
        raise ModelError(f"XGBoost cannot save this booster: {str(error).splitlines()[0]}") from error
    document = read_document(parse_ubjson(bytes(raw), "what XGBoost saved of the model"), as_wrapper=is_wrapper)
    missing = _missing_marker(model) if is_wrapper else math.nan
    rounds = (0, document.iterations) if is_wrapper else (0, 0)
    forest = document.forest

    def raw_predict(rows: NDArray[Any]) -> NDArray[np.float64]:
        matrix = xgboost.DMatrix(
            rows,
            feature_names=booster.feature_names,
            feature_types=booster.feature_types,
            enable_categorical=True,
            nthread=1,
        )
        margin = booster.predict(matrix, output_margin=True, iteration_range=rounds)
        return np.asarray(margin, np.float64).reshape(len(rows), forest.n_outputs)

    return Model(
        forest=forest,
        library=f"xgboost {xgboost.__version__}",
        link=Link.named(document.link),
        raw_predict=raw_predict,
        tolerance=TOLERANCE,
        encode=document.recoding(missing),
        sparse_zero_is_missing=True,
        ask_margins=lambda pipeline, rows: pipeline.predict(rows, output_margin=True),
    )


def _missing_marker(wrapper: Any) -> float:
    marker = getattr(wrapper, "missing", math.nan)
    return math.nan if marker is None else float(marker)
