"""A small frame with text in it, models of it, and values by the definition, for tests of adapters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from support import oracle

TOWNS = ("Bern", "Chur", "Thun")


def people(n: int = 60) -> pd.DataFrame:
    """Make rows whose index is not 0, 1, 2, ..., as after a split into train and test."""
    rng = np.random.default_rng(7)
    columns = {"age": rng.normal(size=n), "town": rng.choice(TOWNS, n), "income": rng.normal(size=n)}
    return pd.DataFrame(columns, index=np.arange(n)[::-1] + 100)


def target(frame: pd.DataFrame) -> pd.Series:
    return frame["age"] + (frame["town"] == "Bern") * frame["income"] - (frame["town"] == "Chur")


def classes(frame: pd.DataFrame, n: int) -> pd.Series:
    """Return classes 0, 1, ... of equal size."""
    return pd.qcut(target(frame), n, labels=False)


def pipeline(model: Any) -> Pipeline:
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["town"]), (StandardScaler(), ["age", "income"])
    )
    return make_pipeline(encode, model)


def by_definition(
    predict: Callable[[pd.DataFrame], Any],
    X: pd.DataFrame,
    Z: pd.DataFrame,
    players: Sequence[int] | None = None,
    index: Callable[[Any], NDArray[np.float64]] = oracle.shapley,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values, (rows, players, outputs), and base values, (outputs,), through the model's own prediction."""
    texts = {name: sorted({*X[name], *Z[name]}) for name in X if not pd.api.types.is_numeric_dtype(X[name])}

    def coded(frame: pd.DataFrame) -> NDArray[np.float64]:
        numbers = {name: frame[name].map(texts[name].index) if name in texts else frame[name] for name in X}
        return np.asarray(pd.DataFrame(numbers), np.float64)

    def of_codes(rows: NDArray[np.float64]) -> Any:
        frame = pd.DataFrame(rows, columns=X.columns)
        cells = {name: np.array(texts[name], dtype=object)[frame[name].astype(int)] for name in texts}
        known = frame.assign(**cells).astype(dict(X.dtypes))
        return predict(known)

    worth = oracle.worths(of_codes, coded(X), coded(Z), players)
    return index(worth), worth[0, 0]


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same rows without text."""
    return frame.drop(columns="town").assign(bern=(frame["town"] == "Bern").astype(float))
