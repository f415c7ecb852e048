"""From scikit-learn's fitted transformers to steps: the registry of writers, and the transformers made of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from arborshap.steps import binning, containers, encoding, functions, imputing, linear, scaling, selecting
from arborshap.steps.containers import Chain, Framed, Parts
from arborshap.steps.functions import Applied
from arborshap.steps.selecting import frames_made_by
from arborshap.steps.step import Step, WriteStep
from arborshap.steps.unsaved import Unsaved

_FAMILIES = (scaling, encoding, imputing, binning, functions, linear, selecting)

WRITERS: dict[str, WriteStep] = {name: write for family in _FAMILIES for name, write in family.WRITERS.items()}
"""The writer of each class of scikit-learn, by the name of the class."""

KINDS: dict[str, type[Step]] = {kind.KIND: kind for family in (*_FAMILIES, containers) for kind in family.STEPS}
"""The kinds of steps that can be read."""


def write(transformer: Any, name: str) -> Step:
    """Make a step from a fitted transformer.

    Parameters
    ----------
    transformer
        The transformer, or ``"passthrough"``.
    name
        What the pipeline calls it.

    Raises
    ------
    Unsaved
        If it cannot be written as plain data; the message names the step and says what to do.
    """
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return Applied("identity", validate=False)
    kind = type(transformer).__name__
    try:
        _check_class(transformer)
        if kind in _MADE_OF_OTHERS:
            return _MADE_OF_OTHERS[kind](transformer, name)
        step = WRITERS[kind](transformer)
        made = frames_made_by(transformer)
        return step if made is None else Framed([step], keeps_floats=made == "pandas")
    except Unsaved as error:
        if str(error).startswith("the pipeline's step"):  # a step within this one has said it
            raise
        raise Unsaved(
            f"the pipeline's step {name!r}, a {kind}, cannot be saved: {error}. Or pickle the explainer"
        ) from error
    except AttributeError as error:
        raise Unsaved(f"the pipeline's step {name!r}, a {kind}, is not fitted: {error}") from error


def _check_class(transformer: Any) -> None:
    cls = type(transformer)
    if cls.__module__.partition(".")[0] != "sklearn":
        base = next((b.__name__ for b in cls.__mro__ if b.__module__.partition(".")[0] == "sklearn"), None)
        raise Unsaved(
            f"it comes from {cls.__module__}, and only scikit-learn's own transformers are saved as data"
            + (f"; use {base} itself, if it does the same" if base in WRITERS else "; do its work before the pipeline")
        )
    if cls.__name__ not in WRITERS and cls.__name__ not in _MADE_OF_OTHERS:
        raise Unsaved(
            "its class cannot be written as data; do its work before the pipeline, or use another transformer"
        )
    if "transform" in vars(transformer):
        raise Unsaved("its transform method was replaced")


def _write_columns(transformer: Any, name: str) -> Step:
    steps, positions, slices, weights = [], [], [], []
    for part, fitted, columns in transformer.transformers_:
        taken = transformer._transformer_to_input_indices[part]
        if (isinstance(fitted, str) and fitted == "drop") or len(taken) == 0:
            continue
        steps.append(write(fitted, f"{name}/{part}"))
        positions.append(np.array(taken, np.int64))
        slices.append(isinstance(columns, slice) and list(taken) == list(range(taken[0], taken[-1] + 1)))
        weights.append((transformer.transformer_weights or {}).get(part, np.nan))
    made = frames_made_by(transformer)
    makes = "sparse" if transformer.sparse_output_ else "arrays" if made is None else "frames"
    n = int(transformer.n_features_in_)
    written = Parts(n, steps, positions, slices, np.array(weights, np.float64), makes)
    return written if made is None else Framed([written], keeps_floats=made == "pandas")


def _write_union(union: Any, name: str) -> Step:
    n = int(union.n_features_in_)
    members = [(part, fitted) for part, fitted in union.transformer_list if not _is_dropped(fitted)]
    weights = [(union.transformer_weights or {}).get(part, np.nan) for part, _ in members]
    made = frames_made_by(union)
    written = Parts(
        n,
        [write(fitted, f"{name}/{part}") for part, fitted in members],
        [np.arange(n, dtype=np.int64)] * len(members),
        [True] * len(members),
        np.array(weights, np.float64),
        "any sparse" if made is None else "frames",
    )
    return written if made is None else Framed([written], keeps_floats=made == "pandas")


def _is_dropped(fitted: Any) -> bool:
    return isinstance(fitted, str) and fitted == "drop"


def _write_pipeline(pipeline: Any, name: str) -> Step:
    return Chain([write(step, f"{name}/{part}") for part, step in pipeline.steps])


_MADE_OF_OTHERS = {
    "ColumnTransformer": _write_columns,
    "FeatureUnion": _write_union,
    "Pipeline": _write_pipeline,
}
