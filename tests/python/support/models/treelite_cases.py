"""treelite: models it imported from other libraries, and one it built itself."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.models import lightgbm_cases, xgboost_cases
from support.models.case import BuiltCase, Case, data


def _treelite() -> Any:
    return pytest.importorskip("treelite")


def _built(model: Any) -> BuiltCase:
    dtype = np.dtype(model.input_type)

    def margin(rows: NDArray[Any]) -> NDArray[np.float64]:
        predicted = _treelite().gtil.predict(model, rows.astype(dtype), nthread=1, pred_margin=True)
        return np.asarray(predicted, np.float64).reshape(len(rows), -1)

    return BuiltCase(model, data().rows, margin)


def _from_xgboost(target: str, parameters: dict[str, Any], categorical: bool = False) -> BuiltCase:
    booster = xgboost_cases.train(target, parameters, categorical=categorical)
    return _built(_treelite().frontend.from_xgboost(booster))


def _from_lightgbm() -> BuiltCase:
    booster = lightgbm_cases.train("classes", categories=True, objective="multiclass", num_class=3)
    return _built(_treelite().frontend.from_lightgbm(booster))


def _from_sklearn(kind: str, target: str, **options: Any) -> BuiltCase:
    from sklearn import ensemble

    given = data(gaps=False)
    model = getattr(ensemble, kind)(n_estimators=5, max_depth=3, random_state=7, **options)
    return _built(_treelite().sklearn.import_model(model.fit(given.X, getattr(given, target))))


def _by_hand(op: str) -> BuiltCase:
    """Two trees that compare with `op`, built with treelite's own builder."""
    builder = _treelite().model_builder
    whole = builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=builder.Metadata(
            num_feature=5,
            task_type="kRegressor",
            average_tree_output=True,
            num_target=1,
            num_class=[1],
            leaf_vector_shape=(1, 1),
        ),
        tree_annotation=builder.TreeAnnotation(num_tree=2, target_id=[0, 0], class_id=[0, 0]),
        postprocessor=builder.PostProcessorFunc(name="identity"),
        base_scores=[0.5],
    )
    for feature, threshold in ((1, 0.25), (4, -0.5)):
        whole.start_tree()
        whole.start_node(0)
        whole.numerical_test(feature, threshold, default_left=True, opname=op, left_child_key=1, right_child_key=2)
        whole.end_node()
        for key, value in ((1, 3.0 * feature), (2, -1.0)):
            whole.start_node(key)
            whole.leaf(value)
            whole.end_node()
        whole.end_tree()
    return _built(whole.commit())


_SOFTPROB = {"objective": "multi:softprob", "num_class": 3}

CASES = [
    Case(f"treelite-{name}", "treelite", "Model", what, build, tolerance)
    for name, what, build, tolerance in (
        ("xgboost", "from XGBoost", partial(_from_xgboost, "classes", _SOFTPROB), 2e-5),
        (
            "xgboost-categorical",
            "from XGBoost, categories",
            partial(_from_xgboost, "y", {"max_cat_to_onehot": 1}, categorical=True),
            2e-5,
        ),
        ("lightgbm", "from LightGBM, categories", _from_lightgbm, 1e-9),
        ("forest", "from scikit-learn, mean", partial(_from_sklearn, "RandomForestClassifier", "classes"), 1e-9),
        ("outputs", "from scikit-learn, multi-output", partial(_from_sklearn, "RandomForestRegressor", "pair"), 1e-9),
        ("boosting", "from scikit-learn", partial(_from_sklearn, "GradientBoostingClassifier", "classes"), 1e-9),
        ("less", "built by hand, <", partial(_by_hand, "<"), 1e-9),
        ("greater", "built by hand, >", partial(_by_hand, ">"), 1e-9),
        ("greater-equal", "built by hand, >=", partial(_by_hand, ">="), 1e-9),
    )
]
