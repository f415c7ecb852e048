"""Finding out by trial which input columns the outputs of a transformer depend on, if nothing else tells.

A trial proves that an output depends on a column, but not that it does not. Therefore the claim is tested on mixtures
of rows, with missing cells too, and whoever relies on it must test it again on the rows that are explained.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.rows.frames import frame_library, is_sparse
from arborshap.rows.numbers import is_missing
from arborshap.rows.raw import mixed_rows, some_rows, with_gaps

_ROWS = 48
_MIXED = 96
_COLUMNS = 100  # with more columns, trials would take longer than a user expects


def sample(rows: Any) -> Any:
    """Return some rows for trials, evenly spread; ``None`` if no mixtures can be made of such rows."""
    if rows is None or is_sparse(rows) or frame_library(rows) == "pyarrow":
        return None
    if not rows.shape[0] or rows.shape[1] > _COLUMNS:
        return None
    return some_rows(rows, np.unique(np.linspace(0, rows.shape[0] - 1, _ROWS).astype(np.intp)))


def is_open_to_trial(transformer: Any) -> bool:
    """Whether a transformer is a function of the user's own; scikit-learn's other classes are known to mix columns."""
    owner = next((cls for cls in type(transformer).__mro__ if "transform" in vars(cls)), None)
    if owner is None:
        return False
    return owner.__module__.partition(".")[0] != "sklearn" or owner.__name__ == "FunctionTransformer"


def tried_sources(transformer: Any, rows: Any, n_outputs: int | None) -> list[frozenset[int]] | None:
    """Return the input columns that each output depends on, or ``None`` if trials do not tell.

    Parameters
    ----------
    transformer
        The fitted transformer.
    rows
        Rows from `sample`, as the transformer takes them.
    n_outputs
        Number of output columns, if it is known.
    """
    trial = _Trial(transformer, rows)
    made = trial.made(rows)
    if made is None or (n_outputs is not None and made.shape[1] != n_outputs) or len(made) < 2:
        return None
    n_rows, n_inputs = len(made), int(rows.shape[1])
    backwards = np.arange(n_rows)[::-1]
    found: list[set[int]] = [set() for _ in range(made.shape[1])]
    for column in range(n_inputs):
        alone = np.zeros((n_rows, n_inputs), np.bool_)
        alone[:, column] = True
        varies = False
        for shift in (1, n_rows // 2, n_rows // 3 or 1):
            others = np.roll(np.arange(n_rows), shift)
            changed = mixed_rows(rows, others, np.arange(n_rows), alone)
            again = trial.made(changed)
            if again is None or again.shape != made.shape:
                return None
            varies |= not _same(_cells(changed), _cells(rows)).all()
            for output in np.flatnonzero(~_same(again, made).all(axis=0)).tolist():
                found[output].add(column)
        if not varies:  # nothing was tried
            return None
    sources = [frozenset(columns) for columns in found]
    reversed_rows = trial.made(some_rows(rows, backwards))
    if reversed_rows is None or not _same(reversed_rows, made[backwards]).all():
        return None  # it looks at other rows
    return sources if all(trial.holds(given, sources) for given in (rows, with_gaps(rows))) else None


class _Trial:
    def __init__(self, transformer: Any, rows: Any) -> None:
        self.transformer = transformer
        self.n_inputs = int(rows.shape[1])

    def made(self, rows: Any) -> NDArray[Any] | None:
        """Return what the transformer makes of rows as a table; ``None`` if it makes none."""
        try:
            with np.errstate(all="ignore"):
                return _cells(self.transformer.transform(rows.copy() if hasattr(rows, "copy") else rows))
        except (TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError):
            return None

    def holds(self, rows: Any, sources: list[frozenset[int]]) -> bool:
        """Whether mixtures of these rows become mixtures of what the transformer makes of them."""
        made = None if rows is None else self.made(rows)
        if made is None:
            return True  # it refuses such rows, so none will ever be explained
        rng = np.random.default_rng(0)
        first, second = rng.integers(0, len(made), size=(2, _MIXED))
        from_first = rng.random((_MIXED, self.n_inputs)) < 0.5
        again = self.made(mixed_rows(rows, first, second, from_first))
        if again is None or again.shape[1] != made.shape[1]:
            return False
        for output, columns in enumerate(sources):
            taken = from_first[:, sorted(columns)]
            for expected, whole in (
                (made[first, output], taken.all(axis=1)),
                (made[second, output], ~taken.any(axis=1)),
            ):
                if not _same(again[whole, output], expected[whole]).all():
                    return False
        return True


def _cells(table: Any) -> NDArray[Any]:
    """Return a table of any kind as an array."""
    if is_sparse(table):
        return np.asarray(table.toarray())
    cells = np.asarray(table.to_numpy() if frame_library(table) is not None else table)
    if cells.ndim != 2:
        raise ValueError("this is not a table")
    return cells


def _same(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare cells, of which missing ones are equal."""
    if one.dtype.kind in "fiub" and other.dtype.kind in "fiub":
        return np.asarray((one == other) | ((one != one) & (other != other)))
    pairs = zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
    same = [(is_missing(a) and is_missing(b)) or (type(a) is type(b) and a == b) for a, b in pairs]
    return np.array(same, np.bool_).reshape(one.shape)
