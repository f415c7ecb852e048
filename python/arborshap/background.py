"""Backgrounds that come in parts: taken in anywhere, merged in any order, the same to the last bit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from arborshap import _core
from arborshap._checks import checked_weights
from arborshap._verify import verify as verify_margins
from arborshap.exceptions import InputError, ModelError
from arborshap.frames import Rows
from arborshap.groups import Groups
from arborshap.limits import Limits

if TYPE_CHECKING:
    from arborshap.explainer import TreeExplainer


class Background:
    """A background, or a part of one, as a model's trees see it: a few counts instead of the rows.

    Parts are made wherever the rows are, `merge` joins two of them in any order, and
    ``TreeExplainer(model, background)`` explains against the whole. However rows were cut into parts, and however these
    were merged, values are the same to the last bit. Where trees have paths of more than 13 players, distinct rows are
    kept instead of counts.

    Parameters
    ----------
    model
        The model, as `TreeExplainer` takes it; of every part the same.
    data
        Rows of the background, of any kind. There may be none.
    groups, feature_names, verify, n_jobs, limits
        As for `TreeExplainer`.
    sample_weight
        The weight of each row. Sums are exact, so weights must be whole numbers of 2**-80 and sum to less than 2**47;
        all numbers from about 1e-8 up that sum to less than 1e14 are.
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
        from arborshap.explainer import TreeExplainer

        reader = TreeExplainer.__new__(TreeExplainer)
        rows = reader._set_up(model, data, groups, feature_names, verify, "auto", n_jobs, None, limits)
        if rows is None:
            raise InputError("data is missing: give the rows of this part of the background")
        self._native = _begun(reader)
        _add(reader, self._native, rows, sample_weight, "data", verify)
        self._names = _names_of(reader)

    def __len__(self) -> int:
        """Rows, however many of them are equal."""
        return self._native.n_rows

    def __repr__(self) -> str:
        return f"<Background of {len(self)} rows, {'counted' if self._native.counted else 'distinct rows kept'}>"

    def merge(self, other: Background) -> Background:
        """Return the background of both's rows; `InputError` if they are of different models, groups or columns."""
        if not isinstance(other, Background):
            raise InputError(f"a Background can be merged with another one, not with a {type(other).__name__}")
        merged = Background.__new__(Background)
        merged._native = self._native.merge(other._native)
        merged._names = _agreed(self._names, other._names)
        return merged

    def to_bytes(self) -> bytes:
        """Write it down, to be sent to where it is merged; ``docs/saved-format.md`` describes the format."""
        return self._native.to_bytes({"python": [json.dumps(self._names)]})

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """Read what `to_bytes` wrote; `ModelError` if it was cut, changed, or written by another version."""
        if not isinstance(data, (bytes, bytearray, memoryview)):  # Spark hands over bytearrays
            raise InputError(f"a background is read from bytes, got a {type(data).__name__}")
        background = cls.__new__(cls)
        background._native, texts = _core.Background.from_bytes(bytes(data))
        background._names = _checked(texts.get("python", []))
        return background

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    @property
    def column_names(self) -> list[str] | None:
        """What frames are matched by, where the first rows or the model had names."""
        names: list[str] | None = self._names["column_names"]
        return names

    def lend_to(self, explainer: TreeExplainer, groups: Groups | None) -> None:
        """Give an explainer the names of the rows, and their groups if it was given none."""
        ours = self._names
        if explainer._column_names is None:
            explainer._column_names = self.column_names
            explainer._data_names = list(ours["data_names"])
        if len(ours["players"]) != explainer._model.forest.n_features:
            raise InputError("the background and the model do not belong together: they have different columns")
        columns = list(explainer._column_names or ())
        if self.column_names not in (None, columns):
            raise _other_columns("the background was made of", self.column_names, columns)
        if groups is None:
            explainer._players = np.array(ours["players"], np.int32)
            explainer._data_players = list(ours["data_players"])
            # Columns that play alone are called what the explainer calls them.
            called = dict(zip(ours["data_names"], explainer._data_names, strict=True))
            explainer._player_names = [called.get(name, name) for name in ours["player_names"]]
            explainer._n_players = len(explainer._player_names)
        explainer._n_background = len(self)
        explainer._core = _core.Explainer.from_background(
            explainer._model.forest.native,
            self._native,
            players=explainer._players,
            n_players=explainer._n_players,
            memory_limit=explainer._memory_limit,
            n_threads=explainer._n_threads,
        )


def gathered(
    explainer: TreeExplainer, first: Rows, rest: Iterable[Any], weights: Any, verify: bool, what: str = "batch 0"
) -> Background:
    """Take in batch after batch, the first of them called `what`; all that is kept is what the trees see of each."""
    background = Background.__new__(Background)
    background._native = _begun(explainer)
    _add(explainer, background._native, first, weights, what, verify)
    for i, batch in enumerate(rest, start=1):
        rows, weights = with_weights(batch)
        _add(explainer, background._native, explainer._read(rows, f"batch {i}"), weights, f"batch {i}", verify)
    background._names = _names_of(explainer)
    return background


def with_weights(batch: Any) -> tuple[Any, Any]:
    """Split a batch that comes with something for each row: a tuple of two."""
    return batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)


def _begun(reader: TreeExplainer) -> _core.Background:
    return _core.Background(
        reader._model.forest.native,
        players=reader._players,
        n_players=reader._n_players,
        n_threads=reader._n_threads,
    )


def _add(reader: TreeExplainer, native: _core.Background, rows: Rows, weights: Any, what: str, verify: bool) -> None:
    if len(rows.matrix) == 0:
        return
    if verify and reader._pipeline is None:  # the rows of a pipeline are verified when they are read
        verify_margins(reader._model, rows.matrix, what, reader._n_threads)
    try:
        native.add(rows.matrix, checked_weights(weights, len(rows.matrix)), n_threads=reader._n_threads)
    except InputError as error:
        raise InputError(f"{what}: {error}") from error


def _names_of(reader: TreeExplainer) -> dict[str, Any]:
    return {
        "column_names": None if reader._column_names is None else list(reader._column_names),
        "data_names": reader._data_names,
        "players": reader._players.tolist(),
        "data_players": reader._data_players,
        "player_names": reader._player_names,
    }


def _agreed(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the names of two parts, which must be the same where both have some: columns are told apart by them."""
    if one["column_names"] is None or other["column_names"] is None:
        return other if one["column_names"] is None else one
    if one["column_names"] != other["column_names"]:
        raise _other_columns("one part was made of", one["column_names"], other["column_names"])
    if one["player_names"] != other["player_names"]:
        raise InputError(
            f"these parts of a background call their groups differently: {one['player_names']}, {other['player_names']}"
        )
    return one


def _other_columns(whose: str, ours: list[str] | None, theirs: list[str]) -> InputError:
    return InputError(
        f"{whose} the columns {ours}, in this order, which is not {theirs}; the model does not name its columns, so "
        "give feature_names wherever its rows are"
    )


def _checked(texts: list[str]) -> dict[str, Any]:
    """Check names that may have been tampered with."""
    try:
        names = json.loads(texts[0]) if len(texts) == 1 else None
    except (ValueError, RecursionError):
        names = None
    kinds = {"column_names": str, "data_names": str, "players": int, "data_players": int, "player_names": str}
    for key, kind in kinds.items():
        found = names.get(key, 0) if isinstance(names, dict) else 0
        if not (found is None and key == "column_names") and not (
            isinstance(found, list) and all(isinstance(entry, kind) for entry in found)
        ):
            raise ModelError(f"the names of the background's columns cannot be read: {key!r} is damaged")
    assert isinstance(names, dict)
    n_columns, n_players = len(names["data_names"]), len(names["player_names"])
    lengths = {len(names["data_players"]), n_columns, len(names["column_names"] or names["data_names"])}
    if len(lengths) > 1 or not all(0 <= p < n_players for p in [*names["players"], *names["data_players"]]):
        raise ModelError("the names of the background's columns do not fit together")
    return names
