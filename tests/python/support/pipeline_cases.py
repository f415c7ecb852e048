"""Pipelines with many kinds of steps, each with the players that its raw columns form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from arborshap import TreeExplainer
from support.raw_tables import NAMES, table, target

N_FIT, N_BACKGROUND, N_ROWS = 120, 6, 3


class Ratio(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A user's own step: it makes one column from two, and records nothing."""

    def fit(self, X: Any, y: Any = None) -> Ratio:
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        cells = np.asarray(X, float)
        return np.column_stack([cells[:, 0] / (1.0 + abs(cells[:, 1]))])


@dataclass(frozen=True)
class Case:
    """A pipeline, its raw prediction, the players that its raw columns form, and the rows to explain."""

    make: Callable[[], Pipeline]
    players: list[str]
    classes: int = 0
    gaps: bool = True
    unknown: bool = False
    uses_junk: bool = False


def raw_prediction(pipeline: Pipeline) -> Callable[[Any], Any]:
    """Return the pipeline's own prediction before any link."""
    library = type(pipeline[-1]).__module__.partition(".")[0]
    if library == "xgboost":
        return lambda rows: pipeline.predict(rows, output_margin=True)
    if library == "lightgbm":
        return lambda rows: pipeline.predict(rows, raw_score=True)
    if library == "catboost":
        return lambda rows: pipeline.predict(rows, prediction_type="RawFormulaVal")
    for method in ("decision_function", "predict_proba", "predict"):
        if hasattr(pipeline, method):
            return getattr(pipeline, method)  # type: ignore[no-any-return]
    raise AssertionError(library)


def forest() -> RandomForestRegressor:
    return RandomForestRegressor(n_estimators=5, max_depth=5, random_state=0)


def boosted() -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(n_estimators=8, max_depth=4, n_jobs=1)


def light(**options: Any) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=8, num_leaves=8, min_child_samples=3, n_jobs=1, verbose=-1, **options)


def cat() -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(iterations=8, depth=4, verbose=False, thread_count=1, allow_writing_files=False)


ALONE = NAMES
TEXT, NUMBERS = ["town"], ["age", "w", "v"]

CASES: dict[str, Case] = {
    "one-hot, first dropped, sparse": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (OneHotEncoder(drop="first"), ["size", "town"]), remainder="passthrough", sparse_threshold=1.0
            ),
            boosted(),
        ),
        ALONE,
        uses_junk=True,
    ),
    "one-hot, binary dropped": Case(
        lambda: make_pipeline(
            make_column_transformer((OneHotEncoder(drop="if_binary"), ["town", "size"]), ("passthrough", ["w"])),
            forest(),
        ),
        ALONE,
    ),
    "infrequent categories": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (OneHotEncoder(min_frequency=0.25, handle_unknown="infrequent_if_exist"), ["town", "size"]),
                ("passthrough", ["v", "w"]),
            ),
            forest(),
        ),
        ALONE,
        unknown=True,
    ),
    "unknown categories ignored": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (OneHotEncoder(handle_unknown="ignore"), TEXT),
                (StandardScaler(), NUMBERS),
                verbose_feature_names_out=False,
            ).set_output(transform="default"),
            light(),
        ),
        ALONE,
        unknown=True,
    ),
    "imputed, with indicators": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), NUMBERS),
                (OneHotEncoder(sparse_output=False), TEXT),
            ),
            GradientBoostingClassifier(n_estimators=4, max_depth=4, random_state=0),
        ),
        ALONE,
        classes=2,
    ),
    "ordinal codes and gaps": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), ["town"]),
                remainder="passthrough",
            ),
            HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4, categorical_features=[0]),
        ),
        ALONE,
        classes=3,
        unknown=True,
        uses_junk=True,
    ),
    "log link": Case(
        lambda: make_pipeline(
            make_column_transformer((OrdinalEncoder(), ["town"]), remainder="passthrough"),
            HistGradientBoostingRegressor(loss="poisson", max_iter=5, min_samples_leaf=4),
        ),
        ALONE,
        classes=3,
        uses_junk=True,
    ),
    "principal components": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (make_pipeline(StandardScaler(), PCA(2)), ["v", "w", "size"]), (OneHotEncoder(), TEXT)
            ),
            forest(),
        ),
        ["town", "age", "w + v + size", "junk"],
    ),
    "polynomial": Case(
        lambda: make_pipeline(
            make_column_transformer((PolynomialFeatures(interaction_only=True), ["w", "v"]), ("passthrough", ["size"])),
            forest(),
        ),
        ["town", "age", "w + v", "junk", "size"],
    ),
    "squares": Case(
        lambda: make_pipeline(
            make_column_transformer((FunctionTransformer(np.square), ["w", "v"]), (OneHotEncoder(), TEXT)), light()
        ),
        ALONE,
    ),
    "any function": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (FunctionTransformer(np.cumsum, kw_args={"axis": 1}), ["v", "w"]), ("passthrough", ["size"])
            ),
            forest(),
        ),
        ["town", "age", "w + v", "junk", "size"],
    ),
    "target encoding of classes": Case(
        lambda: make_pipeline(
            make_column_transformer((TargetEncoder(), ["town", "size"]), ("passthrough", ["w"])),
            RandomForestClassifier(n_estimators=4, max_depth=5, random_state=0),
        ),
        ALONE,
        classes=3,
    ),
    "bins, quantiles and splines": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (KBinsDiscretizer(3, strategy="uniform"), ["w"]),
                (SplineTransformer(n_knots=3, degree=2), ["v"]),
                (QuantileTransformer(n_quantiles=20), ["size", "junk"]),
            ),
            forest(),
        ),
        ALONE,
        uses_junk=True,
    ),
    "selected afterwards": Case(
        lambda: make_pipeline(
            make_column_transformer((OneHotEncoder(), ["town", "size"]), ("passthrough", ["w", "v"])),
            SelectKBest(f_regression, k=5),
            boosted(),
        ),
        ALONE,
    ),
    "union, pipeline at the end": Case(
        lambda: make_pipeline(
            make_column_transformer(("passthrough", ["size", "w", "v"])),
            "passthrough",
            FeatureUnion([("mixed", PCA(1)), ("as they are", "passthrough"), ("gone", "drop")]),
            make_pipeline(StandardScaler(), forest()),
        ),
        ["town", "age", "w + v + size", "junk"],
    ),
    "frames between the steps": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (OneHotEncoder(sparse_output=False), TEXT), ("passthrough", make_column_selector(dtype_include=float))
            ).set_output(transform="pandas"),
            light(),
        ),
        ALONE,
        uses_junk=True,
    ),
    "neighbours fill the gaps": Case(
        lambda: make_pipeline(make_column_transformer((KNNImputer(), NUMBERS)), cat()),
        ["town", "age + w + v", "junk", "size"],
    ),
    "a step of one's own": Case(
        lambda: make_pipeline(
            make_column_transformer((Ratio(), ["v", "size"]), (OneHotEncoder(), TEXT), ("passthrough", ["w"])),
            boosted(),
        ),
        ["town", "age", "w", "junk", "v + size"],
    ),
    "words of a text": Case(
        lambda: make_pipeline(
            make_column_transformer(
                (CountVectorizer(analyzer="char"), "town"), ("passthrough", ["size", "w"]), sparse_threshold=1.0
            ),
            boosted(),
        ),
        ALONE,
    ),
}


@dataclass(frozen=True)
class Fitted:
    pipeline: Pipeline
    X: pd.DataFrame
    Z: pd.DataFrame
    explainer: TreeExplainer


@cache
def fitted(name: str) -> Fitted:
    case = CASES[name]
    frame = table(N_FIT, gaps=case.gaps)
    y = target(frame)
    classes = np.digitize(y, np.quantile(y, np.linspace(0, 1, case.classes + 1)[1:-1])) if case.classes else y
    pipeline = case.make().fit(frame, classes)
    Z, X = table(N_BACKGROUND, seed=1), table(N_ROWS, seed=2)
    if case.unknown:
        X.loc[0, "town"] = "Nowhere"
    return Fitted(pipeline, X, Z, TreeExplainer(pipeline, Z, n_jobs=1))
