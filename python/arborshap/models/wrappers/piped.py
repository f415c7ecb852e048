"""Pipelines inside other wrappers: their steps make features from the columns that all members share."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError, ModelError
from arborshap.game.relations import Relation, chain, fitted_names, fitted_width, transforming_steps
from arborshap.models.model import Model
from arborshap.models.recoding import describe
from arborshap.models.registry import load
from arborshap.models.replay import ReplayedColumns, for_the_model
from arborshap.models.saved_recoding import from_description
from arborshap.rows.frames import read_rows
from arborshap.rows.raw import RawRows
from arborshap.steps.step import width_after
from arborshap.steps.writing import write


@dataclass(frozen=True)
class PipedRecoding:
    """Lets the fitted steps of a pipeline transform rows, and then does what the model at its end does to rows.

    Attributes
    ----------
    steps
        The steps, with their names.
    sources
        The columns that each feature of the model depends on.
    n_columns
        Number of columns of a row.
    column_names
        Names of the columns, if the pipeline was fitted on a frame.
    encode
        What the model at the end does to what the steps make.
    sparse_zero_is_missing
        What the model takes an entry for that a sparse matrix does not store.
    """

    steps: tuple[tuple[str, Any], ...]
    sources: list[frozenset[int]]
    n_columns: int
    column_names: tuple[str, ...] | None
    encode: Callable[[Any], NDArray[np.float64]] | None
    sparse_zero_is_missing: bool
    kind: ClassVar[str] = "steps of a pipeline"
    takes_text: ClassVar[bool] = True

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        """Recode rows."""
        if not rows.shape[0]:  # scikit-learn refuses to transform no rows
            return np.empty((0, len(self.sources)))
        return np.asarray(self.features(self.transformed(rows)), np.float64)

    def describe(self) -> dict[str, Any]:
        """Return a description that JSON can hold; refuse steps that cannot be written as data."""
        steps = [(name, write(step, name)) for name, step in self.steps]
        n_made = width_after([step for _, step in steps], self.n_columns)
        names = None if self.column_names is None else list(self.column_names)
        features = [f"feature {j}" for j in range(n_made)]
        text, vector = ReplayedColumns(self.n_columns, names, names is None, steps, features).description()
        return {
            "steps": text,
            "numbers": vector.tolist(),
            "n_made": n_made,
            "sources": [sorted(sources) for sources in self.sources],
            "recoding": describe(self.encode),
            "sparse_zero_is_missing": self.sparse_zero_is_missing,
        }

    def transformed(self, rows: Any) -> Any:
        """Return what the steps make of rows."""
        raw = RawRows.read(rows, "rows", self.column_names, self.n_columns)
        table = raw.as_array() if self.column_names is None else raw.as_frame(self.column_names)
        for name, step in self.steps:
            try:
                table = step.transform(table)
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise InputError(f"the step {name!r} of a member refuses these rows: {error}") from error
        return table

    def features(self, table: Any) -> NDArray[Any]:
        """Return the features that the trees see, given what the steps made."""
        zero = self.sparse_zero_is_missing
        return read_rows(table, "what the steps make", encode=self.encode, sparse_zero_is_missing=zero).matrix


@dataclass(frozen=True)
class ReplayedRecoding:
    """The same with steps that are plain data, for explainers that are read without scikit-learn."""

    replay: ReplayedColumns
    sources: list[frozenset[int]]
    encode: Callable[[Any], NDArray[np.float64]] | None
    sparse_zero_is_missing: bool
    described: dict[str, Any]
    kind: ClassVar[str] = PipedRecoding.kind
    takes_text: ClassVar[bool] = True

    @classmethod
    def from_description(cls, described: dict[str, Any], n_features: int) -> Self:
        """Read a description, which may have been tampered with."""
        try:
            n_made = int(described["n_made"])
            numbers = np.array(described["numbers"], np.float64)
            replay = ReplayedColumns.from_description(str(described["steps"]), numbers, n_made)
            sources = [frozenset(map(int, columns)) for columns in described["sources"]]
            encode = from_description(described["recoding"], n_made)
            fits = len(sources) == n_features and all(0 <= j < replay.n_columns for one in sources for j in one)
            fits = fits and len(getattr(encode, "sources", None) or range(n_made)) == n_features
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, ModelError):
                raise
            fits = False
        if not fits:
            raise ModelError("the saved steps of a member do not fit the model's columns")
        return cls(replay, sources, encode, described.get("sparse_zero_is_missing") is True, described)

    @property
    def n_columns(self) -> int:
        """Number of columns of a row."""
        return self.replay.n_columns

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns, if the pipeline was fitted on a frame."""
        return self.replay.column_names

    @property
    def text_columns(self) -> list[int]:
        """The columns that hold text."""
        return sorted(self.replay.texts)

    def __call__(self, rows: Any) -> NDArray[np.float64]:
        """Recode rows."""
        if not rows.shape[0]:
            return np.empty((0, len(self.sources)))
        raw = RawRows.read(rows, "rows", self.column_names, self.n_columns)
        made = self.replay.made_of(raw.as_array() if self.replay.wants_array else raw.rows, "rows")
        table = for_the_model(made, self.sparse_zero_is_missing, "rows")
        return np.asarray(read_rows(table, "what the steps make", encode=self.encode).matrix, np.float64)

    def describe(self) -> dict[str, Any]:
        """Return the description that this was read from."""
        return self.described


def read_pipeline(pipeline: Any) -> Model:
    """Read the model at the end of a pipeline, whose steps then belong to how it reads rows."""
    last = pipeline.steps[-1][1]
    steps = [(name, step) for name, step in transforming_steps(pipeline) if step is not last]
    model = load(last)
    if not steps:
        return model
    width = fitted_width(steps[0][1])
    if width is None or model.sparse_zero_is_missing is None:
        raise ModelError(
            f"the first step of the pipeline, {steps[0][0]!r}, is not fitted or does not record its columns"
        )
    relation = chain([step for _, step in steps], width, fitted_width(last))
    if model.sources is not None:
        relation = relation.then(Relation(model.n_columns, model.sources))
    names = fitted_names(steps[0][1])
    recoding = PipedRecoding(
        tuple(deepcopy(steps)),
        relation.sources,
        width,
        None if names is None else tuple(names),
        model.encode,
        model.sparse_zero_is_missing,
    )
    own = model.raw_predict

    def raw_predict(rows: Any) -> NDArray[np.float64]:
        assert own is not None
        made = recoding.transformed(rows)
        return own(made if model.predicts_given_rows else recoding.features(made))

    return replace(
        model,
        encode=recoding,
        raw_predict=None if own is None else raw_predict,
        predicts_given_rows=True,
        sparse_zero_is_missing=False,
        spaces_are_underscores=False,
        predicts_by_position=False,
    )
