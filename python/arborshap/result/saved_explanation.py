"""Explanations in files: NumPy's ``.npz`` with plain arrays and one text in JSON, and no pickle."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.whole_files import appearing_whole, checked_path
from arborshap.exceptions import InputError, ModelError
from arborshap.models.margin_functions import MarginFunction
from arborshap.result.axes import Axis
from arborshap.result.value_unit import ValueUnit

if TYPE_CHECKING:
    from arborshap.result.explanation import Explanation

_FORMAT = "arborshap explanation"
_VERSION = 1
_ARRAYS = ("values", "base_values", "data", "reference", "row_labels", "standard_error")
_TEXTS = ("feature_names", "index", "model_output", "data_names", "data_players", "output_names", "adds_up")

_DAMAGES = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged file may raise."""


def save(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Write an explanation to a file, which appears complete or not at all."""
    target = checked_path(path)
    about: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
    about |= {name: getattr(explanation, name) for name in _TEXTS}
    about["axes"] = [[axis.kind, axis.names] for axis in explanation.axes]
    unit = explanation.unit
    about["unit"] = [unit.name, unit.becomes, None if unit.curve is None else unit.curve.to_json()]
    arrays: dict[str, NDArray[Any]] = {}
    for name in _ARRAYS:
        array = getattr(explanation, name)
        if array is None:
            continue
        array = np.asarray(array)
        if array.dtype.hasobject:
            about[name] = {"shape": array.shape, "cells": [_plain(cell, name) for cell in array.ravel().tolist()]}
        else:
            arrays[name] = array
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with appearing_whole(target) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, about=text, **arrays)


def load(path: str | os.PathLike[str], cls: type[Explanation]) -> Explanation:
    """Read what `save` wrote; raise `ModelError` if the file is something else or damaged."""
    source = checked_path(path)
    try:
        with source.open("rb") as opened:
            if not zipfile.is_zipfile(opened):
                raise ValueError("it is not an .npz file")
        with np.load(source, allow_pickle=False) as file:
            about = json.loads(file["about"].tobytes())
            arrays = {name: file[name] for name in _ARRAYS if name in file.files}
        if about["format"] != _FORMAT:
            raise ValueError(f"it is {about['format']!r}")
        if about["version"] != _VERSION:
            raise ValueError(f"it has version {about['version']}, and this release reads version {_VERSION}")
        return _made(cls, about, arrays)
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise InputError(f"{os.fspath(path)} cannot be read: {error.strerror}") from error
        raise _refused(path, error) from error
    except _DAMAGES as error:
        raise _refused(path, error) from error


def _refused(path: str | os.PathLike[str], error: Exception) -> ModelError:
    what = str(error) or type(error).__name__
    return ModelError(f"{path!s} is not an explanation that Explanation.save wrote, or it is damaged: {what}")


def _made(cls: type[Explanation], about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Explanation:
    for name in _ARRAYS:
        if name in about:
            shape = tuple(about[name]["shape"])
            cells = np.empty(int(np.prod(shape)), dtype=object)
            cells[:] = [_cell(cell) for cell in about[name]["cells"]]
            arrays[name] = cells.reshape(shape)
    # Not through the constructor, which makes the axes of a whole explanation: this may be a part of one.
    made = cls.__new__(cls)
    for name in _TEXTS:
        setattr(made, name, about[name])
    for name in _ARRAYS:
        setattr(made, name, arrays.get(name))
    made.base_values = arrays["base_values"][()]
    made.axes = tuple(Axis(kind, names) for kind, names in about["axes"])
    name, becomes, curve = about["unit"]
    made.unit = ValueUnit(name, becomes, None if curve is None else MarginFunction.from_json(curve))
    made.provenance = made.frame_kind = None
    lengths = [len(axis.names) for axis in made.axes if axis.kind != "row"]
    if made.values.ndim != len(made.axes) or [*made.values.shape][-len(lengths) or made.values.ndim :] != lengths:
        raise ValueError(f"its values of shape {made.values.shape} do not fit its names")
    return made


def _plain(cell: Any, name: str) -> Any:
    """Return a cell as JSON can hold it; a date becomes a list, because it must not come back as text."""
    if cell is None or isinstance(cell, (str, bool, int, float)):
        return cell
    if isinstance(cell, np.generic) and not isinstance(cell, np.datetime64):
        return cell.item()
    if isinstance(cell, np.datetime64) or hasattr(cell, "isoformat"):
        return [str(np.datetime64(cell, "ns"))]
    if type(cell).__name__ in ("NAType", "NaTType"):
        return None
    raise InputError(f"{name} has a cell of type {type(cell).__name__}, {cell!r}, which cannot be saved")


def _cell(plain: Any) -> Any:
    return np.datetime64(plain[0], "ns") if isinstance(plain, list) else plain
