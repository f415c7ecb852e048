"""Facts about an explainer, for the report, the command line and services."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arborshap.exceptions import InputError
from arborshap.explain.labels import OutputName
from arborshap.explain.state import State
from arborshap.forest import Forest
from arborshap.forest.linear import LinearForest


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about an explainer and its model.

    Attributes
    ----------
    library
        The library that the model came from, such as ``"xgboost 3.2.0"``.
    link
        How a margin becomes the library's prediction, such as ``"logistic"``.
    model_output
        The output that is explained: ``"raw"``, ``"prediction"``, ``"probability"``, ``"log_loss"`` or
        ``"squared_error"``.
    n_trees, n_leaves, max_depth, n_features
        The size of the model.
    n_columns
        Number of columns of a row; for a pipeline, of a raw row.
    n_players
        Number of players.
    n_outputs
        Number of outputs that are explained per row.
    n_background
        Number of background rows; 0 if values are path-dependent.
    engine
        The engine that the caller asked for.
    n_threads
        Number of threads that a call uses.
    """

    library: str
    link: str
    model_output: OutputName
    n_trees: int
    n_leaves: int
    max_depth: int
    n_features: int
    n_columns: int
    n_players: int
    n_outputs: int
    n_background: int
    engine: str
    n_threads: int


def facts_of(state: State) -> Facts:
    """Collect the facts about an explainer."""
    model, forest = state.reader.model, state.forest
    return Facts(
        library=model.library,
        link=model.link.name,
        model_output=state.model_output,
        n_trees=forest.n_trees,
        n_leaves=forest.n_leaves,
        max_depth=forest.max_depth,
        n_features=forest.n_features,
        n_columns=len(state.columns.names),
        n_players=state.columns.n_players,
        n_outputs=state.n_outputs,
        n_background=state.n_background,
        engine=state.settings.engine,
        n_threads=state.settings.n_threads,
    )


def fingerprint(forest: Forest) -> str:
    """Return a text that equal forests share: a hash of all that decides what they predict."""
    import hashlib  # noqa: PLC0415 (it loads OpenSSL, and few callers ask)

    digest = hashlib.sha256()
    arrays = (forest.constants if isinstance(forest, LinearForest) else forest).native.arrays()
    if isinstance(forest, LinearForest):
        arrays |= dict(zip(("slope columns", "slope nodes", "slopes"), forest.entries(), strict=True))
    for name, array in sorted(arrays.items()):
        if array is None or name == "cover":  # which decides nothing that trees predict
            continue
        numbers = np.ascontiguousarray(array)
        little = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name}{little.dtype.str}{little.shape}".encode())
        digest.update(little.tobytes())
    return digest.hexdigest()[:16]


def checked_metadata(notes: Any) -> dict[str, Any]:
    """Return the caller's notes as JSON gives them back, or refuse what JSON cannot hold."""
    if not isinstance(notes, Mapping) or not all(isinstance(name, str) for name in notes):
        raise InputError(f"metadata must be a dict with names as keys; got {notes!r}")
    try:
        kept: dict[str, Any] = json.loads(json.dumps(dict(notes), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(f"metadata must be what JSON can hold: {error}; turn it into text or numbers") from error
    return kept
