"""quantile-forest: the mean of a quantile forest, if it is a mean of trees."""

from __future__ import annotations

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


def load(model: Any) -> Model:
    """Read a fitted forest that predicts the mean by default: the mean of the one target that each leaf keeps."""
    if not hasattr(model, "estimators_"):
        raise ModelError(f"this {type(model).__name__} is not fitted; call fit() first")
    if model.default_quantiles not in (None, "mean", ["mean"]):
        raise unsupported(
            model,
            "it predicts quantiles, which are not a sum of trees; to explain its mean, call "
            'set_params(default_quantiles="mean") on it first',
        )
    if model.max_samples_leaf != 1:
        raise unsupported(
            model,
            "it pools all targets of the leaves that a row reaches, so its mean weighs each tree by the size of the "
            "leaf and is not a sum; fit it with max_samples_leaf=1",
        )
    values = [_values(model, tree) for tree in range(len(model.estimators_))]
    n_outputs = values[0].shape[1]
    builder = new_builder(model.n_features_in_, n_outputs)
    for estimator, value in zip(model.estimators_, values, strict=True):
        mean = value / len(values)
        add_tree(builder, estimator.tree_, mean[:, 0] if n_outputs == 1 else mean)
    return Model(
        forest=builder.build(feature_names=feature_names_of(model)),
        library=f"quantile-forest {version('quantile-forest')}",
        link=Link.named("identity"),
        raw_predict=quiet(lambda rows: model.predict(rows, quantiles="mean"), n_outputs),
    )


def _values(model: Any, tree: int) -> NDArray[np.float64]:
    """Return the target that each leaf keeps: (nodes, outputs). Inner nodes keep none."""
    forest = model.forest_
    n_nodes = model.estimators_[tree].tree_.node_count
    kept = np.asarray(forest.y_train_leaves)[tree, :n_nodes, :, 0]
    targets = np.asarray(forest.y_train)
    values = np.stack([of_output[kept[:, output] - 1] for output, of_output in enumerate(targets)], axis=1)
    if model.monotonic_cst is None:
        return values
    bounds = np.asarray(forest.y_bound_leaves)[tree, :n_nodes]
    return np.asarray(np.clip(values, bounds[:, :1], bounds[:, 1:2]))
