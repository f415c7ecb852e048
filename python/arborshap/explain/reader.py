"""How an explainer reads rows: the model, its columns, and the pipeline around the model if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_flag, checked_names
from arborshap._util.notices import warn
from arborshap._util.threads import reading_with
from arborshap.explain.verify import verify as verify_margins
from arborshap.explain.verify import verify_given
from arborshap.forest.recounted import recounted
from arborshap.game.columns import Apart, Columns
from arborshap.game.groups import Groups, players_from, players_of
from arborshap.game.relations import Relation, components
from arborshap.limits import Limits
from arborshap.models import Model, load
from arborshap.models.recoding import known_categories, text_columns
from arborshap.models.sklearn.common import sklearn_classes
from arborshap.rows.frames import Rows, column_count, column_names
from arborshap.rows.numbers import Matrix

if TYPE_CHECKING:
    from arborshap.explain.pipeline import RawColumns
    from arborshap.models.replay import ReplayedColumns


@dataclass(slots=True)
class Gate:
    """Whether the trees as read have yet to be compared with the library's own predictions. Once is enough."""

    is_open: bool
    n_threads: int


@dataclass(frozen=True, slots=True)
class Reader:
    """Turns rows of any kind into the matrix that the trees see.

    Attributes
    ----------
    model
        The model in the common format.
    columns
        The columns of a row, and the players.
    pipeline
        The pipeline's steps before the model; ``None`` without a pipeline.
    gate
        Whether the next rows must still be verified.
    """

    model: Model
    columns: Columns
    pipeline: RawColumns | ReplayedColumns | None
    gate: Gate

    @classmethod
    def of(
        cls,
        model: Any,
        data: Any,
        *,
        groups: Groups | None,
        feature_names: Sequence[str] | None,
        verify: bool,
        n_threads: int,
        limits: Limits | None = None,
        counted: Columns | None = None,
        what: str = "data",
    ) -> tuple[Self, Rows | None]:
        """Read a model, its players and names, and the rows of `data` if there are any.

        `counted` are the columns and players of a `Background`, if there is one instead of `data`. `what` names the
        rows in messages.
        """
        checked_flag("verify", verify)
        estimator, pipeline = _split(model, data)
        # A dump names its columns but does not say their positions.
        known = (None if counted is None else counted.matched) or column_names(data)
        names = known if feature_names is None else feature_names
        with reading_with(n_threads):
            loaded = load(estimator, feature_names=names, n_columns=column_count(data), limits=limits)
        relation = None if loaded.sources is None else Relation(loaded.n_columns, loaded.sources)
        if pipeline is not None and relation is not None:
            pipeline.followed_by(relation)
        n_columns = loaded.n_columns if pipeline is None else pipeline.n_columns
        given = checked_names(feature_names, n_columns)
        matched = (loaded.column_names if pipeline is None else pipeline.column_names) or given
        gate = Gate(verify, n_threads)
        rows = None if data is None else _read(loaded, pipeline, gate, matched, data, what, one=False)
        if rows is not None:
            matched = matched or rows.names
            if verify and pipeline is not None:
                pipeline.learn(rows, loaded, what)
        if counted is not None and pipeline is not None:
            pipeline.adopt(counted.owners, counted.players)
        own = None if rows is None else rows.names  # as the caller spells them
        called = list(given or own or matched or (f"x{j}" for j in range(n_columns)))
        apart = None
        if pipeline is not None:
            players, owners, player_names = pipeline.players(groups, called)
            pipeline.warn_of_joined(groups, called)
            apart = pipeline.apart(groups, called)
            if apart is not None and pipeline.joining is None:
                _warn_of_joined(pipeline.relation, groups, called, getattr(loaded.encode, "why_joined", _STATISTICS))
        elif relation is not None:
            players, owners, player_names = players_of(relation, groups, called)
            _warn_of_joined(relation, groups, called, getattr(loaded.encode, "why_joined", _STATISTICS))
            apart = _players_apart(relation, groups, called)
        else:
            players, player_names = players_from(groups, called, n_columns)
            owners = players.tolist()
        columns = Columns(
            matched=None if matched is None else tuple(matched),
            names=tuple(called),
            owners=tuple(owners),
            players=players,
            player_names=tuple(player_names),
            spaces_are_underscores=pipeline is None and loaded.spaces_are_underscores,
            apart=apart,
        )
        return cls(loaded, columns, pipeline, gate), rows

    def read(self, rows: Any, what: str, *, one: bool = False) -> Rows:
        """Read rows of any kind; `what` names them in messages, and `one` allows a single row outside a matrix."""
        found = _read(self.model, self.pipeline, self.gate, self.columns.matched, rows, what, one=one)
        if found.names is not None:
            self.columns.check_order(found.names, what)
        return found

    def matrix(self, X: Any) -> Matrix:
        """Read rows, or a single row, as the trees see them; a matrix that the trees can use is returned as it is."""
        if self.pipeline is None and self.model.takes_as_it_is(X):
            ready: Matrix = X
            return ready
        return self.read(X, "X", one=True).matrix

    def verify(self, matrix: Matrix, what: str) -> None:
        """Compare with the library's own predictions if these are the first rows and were not compared when read."""
        if self.gate.is_open and self.pipeline is None and len(matrix):
            self.verify_again(matrix, what)
            self.gate.is_open = False

    def verify_again(self, matrix: Matrix, what: str) -> None:
        """Compare with the library's own predictions, even if other rows were compared before."""
        if self.pipeline is None and not self.model.predicts_given_rows:
            verify_margins(self.model, matrix, what, self.gate.n_threads)

    def with_columns(self, columns: Columns) -> Self:
        """Return a reader of the same model with other names or players."""
        return replace(self, columns=columns)

    def weighing(self, matrix: Matrix, weights: NDArray[np.float64] | None) -> Self:
        """Return a reader of the same model, whose branches are weighted by these rows instead of the training rows."""
        forest = recounted(self.model.forest, matrix, weights, self.gate.n_threads)
        return replace(self, model=replace(self.model, forest=forest))

    def ungrouped(self) -> Columns:
        """Return the columns without groups: each is a player, unless a feature is made of several columns."""
        columns, names = self.columns, list(self.columns.names)
        if columns.n_players == len(names):
            return columns
        if self.pipeline is not None:
            players, owners, player_names = self.pipeline.players(None, names)
        elif self.model.sources is not None:
            relation = Relation(self.model.n_columns, self.model.sources)
            players, owners, player_names = players_of(relation, None, names)
        else:
            players, player_names = players_from(None, names, len(names))
            owners = players.tolist()
        return replace(columns, players=players, owners=tuple(owners), player_names=tuple(player_names))

    @property
    def feature_names(self) -> list[str]:
        """The names of the features that the trees split on."""
        if self.model.sources is not None:
            return list(self.model.forest.feature_names or ())
        return list(self.columns.names) if self.pipeline is None else self.pipeline.feature_names()

    @property
    def makes_features(self) -> bool:
        """Whether the features of the trees are not the columns of a row."""
        return self.pipeline is not None or self.model.sources is not None

    @property
    def texts(self) -> dict[int, list[Any]]:
        """The columns that hold text if rows have no types, with the categories that are known."""
        if self.pipeline is not None:
            return self.pipeline.texts
        return text_columns(self.model.encode, self.model.n_columns)

    @property
    def categories(self) -> list[list[Any] | None]:
        """The categories that the codes of each feature stand for, if the model records them."""
        return known_categories(self.model.encode, self.model.forest.n_features)


def _split(model: Any, data: Any) -> tuple[Any, RawColumns | None]:
    """Split a pipeline into the model at its end and the steps before it."""
    if not sklearn_classes(model):
        return model, None
    from arborshap.explain.pipeline import split_pipeline  # noqa: PLC0415 (no other library has pipelines)

    return split_pipeline(model, data)


def _read(
    model: Model,
    pipeline: RawColumns | ReplayedColumns | None,
    gate: Gate,
    matched: Sequence[str] | None,
    rows: Any,
    what: str,
    *,
    one: bool,
) -> Rows:
    if pipeline is None:
        read = model.read(rows, what, matched, one=one)
        if not model.predicts_given_rows:
            return read
    else:
        read = pipeline.read(rows, what, matched, model, one=one)
    if gate.is_open and len(read.matrix):
        if pipeline is None:
            verify_given(model, read, what, gate.n_threads)
        else:
            pipeline.verify(read, model, what, gate.n_threads)
        gate.is_open = False
    return read


_STATISTICS = "the model splits on statistics of several columns at once"
_APART = "use explain_columns, at a cost of rows times background rows, or train with max_ctr_complexity=1"


def _players_apart(relation: Relation, groups: Groups | None, names: list[str]) -> Apart | None:
    """Return the players that the caller asked for, if features join some of them."""
    given, player_names = players_from(groups, names, relation.n_inputs)
    if all(len({given[j] for j in sources}) <= 1 for sources in relation.sources):
        return None
    return Apart(tuple(given.tolist()), tuple(player_names), tuple(given.tolist()))


def _warn_of_joined(relation: Relation, groups: Groups | None, names: list[str], why: str) -> None:
    """Warn if the model's splits join columns that would otherwise play alone, and say why."""
    given, _ = players_from(groups, names, relation.n_inputs)
    mixed = [sorted(sources) for sources in relation.sources if len({given[j] for j in sources}) > 1]
    if not mixed:
        return
    together = components(relation.n_inputs, mixed)
    players = [[names[j] for j, player in enumerate(together) if player == one] for one in sorted(set(together))]
    listed = "; ".join(", ".join(map(repr, player)) for player in players if len(player) > 1)
    advice = _APART if why == _STATISTICS else "let every step treat one column at a time"
    warn(
        f"{why}, so these columns play as one player: {listed}. The values are exact. To explain every column by "
        f"itself, {advice}; to name the player, give groups"
    )
