"""Spark ML's tree models, read node by node through Spark's own gateway to Java."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.forest.builder import ForestBuilder
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported

_SINGLE = ("DecisionTreeRegressionModel", "DecisionTreeClassificationModel")
_KINDS = (
    *_SINGLE,
    "RandomForestRegressionModel",
    "RandomForestClassificationModel",
    "GBTRegressionModel",
    "GBTClassificationModel",
)
_REFUSED = {
    "PipelineModel": "it is a chain of stages; give its last stage, and rows as its features column holds them",
    "CrossValidatorModel": "it is a search; give its bestModel",
    "TrainValidationSplitModel": "it is a search; give its bestModel",
}


def load(model: Any) -> Model:
    """Read a fitted model: its prediction, the probabilities of a classifier, or the margin of boosted classes."""
    import pyspark

    names = [cls.__name__ for cls in type(model).__mro__ if cls.__module__.startswith("pyspark.ml")]
    kind = next((name for name in names if name in _KINDS), None)
    if kind is None:
        raise unsupported(
            model, next((_REFUSED[name] for name in names if name in _REFUSED), "it is not a fitted tree")
        )
    trees = [model] if kind in _SINGLE else list(model.trees)
    is_boosted = kind.startswith("GBT")
    n_classes = int(model.numClasses) if kind.endswith("ClassificationModel") and not is_boosted else 0
    weights = model.treeWeights if is_boosted else [1.0 / len(trees)] * len(trees)
    builder = ForestBuilder(model.numFeatures, max(1, n_classes), rule="<=", precision="float64")
    for tree, weight in zip(trees, weights, strict=True):
        builder.add_tree(**_Tree(tree, n_classes).arrays(weight))
    is_margin = kind == "GBTClassificationModel"
    link = "logistic" if is_margin else "probability" if n_classes else "identity"
    return Model(
        forest=builder.build(output_names=[str(k) for k in range(n_classes)] if n_classes > 1 else None),
        library=f"pyspark {pyspark.__version__}",
        link=Link.named(link, 2.0 if is_margin else 1.0),  # Spark's loss is minimal at half the log-odds
        classes=np.arange(2) if is_margin else None,
        raw_predict=_raw_predict(model, is_margin=is_margin, n_classes=n_classes),
    )


def _raw_predict(model: Any, *, is_margin: bool, n_classes: int) -> Callable[[Any], NDArray[np.float64]]:
    def predict(rows: NDArray[Any]) -> NDArray[np.float64]:
        from pyspark.ml.linalg import Vectors

        vectors = [Vectors.dense(row) for row in np.asarray(rows, np.float64).tolist()]
        if is_margin:
            return np.array([[model.predictRaw(vector)[1]] for vector in vectors])
        if n_classes:
            return np.array([model.predictProbability(vector).toArray() for vector in vectors])
        return np.array([[model.predict(vector)] for vector in vectors])

    return predict


class _Tree:
    """The nodes of one tree, parents first."""

    def __init__(self, tree: Any, n_classes: int) -> None:
        self.children: tuple[list[int], list[int]] = [], []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.value: list[Any] = []
        self.cover: list[float] = []
        self.default_left: list[bool] = []
        self.members_left: list[bool] = []
        self.categories: dict[int, list[int]] = {}
        root = tree._call_java("rootNode")  # noqa: SLF001 (Spark's Python classes do not show their nodes)
        waiting: list[tuple[Any, list[int], int]] = [(root, [0], 0)]
        while waiting:
            node, siblings, parent = waiting.pop()
            n = siblings[parent] = len(self.feature)
            self._add(node, n, n_classes)
            if self.feature[n] >= 0:
                waiting += [(node.rightChild(), self.children[1], n), (node.leftChild(), self.children[0], n)]

    def _add(self, node: Any, n: int, n_classes: int) -> None:
        is_split = node.getClass().getSimpleName() == "InternalNode"
        stats = node.impurityStats()
        shares = np.array(list(stats.stats())[:n_classes])
        self.value.append(shares / max(shares.sum(), 1e-300) if n_classes else node.prediction())
        self.cover.append(float(stats.count()))
        for side in self.children:
            side.append(-1)
        self.feature.append(node.split().featureIndex() if is_split else -1)
        # No comparison with NaN is true, and it is in no set.
        default_left, members_left, threshold = False, True, 0.0
        if is_split and node.split().getClass().getSimpleName() == "ContinuousSplit":
            threshold = node.split().threshold()
        elif is_split:
            left, right = (list(side) for side in (node.split().leftCategories(), node.split().rightCategories()))
            # Spark keeps the smaller set, and sends all other values the other way.
            members_left = len(left) <= (len(left) + len(right)) // 2
            default_left = not members_left
            self.categories[n] = [int(category) for category in (left if members_left else right)]
        self.threshold.append(threshold)
        self.default_left.append(default_left)
        self.members_left.append(members_left)

    def arrays(self, weight: float) -> dict[str, Any]:
        """Return the arguments of `ForestBuilder.add_tree`, with all values times `weight`."""
        value = np.array(self.value, np.float64) * weight
        return {
            "left": self.children[0],
            "right": self.children[1],
            "feature": np.maximum(self.feature, 0),
            "threshold": self.threshold,
            "value": value[:, 0] if value.ndim == 2 and value.shape[1] == 1 else value,
            "cover": self.cover,
            "default_left": self.default_left,
            "members_left": self.members_left,
            "categories": self.categories,
        }
