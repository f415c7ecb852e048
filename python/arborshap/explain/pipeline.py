"""A pipeline that ends in a tree model, explained in the columns that go into it.

The steps before the model say which of its features depend on which raw columns. Raw columns that share a feature are
one player, and that player's features are exchanged together; so the game that is played on the features is the game
on the raw columns, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError, UnsupportedModelError, VerificationError
from arborshap.explain.verify import verify
from arborshap.game.groups import Groups, joined, players_from
from arborshap.game.relations import chain, components, fitted_names, fitted_width, names_out, transforming_steps
from arborshap.models import Model
from arborshap.rows.frames import Rows, advice_on_types, as_some_rows
from arborshap.rows.numbers import Matrix
from arborshap.rows.raw import RawRows, mixed_rows, some_rows

_MIXED = 32  # mixed rows on which the relation of raw columns and features is tried


def split_pipeline(model: Any, data: Any) -> tuple[Any, RawColumns | None]:
    """Take a pipeline's last step, the model, and its other steps apart; leave any other model as it is."""
    if not any(
        cls.__name__ == "Pipeline" and cls.__module__.partition(".")[0] == "sklearn" for cls in type(model).__mro__
    ):
        return model, None
    last, steps = model, []
    while hasattr(last, "steps"):  # a pipeline may end in a pipeline
        steps += transforming_steps(last)
        last = last.steps[-1][1]
    if not hasattr(last, "predict"):
        kind = repr(last) if isinstance(last, str) else type(last).__name__
        raise UnsupportedModelError(f"the pipeline ends in {kind}, which predicts nothing")
    return last, RawColumns(model, steps, last, data) if steps else None


def _as_they_are(steps: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Copy fitted steps: a pipeline fitted again changes its own, while the trees that were read stay the same."""
    try:
        return deepcopy(steps)
    except (TypeError, ValueError, AttributeError, RuntimeError):  # a step of anyone's may hold a lock, or the like
        return steps


class RawColumns:
    """The raw columns of a pipeline, and what its steps make of them.

    Parameters
    ----------
    pipeline
        The whole pipeline.
    steps
        Those of its steps that transform rows, with their names.
    model
        Its last step.
    data
        Rows that say how many columns there are, where no step remembers.

    Attributes
    ----------
    n_columns : int
        How many raw columns there are.
    column_names : list of str or None
        Their names, if the pipeline was fitted on a frame.
    """

    def __init__(self, pipeline: Any, steps: list[tuple[str, Any]], model: Any, data: Any) -> None:
        first = steps[0][1]
        width = fitted_width(first)
        # A step of scikit-learn that was fitted on an array wants one again; others may want the frame they are given.
        self._wants_array = width is not None and fitted_names(first) is None
        if width is None:
            shape: tuple[int, ...] = getattr(data, "shape", ())
            if len(shape) != 2:
                raise UnsupportedModelError(
                    f"the pipeline's first step, {type(first).__name__}, is not fitted or does not know its columns; "
                    "fit it, give a background of rows and columns, or put a step that reads text into a "
                    "ColumnTransformer"
                )
            width = int(shape[1])
        self._pipeline = pipeline
        self._steps = _as_they_are(steps)
        self.n_columns = width
        self.column_names = fitted_names(first)
        self._relation = chain([step for _, step in steps], width, fitted_width(model))

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
            The player of every feature of the model.
        raw_players : list of int
            The player of every raw column. One that no feature depends on is a player all the same, worth nothing.
        names : list of str
            The players' names: of a column, of a group, or of all that a step mixes.
        """
        if hasattr(groups, "transform") and hasattr(groups, "fit"):
            raise InputError("groups: a pipeline is explained in its raw columns already; give a dict to join some")
        asked_of, asked_names = players_from(groups, names, self.n_columns)
        together = [np.flatnonzero(asked_of == player).tolist() for player in range(len(asked_names))]
        raw_players = components(self.n_columns, [*self._relation.sources, *together])
        parts: list[dict[str, None]] = [{} for _ in range(max(raw_players, default=-1) + 1)]
        for asked, player in zip(asked_of, raw_players, strict=True):
            parts[player][asked_names[asked]] = None
        player_names = [joined(list(part)) for part in parts]
        if len(set(player_names)) < len(player_names):
            raise InputError("groups: two players would have the same name; name the columns of one with groups={...}")
        return self._feature_players(raw_players), raw_players, player_names

    def feature_names(self) -> list[str]:
        """Name the model's features as the last step that transforms rows names what it gives, or by number."""
        names = names_out(self._steps[-1][1])
        return names or [f"feature {j}" for j in range(len(self._relation.sources))]

    def read(self, data: Any, what: str, names: Sequence[str] | None, model: Model, *, one: bool) -> Rows:
        """Read raw rows, and have the steps make of them what the model reads.

        Parameters
        ----------
        data
            The rows, of any kind.
        what
            What the caller calls them.
        names
            The raw columns' names, to which a frame's are matched.
        model
            The model that reads what comes out of the steps.
        one
            Whether one row may come by itself.
        """
        raw = RawRows.read(as_some_rows(data, what) if one else data, what, names, self.n_columns)
        rows = raw.as_array() if self._wants_array else raw.as_frame(self.column_names)
        with advice_on_types(data):
            features = self._features(rows, what, model)
        return Rows(features, raw.names, raw.labels, raw.cells, raw.frame_kind, rows)

    def verify(self, rows: Rows, model: Model, what: str, n_threads: int) -> None:
        """Compare our margins with the whole pipeline's own raw predictions, and try what its steps were taken to do.

        Raises
        ------
        VerificationError
            If the margins differ, or if a feature changes with a raw column that it should not depend on.
        """
        own_prediction = None if model.ask_margins is None else partial(self._own_prediction, rows.raw, model)
        verify(model, rows.matrix, what, n_threads, own_prediction=own_prediction)
        self._try_relation(rows, what, model)

    def _features(self, raw: Any, what: str, model: Model) -> Matrix:
        n_rows = raw.shape[0]
        if n_rows == 0:  # which scikit-learn refuses to transform
            return np.empty((0, len(self._relation.sources)))
        for name, step in self._steps:
            try:
                raw = step.transform(raw)
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise InputError(f"{what}: the pipeline's step {name!r} refuses these rows: {error}") from error
        features = model.read(raw, f"{what} (transformed)").matrix
        if len(features) != n_rows:
            raise InputError(f"{what}: of {n_rows} rows the pipeline's steps make {len(features)}; each needs one")
        return features

    def _feature_players(self, raw_players: list[int]) -> NDArray[np.int32]:
        # A constant is the same in all rows, so it does not matter whose it is.
        owners = [raw_players[min(sources, default=0)] for sources in self._relation.sources]
        return np.array(owners, dtype=np.int32)

    def _own_prediction(self, raw: Any, model: Model, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        assert model.ask_margins is not None
        predicted = model.ask_margins(self._pipeline, some_rows(raw, numbers))
        if isinstance(predicted, list):
            predicted = np.hstack(predicted)  # one matrix of class probabilities per output
        return np.asarray(predicted, np.float64).reshape(len(numbers), model.forest.n_outputs)

    def _try_relation(self, rows: Rows, what: str, model: Model) -> None:
        """Mix rows as the game does, and see that the steps make of them the same mixture of features."""
        n_rows = len(rows.matrix)
        raw_players = np.array(components(self.n_columns, self._relation.sources))
        rng = np.random.default_rng(0)
        first, second = rng.integers(0, n_rows, size=(2, min(_MIXED, n_rows)))
        joins = rng.random((len(first), int(raw_players.max()) + 1)) < 0.5
        mixed = mixed_rows(rows.raw, first, second, joins[:, raw_players])
        found = self._features(mixed, f"{what} (rows mixed of two)", model)
        from_first = joins[:, self._feature_players(raw_players.tolist())]
        expected = np.where(from_first, rows.matrix[first], rows.matrix[second])
        size = np.abs(np.where(np.isfinite(expected), expected, 0.0)).max(axis=0, initial=0.0)
        same = (found == expected) | (np.isnan(found) & np.isnan(expected)) | (abs(found - expected) <= 1e-5 * size)
        if not same.all():
            feature = int((~same).any(axis=0).argmax())
            raise VerificationError(
                f"{what}: feature {feature} of what the pipeline's steps make depends on more than the raw columns "
                f"{sorted(self._relation.sources[feature])} of its own row, as these steps were taken to do. A step "
                "looks at other rows, or is not what its class says; values in raw columns would not be exact. "
                "verify=False explains the pipeline as read"
            )
