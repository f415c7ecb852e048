"""Backgrounds counted in parts: parts may be counted anywhere and merged in any order, with the same bits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from arborshap import _core
from arborshap._util.checks import checked_choice, checked_weights, whole_number
from arborshap.exceptions import InputError
from arborshap.explain.labels import MODEL_OUTPUTS, OutputName
from arborshap.explain.outputs import ModelOutput, output_of
from arborshap.explain.parts import Panels, WeightedIntake, WeightedParts
from arborshap.explain.population import Population, mean_change
from arborshap.explain.reader import Reader
from arborshap.explain.settings import Settings
from arborshap.explain.state import State
from arborshap.explain.values import without_single_output
from arborshap.game.columns import Columns
from arborshap.game.groups import Groups
from arborshap.game.indices import INDICES, IndexName
from arborshap.limits import Limits
from arborshap.result.explanation import Explanation
from arborshap.rows.frames import Rows


class Background:
    """A background, or a part of one, as a model's trees see it: a few counts instead of the rows.

    Each part can be counted where its rows are. `merge` joins two parts, and ``TreeExplainer(model, background)``
    explains against the whole. However the rows were split into parts and in whatever order the parts were merged, the
    values are the same to the last bit. For trees with more than 13 players on a path, distinct rows are kept instead
    of counts.

    Parameters
    ----------
    model
        The model, as for `TreeExplainer`. It must be the same for every part.
    data
        Rows of the background, in any form that `TreeExplainer` accepts. A part may have no rows.
    groups, feature_names, verify, n_jobs, limits
        As for `TreeExplainer`.
    model_output
        What the background will be used to explain, as for `TreeExplainer`. Anything but ``"raw"`` counts the rows in
        several weightings as well; the background then serves this output and ``"raw"``.
    sample_weight
        The weight of each row. Sums are exact, so each weight must be a multiple of 2**-80 and their sum must be less
        than 2**47. This holds for all weights from about 1e-8 up whose sum is less than 1e14.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        *,
        groups: Groups | None = None,
        model_output: OutputName = "raw",
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        verify: bool = True,
        n_jobs: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        checked_choice("model_output", model_output, MODEL_OUTPUTS)
        n_threads = Settings.of(n_jobs=n_jobs).n_threads
        reader, rows = Reader.of(
            model,
            data,
            groups=groups,
            feature_names=feature_names,
            verify=verify,
            n_threads=n_threads,
            limits=limits,
        )
        if rows is None:
            raise InputError("data is missing: give the rows of this part of the background")
        self._reader: Reader | None = reader
        self._columns = reader.columns
        intake = _Intake(reader, model_output, n_threads)
        intake.add(rows, sample_weight, "data", verify=verify)
        self._native, self._weighted = intake.native, intake.weighted

    @classmethod
    def _of(
        cls, native: _core.Background, columns: Columns, reader: Reader | None, weighted: WeightedParts | None
    ) -> Self:
        self = cls.__new__(cls)
        self._native, self._columns, self._reader, self._weighted = native, columns, reader, weighted
        return self

    @classmethod
    def of_batches(
        cls,
        reader: Reader,
        first: Rows,
        rest: Iterable[Any],
        weights: Any,
        n_threads: int,
        *,
        verify: bool,
        what: str = "batch 0",
        model_output: OutputName = "raw",
    ) -> Self:
        """Count batches one after another, keeping only what the trees see of each; `what` names the first in messages.

        The public entry points are `TreeExplainer.from_batches` and `TreeExplainer.background_part`.
        """
        intake = _Intake(reader, model_output, n_threads)
        intake.add(first, weights, what, verify=verify)
        for i, batch in enumerate(rest, start=1):
            rows, weights = with_its_column(batch)
            what = f"batch {i}"
            intake.add(reader.read(rows, what), weights, what, verify=verify)
        return cls._of(intake.native, reader.columns, reader, intake.weighted)

    def __len__(self) -> int:
        """Return the number of rows; equal rows count separately."""
        return self._native.n_rows

    def __repr__(self) -> str:
        kept = "counted" if self._native.counted else "distinct rows kept"
        purpose = "" if self._weighted is None else f", for model_output={self._weighted.name!r}"
        return f"<Background of {len(self)} rows, {kept}{purpose}>"

    def merge(self, other: Background) -> Background:
        """Return the background that holds the rows of both.

        Raises
        ------
        InputError
            If the two have different models, groups or columns.
        """
        _check_part(other)
        reader = self._reader or other.reader
        columns, weighted = self._columns.agreed_with(other.columns), _both(self, other, WeightedParts.merge)
        return Background._of(self._native.merge(other.native), columns, reader, weighted)

    def subtract(self, part: Background) -> Background:
        """Return the background without the rows of a part, for example of the oldest day of a sliding window.

        Counts are whole numbers, so this is exact: merging the part again gives back the same bits.

        Raises
        ------
        InputError
            If some rows of the part are not in this background, or if the two have different models, groups or columns.
        """
        _check_part(part)
        reader = self._reader or part.reader
        columns, weighted = self._columns.agreed_with(part.columns), _both(self, part, WeightedParts.subtract)
        return Background._of(self._native.subtract(part.native), columns, reader, weighted)

    def contrast(
        self,
        other: Background,
        index: IndexName = "shapley",
        *,
        model: Any = None,
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
            The model, if both backgrounds came as bytes, which do not include it.
        n_jobs, memory_limit
            As for `TreeExplainer`.

        Returns
        -------
        Explanation
            The explanation of a single change. Its base value is the mean prediction over `other`. Shapley values and
            Shapley-Taylor indices sum to the difference of the mean predictions. Shapley and Banzhaf values change only
            their sign if the two populations change places, so they are exactly 0 for a population and itself.
        """
        checked_choice("index", index, INDICES)
        _check_part(other)
        reader = self._reader or other.reader
        columns = self._columns.agreed_with(other.columns)
        settings = Settings.of(n_jobs=n_jobs, memory_limit=memory_limit)
        if model is not None:
            reader, _ = Reader.of(
                model,
                None,
                groups=None,
                feature_names=None,
                verify=False,
                n_threads=settings.n_threads,
                known_names=columns.matched,
            )
        if reader is None:
            raise InputError("neither background knows its model, because both came as bytes; give it as model=")
        ours, theirs = (part.state_of(reader, settings, None) for part in (self, other))
        values = mean_change(Population(self._native, ours), Population(other.native, theirs), index)
        base = theirs.core.expected_value
        return Explanation(
            without_single_output(theirs, values[np.newaxis]),
            base[:1] if theirs.n_outputs == 1 else base[np.newaxis],
            feature_names=theirs.columns.player_names,
            index=index,
            data_names=theirs.columns.names,
            data_players=theirs.columns.owner_names,
            output_names=theirs.output_names,
        )[0]

    def to_bytes(self, *, minimum_rows: int | None = None) -> bytes:
        """Return the background as bytes, to be sent to where it is merged; ``docs/saved-format.md`` describes them.

        Counts of very few rows can identify people. If there are fewer than `minimum_rows`, an `InputError` is raised
        instead.
        """
        if minimum_rows is not None and len(self) < whole_number(
            "minimum_rows", minimum_rows, 1, 2**62, "a positive number of rows"
        ):
            raise InputError(
                f"the background has {len(self)} rows, fewer than the minimum of {minimum_rows}; merge it with other "
                "parts before it is written"
            )
        weighted = {} if self._weighted is None else self._weighted.to_texts()
        return self._native.to_bytes({"python": [json.dumps(self._columns.to_json())], **weighted})

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """Read a background from the bytes of `to_bytes`.

        Raises
        ------
        ModelError
            If the bytes are truncated, altered, or written by another version.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):  # Spark hands over bytearrays
            raise InputError(f"Background.from_bytes needs bytes, got a {type(data).__name__}")
        native, texts = _core.Background.from_bytes(bytes(data))
        columns = Columns.from_json(_parsed(texts.get("python", [])))
        return cls._of(native, columns, None, WeightedParts.from_texts(texts))

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    @property
    def native(self) -> _core.Background:
        """The native background, which holds the counts or the distinct rows."""
        return self._native

    @property
    def columns(self) -> Columns:
        """The columns of its rows, and the players."""
        return self._columns

    @property
    def reader(self) -> Reader | None:
        """The model and how it reads rows; ``None`` if the background came as bytes."""
        return self._reader

    @property
    def weighted(self) -> WeightedParts | None:
        """The rows in the weightings of an output; ``None`` if they were counted for the raw prediction alone."""
        return self._weighted

    def state_of(
        self, reader: Reader, settings: Settings, groups: Groups | None, output: ModelOutput | None = None
    ) -> State:
        """Compile an explainer's state against this background; without `groups`, keep the background's players."""
        columns = self._columns.adopted_by(reader.columns, keep_groups=groups is None)
        core = _core.Explainer.from_background(
            reader.model.forest.native,
            self._native,
            players=columns.players,
            n_players=columns.n_players,
            memory_limit=settings.memory_limit,
            n_threads=settings.n_threads,
        )
        state = State.of(reader.with_columns(columns), settings, core)
        if output is None:
            return state
        if self._weighted is None or self._weighted.name != output.name:
            Panels.of(output, state.forest)  # whether the output can come in parts at all
            raise InputError(
                f"model_output={output.name!r} needs more counts than this Background has; make it, and all its parts, "
                f"with model_output={output.name!r}"
            )
        return state.rescaling_parts(output, self._native.weight, self._weighted)


def _both(
    one: Background, other: Background, join: Callable[[WeightedParts, WeightedParts | None], WeightedParts]
) -> WeightedParts | None:
    """Join what two backgrounds hold for an output; a background for the raw prediction holds nothing."""
    if one.weighted is None and other.weighted is not None:
        return other.weighted.merge(None)  # which says what is wrong
    return None if one.weighted is None else join(one.weighted, other.weighted)


def _check_part(other: object) -> None:
    if not isinstance(other, Background):
        raise InputError(f"a {type(other).__name__} was given; give another Background, made with the same model")


def with_its_column(batch: Any) -> tuple[Any, Any]:
    """Split a batch that may be a tuple of rows and one number per row (a weight or a label)."""
    return batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)


class _Intake:
    """Counts rows, and counts them in all weightings of an output if one is asked for."""

    def __init__(self, reader: Reader, model_output: OutputName, n_threads: int) -> None:
        self._reader, self._n_threads = reader, n_threads
        output = output_of(reader.model, model_output, has_background=True)
        self._weighted = None if output is None else WeightedIntake(output, reader, n_threads)
        columns = reader.columns
        self.native = _core.Background(
            reader.model.forest.native, players=columns.players, n_players=columns.n_players, n_threads=n_threads
        )

    @property
    def weighted(self) -> WeightedParts | None:
        return None if self._weighted is None else self._weighted.parts

    def add(self, rows: Rows, weights: Any, what: str, *, verify: bool) -> None:
        matrix = rows.matrix
        if len(matrix) == 0:
            return
        if verify:
            self._reader.verify_again(matrix, what)
        try:
            checked = checked_weights(weights, len(matrix))
            self.native.add(matrix, checked, n_threads=self._n_threads)
        except InputError as error:
            raise InputError(f"{what}: {error}") from error
        if self._weighted is not None:
            self._weighted.add(matrix, checked, what)


def _parsed(texts: list[str]) -> Any:
    try:
        return json.loads(texts[0]) if len(texts) == 1 else None
    except (ValueError, RecursionError):
        return None
