"""causalml: causal and uplift trees, and the forests that average them. The outputs are the effects of treatments."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.sklearn.common import feature_names_of, quiet
from arborshap.models.sklearn.trees import add_tree, new_builder
from arborshap.models.supported import unsupported

_TREES = ("CausalTreeRegressor", "UpliftTreeClassifier", "_KernelUpliftTreeClassifier")
_FORESTS = ("CausalRandomForestRegressor", "UpliftRandomForestClassifier", "_KernelUpliftRandomForestClassifier")


def load(model: Any) -> Model:
    """Read a fitted tree or forest: per treatment, the mean outcome with it minus the mean outcome without any."""
    names = {cls.__name__ for cls in type(model).__mro__ if cls.__module__.startswith("causalml.")}
    if not names & {*_TREES, *_FORESTS}:
        raise unsupported(model, "of causalml's models, only causal and uplift trees and forests are sums of trees")
    is_forest = bool(names & set(_FORESTS))
    if not hasattr(model, "estimators_" if is_forest else "tree_"):
        if hasattr(model, "uplift_forest") or hasattr(model, "fitted_uplift_tree"):
            raise unsupported(model, "its trees are those of causalml before 0.17; fit it with a newer version")
        raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
    trees = list(model.estimators_) if is_forest else [model]
    groups = _groups(model, trees)
    n_outputs = len(groups) - 1
    builder = new_builder(trees[0].tree_.n_features, n_outputs)
    for tree in trees:
        effects = _effects(tree, groups) / len(trees)
        add_tree(builder, tree.tree_, effects[:, 0] if n_outputs == 1 else effects)
    predicts_outcomes = "UpliftTreeClassifier" in names

    def raw_predict(rows: NDArray[Any]) -> NDArray[np.float64]:
        predicted = np.asarray(model.predict(rows)).reshape(len(rows), -1)
        # A causal forest that was once asked for outcomes returns them ever after, before the effects.
        return _differences(predicted) if predicts_outcomes else predicted[:, -n_outputs:]

    return Model(
        forest=builder.build(
            feature_names=feature_names_of(model),
            output_names=[f"effect of {group}" for group in groups[1:]] if n_outputs > 1 else None,
        ),
        library=f"causalml {version('causalml')}",
        link=Link.named("identity"),
        raw_predict=quiet(raw_predict, n_outputs),
    )


def _groups(model: Any, trees: Sequence[Any]) -> list[Any]:
    """Return the control and the treatments in the order of their outcomes."""
    if hasattr(model, "classes_"):
        return list(model.classes_)
    n_groups = trees[0].tree_.value.shape[1]
    treatments = list(getattr(model, "unique_treatments", ()))
    return ["control", *(treatments if len(treatments) == n_groups - 1 else range(1, n_groups))]


def _effects(tree: Any, groups: list[Any]) -> NDArray[np.float64]:
    """Return the effects at each node. The sample of a tree may lack a treatment, whose outcome then counts as 0."""
    outcome = np.asarray(tree.tree_.value, np.float64)[:, :, 0]
    own = getattr(tree, "classes_", None)
    if own is None:  # a causal tree
        return _differences(outcome)
    aligned = np.zeros((len(outcome), len(groups)))
    aligned[:, [groups.index(group) for group in own]] = np.nan_to_num(outcome, nan=0.0)
    return _differences(aligned)


def _differences(outcome: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(outcome[:, 1:] - outcome[:, :1], np.float64)
