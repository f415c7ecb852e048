"""scikit-learn's IsolationForest: the path length, which is the term of its score that is a sum over trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.sklearn.common import feature_names_of, library_name, quiet
from arborshap.models.sklearn.trees import add_tree, new_builder


def read_isolation_forest(model: Any) -> Model:
    """Read the mean path length over the trees, which is short for anomalies and long for ordinary rows.

    The anomaly score is ``2 ** (-length / c)``, where `c` is the mean length expected for the sample size. It depends
    on the length alone, and only the length is a sum over trees.
    """
    builder = new_builder(model.n_features_in_, 1)
    for estimator, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        tree = estimator.tree_
        length = _depth(tree) + average_path_length(tree.n_node_samples)
        add_tree(builder, tree, length / len(model.estimators_), columns=columns)
    expected = float(average_path_length(np.array([model.max_samples_]))[0])

    def path_length(rows: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(-np.log2(-model.score_samples(rows)) * expected)

    return Model(
        forest=builder.build(feature_names=feature_names_of(model), output_names=["path length"]),
        library=library_name(),
        link=Link.named("anomaly score"),
        raw_predict=quiet(path_length, 1),
    )


def average_path_length(n: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean depth of the leaves of a random binary search tree of `n` rows (Liu, Ting and Zhou, 2008)."""
    size = np.maximum(np.asarray(n, np.float64), 2.0)
    harmonic = np.log(size - 1.0) + np.euler_gamma
    length = 2.0 * harmonic - 2.0 * (size - 1.0) / size
    return np.where(np.asarray(n) <= 1, 0.0, np.where(np.asarray(n) == 2, 1.0, length))


def _depth(tree: Any) -> NDArray[np.float64]:
    """Count the edges from the root to each node; scikit-learn numbers children after their parents."""
    depth = np.zeros(tree.node_count)
    for node in np.flatnonzero(tree.children_left != -1):
        depth[[tree.children_left[node], tree.children_right[node]]] = depth[node] + 1.0
    return depth
