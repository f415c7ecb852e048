"""Steps replayed from plain data give scikit-learn's own bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

from arborshap.exceptions import InputError
from support.step_cases import OF_FRAMES, OF_NUMBERS, TEXTS, check_same, mixed, replay_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, -2]
Y = X[:, 0] * X[:, 1]
NAMES = list("abcd")


def framed(rows: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES)


FITTED_ON = {
    "array": X,
    "frame": framed(X),
    "float32": X.astype(np.float32),
    "float32 frame": framed(X.astype(np.float32)),
}
ROWS = {
    "floats": X,
    "one row": X[:1],
    "seven rows": X[:7],
    "float32": X.astype(np.float32),
    "one row of float32": X[:1].astype(np.float32),
    "float16": X.astype(np.float16),
    "integers": X.astype(int),
    "objects": X.astype(object),
    "column by column": np.asfortranarray(X),
    "missing": np.where(RNG.random(X.shape) < 0.1, np.nan, X),
    "infinite": np.where(RNG.random(X.shape) < 0.01, np.inf, X),
    "frame": framed(X),
    "frame of float32": framed(X.astype(np.float32)),
    "mixed frame": pd.DataFrame({"a": X[:, 0].astype("f4"), "b": X[:, 1], "c": X[:, 2] > 1, "d": X[:, 3].astype(int)}),
    "narrow frame": pd.DataFrame(
        {"a": X[:, 0].astype("f4"), "b": X[:, 1].astype("f4"), "c": X[:, 2] > 1, "d": X[:, 3].astype("i1")}
    ),
    "frame of minus ones": framed(np.where(RNG.random(X.shape) < 0.1, -1.0, X)),
}


@pytest.mark.filterwarnings("ignore")  # scikit-learn's own: names, empty columns, domains of functions
@pytest.mark.parametrize("fitted_on", FITTED_ON)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_steps_of_numbers(name: str, fitted_on: str) -> None:
    transformer = OF_NUMBERS[name]().fit(FITTED_ON[fitted_on], Y)
    step = replay_of(transformer)
    for rows in ROWS.values():
        check_same(transformer, step, rows)
    assert step.n_outputs(4) == np.shape(transformer.transform(FITTED_ON[fitted_on]))[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("gaps", [True, False])
@pytest.mark.parametrize("name", OF_FRAMES)
def test_steps_of_frames(name: str, gaps: bool) -> None:
    frame = mixed(300, 0, gaps=gaps)
    target = frame["k"] % 3 if name == "target of classes" else frame["w"] + (frame["town"] == "Bern")
    transformer = OF_FRAMES[name]().fit(frame, target.to_numpy())
    step = replay_of(transformer)
    for rows in (
        mixed(50, 1, gaps=gaps),
        mixed(1, 2, gaps=gaps),
        mixed(50, 1, gaps=not gaps),
        mixed(20, 3, gaps=gaps, unknown=True),
        frame,
        frame[frame.columns],
    ):
        check_same(transformer, step, rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["one-hot", "numbers", "imputed", "target", "functions", "booleans beside numbers"])
def test_polars_frames(name: str) -> None:
    frame = mixed(200, 0, gaps=False)
    transformer = OF_FRAMES[name]().fit(frame, frame["w"])
    step = replay_of(transformer)
    check_same(transformer, step, pl.from_pandas(frame[:50]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["max-abs", "standard, not centred", "robust, not centred", "svd", "binary", "variance"]
)
def test_sparse_rows(name: str) -> None:
    rows = scipy.sparse.csr_matrix(np.where(RNG.random(X.shape) < 0.5, 0.0, X))
    rows.data[0] = 0.0  # stored all the same
    transformer = OF_NUMBERS[name]().fit(rows, Y)
    check_same(transformer, replay_of(transformer), rows)


def test_what_sparse_rows_cannot_do_bit_for_bit_is_refused() -> None:
    transformer = OF_NUMBERS["cubes"]().fit(X)
    with pytest.raises(InputError, match="a sparse matrix cannot be replayed by PolynomialFeatures"):
        check_same(transformer, replay_of(transformer), scipy.sparse.csr_matrix(X))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"add_indicator": True}, {"keep_empty_features": True}])
def test_columns_with_nothing_to_fill_in(options: dict[str, Any]) -> None:
    rows = np.where([False, True, False, True], np.nan, X)
    rows[::7, 0] = np.nan
    transformer = SimpleImputer(**options).fit(rows)
    check_same(transformer, replay_of(transformer), rows)
    check_same(transformer, replay_of(transformer), ROWS["missing"])


def test_box_cox_is_bit_for_bit_or_refused() -> None:
    rows = np.exp(X)
    transformer = PowerTransformer("box-cox").fit(rows)
    try:
        step = replay_of(transformer)
    except InputError as refused:  # older versions of SciPy have an exponential of their own
        assert "computes it in a way that arborshap does not know" in str(refused)  # noqa: PT017
        return
    check_same(transformer, step, rows)
    check_same(transformer, step, np.where(RNG.random(X.shape) < 0.1, np.nan, rows))
    check_same(transformer, step, -rows)


NUMERIC = ["age", "w", "f4", "k"]
KEEPS_GAPS = ["standard", "min-max", "robust", "max-abs", "mean", "median, marked", "power", "quantiles", "identity"]


@given(st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@pytest.mark.filterwarnings("ignore")
def test_any_steps_on_any_columns(data: st.DataObject) -> None:
    parts = []
    for number in range(data.draw(st.integers(1, 3))):
        chosen = data.draw(st.lists(st.sampled_from(NUMERIC), min_size=1, max_size=4, unique=True))
        names = data.draw(st.lists(st.sampled_from(KEEPS_GAPS), min_size=1, max_size=2))
        parts.append((str(number), make_pipeline(*(OF_NUMBERS[name]() for name in names)), chosen))
    text = data.draw(st.sampled_from([name for name in OF_FRAMES if name.startswith(("one-hot", "ordinal", "target"))]))
    encoder = OF_FRAMES[text]().transformers[0][1]
    parts.append(("text", encoder, data.draw(st.lists(st.sampled_from(TEXTS), min_size=1, unique=True))))
    transformer = ColumnTransformer(parts, sparse_threshold=data.draw(st.sampled_from([0.0, 0.5, 1.0])))
    if data.draw(st.booleans()):
        transformer = make_pipeline(transformer, StandardScaler(with_mean=False))
    gaps = data.draw(st.booleans())
    frame = mixed(120, data.draw(st.integers(0, 99)), gaps=gaps)
    transformer.fit(frame, frame["k"] % 3)
    step = replay_of(transformer)
    for rows in (frame, mixed(9, 5, gaps=gaps), mixed(9, 6, gaps=True, unknown=True)):
        check_same(transformer, step, rows)
