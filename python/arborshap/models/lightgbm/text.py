"""LightGBM's model text, which ``save_model`` writes and ``model_to_string`` returns, into a forest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder, Missing
from arborshap.forest.forest import Forest, frozen_copy
from arborshap.models.documents import whole
from arborshap.models.json import parse_json
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
_LONGEST_NUMBER = 64
_FEW_OUTPUTS = 1 << 12  # more are believed only when there are as many trees


@dataclass(frozen=True, slots=True)
class Text:
    """What a model text says."""

    forest: Forest
    link: str
    steepness: float
    categories: list[list[Any]]
    """What the codes of the category columns of the training frame stand for, in the order of those columns."""
    category_columns: list[int]
    """The columns whose values were categories in training, whether they came in a frame or not."""
    averaged: int
    """How many iterations the forest is the mean of (a random forest), else 1."""

    def recoding(self) -> LightGBMRecoding | None:
        """Return what LightGBM does to a frame, or ``None`` if that is nothing."""
        if not self.categories:
            return None
        return LightGBMRecoding(self.forest.n_features, self.categories, list(self.category_columns))


def load_text(content: bytes, what: str) -> Model:
    """Read a saved model."""
    try:
        text = read_text(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ModelError(f"{what} is not UTF-8 text: byte {error.start} is invalid") from None
    return Model(
        forest=text.forest,
        library="lightgbm text",
        link=text.link,
        steepness=text.steepness,
        encode=text.recoding(),
        spaces_are_underscores=True,
    )


def read_text(text: str, classes: NDArray[Any] | None = None) -> Text:
    """Turn a model text into a forest; outputs are called after the classes, if there is one for each."""
    lines = (line.rstrip("\r") for line in text.split("\n"))
    header, first = _block(lines, "the header")
    blocks: list[dict[str, str]] = []
    while first is not None and first.startswith("Tree="):
        block, following = _block(lines, f"tree {len(blocks)}")
        blocks.append(block)
        first = following
    if first != "end of trees":
        raise ModelError("the model text is cut off: the line 'end of trees' is missing")
    if header.get("version") not in _VERSIONS:
        raise UnsupportedModelError(
            f"the model text says its version is {header.get('version', '')!r}; known are {', '.join(_VERSIONS)}. What "
            "another means is not known here: load it into LightGBM and save it from there"
        )
    n_features = whole(_field(header, "max_feature_idx", "the header"), "max_feature_idx") + 1
    n_outputs = whole(_field(header, "num_tree_per_iteration", "the header"), "num_tree_per_iteration")
    announced = len(header.get("tree_sizes", "").split())
    if announced not in (0, len(blocks)):
        raise ModelError(f"the model text announces {announced} trees, but holds {len(blocks)}")
    if not 1 <= n_outputs <= max(len(blocks), _FEW_OUTPUTS) or len(blocks) % n_outputs:
        raise ModelError(f"{len(blocks)} trees cannot be shared out among {n_outputs} trees per iteration")
    averaged = len(blocks) // n_outputs if "average_output" in header and blocks else 1
    has_counts = all("internal_count" in block and "leaf_count" in block for block in blocks)
    builder = ForestBuilder(n_features, n_outputs, rule="<=", precision="float64")
    for t, block in enumerate(blocks):
        _add_tree(builder, f"tree {t}", block, t % n_outputs, averaged, has_counts)
    link, steepness = _link(header.get("objective", ""))
    return Text(
        forest=builder.build(
            feature_names=_feature_names(header, n_features), output_names=class_names(classes, n_outputs)
        ),
        link=link,
        steepness=steepness,
        categories=_pandas_categories(lines),
        category_columns=_category_columns(header, n_features),
        averaged=averaged,
    )


def _block(lines: Iterable[str], where: str) -> tuple[dict[str, str], str | None]:
    """Read ``key=value`` lines up to the next tree or the end of the trees, and return them with that line."""
    fields: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition("=")
        if key in ("Tree", "end of trees"):
            return fields, line
        if key in fields:
            raise ModelError(f"{where}: {key!r} appears twice")
        if key:
            fields[key] = value
    return fields, None


def _field(fields: dict[str, str], key: str, where: str) -> str:
    if key not in fields:
        raise ModelError(f"{where}: {key!r} is missing; the file is damaged or not a LightGBM model")
    return fields[key]


def _numbers(fields: dict[str, str], key: str, where: str, dtype: type[np.number[Any]], n: int) -> NDArray[Any]:
    words = _field(fields, key, where).split()
    if len(words) != n:
        raise ModelError(f"{where}: {key} has {len(words)} entries instead of {n}")
    # An array of texts has room for the longest everywhere.
    if max(map(len, words), default=0) > _LONGEST_NUMBER:
        raise ModelError(f"{where}: {key} holds something that is longer than any number")
    try:
        numbers = np.array(words, dtype=np.str_).astype(np.float64 if dtype is np.float64 else np.int64)
    except (ValueError, OverflowError):
        raise ModelError(f"{where}: {key} holds something that is not a number of the right kind") from None
    return frozen_copy(f"{where}: {key}", numbers, dtype)


def _add_tree(
    builder: ForestBuilder, where: str, fields: dict[str, str], output: int, averaged: int, has_counts: bool
) -> None:
    if fields.get("is_linear", "0") != "0":
        raise UnsupportedModelError(
            f"{where} has a linear model in each leaf (linear_tree=true), which is not constant in a leaf; "
            "train with linear_tree=false"
        )
    leaves = whole(_field(fields, "num_leaves", where), f"{where}: num_leaves")
    values = _numbers(fields, "leaf_value", where, np.float64, leaves) / averaged
    if leaves == 1:
        alone = [1.0] if has_counts else None  # of no consequence, and not always written
        builder.add_tree(left=[-1], right=[-1], feature=[0], threshold=[0], value=values, output=output, cover=alone)
        return
    inner = leaves - 1  # our nodes: first the inner ones, then the leaves
    kind = _numbers(fields, "decision_type", where, np.int32, inner)
    threshold = _numbers(fields, "threshold", where, np.float64, inner)
    feature = _numbers(fields, "split_feature", where, np.int32, inner)
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
        cover = np.concatenate([_numbers(fields, key, where, np.float64, n) for key, n in counts])
    builder.add_tree(
        left=_children(fields, "left_child", where, inner),
        right=_children(fields, "right_child", where, inner),
        feature=np.pad(feature, (0, leaves)),
        threshold=np.pad(_around_zero(threshold), (0, leaves)),
        value=np.pad(values, (inner, 0)),
        output=output,
        default_left=np.pad(default_left, (0, leaves)),
        missing=[_MISSING[m] for m in np.pad(missing_type, (0, leaves)).tolist()],
        categories=_category_sets(fields, where, threshold, is_categorical),
        members_left=True,
        negative_fraction_is_zero=True,
        cover=cover,
    )


def _around_zero(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move thresholds that are next to zero: LightGBM takes values that close to it for zero before it compares."""
    up = np.where((threshold >= 0) & (threshold < _ZERO), _ZERO, threshold)
    return np.where((threshold < 0) & (threshold >= -_ZERO), np.nextafter(-_ZERO, -1.0), up)


def _children(fields: dict[str, str], key: str, where: str, inner: int) -> NDArray[np.int64]:
    """Number leaf ``~child`` of a negative child after the inner nodes."""
    child = _numbers(fields, key, where, np.int32, inner).astype(np.int64)
    return np.pad(np.where(child < 0, inner + ~child, child), (0, inner + 1), constant_values=-1)


def _category_sets(
    fields: dict[str, str], where: str, threshold: NDArray[np.float64], is_categorical: NDArray[np.bool_]
) -> dict[int, NDArray[np.uint32]]:
    """Read the sets: the threshold of a categorical node is the number of its bitset."""
    if not is_categorical.any():
        return {}
    n_sets = whole(_field(fields, "num_cat", where), f"{where}: num_cat")
    bounds = _numbers(fields, "cat_boundaries", where, np.int64, n_sets + 1).tolist()
    words = _numbers(fields, "cat_threshold", where, np.uint32, bounds[-1])
    if bounds[0] != 0 or any(a > b for a, b in pairwise(bounds)):
        raise ModelError(f"{where}: cat_boundaries must start at 0 and never fall")
    sets: dict[int, NDArray[np.uint32]] = {}
    used = np.zeros(n_sets, np.bool_)
    for node in np.flatnonzero(is_categorical).tolist():
        number = threshold[node]
        if not 0 <= number < n_sets:
            raise ModelError(f"{where}, node {node}: its set of categories is number {number} of {n_sets}")
        # LightGBM gives every node a set of its own; many nodes with one large set would take any amount of memory.
        if used[int(number)]:
            raise ModelError(f"{where}, node {node}: its set of categories, number {int(number)}, is another node's")
        used[int(number)] = True
        bitset = words[bounds[int(number)] : bounds[int(number) + 1]]
        bits = np.unpackbits(bitset.astype("<u4").view(np.uint8), bitorder="little")
        sets[node] = np.flatnonzero(bits).astype(np.uint32)
    return sets


def _feature_names(header: dict[str, str], n_features: int) -> list[str] | None:
    names = header.get("feature_names", "").split(" ")
    if len(names) != n_features:
        raise ModelError(f"the header names {len(names)} features, but numbers {n_features}")
    # What LightGBM calls columns that came without names.
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
    """Find the columns of categories: the header lists what they held, and of numbers the range in brackets."""
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
                raise ModelError("pandas_categorical must hold one list of categories for each category column")
            return found
    return []
