"""Explainers as bytes and files, which contain no pickle and can be read without any model library.

The native core writes the forest, the players and the background. Python adds text: the names, and how the model's
library prepares rows. ``docs/saved-format.md`` describes the whole format.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core
from arborshap._util.whole_files import appearing_whole, checked_path
from arborshap.exceptions import ArborshapError, InputError, ModelError
from arborshap.explain.labels import MODEL_OUTPUTS
from arborshap.explain.outputs import output_of
from arborshap.explain.parts import WeightedParts
from arborshap.explain.reader import Gate, Reader
from arborshap.explain.saved_description import About, Numbers, apart_of, background_of, link_of, with_slopes
from arborshap.explain.settings import Settings
from arborshap.explain.state import Kept, State, compiled_linear
from arborshap.forest import Forest
from arborshap.forest.linear import MAGIC, LinearForest
from arborshap.game.columns import Columns
from arborshap.limits import Limits
from arborshap.models import Model
from arborshap.models.recoding import describe
from arborshap.models.saved_recoding import from_description
from arborshap.rows.frames import Encode
from arborshap.rows.numbers import Matrix

if TYPE_CHECKING:
    from arborshap.explain.pipeline import RawColumns
    from arborshap.models.replay import ReplayedColumns

Readable: TypeAlias = bytes | bytearray | memoryview


def to_bytes(state: State) -> bytes:
    """Return an explainer as bytes that need no other Python object."""
    pipeline, model = state.reader.pipeline, state.reader.model
    return _written(state, describe(model.encode), None if pipeline is None else pipeline.replayed(model))


def from_bytes(data: Readable, n_jobs: int | None, memory_limit: int | None, limits: Limits) -> State:
    """Read an explainer from the bytes of `to_bytes`."""
    state, needs_pipeline = _read(data, n_jobs, memory_limit)
    limits.check_forest(state.forest, "the saved explainer")
    if needs_pipeline:
        raise ModelError("these bytes belong to a pickled explainer of a Pipeline; unpickle that explainer instead")
    return state


def save(state: State, path: str | os.PathLike[str]) -> None:
    """Write the bytes of `to_bytes` to a file, completely or not at all, even if the process dies halfway."""
    target, data = checked_path(path), to_bytes(state)
    with appearing_whole(target) as beside, beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def load(path: str | os.PathLike[str], n_jobs: int | None, memory_limit: int | None, limits: Limits) -> State:
    """Read an explainer from a file that `save` wrote."""
    data = limits.read(checked_path(path))
    try:
        return from_bytes(data, n_jobs, memory_limit, limits)
    except ArborshapError as error:
        advice = "" if data[:8] in (_core.MAGIC, MAGIC) else "; give the file of a model to TreeExplainer(path, data)"
        raise type(error)(f"{os.fspath(path)}: {error}{advice}") from error


def to_pickle(state: State) -> tuple[Any, ...]:
    """Take an explainer apart for pickle: its bytes, its settings, and the Python objects that bytes cannot hold."""
    encode = state.reader.model.encode
    try:
        described = describe(encode)
        encode = None
    except InputError:
        described = None
    settings = state.settings
    return _written(state, described), settings.n_jobs, settings.memory_limit, state.reader.pipeline, encode


def from_pickle(
    data: bytes,
    n_jobs: int | None,
    memory_limit: int | None,
    pipeline: RawColumns | ReplayedColumns | None,
    encode: Encode | None,
) -> State:
    """Put together an explainer that `to_pickle` took apart."""
    state, _ = _read(data, n_jobs, memory_limit, encode)
    return replace(state, reader=replace(state.reader, pipeline=pipeline))


def _written(state: State, recoding: dict[str, Any] | None, replay: ReplayedColumns | None = None) -> bytes:
    model, columns = state.reader.model, state.columns
    about = {
        "link": model.link.to_json(),
        "classes": _labels(state),
        "metadata": dict(state.metadata),
        "recoding": recoding,
        "takes_missing": model.takes_missing,
        "sparse_zero_is_missing": model.sparse_zero_is_missing,
        "spaces_are_underscores": model.spaces_are_underscores,
        "predicts_by_position": model.predicts_by_position,
        "feature_names": model.forest.feature_names,
        "output_names": model.forest.output_names,
        "column_names": columns.matched,
        "column_players": columns.owners,
        "apart": None if columns.apart is None else asdict(columns.apart),
        "engine": state.settings.engine,
        "model_output": state.model_output,
        "pipeline": state.reader.pipeline is not None,
    }
    texts = {
        "players": list(columns.player_names),
        "columns": list(columns.names),
        "library": [model.library],
        "python": [json.dumps(about)],
    }
    if state.output_names is not None:
        texts["outputs"] = list(state.output_names)
    numbers = {}
    if replay is not None:
        described, numbers["steps"] = replay.description()
        texts["steps"] = [described]
    rescaled = state.rescaled
    if rescaled is not None and rescaled.parts is not None:
        texts |= rescaled.parts.to_texts()
        numbers["background_weight"] = np.array([rescaled.weight])
    elif rescaled is not None and rescaled.background is not None:
        numbers |= _rows(rescaled.background, rescaled.shares)
    elif state.kept is not None:
        numbers |= _rows(state.kept.rows, state.kept.shares)
    try:
        return state.core.to_bytes(texts, numbers)
    except UnicodeEncodeError as error:
        raise InputError(f"the name {error.object!r} is not valid Unicode, so it cannot be saved; rename it") from error


def _rows(rows: Matrix, shares: NDArray[np.float64]) -> Numbers:
    return {"background": np.ravel(rows).astype(np.float64), "background_shares": np.ascontiguousarray(shares)}


def _labels(state: State) -> list[Any] | None:
    """List the labels of the classes. Only a loss needs them, so only a loss is refused if they cannot be saved."""
    classes = state.reader.model.classes
    labels: list[Any] | None = None if classes is None else np.asarray(classes).tolist()
    if labels is None or all(isinstance(label, (str, int, float, bool)) for label in labels):
        return labels
    if state.rescaled is not None and state.rescaled.output.labels is not None:
        raise InputError(f"the classes are {labels}, but only strings and numbers can be saved; relabel them")
    return None


def _read(
    data: Readable, n_jobs: int | None, memory_limit: int | None, encode: Encode | None = None
) -> tuple[State, bool]:
    """Read an explainer, and whether it still lacks the pipeline that pickle keeps beside it."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InputError(f"TreeExplainer.from_bytes needs bytes, got a {type(data).__name__}")
    settings = Settings.of("auto", n_jobs, memory_limit)
    is_linear = bytes(data[: len(MAGIC)]) == MAGIC
    core, texts, numbers = _core.Explainer.from_bytes(
        bytes(data[len(MAGIC) :] if is_linear else data),
        memory_limit=settings.memory_limit,
        n_threads=settings.n_threads,
    )
    if is_linear != ("slopes" in numbers):
        raise ModelError("the file does not say whether its leaves hold slopes; it is damaged")
    about = About(texts)
    settings = replace(settings, engine=about.of("engine", str))
    has_pipeline = about.of("pipeline", bool)
    # A saved explainer has no library to compare with, so there is nothing to verify.
    gate = Gate(is_open=False, n_threads=settings.n_threads)
    model = _model(about, core, encode)
    if is_linear:
        model = replace(model, forest=with_slopes(model.forest, numbers))
    columns = _columns(about, core, model, has_pipeline=has_pipeline)
    replay = _replay(about, numbers, columns, model.n_columns) if "steps" in texts else None
    reader = Reader(model, columns, replay, gate)
    if isinstance(model.forest, LinearForest):
        core = compiled_linear(reader, settings, *background_of(numbers, model.forest.n_features))
    try:
        state = State.of(reader, settings, core)
    except InputError as error:
        raise ModelError(f"the saved engine cannot explain the saved model: {error}") from error
    names = tuple(about.texts("outputs", None)) if "outputs" in texts else None
    state = replace(state, output_names=names, metadata=about.of("metadata", dict, optional=True) or {})
    if columns.apart is not None and "background" in numbers:
        state = replace(state, kept=Kept(*background_of(numbers, state.forest.n_features)))
    return _with_output(state, about, texts, numbers), has_pipeline and replay is None


def _model(about: About, core: _core.Explainer, encode: Encode | None) -> Model:
    native, library = core.forest, about.only("library")
    names = about.of("feature_names", list, optional=True), about.of("output_names", list, optional=True)
    classes = about.of("classes", list, optional=True)
    # Older files lack these entries, but the library's name implies them.
    sparse, spaces = (
        about.of(f"{name}", bool, optional=True) for name in ("sparse_zero_is_missing", "spaces_are_underscores")
    )
    is_older_sparse = library.startswith(("xgboost", "treelite"))
    return Model(
        forest=Forest.of_native(native, *names),
        library=library,
        link=link_of(about),
        classes=None if classes is None else np.array(classes),
        encode=encode or from_description(about.of("recoding", dict, optional=True), native.n_features),
        takes_missing=about.of("takes_missing", bool, optional=True) is not False,
        sparse_zero_is_missing=sparse if about.has("sparse_zero_is_missing") else is_older_sparse,
        spaces_are_underscores=library.startswith("lightgbm") if spaces is None else spaces,
        predicts_by_position=about.of("predicts_by_position", bool, optional=True) is True,
    )


def _columns(about: About, core: _core.Explainer, model: Model, *, has_pipeline: bool) -> Columns:
    names = about.texts("columns", None if has_pipeline else model.n_columns)
    matched = about.of("column_names", list, optional=True)
    owners = about.of("column_players", list)
    is_map = all(isinstance(player, int) and 0 <= player < core.n_players for player in owners)
    if len(owners) != len(names) or not is_map or (matched is not None and len(matched) != len(names)):
        raise ModelError("the saved names do not fit the model's columns")
    return Columns(
        matched=None if matched is None else tuple(str(name) for name in matched),
        names=tuple(names),
        owners=tuple(owners),
        players=core.players,
        player_names=tuple(about.texts("players", core.n_players)),
        spaces_are_underscores=model.spaces_are_underscores and not has_pipeline,
        apart=apart_of(about, len(names), model.n_columns),
    )


def _replay(about: About, numbers: Numbers, columns: Columns, n_made: int) -> ReplayedColumns:
    vector = numbers.get("steps")
    if vector is None:
        raise ModelError("the saved steps of the pipeline have no numbers")
    from arborshap.models.replay import ReplayedColumns  # noqa: PLC0415 (only a file with a pipeline needs its steps)

    replay = ReplayedColumns.from_description(about.only("steps"), vector, n_made)
    if replay.n_columns != len(columns.names):
        raise ModelError("the saved names do not fit the pipeline's columns")
    return replay


def _with_output(state: State, about: About, texts: dict[str, list[str]], numbers: Numbers) -> State:
    name = about.of("model_output", str)
    if name not in MODEL_OUTPUTS:
        raise ModelError(f"this version does not know the saved model_output {name!r}")
    output = output_of(state.reader.model, name, has_background=True)
    if output is None:
        return state
    parts = WeightedParts.from_texts(texts)
    if parts is not None:
        weight = numbers.get("background_weight", np.zeros(0))
        if parts.name != name or weight.shape != (1,) or not weight[0] > 0.0:
            raise ModelError("the saved weightings do not fit the saved model_output")
        return state.rescaling_parts(output, float(weight[0]), parts)
    return state.rescaling(output, *background_of(numbers, state.forest.n_features))
