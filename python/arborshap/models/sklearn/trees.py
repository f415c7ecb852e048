"""scikit-learn's decision trees, and the forests that average them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.forest.builder import ForestBuilder
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.sklearn.common import check_node_fields, feature_names_of, library_name, margins_of, quiet
from arborshap.models.supported import unsupported

_FIELDS = frozenset(
    (
        *("left_child", "right_child", "feature", "threshold", "missing_go_to_left"),
        *("impurity", "n_node_samples", "weighted_n_node_samples"),
    )
)


def new_builder(n_features: int, n_outputs: int) -> ForestBuilder:
    """Start a forest with scikit-learn's rule: rows are rounded to float32, thresholds are not."""
    return ForestBuilder(n_features, n_outputs, rule="<=", precision="float32")


def add_tree(
    builder: ForestBuilder, tree: Any, value: NDArray[Any], output: int = 0, columns: NDArray[Any] | None = None
) -> None:
    """Add a fitted ``tree_`` with these leaf values; `columns` are the columns that it saw, if not all."""
    if type(tree).__module__.startswith("sklearn."):  # other libraries have trees of their own with the same attributes
        check_node_fields(tree.__getstate__()["nodes"], _FIELDS)
    builder.add_tree(
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature if columns is None else np.asarray(columns)[np.maximum(tree.feature, 0)],
        threshold=tree.threshold,
        value=value,
        output=output,
        # Before 1.3, trees did not accept missing values.
        default_left=getattr(tree, "missing_go_to_left", False),
        cover=tree.weighted_n_node_samples,
    )


def read_tree(model: Any) -> Model:
    """Read a single tree."""
    return _mean_of(model, [model])


def read_forest(model: Any) -> Model:
    """Read a random forest or extra trees: the mean over their trees."""
    return _mean_of(model, model.estimators_)


def _mean_of(model: Any, estimators: list[Any]) -> Model:
    from sklearn.base import is_classifier

    names = _class_names(model) if is_classifier(model) else None
    outputs = len(names) if names else estimators[0].tree_.n_outputs
    builder = new_builder(model.n_features_in_, outputs)
    for estimator in estimators:
        if np.any(getattr(estimator, "is_categorical_", False)):
            raise unsupported(model, "its trees split on sets of categories; train without categorical_features")
        value = class_fractions(estimator, outputs) if names else estimator.tree_.value[:, :, 0]
        if outputs == 1:
            value = value[:, 0]
        add_tree(builder, estimator.tree_, value / len(estimators))
    return Model(
        forest=builder.build(feature_names=feature_names_of(model), output_names=names),
        library=library_name(),
        link=Link.named("probability" if names else "identity"),
        classes=None if names is None or isinstance(model.classes_, list) else model.classes_,
        raw_predict=quiet(model.predict_proba if names else model.predict, outputs),
        ask_margins=margins_of,
    )


def _class_names(model: Any) -> list[str]:
    """Name the outputs of a classifier: its classes, or the classes of each target."""
    if isinstance(model.classes_, list):
        return [f"{target}: {name}" for target, classes in enumerate(model.classes_) for name in classes]
    return [str(name) for name in model.classes_]


def class_fractions(estimator: Any, outputs: int) -> NDArray[np.float64]:
    """Return the fraction of each class at each node. `value` held counts before 1.3, and may hold weights."""
    value = estimator.tree_.value
    total = value.sum(axis=2, keepdims=True)
    fractions = value / np.where(total == 0.0, 1.0, total)
    classes = np.atleast_1d(estimator.n_classes_)
    if len(classes) > 1:
        return np.hstack([fractions[:, target, :n] for target, n in enumerate(classes)])
    return np.asarray(fractions[:, 0, :outputs])
