"""gpboost: boosted trees in LightGBM's text form, alone or as the fixed effects of a mixed model."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.models.documents import take
from arborshap.models.json import parse_json
from arborshap.models.lightgbm.text import read_text
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported


def load(model: Any) -> Model:
    """Read a fitted model. With random effects, the sum of the trees is what gpboost calls the fixed effect."""
    import gpboost

    if isinstance(model, gpboost.GPBoostModel):
        if getattr(model, "_Booster", None) is None:
            raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
        booster = model.booster_
    elif isinstance(model, gpboost.Booster):
        booster = model
    else:
        raise unsupported(model, "it has no trees; give the Booster that was trained with it")
    classes = model.classes_ if isinstance(model, gpboost.GPBoostClassifier) else None
    is_mixed = bool(booster.has_gp_model)
    content = booster.model_to_string()
    if is_mixed:
        content = take(parse_json(content.encode(), "what gpboost saved of the model"), "booster_str", str, "gpboost")
    text = read_text(content, classes)
    forest = text.forest

    def raw_predict(rows: NDArray[Any]) -> NDArray[np.float64]:
        score = booster.predict(rows, pred_latent=True, ignore_gp_model=True)
        return np.asarray(score, np.float64).reshape(len(rows), forest.n_outputs) / text.averaged

    return Model(
        forest=forest,
        library=f"gpboost {version('gpboost')}",
        link=Link("fixed effect of a mixed model") if is_mixed else Link.named(text.link, text.steepness),
        classes=None if is_mixed else classes,
        raw_predict=raw_predict,
        encode=text.recoding(),
        spaces_are_underscores=True,
        predicts_by_position=True,
    )
