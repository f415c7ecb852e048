"""The state of an explainer: everything it consists of, in one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.checks import checked_weights
from arborshap._util.notices import debug_log
from arborshap.exceptions import InputError
from arborshap.explain.labels import OutputName
from arborshap.explain.outputs import ModelOutput
from arborshap.explain.parts import WeightedParts
from arborshap.explain.reader import Reader
from arborshap.explain.rescaled import Rescaled
from arborshap.explain.settings import Settings
from arborshap.forest import Forest
from arborshap.forest.linear import LinearForest
from arborshap.game.columns import Columns
from arborshap.result.value_unit import ValueUnit
from arborshap.rows.frames import Rows
from arborshap.rows.numbers import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The rows of a background, kept because columns that play as one are to be told apart.

    Attributes
    ----------
    rows
        The rows as the trees see them.
    shares
        The weight of each row in the mean; they sum to 1.
    """

    rows: Matrix
    shares: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class State:
    """Everything an explainer consists of.

    Attributes
    ----------
    reader
        The model, its columns and players, and how rows are read.
    settings
        The engine, the threads and the memory limit.
    core
        The compiled forest, players and background.
    output_names
        The names of the outputs, if they have names.
    rescaled
        The computation of probabilities or losses; ``None`` if the raw prediction is explained.
    metadata
        The caller's own notes, which are saved with the explainer.
    kept
        The background rows, if the model splits on combinations of columns that can be told apart.
    """

    reader: Reader
    settings: Settings
    core: _core.Explainer
    output_names: tuple[str, ...] | None
    rescaled: Rescaled | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kept: Kept | None = None

    @classmethod
    def of(cls, reader: Reader, settings: Settings, core: _core.Explainer) -> Self:
        """Make the state of an explainer of the raw prediction; refuse an engine that cannot explain the model."""
        core.plan(1, "shapley", settings.engine)
        state = cls(reader, settings, core, reader.model.forest.output_names)
        if (log := debug_log()) is not None:
            log.debug(
                "explainer of %s: trees=%d, features=%d, outputs=%d, players=%d, background rows=%d, engine=%s, "
                "threads=%d",
                *(reader.model.library, state.forest.n_trees, state.forest.n_features, state.n_outputs),
                *(state.columns.n_players, state.n_background, settings.engine, settings.n_threads),
            )
        return state

    @classmethod
    def against(
        cls, reader: Reader, settings: Settings, rows: Rows, sample_weight: Any, output: ModelOutput | None
    ) -> Self:
        """Compile an explainer against the rows of a background."""
        matrix = background_rows(reader, rows)
        weights = checked_weights(sample_weight, len(matrix))
        state = cls.of(reader, settings, compiled(reader, settings, matrix, weights))
        shares = None if weights is None else weights / weights.sum()
        kept = matrix.copy() if output is not None or reader.columns.apart is not None else matrix
        if reader.columns.apart is not None:
            state = replace(state, kept=Kept(kept, np.full(len(kept), 1.0 / len(kept)) if shares is None else shares))
        return state if output is None else state.rescaling(output, kept, shares)

    def rescaling(self, output: ModelOutput, background: Matrix, shares: NDArray[np.float64] | None) -> Self:
        """Return a state that explains a function of the margins instead of the raw prediction."""
        return self._explaining(Rescaled.of(output, self.forest, self.core, background, shares, self.settings))

    def rescaling_parts(self, output: ModelOutput, weight: float, parts: WeightedParts) -> Self:
        """Do the same against a background of this weight that was counted in parts."""
        return self._explaining(Rescaled.of_parts(output, self.forest, self.core, weight, parts, self.settings))

    def _explaining(self, rescaled: Rescaled) -> Self:
        output = rescaled.output
        names = self.output_names if output.n_outputs == self.forest.n_outputs and output.labels is None else None
        return replace(self, rescaled=rescaled, output_names=names)

    def with_settings(self, settings: Settings) -> Self:
        """Return the same state with other settings, and refuse an engine that cannot explain the model."""
        self.core.plan(1, "shapley", settings.engine)
        if self.rescaled is not None:
            self.rescaled.check_engine(settings.engine)
        return replace(self, settings=settings)

    @property
    def columns(self) -> Columns:
        """The columns of a row, and the players."""
        return self.reader.columns

    @property
    def forest(self) -> Forest:
        """The trees."""
        return self.reader.model.forest

    @property
    def n_outputs(self) -> int:
        """Number of outputs that are explained per row."""
        return self.forest.n_outputs if self.rescaled is None else self.rescaled.output.n_outputs

    @property
    def n_background(self) -> int:
        """Number of background rows; 0 without a background."""
        return self.core.n_background

    @property
    def model_output(self) -> OutputName:
        """The output that is explained."""
        return "raw" if self.rescaled is None else self.rescaled.output.name

    @property
    def unit(self) -> ValueUnit:
        """The unit of the values."""
        return ValueUnit.of(self.model_output, self.reader.model.link)


def background_rows(reader: Reader, rows: Rows) -> Matrix:
    """Return the rows of a background as the trees see them; refuse one that is empty, or on which trees disagree."""
    if len(rows.matrix) == 0:
        raise InputError("data has no rows; the background needs at least one")
    reader.verify(rows.matrix, "data")
    return rows.matrix


def compiled(
    reader: Reader, settings: Settings, background: Matrix | None, weights: NDArray[np.float64] | None = None
) -> _core.Explainer:
    """Compile a forest and its players against a background, or without one."""
    forest = reader.model.forest
    if isinstance(forest, LinearForest) and background is not None:
        equal = np.full(len(background), 1.0 / len(background))
        return compiled_linear(reader, settings, background, equal if weights is None else weights / weights.sum())
    return _core.Explainer(
        reader.model.forest.native,
        players=reader.columns.players,
        n_players=reader.columns.n_players,
        background=background,
        weights=weights,
        memory_limit=settings.memory_limit,
        n_threads=settings.n_threads,
    )


def compiled_linear(
    reader: Reader, settings: Settings, background: Matrix, shares: NDArray[np.float64]
) -> _core.Explainer:
    """Compile a forest with linear leaves against a background, whose rows have these shares in the mean."""
    from arborshap.explain.linear import LinearCore  # noqa: PLC0415 (few models have linear leaves)

    forest, columns = reader.model.forest, reader.columns
    assert isinstance(forest, LinearForest)
    linear = LinearCore(forest, columns.players, columns.n_players, background, shares, settings)
    return cast("_core.Explainer", linear)  # it has the methods that these leaves allow, and refuses all others
