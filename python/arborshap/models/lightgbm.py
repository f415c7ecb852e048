"""LightGBM: a live `Booster` or scikit-learn wrapper, or the text a model is saved as."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.models import unsupported
from arborshap.models._model import Model
from arborshap.models._recoding import LightGBMRecoding
from arborshap.models.lightgbm_text import Text, read_text


def load(model: Any) -> Model:
    """Read a fitted model, up to its best iteration if training stopped early, as LightGBM predicts by default."""
    import lightgbm

    if isinstance(model, lightgbm.LGBMModel):
        if not model.__sklearn_is_fitted__():
            raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
        booster = model.booster_
    elif isinstance(model, lightgbm.Booster):
        booster = model
    else:
        raise unsupported(model)
    classes = model.classes_ if isinstance(model, lightgbm.LGBMClassifier) else None
    text = read_text(booster.model_to_string(), classes)
    forest = text.forest

    def raw_predict(rows: NDArray[Any]) -> NDArray[np.float64]:
        # For a random forest the raw score is a sum, and the prediction the mean.
        score = booster.predict(rows, raw_score=True, num_threads=1)
        return np.asarray(score, np.float64).reshape(len(rows), forest.n_outputs) / text.averaged

    return Model(
        forest=forest,
        library=f"lightgbm {lightgbm.__version__}",
        link=text.link,
        steepness=text.steepness,
        classes=classes,
        raw_predict=raw_predict,
        encode=_encoder(text),
    )


def load_text(content: bytes, what: str) -> Model:
    """Read a saved model."""
    try:
        text = read_text(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ModelError(f"{what} is not UTF-8 text: byte {error.start} is invalid") from None
    return Model(
        forest=text.forest,
        library="lightgbm text",
        link=text.link,
        steepness=text.steepness,
        encode=_encoder(text),
    )


def _encoder(text: Text) -> LightGBMRecoding | None:
    """Return what LightGBM does to a frame, or ``None`` if that is nothing."""
    if not text.categories:
        return None
    return LightGBMRecoding(text.forest.n_features, text.categories, list(text.category_columns))
