"""Verification: before anything is explained, the trees as read must predict what the model's library predicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError, VerificationError
from arborshap.forest.linear import LinearForest
from arborshap.game.relations import Relation, components
from arborshap.models.model import Model
from arborshap.rows.frames import Rows
from arborshap.rows.numbers import Matrix
from arborshap.rows.raw import mixed_rows, some_rows, without_arrow

SAMPLE = 1000
_MIXED = 32  # mixed rows that test what features depend on
_SEARCHED = 4_000_000  # cells of a huge background that are searched for extremes


def verify(
    model: Model,
    background: Matrix,
    what: str,
    n_threads: int,
    *,
    own_prediction: Callable[[NDArray[np.intp]], NDArray[np.float64]] | None = None,
) -> None:
    """Compare our margin with the library's raw prediction on rows of the background.

    Parameters
    ----------
    model
        The model as read.
    background
        The rows to choose from.
    what
        What to call these rows in messages.
    n_threads
        Number of threads for our margin.
    own_prediction
        Predicts the raw rows at these positions, and is called instead of the model. A pipeline needs it, because its
        model never sees raw rows.

    Raises
    ------
    VerificationError
        If they differ by more than the library's own rounding can explain.
    InputError
        If the library refuses to predict these rows.
    """
    raw_predict = model.raw_predict
    if raw_predict is None:
        return
    positions = rows_to_verify(background)
    rows = background[positions]
    try:
        predicted = raw_predict(rows) if own_prediction is None else own_prediction(positions)
        theirs = np.asarray(predicted, dtype=np.float64)
    except Exception as error:
        message = (
            f"{what}: {model.library} itself refuses to predict these rows ({error}); verify=False skips this check"
        )
        raise InputError(message) from error
    ours = model.forest.margin(rows, n_threads)
    if theirs.shape != ours.shape:
        raise VerificationError(
            f"{model.library} predicts an array of shape {theirs.shape}, but the trees as read give {ours.shape}; "
            "please report it with the model"
        )
    gap = np.where(ours == theirs, 0.0, np.abs(ours - theirs))
    gap[np.isnan(gap)] = np.inf
    wrong = gap > model.tolerance * _size_of_margins(model, theirs)
    if wrong.any():
        at, output = np.unravel_index(int(np.where(wrong, gap, -1.0).argmax()), gap.shape)
        which = f" for output {output}" if ours.shape[1] > 1 else ""
        raise VerificationError(
            f"row {positions[at]} of {what}: {model.library} predicts {float(theirs[at, output])!r}{which}, but the "
            f"trees as read give {float(ours[at, output])!r}; {int(wrong.any(axis=1).sum())} of {len(rows)} rows "
            "differ. The values would explain another model. Check that the model itself is given these numbers; if "
            "it is, please report it with the model. verify=False explains the trees as read."
        )


def verify_given(model: Model, rows: Rows, what: str, n_threads: int) -> None:
    """Compare our margin with the library's raw prediction of rows as they were given, before any encoding.

    If the model makes features of its own from the columns, test what they depend on, too.
    """
    predict = model.raw_predict
    if predict is not None:
        verify(model, rows.matrix, what, n_threads, own_prediction=lambda at: predict(some_rows(rows.raw, at)))
    if model.sources is not None and model.encode is not None:
        relation = Relation(model.n_columns, model.sources)
        try_relation(rows.raw, rows.matrix, relation, model.encode, what)


def try_relation(raw: Any, matrix: Matrix, relation: Relation, features_of: Callable[[Any], Matrix], what: str) -> None:
    """Mix rows as the game does, and check that their features are the same mixture of features.

    Parameters
    ----------
    raw
        Rows as they were given.
    matrix
        The features that were made from them.
    relation
        The columns that each feature is thought to depend on.
    features_of
        Makes features from rows.
    what
        What to call these rows in messages.

    Raises
    ------
    VerificationError
        If a feature changes with a column that it should not depend on.
    """
    raw = without_arrow(raw)
    if raw is None:
        return
    players = np.array(components(relation.n_inputs, relation.sources))
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, len(matrix), size=(2, min(_MIXED, len(matrix))))
    joins = rng.random((len(first), int(players.max()) + 1)) < 0.5
    found = features_of(mixed_rows(raw, first, second, joins[:, players]))
    from_first = joins[:, relation.owners(players.tolist())]
    expected = np.where(from_first, matrix[first], matrix[second])
    size = np.abs(np.where(np.isfinite(expected), expected, 0.0)).max(axis=0, initial=0.0)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected)) | (abs(found - expected) <= 1e-5 * size)
    if not same.all():
        feature = int((~same).any(axis=0).argmax())
        raise VerificationError(
            f"{what}: feature {feature} that the pipeline's steps make should depend only on the raw columns "
            f"{sorted(relation.sources[feature])} of its own row, but it depends on more. A step looks at "
            "other rows, or does not do what its class says, so values of raw columns would not be exact. "
            "verify=False explains the pipeline as read"
        )


def rows_to_verify(background: Matrix) -> NDArray[np.intp]:
    """Choose the positions of all rows of a small background, or of about a thousand rows that reach many leaves.

    Half of those are spread evenly. The other half hold the least, the greatest or a missing value of some feature,
    because such rows take the outer branches.
    """
    n = len(background)
    if n <= SAMPLE:
        return np.arange(n)
    most = max(SAMPLE, _SEARCHED // max(1, background.shape[1]))
    searched = np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))
    values = background[searched]
    missing = np.isnan(values)
    if missing.any():
        low = np.where(missing, np.inf, values).argmin(axis=0)
        high = np.where(missing, -np.inf, values).argmax(axis=0)
    else:
        low, high = values.argmin(axis=0), values.argmax(axis=0)
    extreme = searched[np.unique(np.concatenate([low, high, missing.argmax(axis=0)]))]
    if len(extreme) > SAMPLE // 2:
        extreme = extreme[np.linspace(0, len(extreme) - 1, SAMPLE // 2).astype(np.intp)]
    spread = np.linspace(0, n - 1, SAMPLE - len(extreme)).astype(np.intp)
    return np.union1d(spread, extreme)


def _size_of_margins(model: Model, theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, per output, the scale to which the library's rounding is relative.

    A margin may be small because large leaves cancel, so the scale is the largest leaf or the largest margin, whichever
    is larger.
    """
    forest = model.forest.constants if isinstance(model.forest, LinearForest) else model.forest
    sizes = forest.native.largest_leaves()
    finite = np.where(np.isfinite(theirs), np.abs(theirs), 0.0)
    return np.asarray(np.maximum(sizes, finite.max(axis=0, initial=0.0)))
