"""The contenders of the comparison: each package is used as its documentation says, with its values in our shape."""

import importlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import TreeExplainer

Array: TypeAlias = NDArray[Any]
Task: TypeAlias = Literal["shapley", "probability", "interaction", "path-dependent"]

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _as_it_is(rows: Array) -> Any:
    return rows


@dataclass(frozen=True)
class Contender:
    """A package that does a task. Both steps are timed; converting rows to its own kind is not."""

    name: str
    construct: Callable[[Any, Any], Any]
    explain: Callable[[Any, Any], Array]
    rows: Callable[[Array], Any] = _as_it_is


def _frame(rows: Array) -> Any:
    return importlib.import_module("pandas").DataFrame(rows, columns=[f"f{j}" for j in range(rows.shape[1])])


def _shap(model: Any, background: Array | None, model_output: str = "raw") -> Any:
    shap = importlib.import_module("shap")
    if background is None:
        return shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    # Left to itself, shap would silently keep 100 rows of a larger background.
    whole = shap.maskers.Independent(background, max_samples=len(background))
    return shap.TreeExplainer(model, whole, feature_perturbation="interventional", model_output=model_output)


def _woodelf(model: Any, background: Any) -> list[Any]:
    """Make one explainer per class, because woodelf explains one output at a time."""
    woodelf = importlib.import_module("woodelf")
    n_classes = getattr(model, "n_classes_", 1)
    if n_classes <= 2:
        return [woodelf.WoodelfExplainer(model, background)]
    load = importlib.import_module("woodelf.core.trees.parse_models").load_decision_tree_ensemble_model
    return [
        woodelf.WoodelfExplainer(load(model, list(background.columns), class_index=label), background)
        for label in range(n_classes)
    ]


def _woodelf_values(explainers: list[Any], rows: Any) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = [np.asarray(explainer.shap_values(rows, verbose=False)) for explainer in explainers]
    return values[0] if len(values) == 1 else np.stack(values, axis=-1)


def _catboost_values(model_and_background: Any, rows: Any) -> Array:
    model, background = model_and_background
    values = model.get_feature_importance(data=rows, reference_data=background, type="ShapValues", thread_count=CORES)
    return np.asarray(values)[:, :-1]


def _pool(rows: Array) -> Any:
    # Asked for, though raw values do not depend on it.
    return importlib.import_module("catboost").Pool(rows, label=np.zeros(len(rows)))


def _xgboost_values(booster: Any, rows: Array) -> Array:
    matrix = importlib.import_module("xgboost").DMatrix(rows, nthread=CORES)
    return np.asarray(booster.predict(matrix, pred_contribs=True))[:, :-1]


def _lightgbm_values(booster: Any, rows: Array) -> Array:
    return np.asarray(booster.predict(rows, pred_contrib=True, num_threads=CORES))[:, :-1]


ARBORSHAP: dict[Task, Contender] = {
    "shapley": Contender("arborshap", TreeExplainer, TreeExplainer.shap_values),
    "probability": Contender(
        "arborshap", partial(TreeExplainer, model_output="probability"), TreeExplainer.shap_values
    ),
    "interaction": Contender("arborshap", TreeExplainer, TreeExplainer.shap_interaction_values),
    "path-dependent": Contender("arborshap", TreeExplainer, TreeExplainer.shap_values),
}

PEERS: dict[Task, dict[str, Contender]] = {
    "shapley": {
        "shap": Contender("shap", _shap, lambda e, rows: np.asarray(e.shap_values(rows, check_additivity=False))),
        "woodelf": Contender("woodelf", _woodelf, _woodelf_values, _frame),
        "catboost": Contender("catboost", lambda model, background: (model, background), _catboost_values, _pool),
    },
    "probability": {
        "shap": Contender(
            "shap",
            partial(_shap, model_output="probability"),
            lambda e, rows: np.asarray(e.shap_values(rows, check_additivity=False)),
        ),
    },
    "interaction": {
        "shap": Contender("shap", _shap, lambda e, rows: np.asarray(e.shap_interaction_values(rows))),
        "woodelf": Contender(
            "woodelf", _woodelf, lambda e, rows: np.asarray(e[0].shap_interaction_values(rows, verbose=False)), _frame
        ),
    },
    "path-dependent": {
        "shap": Contender("shap", _shap, lambda e, rows: np.asarray(e.shap_values(rows, check_additivity=False))),
        "woodelf": Contender("woodelf", _woodelf, _woodelf_values, _frame),
        "xgboost": Contender("xgboost", lambda model, _: model.get_booster(), _xgboost_values),
        "lightgbm": Contender("lightgbm", lambda model, _: model.booster_, _lightgbm_values),
    },
}
