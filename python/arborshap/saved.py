"""Explainers as bytes and files: no pickle inside, and no model library needed to read them.

The native core writes the forest, the players and the background. What Python adds, names and what the model's library
does to rows, stands beside them as text; ``docs/saved-format.md`` describes all of it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from arborshap import _core
from arborshap._checks import checked_memory_limit
from arborshap._threads import thread_count
from arborshap._whole_files import appearing_whole
from arborshap.exceptions import ArborshapError, InputError, ModelError
from arborshap.forest import Forest
from arborshap.limits import Limits
from arborshap.models._model import Model
from arborshap.models._recoding import describe, from_description
from arborshap.outputs import Rescaled, output_of

if TYPE_CHECKING:
    from arborshap.explainer import TreeExplainer

    AnyExplainer = TypeVar("AnyExplainer", bound=TreeExplainer)


Readable: TypeAlias = bytes | bytearray | memoryview


def to_bytes(explainer: TreeExplainer) -> bytes:
    """Write an explainer that needs no other Python object."""
    if explainer._pipeline is not None:
        raise InputError(
            "the explainer of a Pipeline cannot be saved: its steps are Python objects, which only pickle can keep. "
            "Pickle the explainer, or save one of the last step with the transformed rows and groups=pipeline[:-1]"
        )
    return _written(explainer, describe(explainer._model.encode))


def from_bytes(
    kind: type[AnyExplainer], data: Readable, n_jobs: int | None, memory_limit: int | None, limits: Limits
) -> AnyExplainer:
    """Read what `to_bytes` wrote."""
    explainer, needs_pipeline = _read(kind, data, n_jobs, memory_limit)
    limits.check_forest(explainer._model.forest, "the saved explainer")
    if needs_pipeline:
        raise ModelError("these bytes are part of a pickled explainer of a Pipeline; unpickle that instead")
    return explainer


def save(explainer: TreeExplainer, path: str | os.PathLike[str]) -> None:
    """Write `to_bytes` to a file: all of it or nothing, also where a process dies halfway."""
    data = to_bytes(explainer)
    with appearing_whole(Path(path)) as beside, beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def load(
    kind: type[AnyExplainer],
    path: str | os.PathLike[str],
    n_jobs: int | None,
    memory_limit: int | None,
    limits: Limits,
) -> AnyExplainer:
    """Read what `save` wrote."""
    data = limits.read(path)
    try:
        return from_bytes(kind, data, n_jobs, memory_limit, limits)
    except ArborshapError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from error


def reduced(explainer: TreeExplainer) -> tuple[Any, ...]:
    """Take an explainer apart for pickle: its bytes, and the Python objects that these cannot hold."""
    encode = explainer._model.encode
    try:
        described = describe(encode)
        encode = None
    except InputError:
        described = None
    parts = (type(explainer), _written(explainer, described), explainer._n_jobs, explainer._memory_limit)
    return unpickled, (*parts, explainer._pipeline, encode)


def unpickled(
    kind: type[AnyExplainer], data: bytes, n_jobs: int | None, memory_limit: int | None, pipeline: Any, encode: Any
) -> AnyExplainer:
    """Put an explainer together again."""
    explainer, _ = _read(kind, data, n_jobs, memory_limit, encode)
    explainer._pipeline = pipeline
    return explainer


def _written(explainer: TreeExplainer, recoding: dict[str, Any] | None) -> bytes:
    model, forest, rescaled = explainer._model, explainer._model.forest, explainer._rescaled
    about = {
        "link": model.link,
        "steepness": model.steepness,
        "classes": _labels(explainer),
        "recoding": recoding,
        "takes_missing": model.takes_missing,
        "feature_names": forest.feature_names,
        "output_names": forest.output_names,
        "column_names": explainer._column_names,
        "column_players": explainer._data_players,
        "engine": str(explainer._engine),
        "model_output": "raw" if rescaled is None else "log_loss" if rescaled.output.is_loss else "probability",
        "pipeline": explainer._pipeline is not None,
    }
    texts = {
        "players": list(explainer._player_names),
        "columns": list(explainer._data_names),
        "library": [model.library],
        "python": [json.dumps(about)],
    }
    if explainer.output_names is not None:
        texts["outputs"] = list(explainer.output_names)
    numbers = {}
    if rescaled is not None:
        numbers = {
            "background": np.ravel(rescaled.background).astype(np.float64),
            "background_shares": np.ascontiguousarray(rescaled.shares),
        }
    try:
        return explainer._core.to_bytes(texts, numbers)
    except UnicodeEncodeError as error:
        raise InputError(f"the name {error.object!r} is not valid Unicode, so it cannot be saved; rename it") from error


def _labels(explainer: TreeExplainer) -> list[Any] | None:
    """List the labels of the classes; only a loss needs them, so that only a loss is refused where they are odd."""
    classes = explainer._model.classes
    labels: list[Any] | None = None if classes is None else np.asarray(classes).tolist()
    if labels is None or all(isinstance(label, (str, int, float, bool)) for label in labels):
        return labels
    if explainer._rescaled is not None and explainer._rescaled.output.is_loss:
        raise InputError(f"the classes are {labels}, and only texts and numbers can be saved")
    return None


def _read(
    kind: type[AnyExplainer], data: Readable, n_jobs: int | None, memory_limit: int | None, encode: Any = None
) -> tuple[AnyExplainer, bool]:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InputError(f"a saved explainer is bytes, got a {type(data).__name__}")
    n_threads, memory_limit = thread_count(n_jobs), checked_memory_limit(memory_limit)
    core, texts, numbers = _core.Explainer.from_bytes(bytes(data), memory_limit=memory_limit, n_threads=n_threads)
    about = _About(texts)
    native = core.forest
    names = about.of("feature_names", list, optional=True), about.of("output_names", list, optional=True)
    model = Model(
        forest=Forest.of_native(native, *names),
        library=about.only("library"),
        link=about.of("link", str),
        steepness=float(about.of("steepness", (int, float))),
        classes=None if about.of("classes", list, optional=True) is None else np.array(about.of("classes", list)),
        encode=encode or from_description(about.of("recoding", dict, optional=True), native.n_features),
        takes_missing=about.of("takes_missing", bool, optional=True) is not False,  # older files do not say
    )
    has_pipeline = about.of("pipeline", bool)

    explainer = kind.__new__(kind)
    explainer._n_jobs, explainer._n_threads, explainer._memory_limit = n_jobs, n_threads, memory_limit
    explainer._engine = about.of("engine", str)
    explainer._pipeline = None
    explainer._to_verify = False  # there is no library to ask
    explainer._model = model
    explainer._core = core
    explainer._players, explainer._n_players = core.players, core.n_players
    explainer._n_background = core.n_background
    explainer._player_names = about.texts("players", core.n_players)
    explainer._data_names = about.texts("columns", None if has_pipeline else native.n_features)
    column_names = about.of("column_names", list, optional=True)
    explainer._column_names = None if column_names is None else [str(name) for name in column_names]
    explainer._data_players = about.of("column_players", list)
    n_columns, players = len(explainer._data_names), explainer._data_players
    is_map = all(isinstance(player, int) and 0 <= player < core.n_players for player in players)
    if len(players) != n_columns or not is_map or (column_names is not None and len(column_names) != n_columns):
        raise ModelError("the saved names do not fit the model's columns")
    explainer.output_names = about.texts("outputs", None) if "outputs" in texts else None
    output_name = about.of("model_output", str)
    if output_name not in ("raw", "probability", "log_loss"):
        raise ModelError(f"the saved model_output is {output_name!r}, which this version does not know")
    output = output_of(model, output_name, "auto", has_background=True)
    if output is not None:
        rows, shares = numbers.get("background"), numbers.get("background_shares")
        if rows is None or shares is None or len(rows) != len(shares) * native.n_features:
            raise ModelError("the saved background is incomplete")
        matrix = rows.reshape(len(shares), native.n_features)
        explainer._rescaled = Rescaled(output, native, core, core.n_players, matrix, shares, n_threads)
    try:
        core.plan(1, "shapley", explainer._engine)
    except InputError as error:
        raise ModelError(f"the saved engine cannot explain the saved model: {error}") from error
    return explainer, has_pipeline


class _About:
    """What Python wrote beside the arrays; each entry is checked when it is asked for."""

    def __init__(self, texts: dict[str, list[str]]) -> None:
        self._texts = texts
        described = self.only("python")
        try:
            self._entries = json.loads(described)
        except (ValueError, RecursionError) as error:
            raise ModelError("the saved description is not valid JSON") from error
        if not isinstance(self._entries, dict):
            raise ModelError("the saved description is not a JSON object")

    def only(self, name: str) -> str:
        """Return a text that stands alone."""
        return self.texts(name, 1)[0]

    def texts(self, name: str, count: int | None) -> list[str]:
        """Return a list of texts, which must be so many."""
        found = self._texts.get(name)
        if found is None:
            message = "; the file was not written from Python" if name == "python" else ""
            raise ModelError(f"the saved explainer has no {name!r}{message}")
        if count is not None and len(found) != count:
            raise ModelError(f"the saved explainer has {len(found)} {name!r} where {count} belong")
        return found

    def of(self, name: str, kind: type | tuple[type, ...], *, optional: bool = False) -> Any:
        """Return an entry of the description, which must be of this type."""
        found = self._entries.get(name)
        if not isinstance(found, kind) and not (optional and found is None):
            raise ModelError(f"the saved {name!r} is {str(found)[:40]!r}, which is not what belongs there")
        return found
