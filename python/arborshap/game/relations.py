"""Which output columns of a fitted scikit-learn transformer depend on which input columns.

This is read from the fitted objects, never from names. If a transformer is not known here, trials may tell; otherwise
every output is assumed to depend on all inputs. These inputs then play as one player, whose values are still exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.game.trials import is_open_to_trial, sample, tried_sources
from arborshap.rows.numbers import is_missing
from arborshap.rows.raw import chosen_columns

Sources: TypeAlias = list[frozenset[int]]


@dataclass(frozen=True, slots=True)
class Relation:
    """The input columns that each output column depends on.

    Attributes
    ----------
    n_inputs
        Number of input columns.
    sources
        For each output column, the positions of the input columns that may change it; empty for a constant.
    """

    n_inputs: int
    sources: Sources

    def then(self, later: Relation) -> Relation:
        """Return the relation of this transformer followed by a later one."""
        joined: dict[frozenset[int], frozenset[int]] = {}
        for between in later.sources:
            if between not in joined:
                joined[between] = frozenset().union(*(self.sources[j] for j in between))
        return Relation(self.n_inputs, [joined[between] for between in later.sources])

    def owners(self, players: Sequence[int]) -> NDArray[np.int32]:
        """Return the player of each output column, given that of each input column."""
        # A constant is the same in all rows, so any player may own it.
        return np.array([players[min(sources, default=0)] for sources in self.sources], dtype=np.int32)


def components(n_columns: int, sets: Iterable[Iterable[int]]) -> list[int]:
    """Return the player of each column: columns that share a set belong to the same player.

    Players are numbered in the order of their first columns.
    """
    parent = list(range(n_columns))

    def root(column: int) -> int:
        while parent[column] != column:
            parent[column] = parent[parent[column]]
            column = parent[column]
        return column

    for members in sets:
        first, *others = sorted(map(root, members)) or [0]
        for other in others:
            parent[root(other)] = root(first)
    player: dict[int, int] = {}
    return [player.setdefault(root(column), len(player)) for column in range(n_columns)]


def transforming_steps(pipeline: Any) -> list[tuple[str, Any]]:
    """List the steps of a pipeline that transform rows, without a last step that predicts.

    The samplers of imbalanced-learn change the training rows only, so they are left out.
    """
    steps = [
        (name, step)
        for name, step in pipeline.steps
        if step is not None and not _is(step, "passthrough") and not hasattr(step, "fit_resample")
    ]
    if steps and not hasattr(steps[-1][1], "transform"):
        steps.pop()
    return steps


def relation_of(
    transformer: Any, n_inputs: int | None = None, n_outputs: int | None = None, rows: Any = None
) -> Relation:
    """Return the relation of a fitted transformer.

    Parameters
    ----------
    transformer
        A scikit-learn transformer, an object that follows its conventions, or a pipeline of those.
    n_inputs
        Number of input columns. The default is the number that it was fitted on.
    n_outputs
        Number of output columns, if another object records it, such as the next step.
    rows
        Some rows that it takes, for trials of functions of the user's own. Without rows, every output of such a
        function is assumed to depend on all inputs.

    Raises
    ------
    ModelError
        If the transformer is not fitted.
    UnsupportedModelError
        If the transformer does not say how many columns it makes.
    """
    kind = type(transformer).__name__
    if n_inputs is None:
        n_inputs = fitted_width(transformer)
        if n_inputs is None:
            raise ModelError(f"this {kind} is not fitted or does not record its columns; call fit() with 2-D data")
    try:
        sources = _read(transformer, n_inputs, n_outputs, rows)
    except AttributeError as error:
        raise ModelError(f"this {kind} is not fitted: {error}") from error
    if sources is None and rows is not None and is_open_to_trial(transformer):
        sources = tried_sources(transformer, rows, n_outputs)
    if sources is None:
        width = n_outputs if n_outputs is not None else _declared_width(transformer)
        if width is None:
            raise UnsupportedModelError(
                f"{kind} does not say how many columns it makes; give it a get_feature_names_out() method"
            )
        sources = [frozenset(range(n_inputs))] * width
    if n_outputs is not None and len(sources) != n_outputs:
        raise ModelError(f"this {kind} makes {len(sources)} columns, but the next step was fitted on {n_outputs}")
    return Relation(n_inputs, sources)


def fitted_width(estimator: Any) -> int | None:
    """Return the number of columns that an estimator, or a pipeline's first transforming step, was fitted on."""
    if "Pipeline" in _sklearn_classes(estimator):
        steps = transforming_steps(estimator)
        return fitted_width(steps[0][1] if steps else estimator.steps[-1][1])
    try:
        return int(estimator.n_features_in_)
    except (AttributeError, TypeError):
        return None


def fitted_names(estimator: Any) -> list[str] | None:
    """Return the names of the columns that an estimator was fitted on, if it was fitted on a frame."""
    if "Pipeline" in _sklearn_classes(estimator):
        steps = transforming_steps(estimator)
        return fitted_names(steps[0][1]) if steps else None
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def names_out(transformer: Any) -> list[str] | None:
    """Return a transformer's names for its output columns, if it has any."""
    try:
        if "Pipeline" in _sklearn_classes(transformer) and not hasattr(transformer, "transform"):
            transformer = transformer[:-1]
        return [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, TypeError, ValueError):
        return None


def chain(steps: Sequence[Any], n_inputs: int, n_outputs: int | None, rows: Any = None) -> Relation:
    """Return the relation of consecutive transformers; each is fitted on as many columns as the previous one makes."""
    relation = Relation(n_inputs, _each(range(n_inputs)))
    widths = [*map(fitted_width, steps[1:]), n_outputs]
    for step, width in zip(steps, widths, strict=False):
        relation = relation.then(relation_of(step, len(relation.sources), width, rows))
        rows = _made(step, rows)
    return relation


def _made(step: Any, rows: Any) -> Any:
    """Return the rows that the next step takes in a trial; ``None`` if there are none."""
    if rows is None:
        return None
    try:
        return sample(step.transform(rows))
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
        return None


def _read(transformer: Any, n_inputs: int, n_outputs: int | None, rows: Any) -> Sources | None:
    """Apply the rule for a scikit-learn class, or for a subclass that does not override its `transform`."""
    ancestry = type(transformer).__mro__
    owner = next((cls for cls in ancestry if "transform" in vars(cls)), None)
    for cls in ancestry:
        if owner is None or cls.__module__.partition(".")[0] != "sklearn" or not issubclass(cls, owner):
            continue
        if cls.__name__ == "Pipeline":
            return chain([step for _, step in transforming_steps(transformer)], n_inputs, n_outputs, rows).sources
        if cls.__name__ in _CONTAINERS:
            return _CONTAINERS[cls.__name__](transformer, n_inputs, rows)
        if cls.__name__ in _RULES:
            return _RULES[cls.__name__](transformer, n_inputs)
    return None


def _sklearn_classes(estimator: Any) -> set[str]:
    return {cls.__name__ for cls in type(estimator).__mro__ if cls.__module__.partition(".")[0] == "sklearn"}


def _is(step: Any, word: str) -> bool:
    return isinstance(step, str) and step == word


def _declared_width(transformer: Any) -> int | None:
    names = names_out(transformer)
    return None if names is None else len(names)


# --- one rule per transformer ---------------------------------------------------------------------------------------


def _each(columns: Iterable[Any]) -> Sources:
    return [frozenset([int(column)]) for column in columns]


def _one_to_one(_: Any, n_inputs: int) -> Sources:
    return _each(range(n_inputs))


def _selected(selector: Any, _: int) -> Sources:
    return _each(selector.get_support(indices=True))


def _one_hot(encoder: Any, n_inputs: int) -> Sources:
    # Dropped categories do not count, and the infrequent categories of a column count as one.
    return _repeated(n_inputs, encoder._n_features_outs)


def _binned(binner: Any, n_inputs: int) -> Sources:
    return _each(range(n_inputs)) if binner.encode == "ordinal" else _repeated(n_inputs, binner.n_bins_)


def _target_encoded(encoder: Any, n_inputs: int) -> Sources:
    per_column = len(encoder.classes_) if encoder.target_type_ == "multiclass" else 1
    return _repeated(n_inputs, [per_column] * n_inputs)


def _splines(transformer: Any, n_inputs: int) -> Sources:
    return _repeated(n_inputs, [transformer.n_features_out_ // n_inputs] * n_inputs)


def _repeated(n_inputs: int, counts: Sequence[int]) -> Sources:
    return _each(np.repeat(np.arange(n_inputs), counts))


def _imputed(imputer: Any, n_inputs: int) -> Sources:
    """An imputer drops columns that are all missing, and then appends indicators of missing cells."""
    statistics = imputer.statistics_
    kept = np.arange(n_inputs)
    if not getattr(imputer, "keep_empty_features", False):
        kept = np.array([j for j in kept if not is_missing(statistics[j])], np.intp)
    marked = imputer.indicator_.features_ if imputer.add_indicator else ()
    return _each([*kept, *marked])


def _marked_missing(indicator: Any, _: int) -> Sources:
    return _each(indicator.features_)


def _polynomial(transformer: Any, _: int) -> Sources:
    return [frozenset(np.flatnonzero(powers).tolist()) for powers in transformer.powers_]


def _function(transformer: Any, n_inputs: int) -> Sources | None:
    """The relation of a function is unknown, unless there is no function or it is a NumPy ufunc of one cell."""
    function = transformer.func
    by_cell = isinstance(function, np.ufunc) and function.nin == function.nout == 1 and not transformer.kw_args
    return _each(range(n_inputs)) if function is None or by_cell else None


def _columns(transformer: Any, n_inputs: int, rows: Any) -> Sources:
    sources: Sources = [frozenset()] * max((made.stop for made in transformer.output_indices_.values()), default=0)
    for name, fitted, chosen in transformer.transformers_:
        made = transformer.output_indices_[name]
        if made.start == made.stop:
            continue
        taken = transformer._transformer_to_input_indices[name]
        picked = Relation(n_inputs, _each(taken))
        inner = (
            Relation(len(taken), _each(range(len(taken))))
            if _is(fitted, "passthrough")
            else relation_of(fitted, len(taken), made.stop - made.start, _seen(rows, taken, chosen))
        )
        sources[made] = picked.then(inner).sources
    return sources


def _seen(rows: Any, taken: Sequence[int], chosen: Any) -> Any:
    """Return the columns that a transformer inside a ColumnTransformer sees; one column by its name is no table."""
    return None if rows is None or (np.ndim(chosen) == 0 and not callable(chosen)) else chosen_columns(rows, taken)


def _union(union: Any, n_inputs: int, rows: Any) -> Sources:
    sources: Sources = []
    for _, fitted in union.transformer_list:
        if _is(fitted, "passthrough"):
            sources += _each(range(n_inputs))
        elif not _is(fitted, "drop"):
            sources += relation_of(fitted, n_inputs, rows=rows).sources
    return sources


_CONTAINERS: dict[str, Callable[[Any, int, Any], Sources]] = {"ColumnTransformer": _columns, "FeatureUnion": _union}


_RULES: dict[str, Callable[[Any, int], Sources | None]] = {
    "Binarizer": _one_to_one,
    "FunctionTransformer": _function,
    "KBinsDiscretizer": _binned,
    "MaxAbsScaler": _one_to_one,
    "MinMaxScaler": _one_to_one,
    "MissingIndicator": _marked_missing,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _one_to_one,
    "PolynomialFeatures": _polynomial,
    "PowerTransformer": _one_to_one,
    "QuantileTransformer": _one_to_one,
    "RobustScaler": _one_to_one,
    "SelectorMixin": _selected,
    "SimpleImputer": _imputed,
    "SplineTransformer": _splines,
    "StandardScaler": _one_to_one,
    "TargetEncoder": _target_encoded,
}
