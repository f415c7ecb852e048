"""Comparing two populations that were counted: the public face of `population`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from arborshap._util.checks import checked_choice
from arborshap.exceptions import InputError
from arborshap.explain.counts import Counts
from arborshap.explain.deals import Deals
from arborshap.explain.labels import MODEL_OUTPUTS, OutputName
from arborshap.explain.outputs import ModelOutput, output_of
from arborshap.explain.reader import Reader
from arborshap.explain.settings import Settings
from arborshap.explain.state import State
from arborshap.game.columns import Columns
from arborshap.game.groups import Groups
from arborshap.game.indices import INDICES, IndexName
from arborshap.result.explanation import Explanation

if TYPE_CHECKING:
    from arborshap.explain.population import Population


class Comparable(ABC):
    """Counted rows that can be compared with others."""

    @property
    @abstractmethod
    def counts(self) -> Counts:
        """Everything that is kept of the rows."""

    @property
    @abstractmethod
    def deals(self) -> Deals | None:
        """The same for random deals of the rows; ``None`` without error bars."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The columns of its rows, and the players."""

    @property
    @abstractmethod
    def reader(self) -> Reader | None:
        """The model and how it reads rows; ``None`` if the background came as bytes."""

    @abstractmethod
    def with_counts(self, counts: Counts) -> Comparable:
        """Return a background of the same columns with other counts, without error bars."""

    @abstractmethod
    def state_of(
        self, reader: Reader, settings: Settings, groups: Groups | None, output: ModelOutput | None = None
    ) -> State:
        """Compile an explainer's state against this background; without `groups`, keep the background's players."""

    def contrast(
        self,
        other: Comparable,
        index: IndexName = "shapley",
        *,
        model: Any = None,
        model_output: OutputName | None = None,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> Explanation:
        """Explain why the mean prediction of this population differs from that of another one, the reference.

        The game takes players in the coalition from a row of this population and the others from a row of `other`, and
        averages the prediction over all pairs of rows. It needs only what the two backgrounds hold, no rows.

        Parameters
        ----------
        other
            The reference population, made with the same model and groups.
        index
            ``"shapley"`` and ``"banzhaf"`` give values of players, ``"taylor"`` and ``"interaction"`` of pairs.
        model
            The model or an explainer of it, if both backgrounds came as bytes, which do not include it.
        model_output
            The unit of the change. The default is the output that both backgrounds were made for; ``"raw"`` is always
            possible.
        n_jobs, memory_limit
            As for `TreeExplainer`.

        Returns
        -------
        Explanation
            The explanation of a single change. Its base value is the mean prediction over `other`. Shapley values and
            Shapley-Taylor indices sum to the difference of the mean predictions. Shapley and Banzhaf values change only
            their sign if the two populations change places, so they are exactly 0 for a population and itself.
            `standard_error` says how far each value may be off because both populations are samples; it is ``None``
            unless both were made with ``error_bars=True``.
        """
        checked_choice("index", index, INDICES)
        check_part(other)
        for what, part in (("this background", self), ("the other background", other)):
            if not part.counts.native.weight > 0.0:
                raise InputError(f"{what} has no rows, or none with a weight; a contrast needs some on both sides")
        name = _output_of(self, other, model_output)
        settings = Settings.of(n_jobs=n_jobs, memory_limit=memory_limit)
        reader = _reader_of(self, other, model, settings)
        output = output_of(reader.model, name, has_background=True)
        ours, theirs = (part.population(reader, settings, output) for part in (self, other))
        from arborshap.explain.population import explained_change  # noqa: PLC0415 (few callers compare populations)

        return explained_change(ours, theirs, index)

    def population(self, reader: Reader, settings: Settings, output: ModelOutput | None) -> Population:
        """Return the rows as a population that can be compared with another one."""

        def state_of(counts: Counts) -> State:
            return self.with_counts(counts).state_of(reader, settings, None, output)

        from arborshap.explain.population import Population  # noqa: PLC0415 (as above)

        return Population(self.counts, state_of(self.counts), self.deals, state_of)


def check_part(other: object) -> None:
    """Raise `InputError` unless this is a background."""
    if not isinstance(other, Comparable):
        raise InputError(f"a {type(other).__name__} was given; give another Background, made with the same model")


def _output_of(one: Comparable, other: Comparable, wanted: OutputName | None) -> OutputName:
    """Return the output in which two populations are compared."""
    if wanted is not None:
        checked_choice("model_output", wanted, MODEL_OUTPUTS)
        return wanted
    names: list[OutputName] = [
        "raw" if part.counts.weighted is None else part.counts.weighted.name for part in (one, other)
    ]
    if names[0] != names[1]:
        raise InputError(
            f"one Background was made for model_output={names[0]!r}, and the other for {names[1]!r}; make both for "
            "the same output, or compare them with model_output='raw'"
        )
    return names[0]


def _reader_of(one: Comparable, other: Comparable, model: Any, settings: Settings) -> Reader:
    """Return the reader of the model that two populations were counted for."""
    columns = one.columns.agreed_with(other.columns)
    reader = one.reader or other.reader
    if model is not None:
        return reader_of_model(model, columns, settings)
    if reader is None:
        raise InputError("neither background knows its model, because both came as bytes; give it as model=")
    return reader


def reader_of_model(model: Any, columns: Columns, settings: Settings) -> Reader:
    """Return the reader of a model, or of an explainer's model, whose populations have these columns."""
    state = getattr(model, "state", None)
    if isinstance(state, State):
        if state.n_background == 0:
            raise InputError(
                "a path-dependent explainer cannot compare populations, because it has no background; give the "
                "model, or an explainer with a background"
            )
        return state.reader
    reader, _ = Reader.of(
        model,
        None,
        groups=None,
        feature_names=None,
        verify=False,
        n_threads=settings.n_threads,
        counted=columns,
    )
    return reader
