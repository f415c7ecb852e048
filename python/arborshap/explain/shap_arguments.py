"""The arguments of `shap.TreeExplainer`: which are accepted because they are harmless, and which are refused and why.

| argument | what happens |
|---|---|
| ``check_additivity`` | accepted and ignored: ``verify`` compares with the library's own predictions first |
| ``approximate=False``, ``tree_limit`` of ``None``, 0, -1 or all rounds | accepted: that is what is computed anyway |
| ``approximate=True`` | refused: it asks for Saabas values, which are not Shapley values |
| a smaller ``tree_limit`` | refused: it asks for another model than the one given |
| ``link=`` the identity | accepted: that is what is computed anyway |
| any other ``link`` | refused: ``model_output="probability"`` explains probabilities |
| ``feature_dependence`` | accepted under its newer name, ``feature_perturbation`` |
| ``interactions=True`` | accepted: ``index="interaction"`` |
| ``model_output`` of ``"margin"``, ``"logloss"`` | accepted under their newer names, ``"raw"`` and ``"log_loss"`` |
| maskers and the result of ``shap.kmeans`` as data | accepted: their rows and weights are used |
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from arborshap.exceptions import InputError

_OLD_OUTPUTS = {"margin": "raw", "logloss": "log_loss"}
_OLD_PERTURBATIONS = {"independent": "interventional"}
_ALL_TREES = (None, 0, -1)


def check_call(n_trees: int, approximate: Any = False, tree_limit: Any = None) -> None:
    """Refuse arguments of a call that ask for other values than exact Shapley values of the whole model."""
    if approximate:
        raise InputError(
            "approximate=True asks for Saabas values, which are not Shapley values and are not computed here; leave it "
            "out: exact values are usually faster"
        )
    whole = isinstance(tree_limit, Integral) and not isinstance(tree_limit, bool)
    if tree_limit is not None and not whole:
        raise InputError(f"tree_limit must be None or a whole number, not {tree_limit!r}")
    if tree_limit not in _ALL_TREES and tree_limit < n_trees:
        raise InputError(
            f"tree_limit={tree_limit} asks for some of the {n_trees} trees, which is another model; give that model "
            "instead: booster[:n] in XGBoost, or Booster(model_str=booster.model_to_string(num_iteration=n)) in "
            "LightGBM"
        )


def check_link(link: Any) -> None:
    """Refuse a link other than the identity."""
    if link is None or link == "identity" or getattr(link, "__name__", "") == "identity":
        return
    raise InputError(
        f"link={getattr(link, '__name__', link)!r} would only relabel the values; leave it out, and explain "
        "probabilities with model_output='probability'"
    )


def output_name(name: Any) -> Any:
    """Return today's name of a model output; one that shap alone has is refused with the name of ours."""
    if name == "predict_proba":
        raise InputError(
            "model_output='predict_proba' is called 'probability' here; a model of two classes then has one output, "
            "the probability of the second class"
        )
    return _OLD_OUTPUTS.get(name, name) if isinstance(name, str) else name


def perturbation_name(chosen: Any, old: Any) -> Any:
    """Return the perturbation that was asked for under its name of today or its old one."""
    if old is None:
        return chosen
    if chosen != "auto":
        raise InputError("feature_dependence is the old name of feature_perturbation; give only the latter")
    return _OLD_PERTURBATIONS.get(old, old) if isinstance(old, str) else old


def index_asked_for(index: Any, interactions: Any) -> Any:
    """Return the index of a call that may say ``interactions=True`` instead."""
    if interactions is not True or index not in ("shapley", "interaction"):
        raise InputError(f"interactions={interactions!r} and index={index!r} contradict each other; give only index")
    return "interaction"


def background_in(data: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Take the rows, and the weights if there are any, out of a masker or of the result of ``shap.kmeans``."""
    if type(data).__module__.partition(".")[0] != "shap" or getattr(getattr(data, "data", None), "ndim", 0) != 2:
        return data, sample_weight
    return _named(data), _weights(data, sample_weight)


def _named(given: Any) -> Any:
    """Return the rows with the names of the frame that they came in, so that columns are matched by name."""
    names = getattr(given, "feature_names", getattr(given, "group_names", None))
    if names is None or list(names) == [str(j) for j in range(len(names))]:
        return given.data
    import pandas

    return pandas.DataFrame(given.data, columns=list(names)).infer_objects()


def _weights(given: Any, sample_weight: Any) -> Any:
    weights = getattr(given, "weights", None)
    if weights is None or np.ptp(weights) == 0:
        return sample_weight
    if sample_weight is not None:
        raise InputError(f"this {type(given).__name__} has weights of its own; leave sample_weight out")
    return weights
