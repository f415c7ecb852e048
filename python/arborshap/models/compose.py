"""Models made of models: any linear combination of their outputs is again one forest.

Each output of the whole is a weighted sum of outputs of its parts. This covers means (voting, bagging), outputs side by
side (one model per target), one chosen output, scaling, and a linear model on top of others. A part may see only some
of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arborshap.exceptions import ModelError
from arborshap.forest import Forest
from arborshap.models.joined import JoinedRecoding, View
from arborshap.models.model import Model
from arborshap.models.recoding import describe
from arborshap.rows.raw import chosen_columns

_NODE_ARRAYS = ("left", "right", "threshold", "flags")
_NODE_BYTES = 37
"""Bytes of one node of a forest without its leaf values."""


@dataclass(frozen=True, slots=True)
class Part:
    """One model of a composition.

    Attributes
    ----------
    model
        The model.
    weights
        How much each of its outputs adds to each output of the whole: (outputs of the whole, outputs of the model).
    columns
        The columns of the whole that are the model's columns, in order; ``None`` if they are the same.
    """

    model: Model
    weights: NDArray[np.float64]
    columns: NDArray[np.intp] | None = None

    def raw_predict(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Ask the model's library for what this part adds to the whole."""
        assert self.model.raw_predict is not None
        seen = rows if self.columns is None else np.ascontiguousarray(rows[:, self.columns])
        return np.asarray(self.model.raw_predict(seen) @ self.weights.T)


def weighted(models: Sequence[Model], weights: ArrayLike) -> list[Part]:
    """Return the parts of a weighted sum of models with the same outputs."""
    numbers = {model.forest.n_outputs for model in models}
    if len(numbers) > 1:
        raise ModelError(f"its members have different numbers of outputs: {sorted(numbers)}")
    return [
        Part(model, weight * np.eye(model.forest.n_outputs))
        for model, weight in zip(models, np.asarray(weights, np.float64).tolist(), strict=True)
    ]


def side_by_side(models: Sequence[Model], chosen: Sequence[Sequence[int]] | None = None) -> list[Part]:
    """Return the parts of a model whose outputs are those of all models, or the chosen outputs of each, in order."""
    if chosen is None:
        chosen = [range(model.forest.n_outputs) for model in models]
    total, parts = sum(map(len, chosen)), []
    start = 0
    for model, outputs in zip(models, chosen, strict=True):
        weights = np.zeros((total, model.forest.n_outputs))
        weights[np.arange(start, start + len(outputs)), list(outputs)] = 1.0
        parts.append(Part(model, weights))
        start += len(outputs)
    return parts


def combine(
    parts: Sequence[Part],
    *,
    library: str,
    n_columns: int,
    base: ArrayLike = 0.0,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    raw_predict: Callable[[NDArray[Any]], NDArray[np.float64]] | None = None,
    **about: Any,
) -> Model:
    """Combine models into one.

    Parameters
    ----------
    parts
        The models, with the same number of outputs of the whole.
    library
        The library of the wrapper around the models, and its version.
    n_columns
        Number of columns of a row.
    base
        Constant that is added to each output of the whole.
    feature_names, output_names
        Names of the columns and of the outputs of the whole. Without feature names, those of the parts are used.
    raw_predict
        The wrapper's own raw prediction of rows. It is used to verify ours, unless all parts recode rows in the same
        way, whose numbers only the parts themselves can read.
    about
        Other fields of `Model`, such as `link`.

    Raises
    ------
    ModelError
        If the parts have different columns.
    """
    models = [part.model for part in parts]
    for part in parts:
        found, width = part.model.n_columns, n_columns if part.columns is None else len(part.columns)
        if found != width:
            raise ModelError(f"one of its members has {found} columns, but it is given {width}")
    names, spaced = _feature_names(parts, feature_names)
    offset = np.asarray(base, np.float64)
    joined = None if _see_the_same(parts) else _joined_recoding(parts, n_columns, names)
    encode = models[0].encode if joined is None else joined
    seen, n_features, features = _on_features(parts, joined, n_columns, names)
    if joined is not None:
        raw_predict = partial(_own_prediction, raw_predict, joined, parts, offset)
    elif raw_predict is None or encode is not None:
        raw_predict = partial(_raw_predict, parts, offset)
    sparse = {model.sparse_zero_is_missing for model in models}
    libraries = [name for model in models for name in model.library.replace(" with ", ", ").split(", ")]
    others = dict.fromkeys(name for name in libraries if name != library)
    return Model(
        forest=joined_forest(seen, n_features, offset, features, output_names),
        library=f"{library} with {', '.join(others)}" if others else library,
        raw_predict=raw_predict if all(model.raw_predict for model in models) else None,
        predicts_given_rows=joined is not None,
        tolerance=max(model.tolerance for model in models),
        encode=encode,
        takes_missing=joined is not None or all(model.takes_missing for model in models),
        sparse_zero_is_missing=sparse.pop() if len(sparse) == 1 else None,
        spaces_are_underscores=spaced,
        predicts_by_position=any(model.predicts_by_position for model in models),
        **about,
    )


def _own_prediction(
    predict: Callable[[Any], Any] | None,
    joined: JoinedRecoding,
    parts: Sequence[Part],
    base: NDArray[np.float64],
    rows: Any,
) -> NDArray[np.float64]:
    """Ask for the raw prediction of rows as they were given: the wrapper, or else its members."""
    if predict is not None:
        return np.asarray(predict(joined.as_trained(rows)), np.float64)
    total = base
    for part, view in zip(parts, _views(parts, joined.n_columns), strict=True):
        given = part.model.predicts_given_rows
        assert part.model.raw_predict is not None
        seen = chosen_columns(rows, view.columns) if given else view(rows, joined.n_columns, joined.column_names)
        total = total + part.model.raw_predict(seen) @ part.weights.T
    return np.asarray(total)


def _raw_predict(parts: Sequence[Part], base: NDArray[np.float64], rows: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(sum(part.raw_predict(rows) for part in parts) + base)


def joined_forest(
    parts: Sequence[Part],
    n_columns: int,
    base: NDArray[np.float64],
    feature_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
) -> Forest:
    """Join the forests of all parts. Routing is a property of each node, so trees of all libraries may stand together.

    A tree adds to one output or holds one value per output, and all trees of a forest must do the same. If some tree
    adds to several outputs, trees are repeated once per output, unless values per output take less memory.
    """
    n_outputs = len(parts[0].weights)
    touched = [[_trees_touching(part, output) for output in range(n_outputs)] for part in parts]
    sizes = [np.diff(part.model.forest.tree_offsets) for part in parts]
    repeated = [np.sum(of_part, axis=0) for of_part in touched]
    in_scalars = sum(int((size * times).sum()) for size, times in zip(sizes, repeated, strict=True)) * (_NODE_BYTES + 8)
    in_vectors = sum(int(size.sum()) for size in sizes) * (_NODE_BYTES + 8 * n_outputs)
    pieces = []
    if any((times > 1).any() for times in repeated) and in_vectors < in_scalars:
        pieces = [_taken(part, None, np.ones(len(size), np.bool_)) for part, size in zip(parts, sizes, strict=True)]
    else:
        for part, of_outputs in zip(parts, touched, strict=True):
            pieces += [_taken(part, output, trees) for output, trees in enumerate(of_outputs) if trees.any()]
    total = np.asarray(sum(part.weights @ part.model.forest.base for part in parts)) + base
    return _concatenated(pieces, n_columns, total, feature_names, output_names)


def _trees_touching(part: Part, output: int) -> NDArray[np.bool_]:
    """Tell which trees of a part add to an output of the whole."""
    forest, weights = part.model.forest, part.weights[output]
    if forest.value.ndim == 2:
        return np.full(forest.n_trees, bool(weights.any()))
    return np.asarray(weights[forest.tree_output] != 0.0)


def _taken(part: Part, output: int | None, trees: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Take some trees of a part, with leaves that add to one output of the whole, or to all outputs."""
    forest = part.model.forest
    sizes = np.diff(forest.tree_offsets)
    nodes = np.repeat(trees, sizes)
    new_position = np.cumsum(nodes) - 1
    rows = part.weights if output is None else part.weights[output : output + 1]
    if forest.value.ndim == 2:
        value = forest.value[nodes] @ rows.T
    else:
        value = forest.value[nodes, np.newaxis] * rows.T[np.repeat(forest.tree_output, sizes)[nodes]]
    feature = forest.feature[nodes]
    of_sets = nodes[forest.category_nodes]
    set_sizes = np.diff(forest.category_offsets)
    taken = {name: getattr(forest, name)[nodes] for name in _NODE_ARRAYS}
    taken |= {
        "sizes": sizes[trees],
        "feature": feature if part.columns is None else part.columns[feature],
        "value": value if output is None else value[:, 0],
        "tree_output": np.full(int(trees.sum()), -1 if output is None else output),
        "category_nodes": new_position[forest.category_nodes[of_sets]],
        "set_sizes": set_sizes[of_sets],
        "categories": forest.categories[np.repeat(of_sets, set_sizes)],
    }
    return taken if forest.cover is None else taken | {"cover": forest.cover[nodes]}


def _concatenated(
    pieces: list[dict[str, NDArray[Any]]],
    n_columns: int,
    base: NDArray[np.float64],
    feature_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
) -> Forest:
    starts = np.cumsum([0, *(len(piece["left"]) for piece in pieces)])
    for piece, start in zip(pieces, starts.tolist(), strict=False):
        piece["category_nodes"] = piece["category_nodes"] + start

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([piece[name] for piece in pieces]) if pieces else np.empty(0, np.int64)

    return Forest(
        n_features=n_columns,
        tree_offsets=np.cumsum([0, *joined("sizes").tolist()]),
        feature=joined("feature"),
        value=joined("value"),
        tree_output=joined("tree_output"),
        base=base,
        category_nodes=joined("category_nodes"),
        category_offsets=np.cumsum([0, *joined("set_sizes").tolist()]),
        categories=joined("categories"),
        cover=joined("cover") if pieces and all("cover" in piece for piece in pieces) else None,
        feature_names=None if feature_names is None else tuple(feature_names),
        output_names=None if output_names is None else tuple(output_names),
        **{name: joined(name) for name in _NODE_ARRAYS},
    )


def _feature_names(parts: Sequence[Part], of_whole: Sequence[str] | None) -> tuple[tuple[str, ...] | None, bool]:
    """Return the names of the columns, and whether spaces became underscores; refuse parts with different columns."""
    alike = [part.model for part in parts if part.columns is None and part.model.column_names is not None]
    # Names of a library that changes none are those of the training frame, so these are preferred.
    alike.sort(key=lambda model: model.spaces_are_underscores)
    found = [tuple(model.column_names or ()) for model in alike]
    changed = any(model.spaces_are_underscores for model in alike)
    if of_whole is not None:
        found.insert(0 if not changed or alike[0].spaces_are_underscores else 1, tuple(of_whole))
    if not found:
        return None, False
    names = found[0]
    for others in found:
        if others != names and not (changed and _underscored(others) == _underscored(names)):
            raise ModelError(
                f"its members were fitted on different columns, {_listed(names)} and {_listed(others)}; "
                "fit them all on the same columns in the same order"
            )
    return names, changed and alike[0].spaces_are_underscores and not any(" " in name for name in names)


def _underscored(names: Sequence[str]) -> list[str]:
    return [name.replace(" ", "_") for name in names]


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''}]"


def _see_the_same(parts: Sequence[Part]) -> bool:
    """Whether one recoding of rows serves all parts."""
    encodes = [part.model.encode for part in parts]
    if any(part.model.sources is not None for part in parts):
        return False
    if all(encode is None for encode in encodes):
        return True
    if any(part.columns is not None for part in parts):
        return False
    return all(describe(encode) == describe(encodes[0]) for encode in encodes)


def _views(parts: Sequence[Part], n_columns: int) -> list[View]:
    """Return how each part sees a row."""
    views = []
    for part in parts:
        model = part.model
        columns = tuple(range(n_columns) if part.columns is None else part.columns.tolist())
        own = [frozenset([j]) for j in range(model.n_columns)] if model.sources is None else model.sources
        sources = tuple(frozenset(columns[j] for j in one) for one in own)
        views.append(View(model.encode, columns, sources, model.library, model.takes_missing))
    return views


def _joined_recoding(parts: Sequence[Part], n_columns: int, names: Sequence[str] | None) -> JoinedRecoding:
    """Return a recoding with one set of features per way in which parts see a row."""
    different: list[View] = []
    for view in _views(parts, n_columns):
        if not any(view.is_like(other) for other in different):
            different.append(view)
    return JoinedRecoding(tuple(different), n_columns, None if names is None else tuple(names))


def _on_features(
    parts: Sequence[Part], joined: JoinedRecoding | None, n_columns: int, names: Sequence[str] | None
) -> tuple[list[Part], int, Sequence[str] | None]:
    """Let parts see the features of a joined recoding instead of columns; return the number and names of these, too."""
    if joined is None:
        return list(parts), n_columns, names
    starts = np.cumsum([0, *(len(view.sources) for view in joined.views)]).tolist()
    seen = []
    for part, view in zip(parts, _views(parts, n_columns), strict=True):
        at = next(k for k, other in enumerate(joined.views) if view.is_like(other))
        seen.append(Part(part.model, part.weights, starts[at] + np.arange(len(view.sources))))
    called = names or [f"x{j}" for j in range(n_columns)]
    features = [
        f"feature {number} of {' and '.join(called[j] for j in sorted(sources)) or 'no column'}"
        for number, sources in enumerate(joined.sources)
    ]
    return seen, len(joined.sources), features
