"""TransformedTargetRegressor: a regressor of a transformed target, and the function that transforms it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.models.compose import Part
from arborshap.models.link import Link
from arborshap.models.margin_functions import MarginFunction, Step
from arborshap.models.model import Model
from arborshap.models.sklearn.common import sklearn_classes
from arborshap.models.wrappers.members import combine_members, load_members

_AFFINE = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
_TRIED = np.concatenate([-np.geomspace(1e-3, 30.0, 12), [0.0], np.geomspace(1e-3, 30.0, 12)])
_INVERSES: dict[str, tuple[Callable[[NDArray[Any]], NDArray[Any]], MarginFunction]] = {
    "identity": (np.asarray, MarginFunction.of(Step("identity"))),
    "log": (np.exp, MarginFunction.of(Step("exp"))),
    "log of 1 + target": (np.expm1, MarginFunction.of(Step("exp"), Step("identity", shift=-1.0))),
    "log to base 2": (np.exp2, MarginFunction.of(Step("exp", np.log(2.0)))),
    "log to base 10": (lambda t: np.power(10.0, t), MarginFunction.of(Step("exp", np.log(10.0)))),
}


def read_transformed_target(wrapper: Any) -> Model:
    """Read the regressor's own sum of trees; a target that was only shifted and scaled is shifted and scaled back."""
    (model,) = load_members(wrapper, [("regressor_", wrapper.regressor_)])
    n_outputs = model.forest.n_outputs
    is_affine = any(name in sklearn_classes(wrapper.transformer_) for name in _AFFINE)
    if is_affine and model.link.is_raw:
        shift, end = wrapper.transformer_.inverse_transform(np.array([np.zeros(n_outputs), np.ones(n_outputs)]))
        parts = [Part(model, np.diag(end - shift))]
        return combine_members(wrapper, parts, "predict", base=shift, link=Link.named("identity"))
    link = _link(wrapper, model)
    method = "predict" if link.is_raw else None
    return combine_members(wrapper, [Part(model, np.eye(n_outputs))], method, link=link)


def _link(wrapper: Any, model: Model) -> Link:
    """Find out what the inverse function does, by comparing it with functions that are known."""
    transformer = wrapper.transformer_
    inverse = getattr(transformer, "inverse_func", None)
    if "FunctionTransformer" in sklearn_classes(transformer) and model.link.curves and not model.link.averaged:
        inverse = inverse or np.asarray
        try:
            back = np.asarray(inverse(_TRIED.reshape(-1, 1), **(transformer.inv_kw_args or {})), np.float64).ravel()
        except (TypeError, ValueError, ArithmeticError):
            back = np.zeros(0)
        for name, (known, curve) in _INVERSES.items():
            if back.shape == _TRIED.shape and np.allclose(back, known(_TRIED), rtol=1e-12, atol=1e-12):
                if model.link.is_raw:
                    return Link(name, (curve,))
                curves = tuple(MarginFunction.of(*own.steps, *curve.steps) for own in model.link.curves)
                return Link(f"{model.link.name}, then back from the {name}", curves)
    return Link(f"inverse of {type(transformer).__name__}")
