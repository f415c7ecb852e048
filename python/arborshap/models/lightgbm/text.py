"""LightGBM's model text, as ``save_model`` writes it and ``model_to_string`` returns it, into a forest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.notices import warn
from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder, Missing
from arborshap.forest.forest import Forest
from arborshap.models.documents import check_known, unknown_objective, whole
from arborshap.models.json import parse_json
from arborshap.models.lightgbm.fields import field, numbers, read_block
from arborshap.models.lightgbm.linear import is_linear, with_slopes
from arborshap.models.link import Link
from arborshap.models.model import Model, class_names
from arborshap.models.recoding import LightGBMRecoding

_LINKS = {
    **dict.fromkeys(("binary", "cross_entropy", "multiclassova"), "logistic"),
    "multiclass": "softmax",
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "log"),
    "cross_entropy_lambda": "softplus",
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), "identity"),
}
_VERSIONS = ("v2", "v3", "v4")
_MISSING: dict[int, Missing] = {0: "none", 1: "zero", 2: "nan"}
_ZERO = float(np.float32(1e-35))
_NAN_IS_MISSING = 2
_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of decision_type; the missing type is in the next two
_KNOWN_BITS = 15
_FIELDS = frozenset(
    (
        *("num_leaves", "num_cat", "split_feature", "split_gain", "threshold", "decision_type"),
        *("left_child", "right_child", "leaf_value", "leaf_weight", "leaf_count", "leaf_parent", "leaf_depth"),
        *("internal_value", "internal_weight", "internal_count", "cat_boundaries", "cat_threshold", "shrinkage"),
        *("is_linear", "leaf_const", "num_features", "leaf_features", "leaf_coeff", "has_categorical"),
    )
)
_FEW_OUTPUTS = 1 << 12  # a file may claim more only if it has at least as many trees


@dataclass(frozen=True, slots=True)
class Text:
    """The content of a model text."""

    forest: Forest
    objective: str
    link: str
    steepness: float
    categories: list[list[Any]]
    """The categories that the codes of each category column of the training frame stand for, in order."""
    category_columns: list[int]
    """The positions of the columns that held categories in training, in a frame or not."""
    averaged: int
    """The number of iterations that a random forest averages; 1 for any other model."""

    def recoding(self) -> LightGBMRecoding | None:
        """Return what LightGBM does to a frame, or ``None`` if it does nothing."""
        if not self.categories:
            return None
        return LightGBMRecoding(self.forest.n_features, self.categories, list(self.category_columns))


def load_text(content: bytes, what: str) -> Model:
    """Read a saved model."""
    try:
        text = read_text(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ModelError(f"{what} is not UTF-8 text: byte {error.start} is invalid") from None
    if text.link == "unknown":
        warn(unknown_objective("LightGBM", text.objective))
    return Model(
        forest=text.forest,
        library="lightgbm text",
        link=Link.named(text.link, text.steepness),
        encode=text.recoding(),
        spaces_are_underscores=True,
        predicts_by_position=True,
    )


def read_text(text: str, classes: NDArray[Any] | None = None) -> Text:
    """Turn a model text into a forest; outputs are named after the classes, if there is one output per class."""
    lines = (line.rstrip("\r") for line in text.split("\n"))
    header, first = read_block(lines, "the header")
    blocks: list[dict[str, str]] = []
    while first is not None and first.startswith("Tree="):
        block, following = read_block(lines, f"tree {len(blocks)}")
        blocks.append(block)
        first = following
    if first != "end of trees":
        raise ModelError("the model text is cut off: the line 'end of trees' is missing")
    if header.get("version") not in _VERSIONS:
        raise UnsupportedModelError(
            f"the version of the model text is {header.get('version', '')!r}, but only {', '.join(_VERSIONS)} are "
            "known; load the model into LightGBM and save it again"
        )
    n_features = whole(field(header, "max_feature_idx", "the header"), "max_feature_idx") + 1
    n_outputs = whole(field(header, "num_tree_per_iteration", "the header"), "num_tree_per_iteration")
    announced = len(header.get("tree_sizes", "").split())
    if announced not in (0, len(blocks)):
        raise ModelError(f"the model text announces {announced} trees, but holds {len(blocks)}")
    if not 1 <= n_outputs <= max(len(blocks), _FEW_OUTPUTS) or len(blocks) % n_outputs:
        raise ModelError(f"{len(blocks)} trees cannot be divided into iterations of {n_outputs} trees")
    averaged = len(blocks) // n_outputs if "average_output" in header and blocks else 1
    has_counts = all("internal_count" in block and "leaf_count" in block for block in blocks)
    builder = ForestBuilder(n_features, n_outputs, rule="<=", precision="float64")
    for t, block in enumerate(blocks):
        _add_tree(builder, f"tree {t}", block, t % n_outputs, averaged, has_counts)
    link, steepness = _link(header.get("objective", ""))
    forest = builder.build(
        feature_names=_feature_names(header, n_features), output_names=class_names(classes, n_outputs)
    )
    return Text(
        forest=with_slopes(forest, blocks, averaged),
        objective=header.get("objective", ""),
        link=link,
        steepness=steepness,
        categories=_pandas_categories(lines),
        category_columns=_category_columns(header, n_features),
        averaged=averaged,
    )


def _add_tree(
    builder: ForestBuilder, where: str, fields: dict[str, str], output: int, averaged: int, has_counts: bool
) -> None:
    check_known(fields, _FIELDS, where)
    leaves = whole(field(fields, "num_leaves", where), f"{where}: num_leaves")
    key = "leaf_const" if is_linear(fields) else "leaf_value"
    values = numbers(fields, key, where, np.float64, leaves) / averaged
    if leaves == 1:
        alone = [1.0] if has_counts else None  # it has no effect, and is not always written
        builder.add_tree(left=[-1], right=[-1], feature=[0], threshold=[0], value=values, output=output, cover=alone)
        return
    inner = leaves - 1  # our nodes: first the inner ones, then the leaves
    kind = numbers(fields, "decision_type", where, np.int32, inner)
    threshold = numbers(fields, "threshold", where, np.float64, inner)
    feature = numbers(fields, "split_feature", where, np.int32, inner)
    if (kind & ~_KNOWN_BITS).any():
        node = int(np.argmax(kind & ~_KNOWN_BITS != 0))
        raise UnsupportedModelError(f"{where}, node {node}: its decision_type {kind[node]} has bits that are not known")
    is_categorical = kind & _CATEGORICAL != 0
    missing_type = (kind >> 2) & 3
    if (missing_type == 3).any():
        raise ModelError(f"{where}, node {int(np.argmax(missing_type == 3))}: its missing type is unknown")
    # A missing category is in no set, whatever the other bits say.
    default_left = (kind & _DEFAULT_LEFT != 0) & ~is_categorical
    missing_type = np.where(is_categorical, _NAN_IS_MISSING, missing_type)
    cover = None
    if has_counts:
        counts = (("internal_count", inner), ("leaf_count", leaves))
        cover = np.concatenate([numbers(fields, key, where, np.float64, n) for key, n in counts])
    builder.add_tree(
        left=_children(fields, "left_child", where, inner),
        right=_children(fields, "right_child", where, inner),
        feature=_with_leaves(feature, leaves),
        threshold=_with_leaves(_around_zero(threshold), leaves),
        value=np.concatenate([np.zeros(inner), values]),
        output=output,
        default_left=_with_leaves(default_left, leaves),
        missing=_missing(missing_type, leaves),
        categories=_category_sets(fields, where, threshold, is_categorical),
        members_left=True,
        negative_fraction_is_zero=True,
        cover=cover,
    )


def _with_leaves(of_inner: NDArray[Any], leaves: int) -> NDArray[Any]:
    """Add a zero for each leaf."""
    return np.concatenate([of_inner, np.zeros(leaves, of_inner.dtype)])


def _missing(types: NDArray[Any], leaves: int) -> Missing | list[Missing]:
    """Name what is missing at each node, or once if it is the same everywhere, as in most models."""
    if (types == types[0]).all():
        return _MISSING[int(types[0])]
    return [_MISSING[m] for m in _with_leaves(types, leaves).tolist()]


def _around_zero(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move thresholds that are next to zero, because LightGBM rounds values that close to zero before it compares."""
    up = np.where((threshold >= 0) & (threshold < _ZERO), _ZERO, threshold)
    return np.where((threshold < 0) & (threshold >= -_ZERO), np.nextafter(-_ZERO, -1.0), up)


def _children(fields: dict[str, str], key: str, where: str, inner: int) -> NDArray[np.int64]:
    """Return children with leaf ``~child`` of a negative child numbered after the inner nodes."""
    child = numbers(fields, key, where, np.int32, inner).astype(np.int64)
    return np.concatenate([np.where(child < 0, inner + ~child, child), np.full(inner + 1, -1)])


def _category_sets(
    fields: dict[str, str], where: str, threshold: NDArray[np.float64], is_categorical: NDArray[np.bool_]
) -> dict[int, NDArray[np.uint32]]:
    """Read the sets of categories; the threshold of a categorical node is the position of its bitset."""
    if not is_categorical.any():
        return {}
    n_sets = whole(field(fields, "num_cat", where), f"{where}: num_cat")
    bounds = numbers(fields, "cat_boundaries", where, np.int64, n_sets + 1).tolist()
    words = numbers(fields, "cat_threshold", where, np.uint32, bounds[-1])
    if bounds[0] != 0 or any(a > b for a, b in pairwise(bounds)):
        raise ModelError(f"{where}: cat_boundaries must start at 0 and never fall")
    sets: dict[int, NDArray[np.uint32]] = {}
    used = np.zeros(n_sets, np.bool_)
    for node in np.flatnonzero(is_categorical).tolist():
        position = threshold[node]
        if not 0 <= position < n_sets:
            raise ModelError(f"{where}, node {node}: it uses set of categories {position}, but there are {n_sets} sets")
        # LightGBM gives every node its own set; many nodes with one large set would take any amount of memory.
        if used[int(position)]:
            raise ModelError(f"{where}, node {node}: another node already uses set of categories {int(position)}")
        used[int(position)] = True
        bitset = words[bounds[int(position)] : bounds[int(position) + 1]]
        bits = np.unpackbits(bitset.astype("<u4").view(np.uint8), bitorder="little")
        sets[node] = np.flatnonzero(bits).astype(np.uint32)
    return sets


def _feature_names(header: dict[str, str], n_features: int) -> list[str] | None:
    names = header.get("feature_names", "").split(" ")
    if len(names) != n_features:
        raise ModelError(f"the header has {len(names)} feature names, but max_feature_idx means {n_features} features")
    # LightGBM gives these names to columns without names.
    return None if names == [f"Column_{i}" for i in range(n_features)] else names


def _link(objective: str) -> tuple[str, float]:
    """Return the link of an objective, such as ``binary sigmoid:2`` or ``regression sqrt``, and its steepness."""
    name, *options = objective.split() or [""]
    link = "signed square" if "sqrt" in options else _LINKS.get(name, "unknown")
    given = next((option.partition(":")[2] for option in options if option.startswith("sigmoid:")), "1")
    try:
        steepness = float(given)
    except ValueError:
        steepness = math.nan
    if not 0.0 < steepness < math.inf:
        raise ModelError(f"the objective's sigmoid is {given!r}, not a positive number")
    return link, steepness


def _category_columns(header: dict[str, str], n_features: int) -> list[int]:
    """Find the category columns: the header lists their values, but gives the range of a numeric column in brackets."""
    infos = header.get("feature_infos", "").split(" ")
    if len(infos) != n_features:
        return []
    return [j for j, info in enumerate(infos) if info not in ("", "none") and not info.startswith("[")]


def _pandas_categories(lines: Iterable[str]) -> list[list[Any]]:
    for line in lines:
        key, _, value = line.partition(":")
        if key == "pandas_categorical":
            found = parse_json(value, "pandas_categorical") or []
            if not isinstance(found, list) or not all(isinstance(values, list) for values in found):
                raise ModelError("pandas_categorical must hold one list of categories per category column")
            return found
    return []
