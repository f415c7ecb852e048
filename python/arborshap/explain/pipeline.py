"""A pipeline that ends in a tree model, explained in terms of its raw columns.

The steps before the model determine which features depend on which raw columns. Raw columns that share a feature are
one player, and the features of a player are exchanged together. The game on the features is therefore exactly the game
on the raw columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.notices import warn
from arborshap.exceptions import InputError, UnsupportedModelError, VerificationError
from arborshap.explain.verify import try_relation, verify
from arborshap.game.columns import Apart
from arborshap.game.groups import Groups, joined, players_from, players_of
from arborshap.game.relations import (
    Relation,
    chain,
    fitted_names,
    fitted_width,
    names_out,
    transforming_steps,
)
from arborshap.game.trials import sample
from arborshap.models import Model
from arborshap.models.replay import ReplayedColumns
from arborshap.models.sklearn.common import sklearn_classes
from arborshap.models.wrappers.passing import inside
from arborshap.rows.frames import Rows, advice_on_types, as_some_rows
from arborshap.rows.numbers import Matrix
from arborshap.rows.raw import RawRows, some_rows, stacked_rows
from arborshap.steps.texts import Texts
from arborshap.steps.writing import write

_SEEN = 64  # rows that are kept to check what is saved


def split_pipeline(model: Any, data: Any) -> tuple[Any, RawColumns | None]:
    """Split a pipeline into its last step, the model, and its other steps; return any other model as it is."""
    last, steps, asked = _split(model)
    return last, RawColumns(asked, steps, last, data) if steps else None


def _split(model: Any) -> tuple[Any, list[tuple[str, Any]], Any]:
    """Return the model at the end, the steps before it, and the object that can be asked for raw predictions."""
    steps: list[tuple[str, Any]] = []
    last, asked = model, model
    while True:  # a search may hold a pipeline, and a pipeline may end in a search or in another pipeline
        if "Pipeline" in sklearn_classes(last):
            pipeline, last = last, last.steps[-1][1]
            # Some models can also transform rows, such as a VotingRegressor.
            steps += [(name, step) for name, step in transforming_steps(pipeline) if step is not last]
            if not hasattr(last, "predict"):
                kind = repr(last) if isinstance(last, str) else type(last).__name__
                raise UnsupportedModelError(
                    f"the pipeline ends in {kind}, which has no predict method; end it in a tree model"
                )
        elif (found := inside(last)) is not None:
            last = found
            asked = _as_pipeline(steps, last)
        elif "TransformedTargetRegressor" in sklearn_classes(last) and hasattr(last, "regressor_"):
            regressor, within, _ = _split(last.regressor_)
            return _around(last, regressor) if within else last, steps + within, asked
        else:
            return last, steps, asked


def _around(wrapper: Any, regressor: Any) -> Any:
    """Return the same wrapper of a target, around the model at the end of the pipeline that it was around."""
    other = copy(wrapper)
    other.regressor_ = regressor
    for name in ("n_features_in_", "feature_names_in_"):  # these describe what the pipeline reads, not the model
        vars(other).pop(name, None)
    return other


def _as_pipeline(steps: list[tuple[str, Any]], last: Any) -> Any:
    """Return a pipeline that can be asked for raw predictions; a search passes no options on to its estimator."""
    if not steps:
        return last
    from sklearn.pipeline import Pipeline

    return Pipeline([*((f"{at}: {name}", step) for at, (name, step) in enumerate(steps)), ("model", last)])


def _as_they_are(steps: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Copy fitted steps: refitting the pipeline would change them, but the trees that were read stay the same."""
    try:
        return deepcopy(steps)
    except (TypeError, ValueError, AttributeError, RuntimeError):  # a custom step may hold a lock, for example
        return steps


def _first_that_joins(steps: list[tuple[str, Any]], width: int, n_features: int | None, rows: Any = None) -> str | None:
    """Return the name and class of the first step that makes a feature from several raw columns."""
    widths = [*(fitted_width(step) for _, step in steps[1:]), n_features]
    for k, (name, step) in enumerate(steps):
        relation = chain([before for _, before in steps[: k + 1]], width, widths[k], rows)
        if any(len(sources) > 1 for sources in relation.sources):
            return f"{name!r} ({type(step).__name__})"
    return None


class RawColumns:
    """The raw columns of a pipeline, and the features that its steps make from them.

    Parameters
    ----------
    pipeline
        The whole pipeline.
    steps
        The steps that transform rows, with their names.
    model
        The last step.
    data
        Rows that show how many columns there are, in case no step records it.

    Attributes
    ----------
    n_columns : int
        Number of raw columns.
    column_names : list of str or None
        Names of the raw columns, if the pipeline was fitted on a frame.
    """

    def __init__(self, pipeline: Any, steps: list[tuple[str, Any]], model: Any, data: Any) -> None:
        first = steps[0][1]
        width = fitted_width(first)
        # A scikit-learn step that was fitted on an array needs an array again; other steps may need the given frame.
        self._wants_array = width is not None and fitted_names(first) is None
        # A ColumnTransformer takes the columns that it knows by name and ignores all others.
        self._ignores_unknown = type(first).__name__ == "ColumnTransformer" and not self._wants_array
        if width is None:
            shape: tuple[int, ...] = getattr(data, "shape", ())
            if len(shape) != 2:
                raise UnsupportedModelError(
                    f"the pipeline's first step, {type(first).__name__}, is not fitted or does not record its columns; "
                    "fit it, give a two-dimensional background, or put a step that reads text into a "
                    "ColumnTransformer"
                )
            width = int(shape[1])
        self._seen: Any = None
        self._pipeline = pipeline
        self._steps = _as_they_are(steps)
        self.n_columns = width
        self.column_names = fitted_names(first)
        self._relation = self._made = chain([step for _, step in steps], width, fitted_width(model))
        self._n_features = fitted_width(model)
        self._by_trial = False
        self._own: Relation | None = None
        self._n_made = len(self._relation.sources)
        self._joining = _first_that_joins(steps, width, fitted_width(model))

    def players(self, groups: Groups | None, names: list[str]) -> tuple[NDArray[np.int32], list[int], list[str]]:
        """Find the players.

        Parameters
        ----------
        groups
            Groups of raw columns, in any of their forms but a transformer.
        names
            The raw columns' names.

        Returns
        -------
        players : array of int32, (features,)
            The player of each feature of the model.
        raw_players : list of int
            The player of each raw column. A column that no feature depends on is still a player, whose values are 0.
        names : list of str
            The players' names: those of a column, of a group, or of all columns that a step mixes.
        """
        if hasattr(groups, "transform") and hasattr(groups, "fit"):
            raise InputError("groups: a pipeline is already explained by its raw columns; to join some, give a dict")
        return players_of(self._relation, groups, names)

    def followed_by(self, relation: Relation) -> None:
        """Take into account that the model makes its own features from what the steps make."""
        if len(self._relation.sources) == relation.n_inputs:
            self._own = relation
            self._relation = self._relation.then(relation)

    def learn(self, rows: Rows, model: Model, what: str) -> None:
        """Find out by trial what functions of the user's own do to rows, if they would join columns otherwise."""
        some = None if self._joining is None else sample(rows.raw)
        if some is None:
            return
        made = chain([step for _, step in self._steps], self.n_columns, self._n_features, some)
        relation = made if self._own is None else made.then(self._own)
        if relation.sources == self._relation.sources:
            return
        try:
            try_relation(rows.raw, rows.matrix, relation, partial(self._features, what=what, model=model), what)
        except VerificationError:
            return  # the columns stay joined
        self._joining = _first_that_joins(self._steps, self.n_columns, self._n_features, some)
        self._relation, self._made, self._by_trial = relation, made, True

    def adopt(self, owners: Sequence[int], players: NDArray[np.int32]) -> None:
        """Take over the players of a background that was counted before, which may have been found by trial.

        `owners` has the player of each raw column, and `players` that of each feature.
        """
        if self._joining is None or len(players) != len(self._relation.sources) or len(owners) != self.n_columns:
            return
        columns = [
            frozenset(np.flatnonzero(np.asarray(owners) == player).tolist()) for player in range(max(owners) + 1)
        ]
        self._relation = Relation(self.n_columns, [columns[player] for player in players.tolist()])
        self._joining, self._by_trial = None, True

    def _try_again(self, raw: Any, features: Matrix, what: str, model: Model) -> None:
        """Test what was found out by trial on these rows, mixed with rows of the background if they are alike."""
        features_of = partial(self._features, what=what, model=model)
        both = None if self._seen is None else stacked_rows(raw, self._seen)
        if both is not None:
            raw, features = both, np.vstack([features, features_of(self._seen)]).astype(np.float64)
        try_relation(raw, features, self._relation, features_of, what)

    @property
    def joining(self) -> str | None:
        """The name and class of the first step that makes a feature from several raw columns; ``None`` if none does."""
        return self._joining

    @property
    def relation(self) -> Relation:
        """The raw columns that each feature depends on."""
        return self._relation

    def apart(self, groups: Groups | None, names: list[str]) -> Apart | None:
        """Return the players if the model, which may combine what the steps make, would join no columns."""
        if self._own is None:
            return None
        read, owners, player_names = players_of(self._made, groups, names)
        if all(len({read[j] for j in sources}) <= 1 for sources in self._own.sources):
            return None
        return Apart(tuple(owners), tuple(player_names), tuple(read.tolist()))

    def warn_of_joined(self, groups: Groups | None, names: list[str]) -> None:
        """Warn if a step joins raw columns that would otherwise play alone, and name the step."""
        given, _ = players_from(groups, names, self.n_columns)
        mixed = {j for made in self._relation.sources if len({given[i] for i in made}) > 1 for j in made}
        if self._joining is not None and mixed:
            columns = joined([name for j, name in enumerate(names) if j in mixed])
            warn(
                f"the pipeline's step {self._joining} makes features from several columns at once, so these columns do "
                f"not play alone: {columns}. The values are exact, but do not tell such columns apart. If the step "
                "treats every column by itself, apply it to each of them in a ColumnTransformer"
            )

    def feature_names(self) -> list[str]:
        """Return the features' names from the last transforming step, or "feature 0", "feature 1", ..."""
        names = names_out(self._steps[-1][1])
        return names or [f"feature {j}" for j in range(self._n_made)]

    @property
    def texts(self) -> Texts:
        """The raw columns that hold text: known only once the steps are data."""
        return {}

    def replayed(self, model: Model) -> ReplayedColumns:
        """Return the same steps as plain data, checked on the first rows that were read.

        Raises
        ------
        InputError
            If a step cannot be written as data; the message names the step.
        """
        steps = [(name, write(step, name)) for name, step in self._steps]
        replay = ReplayedColumns(self.n_columns, self.column_names, self._wants_array, steps, self.feature_names())
        if self._seen is not None:
            theirs = self._features(self._seen, "data", model)
            ours = replay.features_of(self._seen, "data", model)
            if ours.dtype != theirs.dtype or not np.array_equal(ours, theirs, equal_nan=True):
                feature = int((~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))).any(axis=0).argmax())
                raise InputError(
                    f"the explainer cannot be saved: without scikit-learn, the pipeline's steps compute other numbers "
                    f"for the first rows, in feature {replay.features[feature]!r}; pickle the explainer instead"
                )
        return replay

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_seen": None}  # a pickle need not hold the user's rows

    def read(self, data: Any, what: str, names: Sequence[str] | None, model: Model, *, one: bool) -> Rows:
        """Read raw rows, and let the steps transform them into what the model reads.

        Parameters
        ----------
        data
            The rows, of any kind.
        what
            What to call these rows in messages.
        names
            The raw columns' names, to which the columns of a frame are matched.
        model
            The model that reads the output of the steps.
        one
            Whether a single row is allowed that is not in a matrix.
        """
        given = as_some_rows(data, what) if one else data
        raw = RawRows.read(given, what, names, self.n_columns, ignore_unknown=self._ignores_unknown)
        rows = raw.as_array() if self._wants_array else raw.as_frame(self.column_names)
        with advice_on_types(data):
            features = self._features(rows, what, model)
        if self._by_trial and len(features):
            chosen = np.unique(np.linspace(0, len(features) - 1, _SEEN).astype(np.intp))
            self._try_again(some_rows(rows, chosen), features[chosen], what, model)
        if self._seen is None and len(features):
            self._seen = some_rows(rows, np.arange(min(_SEEN, len(features))))
        return Rows(features, raw.names, raw.labels, raw.cells, raw.frame_kind, rows)

    def verify(self, rows: Rows, model: Model, what: str, n_threads: int) -> None:
        """Compare our margins with the whole pipeline's own raw predictions, and test the assumptions about its steps.

        Raises
        ------
        VerificationError
            If the margins differ, or if a feature changes with a raw column that it should not depend on.
        """
        own_prediction = None if model.ask_margins is None else partial(self._own_prediction, rows.raw, model)
        verify(model, rows.matrix, what, n_threads, own_prediction=own_prediction)
        features_of = partial(self._features, what=f"{what} (rows mixed of two)", model=model)
        try_relation(rows.raw, rows.matrix, self._relation, features_of, what)

    def _features(self, raw: Any, what: str, model: Model) -> Matrix:
        n_rows = raw.shape[0]
        if n_rows == 0:  # scikit-learn refuses to transform no rows
            return np.empty((0, len(self._relation.sources)))
        for name, step in self._steps:
            try:
                raw = step.transform(raw)
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise InputError(f"{what}: the pipeline's step {name!r} refuses these rows: {error}") from error
        features = model.read(raw, f"{what} (transformed)").matrix
        if len(features) != n_rows:
            message = f"{what}: the pipeline's steps turn {n_rows} rows into {len(features)}; they must keep every row"
            raise InputError(message)
        return features

    def _own_prediction(self, raw: Any, model: Model, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        assert model.ask_margins is not None
        predicted = model.ask_margins(self._pipeline, some_rows(raw, positions))
        if isinstance(predicted, list):
            predicted = np.hstack(predicted)  # one matrix of class probabilities per output
        return np.asarray(predicted, np.float64).reshape(len(positions), model.forest.n_outputs)
