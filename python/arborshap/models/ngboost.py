"""NGBoost: each parameter of the predicted distribution is a sum of trees, and so an output."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from arborshap.exceptions import ModelError
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.sklearn.common import feature_names_of, quiet
from arborshap.models.sklearn.trees import add_tree, new_builder
from arborshap.models.supported import unsupported

# The parameters that NGBoost itself boosts, which are those of the distribution on the scale of all numbers.
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "Normal": ("mean", "log of the standard deviation"),
    "NormalFixedVar": ("mean",),
    "NormalFixedMean": ("log of the standard deviation",),
    "LogNormal": ("mean of the log", "log of the standard deviation of the log"),
    "Laplace": ("location", "log of the scale"),
    "Exponential": ("log of the scale",),
    "Poisson": ("log of the rate",),
}


def load(model: Any) -> Model:
    """Read a fitted model: the parameters that ``pred_param`` returns."""
    import ngboost
    from sklearn.tree import DecisionTreeRegressor

    if not isinstance(model, ngboost.NGBoost):
        raise unsupported(model)
    if not model.base_models:
        raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
    n_parameters = len(model.base_models[0])
    builder = new_builder(model.n_features, n_parameters)
    for learners, scale, columns in zip(model.base_models, model.scalings, model.col_idxs, strict=True):
        for output, learner in enumerate(learners):
            if not isinstance(learner, DecisionTreeRegressor):
                raise unsupported(model, f"its base learners are {type(learner).__name__}, not DecisionTreeRegressor")
            value = -model.learning_rate * scale * learner.tree_.value[:, 0, 0]
            add_tree(builder, learner.tree_, value, output, columns=np.asarray(columns))
    kind = model.Dist.__name__
    is_binary = isinstance(model, ngboost.NGBClassifier) and n_parameters == 1
    return Model(
        forest=builder.build(
            base=model.init_params, feature_names=feature_names_of(model), output_names=_names(model, n_parameters)
        ),
        library=f"ngboost {version('ngboost')}",
        link=Link.named("logistic" if is_binary else f"distribution {kind}"),
        raw_predict=quiet(model.pred_param, n_parameters),
    )


def _names(model: Any, n_parameters: int) -> list[str] | None:
    import ngboost

    if n_parameters == 1:
        return None
    if isinstance(model, ngboost.NGBClassifier):
        return [f"log-odds of class {k + 1} against class 0" for k in range(n_parameters)]
    known = _PARAMETERS.get(model.Dist.__name__, ())
    return list(known) if len(known) == n_parameters else [f"parameter {k}" for k in range(n_parameters)]
