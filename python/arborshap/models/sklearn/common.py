"""Functions that all readers of scikit-learn estimators share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.models.documents import check_known

_FEW = 256
"""Rows that are predicted on the calling thread."""


def library_name() -> str:
    """Return the library and its version."""
    import sklearn

    return f"scikit-learn {sklearn.__version__}"


def sklearn_classes(model: Any) -> list[str]:
    """Name the classes of scikit-learn that a model descends from, its own class first."""
    return [cls.__name__ for cls in type(model).__mro__ if cls.__module__.partition(".")[0] == "sklearn"]


def check_node_fields(nodes: NDArray[Any], known: Collection[str]) -> None:
    """Refuse nodes with fields that a later version of scikit-learn may have added, unless they are empty."""
    names = nodes.dtype.names or ()
    check_known((name for name in names if name in known or nodes[name].any()), known, "the trees of this scikit-learn")


def feature_names_of(model: Any) -> list[str] | None:
    """Return the names of the columns that the model was fitted on, if it was fitted on a frame."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def quiet(predict: Callable[[Any], Any], n_outputs: int) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
    """Wrap a prediction method, so that it does not warn about a plain matrix without names.

    Few rows are predicted on the calling thread, because joblib only looks every 10 ms whether its threads are done.
    """

    def raw_predict(rows: NDArray[Any]) -> NDArray[np.float64]:
        from joblib import parallel_backend  # noqa: PLC0415 (it comes with scikit-learn)

        one_thread = parallel_backend("sequential") if len(rows) <= _FEW else nullcontext()
        with warnings.catch_warnings(), one_thread:
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            predicted = predict(rows)
        if isinstance(predicted, list):
            predicted = np.hstack(predicted)  # one matrix of class probabilities per output
        return np.asarray(predicted, np.float64).reshape(len(rows), n_outputs)

    return raw_predict


def margins_of(pipeline: Any, rows: Any) -> Any:
    """Ask a pipeline that ends in an estimator for the raw predictions that its trees sum to."""
    if hasattr(pipeline, "decision_function"):
        return pipeline.decision_function(rows)
    if hasattr(pipeline, "predict_proba"):
        return pipeline.predict_proba(rows)
    return pipeline.predict(rows)


def log_margins_of(pipeline: Any, rows: Any) -> Any:
    """Ask a pipeline that ends in a regressor with a log link for its raw predictions."""
    return np.log(pipeline.predict(rows))
