"""Backgrounds counted in parts: parts may be counted anywhere and merged in any order, with the same bits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Self

from arborshap import _core
from arborshap._util.checks import checked_choice, whole_number
from arborshap._util.words import counted
from arborshap.exceptions import InputError
from arborshap.explain.comparable import Comparable, check_part
from arborshap.explain.counts import Counts
from arborshap.explain.deals import Deals
from arborshap.explain.intake import Intake
from arborshap.explain.labels import MODEL_OUTPUTS, OutputName
from arborshap.explain.outputs import ModelOutput
from arborshap.explain.panels import Panels
from arborshap.explain.parts import WeightedParts
from arborshap.explain.reader import Reader
from arborshap.explain.settings import Settings
from arborshap.explain.state import State
from arborshap.game.columns import Columns
from arborshap.game.groups import Groups
from arborshap.limits import Limits
from arborshap.rows.frames import Rows


class Background(Comparable):
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
    error_bars
        Whether to keep what the standard errors of `contrast` need: the rows are also dealt at random into 30 deals,
        and each deal is counted by itself. Counting then takes about twice as long. Counts take up to 31 times the
        memory, and 10 to 40 times the bytes once they are written. If distinct rows are kept instead of counts, they
        take twice the space.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        *,
        groups: Groups | None = None,
        model_output: OutputName = "raw",
        sample_weight: Any = None,
        error_bars: bool = False,
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
        intake = Intake(reader, model_output, n_threads, error_bars=error_bars)
        intake.add(rows, sample_weight, "data", verify=verify)
        self._counts, self._deals = intake.counts, intake.deals

    @classmethod
    def _of(cls, counts: Counts, deals: Deals | None, columns: Columns, reader: Reader | None) -> Self:
        self = cls.__new__(cls)
        self._counts, self._deals, self._columns, self._reader = counts, deals, columns, reader
        return self

    @classmethod
    def from_batches(
        cls,
        model: Any,
        batches: Iterable[Any],
        *,
        groups: Groups | None = None,
        model_output: OutputName = "raw",
        error_bars: bool = False,
        feature_names: Sequence[str] | None = None,
        verify: bool = True,
        n_jobs: int | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Count rows that arrive in batches and are never in memory as a whole.

        Parameters
        ----------
        model
            The model, as for `TreeExplainer`.
        batches
            Batches of rows in any form that `data` may have. A batch may also be a tuple of its rows and their weights.
        groups, model_output, error_bars, feature_names, verify, n_jobs, limits
            As for `Background`.

        Returns
        -------
        Background
            The counts of all rows of all batches.
        """
        checked_choice("model_output", model_output, MODEL_OUTPUTS)
        rest = iter(batches)
        first, weights = with_its_column(next(rest, None))
        if first is None:
            raise InputError("batches is empty; the background needs at least one row")
        n_threads = Settings.of(n_jobs=n_jobs).n_threads
        reader, rows = Reader.of(
            model, first, groups=groups, feature_names=feature_names, verify=verify, n_threads=n_threads, limits=limits
        )
        assert rows is not None
        return cls.of_batches(
            reader, rows, rest, weights, n_threads, verify=verify, model_output=model_output, error_bars=error_bars
        )

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
        error_bars: bool = False,
    ) -> Self:
        """Count batches one after another, keeping only what the trees see of each; `what` names the first in messages.

        The public entry points are `from_batches`, `TreeExplainer.from_batches` and `TreeExplainer.background_part`.
        """
        intake = Intake(reader, model_output, n_threads, error_bars=error_bars)
        intake.add(first, weights, what, verify=verify)
        for i, batch in enumerate(rest, start=1):
            rows, weights = with_its_column(batch)
            what = f"batch {i}"
            intake.add(reader.read(rows, what), weights, what, verify=verify)
        return cls._of(intake.counts, intake.deals, reader.columns, reader)

    def __len__(self) -> int:
        """Return the number of rows; equal rows count separately."""
        return self.native.n_rows

    def __repr__(self) -> str:
        kept = "counted" if self.native.counted else "distinct rows kept"
        purpose = "" if self.weighted is None else f", for model_output={self.weighted.name!r}"
        bars = ", with error bars" if self.has_error_bars else ""
        return f"<Background of {counted(len(self), 'row')}, {kept}{purpose}{bars}>"

    def merge(self, other: Background) -> Background:
        """Return the background that holds the rows of both. It has error bars if both have them.

        Raises
        ------
        InputError
            If the two have different models, groups or columns, or were made for different outputs.
        """
        check_part(other)
        columns = self._columns.agreed_with(other.columns)
        deals = None if self._deals is None or other.deals is None else self._deals.merge(other.deals)
        return Background._of(self._counts.merge(other.counts), deals, columns, self._reader or other.reader)

    def subtract(self, part: Background) -> Background:
        """Return the background without the rows of a part, for example of the oldest day of a sliding window.

        Counts are whole numbers, so this is exact: merging the part again gives back the same bits. The result has
        error bars if both have them.

        Raises
        ------
        InputError
            If some rows of the part are not in this background or have less weight here, or if the two have different
            models, groups or columns.
        """
        check_part(part)
        columns = self._columns.agreed_with(part.columns)
        counts = self._counts.subtract(part.counts)
        if counts.native.n_rows == 0 and counts.native.weight > 0.0:
            raise InputError(
                f"the part has all {len(self)} rows of this background but not all of their weight: "
                f"{counts.native.weight:g} would be left without any row; give its rows the weights that they have here"
            )
        deals = None if self._deals is None or part.deals is None else self._deals.subtract(part.deals)
        return Background._of(counts, deals, columns, self._reader or part.reader)

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
        deals = {} if self._deals is None else self._deals.to_texts()
        return self._counts.to_bytes({"python": [json.dumps(self._columns.to_json())], **deals})

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
        counts, texts = Counts.from_bytes(bytes(data))
        columns = Columns.from_json(_parsed(texts.get("python", [])))
        return cls._of(counts, Deals.from_texts(texts, counts), columns, None)

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    @property
    def has_error_bars(self) -> bool:
        """Whether it keeps what the standard errors of a contrast need."""
        return self._deals is not None

    @property
    def native(self) -> _core.Background:
        """The native background, which holds the counts or the distinct rows."""
        return self._counts.native

    @property
    def weighted(self) -> WeightedParts | None:
        """The rows in the weightings of an output; ``None`` if they were counted for the raw prediction alone."""
        return self._counts.weighted

    @property
    def counts(self) -> Counts:
        """Everything that is kept of the rows."""
        return self._counts

    @property
    def deals(self) -> Deals | None:
        """The same for random deals of the rows; ``None`` without error bars."""
        return self._deals

    @property
    def columns(self) -> Columns:
        """The columns of its rows, and the players."""
        return self._columns

    @property
    def reader(self) -> Reader | None:
        """The model and how it reads rows; ``None`` if the background came as bytes."""
        return self._reader

    def with_counts(self, counts: Counts) -> Background:
        """Return a background of the same columns with other counts, without error bars."""
        return Background._of(counts, None, self._columns, self._reader)

    def state_of(
        self, reader: Reader, settings: Settings, groups: Groups | None, output: ModelOutput | None = None
    ) -> State:
        """Compile an explainer's state against this background; without `groups`, keep the background's players."""
        columns = self._columns.adopted_by(reader.columns, keep_groups=groups is None)
        core = _core.Explainer.from_background(
            reader.model.forest.native,
            self.native,
            players=columns.players,
            n_players=columns.n_players,
            memory_limit=settings.memory_limit,
            n_threads=settings.n_threads,
        )
        state = State.of(reader.with_columns(columns), settings, core)
        if output is None:
            return state
        if self.weighted is None or self.weighted.name != output.name:
            Panels.of(output, state.forest)  # whether the output can come in parts at all
            raise InputError(
                f"model_output={output.name!r} needs more counts than this Background has; make it, and all its parts, "
                f"with model_output={output.name!r}"
            )
        return state.rescaling_parts(output, self.native.weight, self.weighted)


def with_its_column(batch: Any) -> tuple[Any, Any]:
    """Split a batch that may be a tuple of rows and one number per row (a weight or a label)."""
    return batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)


def _parsed(texts: list[str]) -> Any:
    try:
        return json.loads(texts[0]) if len(texts) == 1 else None
    except (ValueError, RecursionError):
        return None
