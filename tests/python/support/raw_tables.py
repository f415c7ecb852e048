"""Raw data with mixed columns, and the definition on them: cells are exchanged, then the pipeline predicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from support import oracle

NAMES = ["town", "age", "w", "junk", "v", "size"]


def table(n: int, seed: int = 0, gaps: bool = True) -> pd.DataFrame:
    """Make columns of text, numbers with and without missing cells, and small integers."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Bern", "Chur", "Thun", "Genf"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "age": rng.integers(18, 80, n).astype(float),
            "w": rng.normal(size=n),
            "junk": rng.normal(size=n),
            "v": rng.normal(size=n),
            "size": rng.integers(0, 4, n),
        }
    )
    if gaps:
        frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    return frame


def target(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Make a target that depends on every column but the junk, and on some only jointly."""
    age = frame["age"].fillna(30.0) / 40.0
    town = frame["town"].map({"Bern": 2.0, "Chur": -1.0}).fillna(0.5).astype(float)
    return np.asarray(town * age + frame["w"] * frame["v"] + (frame["size"] == 2) * town)


def worths(predict: Callable[[Any], Any], X: Any, Z: Any, players: Sequence[int]) -> NDArray[np.float64]:
    """Return the worth of every coalition of raw columns, as `oracle.worths` does for numbers.

    The oracle mixes the positions of rows; a position stands for that row's cell.
    """
    both = pd.concat([X, Z], ignore_index=True) if isinstance(X, pd.DataFrame) else np.concatenate([X, Z])

    def predict_cells(numbers: NDArray[np.float64]) -> Any:
        taken = numbers.astype(np.intp)
        if isinstance(both, np.ndarray):
            return predict(both[taken, np.arange(both.shape[1])])
        return predict(pd.DataFrame({name: both[name].array.take(taken[:, j]) for j, name in enumerate(both.columns)}))

    rows = np.repeat(np.arange(len(both), dtype=np.float64)[:, np.newaxis], both.shape[1], axis=1)
    return oracle.worths(predict_cells, rows[: len(X)], rows[len(X) :], players)
