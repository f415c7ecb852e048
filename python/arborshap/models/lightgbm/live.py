"""Live LightGBM models: a `Booster`, or any of the scikit-learn wrappers around one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.models.lightgbm.text import read_text
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported


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
        # For a random forest the raw score is a sum, and the prediction is the mean.
        score = booster.predict(rows, raw_score=True, num_threads=1)
        return np.asarray(score, np.float64).reshape(len(rows), forest.n_outputs) / text.averaged

    return Model(
        forest=forest,
        library=f"lightgbm {lightgbm.__version__}",
        link=Link.named(text.link, text.steepness),
        classes=classes,
        raw_predict=raw_predict,
        encode=text.recoding(),
        spaces_are_underscores=True,
        predicts_by_position=True,
        # No method returns the mean of a random forest's raw scores.
        ask_margins=None if text.averaged > 1 else _raw_scores,
    )


def _raw_scores(pipeline: Any, rows: Any) -> Any:
    return pipeline.predict(rows, raw_score=True)
