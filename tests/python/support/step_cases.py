"""Transformers of scikit-learn, alone and in pipelines, and rows of many types to try them on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer as columns
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from arborshap.exceptions import InputError
from arborshap.steps.step import Fields, Step, Writer
from arborshap.steps.table import Frame, Sparse, Table, as_array, table_of
from arborshap.steps.unsaved import same_bits
from arborshap.steps.writing import KINDS, write

TEXTS = ["town", "obj", "kind"]

OF_NUMBERS: dict[str, Callable[[], Any]] = {
    "standard": StandardScaler,
    "standard, not centred": lambda: StandardScaler(with_mean=False),
    "standard, not scaled": lambda: StandardScaler(with_std=False),
    "min-max": MinMaxScaler,
    "min-max, clipped": lambda: MinMaxScaler(clip=True, feature_range=(-1, 2)),
    "max-abs": MaxAbsScaler,
    "robust": RobustScaler,
    "robust, unit variance": lambda: RobustScaler(unit_variance=True),
    "robust, not centred": lambda: RobustScaler(with_centering=False),
    "l1": lambda: Normalizer("l1"),
    "l2": lambda: Normalizer("l2"),
    "max": lambda: Normalizer("max"),
    "binary": lambda: Binarizer(threshold=0.3),
    "bins": lambda: KBinsDiscretizer(5),
    "bins, ordinal": lambda: KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
    "bins, float32": lambda: KBinsDiscretizer(3, encode="onehot-dense", strategy="kmeans", dtype=np.float32),
    "quantiles": lambda: QuantileTransformer(n_quantiles=50),
    "power": PowerTransformer,
    "power, not scaled": lambda: PowerTransformer(standardize=False),
    "cubes": lambda: PolynomialFeatures(3),
    "products": lambda: PolynomialFeatures((2, 3), interaction_only=True, include_bias=False),
    "squares by columns": lambda: PolynomialFeatures(2, order="F"),
    "pca": lambda: PCA(2),
    "pca, whitened": lambda: PCA(3, whiten=True),
    "svd": lambda: TruncatedSVD(2),
    "svd by arpack": lambda: TruncatedSVD(2, algorithm="arpack"),
    "variance": lambda: VarianceThreshold(0.5),
    "best": lambda: SelectKBest(f_regression, k=2),
    "from model": lambda: SelectFromModel(RandomForestRegressor(5, random_state=0)),
    "eliminated": lambda: RFE(LinearRegression(), n_features_to_select=2),
    "log1p": lambda: FunctionTransformer(np.log1p),
    "abs, checked": lambda: FunctionTransformer(np.abs, validate=True),
    "identity": FunctionTransformer,
    "mean": SimpleImputer,
    "median, marked": lambda: SimpleImputer(strategy="median", add_indicator=True),
    "most frequent": lambda: SimpleImputer(strategy="most_frequent"),
    "constant": lambda: SimpleImputer(strategy="constant", fill_value=-1),
    "minus one is missing": lambda: SimpleImputer(missing_values=-1),
}

_OTHERS = {"handle_unknown": "ignore"}
_AS_CODE = {"handle_unknown": "use_encoded_value", "unknown_value": -1}

OF_FRAMES: dict[str, Callable[[], Any]] = {
    "one-hot": lambda: columns((OneHotEncoder(**_OTHERS), [*TEXTS, "k", "flag", "ext"])),
    "one-hot, unknown refused": lambda: columns((OneHotEncoder(), ["town", "k", "flag"])),
    "one-hot, first dropped": lambda: columns(
        (OneHotEncoder(drop="first", sparse_output=False, **_OTHERS), [*TEXTS, "flag"])
    ),
    "one-hot, binary dropped": lambda: columns(
        (OneHotEncoder(drop="if_binary", dtype=np.float32), ["flag", "town"]), ("passthrough", ["f4"])
    ),
    "one-hot, infrequent": lambda: columns(
        (OneHotEncoder(min_frequency=0.12, handle_unknown="infrequent_if_exist"), [*TEXTS, "k"]), ("passthrough", ["w"])
    ),
    "one-hot, at most three": lambda: columns(
        (
            OneHotEncoder(max_categories=3, drop="first", handle_unknown="infrequent_if_exist", sparse_output=False),
            ["town", "k"],
        )
    ),
    "ordinal": lambda: columns(
        (OrdinalEncoder(encoded_missing_value=-2, **_AS_CODE), [*TEXTS, "k", "ext"]), (OrdinalEncoder(), ["flag"])
    ),
    "ordinal, unknown missing": lambda: columns(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, min_frequency=20), TEXTS),
        ("drop", ["date", "ext"]),
        remainder="passthrough",
    ),
    "ordinal, integers": lambda: columns((OrdinalEncoder(dtype=np.int32), ["town", "k"]), ("passthrough", ["f4"])),
    "target": lambda: columns((TargetEncoder(), [*TEXTS, "k", "flag"])),
    "target of classes": lambda: columns((TargetEncoder(target_type="multiclass"), [*TEXTS, "k"])),
    "imputed": lambda: columns(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "w", "f4", "ext"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(**_OTHERS)), ["obj"]),
        (make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), OneHotEncoder(**_OTHERS)), ["kind"]),
    ),
    "numbers": lambda: columns(
        (StandardScaler(), ["age", "w", "flag", "k"]),
        (MinMaxScaler(), ["f4"]),
        (PCA(2), ["w", "f4", "k"]),
        (Normalizer(), ["w", "f4", "flag"]),
    ),
    "sparse": lambda: columns(
        (OneHotEncoder(**_OTHERS), TEXTS),
        (StandardScaler(), ["w"]),
        ("passthrough", ["k", "f4"]),
        sparse_threshold=1.0,
    ),
    "sparse, then svd": lambda: make_pipeline(
        columns((OneHotEncoder(**_OTHERS), TEXTS), sparse_threshold=1.0), TruncatedSVD(3)
    ),
    "sparse, then scalers": lambda: make_pipeline(
        columns((OneHotEncoder(**_OTHERS), TEXTS), ("passthrough", ["w", "k"]), sparse_threshold=1.0),
        MaxAbsScaler(),
        VarianceThreshold(0.01),
        StandardScaler(with_mean=False),
        Binarizer(),
    ),
    "union": lambda: make_pipeline(
        columns(("passthrough", ["w", "f4", "k"])),
        "passthrough",
        FeatureUnion(
            [("a", PCA(1)), ("b", "passthrough"), ("c", "drop"), ("d", StandardScaler())],
            transformer_weights={"d": 3.0},
        ),
    ),
    "union of sparse": lambda: make_pipeline(
        columns(("passthrough", ["k", "w"])), FeatureUnion([("a", KBinsDiscretizer(3)), ("b", "passthrough")])
    ),
    "weighted": lambda: columns((StandardScaler(), ["w"]), ("passthrough", ["k"])).set_params(
        transformer_weights={"standardscaler": 0.3}
    ),
    "pandas between": lambda: make_pipeline(
        columns(
            (OneHotEncoder(sparse_output=False, **_OTHERS), ["town"]),
            (StandardScaler(), ["f4", "w"]),
            ("passthrough", ["k", "flag"]),
        ).set_output(transform="pandas"),
        columns((StandardScaler(), ["standardscaler__f4", "passthrough__k"]), remainder="passthrough").set_output(
            transform="pandas"
        ),
    ),
    "polars between": lambda: make_pipeline(
        columns((StandardScaler(), ["f4"]), ("passthrough", ["k"])).set_output(transform="polars"), StandardScaler()
    ),
    "functions": lambda: columns(
        (FunctionTransformer(np.log1p), ["age", "k"]),
        (FunctionTransformer(np.square), ["f4"]),
        (FunctionTransformer(np.abs, validate=True), ["w"]),
    ),
    "remainder": lambda: make_pipeline(
        columns((OrdinalEncoder(**_AS_CODE), TEXTS), ("drop", ["date", "ext"]), remainder="passthrough"),
        StandardScaler(),
    ),
    "booleans beside numbers": lambda: make_pipeline(columns(("passthrough", ["flag", "f4", "w"])), StandardScaler()),
    "by quantiles": lambda: columns(
        (KBinsDiscretizer(4), ["w", "k"]),
        (KBinsDiscretizer(3, encode="ordinal"), ["f4"]),
        (PowerTransformer(), ["age", "w"]),
        (QuantileTransformer(n_quantiles=20), ["w", "f4"]),
    ),
    "missing marked": lambda: columns((MissingIndicator(error_on_new=False), ["age", "w"])),
    "new missing refused": lambda: columns((MissingIndicator(), ["age", "w"])),
    "text let through": lambda: make_pipeline(columns(("passthrough", ["town", "k"])), OneHotEncoder(**_OTHERS)),
    "a slice": lambda: make_pipeline(
        columns((StandardScaler(), ["age", "w", "f4", "k"])), columns((SimpleImputer(), slice(1, 3)), (PCA(1), [3, 2]))
    ),
}


def mixed(n: int, seed: int, *, gaps: bool, unknown: bool = False) -> pd.DataFrame:
    """Make a frame with columns of every type that steps meet."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Bern", "Chur", "Thun", "Genf", "Ölten"], n, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
            "age": rng.integers(18, 80, n).astype(float),
            "w": rng.normal(size=n),
            "f4": rng.normal(size=n).astype(np.float32),
            "k": rng.integers(0, 4, n),
            "flag": rng.random(n) < 0.5,
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "obj": pd.Series(rng.choice(["x", "y", "z"], n), dtype=object),
            "ext": pd.array(rng.integers(0, 5, n), dtype="Int64"),
            "date": pd.date_range("2020", periods=n),
        }
    )
    if gaps:
        for name, share in {"age": 0.2, "ext": 0.1, "obj": 0.1, "kind": 0.1}.items():
            frame.loc[rng.random(n) < share, name] = None if name in ("ext", "kind") else np.nan
    if unknown:
        frame.loc[:3, "town"] = "Nowhere"
        frame.loc[:2, "obj"] = "q"
        frame.loc[1:3, "k"] = 17
    return frame


def saved_and_read(step: Step) -> Step:
    """Send a step through its document."""
    writer = Writer()
    document = json.loads(json.dumps(writer.step(step), allow_nan=False))
    return Fields(document, writer.vector, KINDS).as_step()


def replay_of(transformer: Any) -> Step:
    return saved_and_read(write(transformer, "step"))


def written_out(found: Any) -> NDArray[Any]:
    """Return the result of scikit-learn or of a replay as an array."""
    if isinstance(found, Sparse):
        return found.matrix
    if isinstance(found, Frame):
        return as_array(found)
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def check_same(transformer: Any, step: Step, rows: Any) -> None:
    """Check that a replay gives scikit-learn's own bits, or that both refuse the rows."""
    try:
        theirs = transformer.transform(rows)
    except (ValueError, TypeError):
        try:
            step.transform(table_of(rows))
        except (InputError, ValueError, TypeError):
            return
        raise AssertionError("scikit-learn refuses these rows, but the replay does not") from None
    ours: Table = step.transform(table_of(rows))
    if hasattr(theirs, "tocoo"):
        assert isinstance(ours, Sparse)
        entries = theirs.tocoo()
        stored = np.zeros(theirs.shape, bool)
        stored[entries.row, entries.col] = True
        np.testing.assert_array_equal(ours.stored, stored)
    out, own = written_out(ours), written_out(theirs)
    assert out.dtype == own.dtype
    if own.dtype == object:
        out, own = out.astype(float), own.astype(float)
    assert same_bits(out, own), f"they differ by up to {np.nanmax(np.abs(out - own))}"
