"""scikit-learn's AdaBoostClassifier: its trees vote for classes, so its score sums trees with votes as leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.sklearn.common import feature_names_of, library_name, margins_of, quiet
from arborshap.models.sklearn.trees import add_tree, class_fractions, new_builder
from arborshap.models.supported import unsupported


def read_adaboost_classifier(model: Any) -> Model:
    """Read the ``decision_function``: one score per class, or one score for two classes."""
    from sklearn.tree import BaseDecisionTree

    n_classes = len(model.classes_)
    total = float(np.sum(model.estimator_weights_))
    if n_classes < 2 or total == 0.0:
        raise ModelError(f"this {type(model).__name__} has one class or weights that sum to 0, so it has no score")
    n_outputs = n_classes if n_classes > 2 else 1
    builder = new_builder(model.n_features_in_, n_outputs)
    for estimator, weight in zip(model.estimators_, model.estimator_weights_, strict=False):
        if not isinstance(estimator, BaseDecisionTree):
            raise unsupported(
                model,
                f"it boosts {type(estimator).__name__}, whose vote is not a sum over trees; boost decision trees",
            )
        # Until scikit-learn 1.5, the default was to add logarithms of probabilities instead of votes.
        adds_logarithms = getattr(model, "algorithm", None) == "SAMME.R"
        value = _logarithms(estimator, model) if adds_logarithms else weight * _votes(estimator, model)
        if n_outputs == 1:
            value = value[:, 1] - value[:, 0]
        add_tree(builder, estimator.tree_, value / total)
    return Model(
        forest=builder.build(
            feature_names=feature_names_of(model),
            output_names=[str(label) for label in model.classes_] if n_outputs > 1 else None,
        ),
        library=library_name(),
        link=Link.named("softmax of scores / (classes - 1)" if n_outputs > 1 else "logistic"),
        classes=model.classes_,
        raw_predict=quiet(model.decision_function, n_outputs),
        ask_margins=margins_of,
        takes_missing=False,
    )


def _votes(estimator: Any, model: Any) -> NDArray[np.float64]:
    """Return the votes of each node: 1 for its class, and as much against all other classes together."""
    n_classes = len(model.classes_)
    chosen = estimator.classes_[np.argmax(class_fractions(estimator, len(estimator.classes_)), axis=1)]
    is_chosen = chosen[:, np.newaxis] == np.asarray(model.classes_)
    return np.where(is_chosen, 1.0, -1.0 / (n_classes - 1))


def _logarithms(estimator: Any, model: Any) -> NDArray[np.float64]:
    n_classes = len(model.classes_)
    fractions = class_fractions(estimator, n_classes)
    logarithms = np.log(np.maximum(fractions, np.finfo(fractions.dtype).eps))
    return np.asarray((n_classes - 1) * (logarithms - logarithms.mean(axis=1, keepdims=True)))
