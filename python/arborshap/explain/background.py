"""Backgrounds counted in parts: parts may be counted anywhere and merged in any order, with the same bits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from arborshap import _core
from arborshap._util.checks import checked_choice, checked_weights
from arborshap.exceptions import InputError
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
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        verify: bool = True,
        n_jobs: int | None = None,
        limits: Limits | None = None,
    ) -> None:
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
        self._native = _begun(reader, n_threads)
        _add(reader, self._native, rows, sample_weight, "data", n_threads, verify=verify)

    @classmethod
    def _of(cls, native: _core.Background, columns: Columns, reader: Reader | None) -> Self:
        self = cls.__new__(cls)
        self._native, self._columns, self._reader = native, columns, reader
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
    ) -> Self:
        """Count batches one after another, keeping only what the trees see of each; `what` names the first in messages.

        The public entry points are `TreeExplainer.from_batches` and `TreeExplainer.background_part`.
        """
        native = _begun(reader, n_threads)
        _add(reader, native, first, weights, what, n_threads, verify=verify)
        for i, batch in enumerate(rest, start=1):
            rows, weights = with_its_column(batch)
            what = f"batch {i}"
            _add(reader, native, reader.read(rows, what), weights, what, n_threads, verify=verify)
        return cls._of(native, reader.columns, reader)

    def __len__(self) -> int:
        """Return the number of rows; equal rows count separately."""
        return self._native.n_rows

    def __repr__(self) -> str:
        return f"<Background of {len(self)} rows, {'counted' if self._native.counted else 'distinct rows kept'}>"

    def merge(self, other: Background) -> Background:
        """Return the background that holds the rows of both.

        Raises
        ------
        InputError
            If the two have different models, groups or columns.
        """
        _check_part(other)
        reader = self._reader or other.reader
        return Background._of(self._native.merge(other.native), self._columns.agreed_with(other.columns), reader)

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
        return Background._of(self._native.subtract(part.native), self._columns.agreed_with(part.columns), reader)

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

    def to_bytes(self) -> bytes:
        """Return the background as bytes, to be sent to where it is merged; ``docs/saved-format.md`` describes them."""
        return self._native.to_bytes({"python": [json.dumps(self._columns.to_json())]})

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
        return cls._of(native, Columns.from_json(_parsed(texts.get("python", []))), None)

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

    def state_of(self, reader: Reader, settings: Settings, groups: Groups | None) -> State:
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
        return State.of(reader.with_columns(columns), settings, core)


def _check_part(other: object) -> None:
    if not isinstance(other, Background):
        raise InputError(f"a {type(other).__name__} was given; give another Background, made with the same model")


def with_its_column(batch: Any) -> tuple[Any, Any]:
    """Split a batch that may be a tuple of rows and one number per row (a weight or a label)."""
    return batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)


def _begun(reader: Reader, n_threads: int) -> _core.Background:
    columns = reader.columns
    return _core.Background(
        reader.model.forest.native, players=columns.players, n_players=columns.n_players, n_threads=n_threads
    )


def _add(
    reader: Reader, native: _core.Background, rows: Rows, weights: Any, what: str, n_threads: int, *, verify: bool
) -> None:
    if len(rows.matrix) == 0:
        return
    if verify:
        reader.verify_again(rows.matrix, what)
    try:
        native.add(rows.matrix, checked_weights(weights, len(rows.matrix)), n_threads=n_threads)
    except InputError as error:
        raise InputError(f"{what}: {error}") from error


def _parsed(texts: list[str]) -> Any:
    try:
        return json.loads(texts[0]) if len(texts) == 1 else None
    except (ValueError, RecursionError):
        return None
