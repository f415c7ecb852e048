"""Live CatBoost models, read from their own JSON export."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.models.catboost.document import read_document
from arborshap.models.catboost.features import refused
from arborshap.models.json import parse_json
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported


def load(model: Any) -> Model:
    """Read a fitted model from its own JSON export."""
    import catboost

    if not isinstance(model, catboost.CatBoost):
        raise unsupported(model)
    if not model.is_fitted():
        raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
    for kind in ("text", "embedding"):
        if getattr(model, f"get_{kind}_feature_indices", list)():
            raise refused(f"{kind}_features")  # CatBoost cannot export them
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        model.save_model(path, format="json")
        with open(path, "rb") as file:
            exported = file.read()
    classes = _classes(model)
    document = read_document(parse_json(exported, "what CatBoost exported"), classes)
    forest, recoding = document.forest, document.recoding

    def raw_predict(rows: Any) -> NDArray[np.float64]:
        if recoding is not None:
            rows = recoding.table(rows)
        # Not every class's own predict takes prediction_type, but that of CatBoost does.
        raw = catboost.CatBoost.predict(model, rows, prediction_type="RawFormulaVal", thread_count=1)
        return np.asarray(raw, np.float64).reshape(len(rows), forest.n_outputs)

    return Model(
        forest=forest,
        library=f"catboost {catboost.__version__}",
        link=Link.named(document.link),
        encode=recoding,
        predicts_given_rows=recoding is not None,
        classes=classes,
        raw_predict=raw_predict,
        ask_margins=lambda pipeline, rows: pipeline.predict(rows, prediction_type="RawFormulaVal"),
    )


def _classes(model: Any) -> NDArray[Any] | None:
    """Return the labels of a classifier; ``None`` for a regressor, and for a model of several labels at once."""
    labels = np.asarray(model.classes_)
    return labels if labels.ndim == 1 and len(labels) > 1 else None
