"""scikit-learn's GradientBoosting: a constant start plus a sum of shrunken trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.sklearn.common import feature_names_of, library_name, margins_of, quiet
from arborshap.models.sklearn.trees import add_tree, new_builder
from arborshap.models.supported import unsupported


def read_gradient_boosting(model: Any) -> Model:
    """Read the raw score: ``decision_function`` of a classifier, ``predict`` of a regressor."""
    from sklearn.base import is_classifier

    trees = model.estimators_
    builder = new_builder(model.n_features_in_, trees.shape[1])
    for stage in trees:
        for output, estimator in enumerate(stage):
            tree = estimator.tree_
            add_tree(builder, tree, model.learning_rate * tree.value[:, 0, 0], output)
    names = [str(name) for name in model.classes_] if trees.shape[1] > 1 else None
    link = "identity"
    if is_classifier(model):
        link = "softmax" if names else "logistic"
    return Model(
        forest=builder.build(base=_start(model), feature_names=feature_names_of(model), output_names=names),
        library=library_name(),
        link=Link.named(link, 2.0 if model.loss == "exponential" else 1.0),  # this loss is minimal at half the log-odds
        classes=model.classes_ if is_classifier(model) else None,
        raw_predict=quiet(model.decision_function if is_classifier(model) else model.predict, trees.shape[1]),
        ask_margins=margins_of,
        takes_missing=False,
    )


def _start(model: Any) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    init = model.init_
    is_zero = isinstance(init, str) and init == "zero"
    is_constant = isinstance(init, DummyRegressor) or (
        isinstance(init, DummyClassifier) and init.strategy != "stratified"
    )
    if not is_zero and not is_constant:
        raise unsupported(
            model, f"it starts from init={type(init).__name__}, whose prediction is not constant; leave init out"
        )
    return model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
