"""scikit-learn's HistGradientBoosting: float64 throughout, with categories recoded before the trees see them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.forest.builder import ForestBuilder
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.recoding import TEXT_IN_A_MATRIX, OrdinalRecoding
from arborshap.models.sklearn.common import (
    check_node_fields,
    feature_names_of,
    library_name,
    log_margins_of,
    margins_of,
    quiet,
)

_FIELDS = frozenset(
    (
        *("left", "right", "is_leaf", "value", "feature_idx", "num_threshold", "missing_go_to_left", "is_categorical"),
        *("bitset_idx", "bin_threshold", "count", "depth", "gain"),
    )
)


def read_hist_gradient_boosting(model: Any) -> Model:
    """Read the raw score: a classifier's ``decision_function``, or a regressor's ``predict`` before its link."""
    from sklearn.base import is_classifier

    n_outputs = model.n_trees_per_iteration_
    preprocessor = getattr(model, "_preprocessor", None)
    # The preprocessor moves categorical columns to the front; in the forest, all columns keep their positions.
    order = np.arange(model.n_features_in_)
    if preprocessor is not None:
        order = np.concatenate((np.flatnonzero(model.is_categorical_), np.flatnonzero(~model.is_categorical_)))
    builder = ForestBuilder(model.n_features_in_, n_outputs, rule="<=", precision="float64")
    known, known_row = model._bin_mapper.make_known_categories_bitsets()
    for iteration in model._predictors:
        for output, predictor in enumerate(iteration):
            _add_tree(builder, predictor, output, order, known, known_row)

    is_multiclass = is_classifier(model) and n_outputs > 1
    link, predict = "identity", model.predict
    if is_classifier(model):
        link, predict = "softmax" if is_multiclass else "logistic", model.decision_function
    elif model.loss in ("poisson", "gamma"):
        link, predict = "log", lambda rows: np.log(model.predict(rows))
    if preprocessor is not None:
        predict = _decoding(predict, preprocessor, order)
    return Model(
        forest=builder.build(
            base=np.ravel(model._baseline_prediction),
            feature_names=feature_names_of(model),
            output_names=[str(name) for name in model.classes_] if is_multiclass else None,
        ),
        library=library_name(),
        link=Link.named(link),
        classes=model.classes_ if is_classifier(model) else None,
        raw_predict=quiet(predict, n_outputs),
        ask_margins=log_margins_of if link == "log" else margins_of,
        encode=None if preprocessor is None else _Preprocessing(preprocessor, order),
    )


def _add_tree(
    builder: ForestBuilder,
    predictor: Any,
    output: int,
    order: NDArray[np.intp],
    known: NDArray[np.uint32],
    known_row: NDArray[np.uint32],
) -> None:
    nodes = predictor.nodes
    check_node_fields(nodes, _FIELDS)
    is_leaf = nodes["is_leaf"].astype(np.bool_)
    missing_left = nodes["missing_go_to_left"].astype(np.bool_)
    sets = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(np.bool_) & ~is_leaf).tolist():
        members = _members(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]])
        if missing_left[node]:
            # Unknown categories go left with missing values, so the set must list the categories that go right.
            members = np.setdiff1d(_members(known[known_row[nodes["feature_idx"][node]]]), members)
        sets[node] = members
    builder.add_tree(
        left=np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        feature=order[np.where(is_leaf, 0, nodes["feature_idx"].astype(np.intp))],
        threshold=nodes["num_threshold"],
        value=nodes["value"],
        output=output,
        default_left=missing_left,
        categories=sets,
        members_left=~missing_left,
        cover=nodes["count"],
    )


def _members(bitset: NDArray[np.uint32]) -> NDArray[np.int64]:
    bits = np.unpackbits(np.ascontiguousarray(bitset, "<u4").view(np.uint8), bitorder="little")
    return np.flatnonzero(bits)


@dataclass(frozen=True, slots=True)
class _Preprocessing:
    """The model's own preprocessor, with its output columns moved back to their positions."""

    preprocessor: Any
    order: NDArray[np.intp]

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        if _has_text(self.preprocessor) and isinstance(rows, np.ndarray) and rows.dtype.kind != "O":
            raise InputError(TEXT_IN_A_MATRIX)
        if type(rows).__module__.partition(".")[0] == "pyarrow":
            rows = rows.to_pandas()
        if len(rows) == 0:  # which scikit-learn refuses
            return np.empty((0, len(self.order)))
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                encoded = self.preprocessor.transform(rows)
        except (TypeError, ValueError) as error:
            raise InputError(f"the model's own preprocessing refuses these rows: {error}") from error
        matrix = np.empty(encoded.shape, np.float64)
        matrix[:, self.order] = encoded
        return matrix

    @property
    def recoding(self) -> OrdinalRecoding:
        """The same recoding without scikit-learn."""
        categories: list[list[Any] | None] = [None] * len(self.order)
        known = self.preprocessor.named_transformers_["encoder"].categories_
        for column, values in zip(self.order.tolist(), known, strict=False):
            # The encoder lists a missing value as the last category, but it is not one.
            categories[column] = [value for value in values.tolist() if value is not None and value == value]
        return OrdinalRecoding(categories)


def _has_text(preprocessor: Any) -> bool:
    categories = preprocessor.named_transformers_["encoder"].categories_
    return any(values.dtype.kind not in "iufb" for values in categories)


def _decoding(predict: Callable[[Any], Any], preprocessor: Any, order: NDArray[np.intp]) -> Callable[[Any], Any]:
    """Turn codes back into categories, so that the library's own predict gets what a user would give it."""
    categories = preprocessor.named_transformers_["encoder"].categories_
    dtype = object if _has_text(preprocessor) else np.float64

    def predict_decoded(rows: NDArray[Any]) -> Any:
        raw = rows.astype(dtype)
        for column, values in zip(order, categories, strict=False):
            codes = rows[:, column]
            present = ~np.isnan(codes)
            raw[present, column] = values[codes[present].astype(np.intp)]
        return predict(raw)

    return predict_decoded
