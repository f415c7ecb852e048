"""What fuzzing does with every file: it must be read and used, or refused as damaged, and nothing else."""

from __future__ import annotations

import struct
import warnings

import numpy as np
from numpy.typing import NDArray

from arborshap import Background, Forest, Limits, TreeExplainer
from arborshap.exceptions import InputError, InternalError, ModelError
from arborshap.models.files import read_content
from support.saved_files import sealed

LIMITS = Limits(bytes=2**20, nodes=2**16, features=2**12, categories=2**16)
FEW = 2**10
# What a file may make us say to its user; any other warning is an error.
NOTICES = (
    "An XGBoost dump holds",
    "The model was saved by XGBoost",
    "this LightGBM file has",
    "this CatBoost file has",
)


def read_model(content: bytes) -> bool:
    """Read and use a model file; return whether it was accepted."""
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        for notice in NOTICES:
            warnings.filterwarnings("ignore", message=notice, category=UserWarning)
        try:
            model = read_content(content, "the file", None, LIMITS)
            LIMITS.check_forest(model.forest, "the file")
        except InternalError:
            raise
        except ModelError:
            return False
    return use(model.forest)


def resealed(content: bytes) -> bytes:
    """Return the content with a correct header and checksum."""
    if len(content) < 32:
        return content
    head = b"ARBORSHP" + struct.pack("<I", 1) + content[12:16] + struct.pack("<Q", len(content))
    return sealed(head + content[24:])


def read_saved(content: bytes) -> bool:
    """Read an explainer or a background after correcting its checksum."""
    data = resealed(content)
    try:
        merged = Background.from_bytes(data)
        merged.merge(merged).to_bytes()
        return True
    except InternalError:
        raise
    except (ModelError, InputError):
        pass
    try:
        explainer = TreeExplainer.from_bytes(data, n_jobs=1, memory_limit=2**24, limits=LIMITS)
    except InternalError:
        raise
    except ModelError:
        return False
    forest = explainer.forest
    if forest.n_features * forest.n_outputs <= FEW:
        try:
            values = explainer.shap_values(rows_of(forest))
            assert values.shape[0] == 3
        except InternalError:
            raise
        except InputError:
            pass  # a recoding that rows of numbers do not fit
    explainer.to_bytes()
    return True


def use(forest: Forest) -> bool:
    """Explain a few rows, whose values must add up; return whether the forest can be explained at all."""
    if forest.n_features * forest.n_outputs > FEW or forest.n_nodes > FEW:
        return True
    rows = rows_of(forest)
    try:
        explainer = TreeExplainer(forest, rows, n_jobs=1)
    except ModelError as refusal:
        if "would leave the range of float64" not in str(refusal):
            raise
        return False
    values = explainer.shap_values(rows).reshape(len(rows), -1, forest.n_outputs)
    margin = forest.margin(rows)
    size = np.abs(forest.value).max(initial=1.0) * max(forest.n_trees, 1) + np.abs(forest.base).max()
    with np.errstate(all="ignore"):
        gap = np.abs(values.sum(axis=1) + np.atleast_1d(explainer.expected_value) - margin)
    assert (gap <= 1e-8 * size).all()
    return True


def rows_of(forest: Forest) -> NDArray[np.float64]:
    """Make three rows: zeros, the median of the forest's thresholds, and unusual numbers."""
    rows = np.zeros((3, forest.n_features))
    rows[1] = np.median(forest.threshold) if len(forest.threshold) else 0.5
    rows[2] = np.resize([np.nan, 1.5, -np.inf, 7.0, 1e300], forest.n_features)
    return rows
