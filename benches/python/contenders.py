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


@dataclass(frozen=True)
class _Shapiq:
    """One explainer of shapiq per class. For 100,000 pairs of rows or more, shapiq itself asks woodelf."""

    explainers: list[Any]

    @staticmethod
    def of(model: Any, background: Array | None, index: str = "SV", order: int = 1) -> "_Shapiq":
        shapiq = importlib.import_module("shapiq")
        against: dict[str, Any] = {"mode": "pathdependent"}
        if background is not None:
            against = {"mode": "interventional", "reference_dataset": background}
        n_classes = getattr(model, "n_classes_", 1)
        several = n_classes > 2 or (n_classes == 2 and hasattr(model, "estimators_"))
        classes = range(n_classes) if several else [None]
        common = {"index": index, "max_order": order, "min_order": 1}
        return _Shapiq([shapiq.TreeExplainer(model, class_index=label, **against, **common) for label in classes])

    def batches(self, rows: Array) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # On one thread: its `n_jobs` sends the whole explainer to another process for each row, and takes longer.
            return [explainer.explain_X(rows) for explainer in self.explainers]

    def values(self, rows: Array) -> Array:
        found = [_of_players(batch.values, rows.shape) for batch in self.batches(rows)]
        return found[0] if len(found) == 1 else np.stack(found, axis=-1)

    def interactions(self, rows: Array) -> Array:
        """Return interactions in shap's convention: halves beside the diagonal, which has the rest."""
        (batch,) = self.batches(rows)
        n, p = rows.shape
        matrix = np.zeros((n, p, p))
        for players, values in batch.values.items():
            if len(players) == 2:
                i, j = players
                matrix[:, i, j] = matrix[:, j, i] = values / 2
        own = np.arange(p)
        matrix[:, own, own] = _of_players(batch.values, rows.shape) - matrix.sum(axis=2)
        return matrix


def _of_players(values: dict[tuple[int, ...], Array], shape: tuple[int, ...]) -> Array:
    """Collect the values of single players; those that are zero for every row are left out by shapiq."""
    found = np.zeros(shape)
    for players, cells in values.items():
        if len(players) == 1:
            found[:, players[0]] = cells
    return found


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
        "shapiq": Contender("shapiq", _Shapiq.of, _Shapiq.values),
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
        "shapiq": Contender("shapiq", partial(_Shapiq.of, index="SII", order=2), _Shapiq.interactions),
    },
    "path-dependent": {
        "shap": Contender("shap", _shap, lambda e, rows: np.asarray(e.shap_values(rows, check_additivity=False))),
        "woodelf": Contender("woodelf", _woodelf, _woodelf_values, _frame),
        "shapiq": Contender("shapiq", _Shapiq.of, _Shapiq.values),
        "xgboost": Contender("xgboost", lambda model, _: model.get_booster(), _xgboost_values),
        "lightgbm": Contender("lightgbm", lambda model, _: model.booster_, _lightgbm_values),
    },
}
