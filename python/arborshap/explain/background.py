"""Backgrounds counted in parts: parts may be counted anywhere and merged in any order, with the same bits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Self

from arborshap import _core
from arborshap._util.checks import checked_weights
from arborshap.exceptions import InputError
from arborshap.explain.reader import Reader
from arborshap.explain.settings import Settings
from arborshap.explain.state import State
from arborshap.game.columns import Columns
from arborshap.game.groups import Groups
from arborshap.limits import Limits
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
        self._columns = reader.columns
        self._native = _begun(reader, n_threads)
        _add(reader, self._native, rows, sample_weight, "data", n_threads, verify=verify)

    @classmethod
    def _of(cls, native: _core.Background, columns: Columns) -> Self:
        self = cls.__new__(cls)
        self._native, self._columns = native, columns
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
        return cls._of(native, reader.columns)

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
        if not isinstance(other, Background):
            raise InputError(f"only another Background can be merged, not a {type(other).__name__}")
        return Background._of(self._native.merge(other.native), self._columns.agreed_with(other.columns))

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
        return cls._of(native, Columns.from_json(_parsed(texts.get("python", []))))

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
