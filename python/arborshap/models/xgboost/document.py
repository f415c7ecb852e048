"""XGBoost's saved model into a forest; the document is the same in JSON and UBJSON."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import is_whole
from arborshap._util.notices import warn
from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.forest.forest import Forest, as_array, frozen_copy
from arborshap.models.cut_names import may_be_cut, name_of
from arborshap.models.documents import check_known, take, take_list, whole
from arborshap.models.json import parse_json
from arborshap.models.recoding import XGBoostRecoding
from arborshap.models.xgboost.tree import add_tree, float32, has_cover, has_vectors

TOLERANCE = 2e-5
"""XGBoost sums its leaves in float32."""


_FEW_OUTPUTS = 1 << 12
"""A file may claim more outputs than this only if it has at least as many trees."""


def _logit(p: float) -> float:
    return -math.log(1.0 / p - 1.0)


def _same(margin: float) -> float:
    return margin


_LEAST_STEP = 1e-6
"""XGBoost's least distance between two expectiles of base_score."""

_SORTS_QUANTILES = (3, 4)
"""The first version whose predict sorts the quantiles of a row."""

# Per objective: how base_score, which is a prediction, becomes a margin, and how a margin becomes a prediction.
_OBJECTIVES: dict[str, tuple[Callable[[float], float], str]] = {
    **dict.fromkeys(("binary:logistic", "reg:logistic"), (_logit, "logistic")),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), (math.log, "log")),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), (_same, "softmax")),
    "binary:hinge": (_same, "step"),
    **dict.fromkeys(
        (
            "binary:logitraw",
            "rank:map",
            "rank:ndcg",
            "rank:pairwise",
            "reg:absoluteerror",
            "reg:expectileerror",
            "reg:linear",
            "reg:pseudohubererror",
            "reg:quantileerror",
            "reg:squarederror",
            "reg:squaredlogerror",
        ),
        (_same, "identity"),
    ),
}


_RUNNING_SUM = "running sum of softplus"

_ONE_OUTPUT = ("rank:", "survival:")
"""How the objectives begin that have a single output in every version, so that several were never compared."""

_SORTED_QUANTILES = (
    "this XGBoost model predicts several quantiles, and XGBoost's predict (since 3.4) sorts those of each row. The "
    "values explain the quantiles before they are sorted: they add up to predict(..., output_margin=True), which "
    "differs from predict where quantiles cross"
)
_SUMMED_EXPECTILES = (
    "this XGBoost model predicts several expectiles, and XGBoost's predict adds the softplus of each output to the "
    "expectile below. The values explain the outputs before that: they add up to predict(..., output_margin=True)"
)

_LEARNER = frozenset(
    ("attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective")
)
_MODEL = frozenset(("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees", "weight_drop"))
_PARAMETERS = frozenset(("base_score", "boost_from_average", "num_class", "num_feature", "num_target"))
_NEWEST = (3,)


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a saved XGBoost model."""

    forest: Forest
    link: str
    feature_types: list[str] | None
    categories: list[list[Any] | None] | None
    """Per feature, the categories that its codes stand for, if the model records them."""
    iterations: int
    """Number of boosting rounds in the forest."""

    def recoding(self, missing: float = math.nan) -> XGBoostRecoding | None:
        """Return what XGBoost does to rows before its trees see them, or ``None`` if it does nothing."""
        if "c" not in (self.feature_types or []) and math.isnan(missing):
            return None
        categories = self.categories or [None] * self.forest.n_features
        unsure = [j for j, known in enumerate(categories) if may_be_cut(known or ())]
        return XGBoostRecoding(categories, missing, unsure)


def read_document(document: Any, *, as_wrapper: bool | None = None) -> Document:
    """Turn a parsed model into a forest.

    Parameters
    ----------
    document
        The parsed output of ``save_model``.
    as_wrapper
        Whether to predict like the scikit-learn wrapper, which stops at the best iteration, or like the `Booster`,
        which does not; ``None`` follows whichever saved the document.
    """
    learner = take(document, "learner", dict, "XGBoost model")
    check_known(learner, _LEARNER, "learner")
    if as_wrapper is None and _version(document)[:1] > _NEWEST:
        warn(
            f"The model was saved by XGBoost {_version(document)[0]}, which is newer than all versions that were tried"
        )
    attributes = take(learner, "attributes", dict, "learner") if "attributes" in learner else {}
    name, model, weights = _trees_of(take(learner, "gradient_booster", dict, "learner"))
    trees, tree_info = take_list(model, "trees", name), take_list(model, "tree_info", name)
    if len(trees) != len(tree_info):
        raise ModelError(f"{name}: there are {len(trees)} trees, but tree_info has {len(tree_info)} entries")

    check_known(model, _MODEL, name)
    parameters = take(learner, "learner_model_param", dict, "learner")
    check_known(parameters, _PARAMETERS, "learner_model_param")
    n_features = whole(take(parameters, "num_feature", object, "learner_model_param"), "num_feature")
    n_outputs = max(1, *(whole(parameters.get(key, "1"), key) for key in ("num_class", "num_target")))
    objective = take(take(learner, "objective", dict, "learner"), "name", str, "objective")
    if n_outputs > max(len(trees), _FEW_OUTPUTS):
        raise ModelError(f"learner_model_param claims {n_outputs} outputs, but there are only {len(trees)} trees")
    base, link = _base_and_link(parameters, objective, n_outputs)
    if objective == "reg:quantileerror" and n_outputs > 1 and _version(document) >= _SORTS_QUANTILES:
        link = "sorted"
        warn(_SORTED_QUANTILES)
    if link == _RUNNING_SUM:
        warn(_SUMMED_EXPECTILES)

    if as_wrapper is None:
        as_wrapper = "scikit_learn" in attributes
    best = attributes.get("best_iteration") if as_wrapper else None
    rounds, n_kept = _rounds(model, len(trees), tree_info, best)
    builder = ForestBuilder(n_features, n_outputs, rule="<", precision="float32")
    with_cover = all(has_cover(tree) for tree in trees)
    # A booster whose multi_strategy changed while it was trained has leaves of both kinds.
    in_vectors = any(has_vectors(tree) for tree in trees[:n_kept])
    for t in range(n_kept):
        weight = weights[t] if t < len(weights) else 1.0
        add_tree(builder, t, trees[t], tree_info[t], weight=weight, with_cover=with_cover, in_vectors=in_vectors)
    return Document(
        forest=builder.build(base=base, feature_names=_texts(learner, "feature_names")),
        link=link,
        feature_types=_feature_types(learner, n_features),
        categories=_category_values(model.get("cats"), n_features),
        iterations=rounds,
    )


def _texts(learner: dict[str, Any], key: str) -> list[str] | None:
    texts = take_list(learner, key, "learner") if key in learner else []
    if not all(isinstance(text, str) for text in texts):
        raise ModelError(f"learner: {key!r} must be a list of strings")
    return list(texts) or None


def _feature_types(learner: dict[str, Any], n_features: int) -> list[str] | None:
    types = _texts(learner, "feature_types")
    if types is not None and len(types) != n_features:
        raise ModelError(f"learner: 'feature_types' has {len(types)} entries, but there are {n_features} features")
    return types


def _trees_of(booster: dict[str, Any]) -> tuple[str, dict[str, Any], NDArray[np.float32]]:
    """Find the trees and, for DART, their weights: outside the trees' document up to XGBoost 3.2, inside it later."""
    name = take(booster, "name", str, "gradient_booster")
    if name == "gblinear":
        raise UnsupportedModelError(
            "the booster is gblinear, a linear model without trees; its coefficients explain it"
        )
    check_known(booster, ("name", "model", "gbtree", "weight_drop"), "gradient_booster")
    weights: Any = []
    if name == "dart":
        weights = take_list(booster, "weight_drop", name)
        booster = take(booster, "gbtree", dict, name)
    elif name != "gbtree":
        raise UnsupportedModelError(f"XGBoost's booster {name!r} is not supported; use gbtree or dart")
    model = take(booster, "model", dict, name)
    weights = model.get("weight_drop", weights)
    return name, model, float32(f"{name}: weight_drop", weights)


def _base_and_link(parameters: dict[str, Any], objective: str, n_outputs: int) -> tuple[NDArray[np.float32], str]:
    if objective not in _OBJECTIVES:
        raise UnsupportedModelError(
            f"XGBoost's objective {objective!r} is not known, so its base_score cannot be interpreted; "
            f"known objectives are {', '.join(sorted(_OBJECTIVES))}"
        )
    if n_outputs > 1 and objective.startswith(_ONE_OUTPUT):
        raise UnsupportedModelError(
            f"XGBoost trains {objective!r} with one output only, but this model has {n_outputs}, so its base_score "
            "cannot be interpreted"
        )
    to_margin, link = _OBJECTIVES[objective]
    text = take(parameters, "base_score", str, "learner_model_param")
    scores = parse_json(text, "base_score") if text.startswith("[") else [text]
    if len(scores) not in (1, n_outputs):
        raise ModelError(f"base_score has {len(scores)} values, but there are {n_outputs} outputs")
    try:
        with np.errstate(over="ignore"):
            base = [to_margin(float(np.float32(score))) for score in scores]
    except (ValueError, TypeError, ZeroDivisionError):
        raise ModelError(f"base_score {text[:80]} is not valid for the objective {objective!r}") from None
    margins = np.broadcast_to(np.array(base, np.float32), n_outputs)
    if objective == "reg:expectileerror" and n_outputs > 1:
        return _of_expectiles(margins), _RUNNING_SUM
    return margins, link


def _of_expectiles(expectiles: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn expectiles into margins: the first output is the lowest expectile, the others are steps up, by softplus."""
    steps = np.maximum(np.diff(expectiles.astype(np.float64)), _LEAST_STEP)
    return np.concatenate([expectiles[:1], np.log(np.expm1(steps)).astype(np.float32)])


def _version(document: dict[str, Any]) -> tuple[int, ...]:
    """Return the version that saved the model; files of early versions do not tell."""
    found = document.get("version", ())
    return tuple(int(part) for part in found if is_whole(part)) if isinstance(found, (list, np.ndarray)) else ()


def _rounds(model: dict[str, Any], n_trees: int, tree_info: Any, best_iteration: str | None) -> tuple[int, int]:
    """Count the boosting rounds to use, and their trees."""
    if "iteration_indptr" in model:
        indptr = frozen_copy("iteration_indptr", take_list(model, "iteration_indptr", "gbtree"), np.int64)
    else:
        # Before XGBoost 2, every round has as many trees as the first.
        parameters = take(model, "gbtree_model_param", dict, "gbtree")
        outputs = int(np.max(frozen_copy("tree_info", tree_info, np.int32), initial=0)) + 1
        size = outputs * max(1, whole(parameters.get("num_parallel_tree", "1"), "num_parallel_tree"))
        indptr = np.array(range(0, n_trees + 1, size), np.int64)
    rounds = len(indptr) - 1
    if best_iteration is not None:
        rounds = min(rounds, whole(best_iteration, "best_iteration") + 1)
    if rounds < 0 or not 0 <= indptr[rounds] <= n_trees:
        raise ModelError(f"iteration_indptr does not fit the model's {n_trees} trees")
    return rounds, n_trees if best_iteration is None else int(indptr[rounds])


def _category_values(cats: Any, n_features: int) -> list[list[Any] | None] | None:
    """Read the categories that the codes of each feature stand for (saved since XGBoost 3.1)."""
    encodings = take_list(cats, "enc", "cats") if cats is not None else None
    if encodings is None or len(encodings) == 0:
        return None
    if not isinstance(encodings, list) or len(encodings) != n_features:
        raise ModelError(f"cats: 'enc' must have one entry for each of {n_features} features")
    return [_values_of(encoding, f"cats of feature {i}") for i, encoding in enumerate(encodings)]


def _values_of(encoding: Any, where: str) -> list[Any] | None:
    values = as_array(where, take_list(encoding, "values", where))
    if "offsets" not in encoding:
        return list(values.tolist())
    offsets = frozen_copy(f"{where}: offsets", encoding["offsets"], np.int64)
    if len(offsets) == 0:
        return None
    text = frozen_copy(where, values, np.int64).astype(np.uint8).tobytes()
    if offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise ModelError(f"{where}: the offsets of its names do not fit")
    return [name_of(text[a:b]) for a, b in pairwise(offsets.tolist())]
