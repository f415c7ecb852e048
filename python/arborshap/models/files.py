"""Model files, recognised by their content and not by their names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from arborshap._util.notices import warn
from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.linear import MAGIC
from arborshap.limits import DEFAULT, Limits
from arborshap.models.documents import unknown_objective
from arborshap.models.json import parse_json
from arborshap.models.lightgbm.text import load_text
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.ubjson import parse_ubjson
from arborshap.models.xgboost import document as xgboost_document
from arborshap.models.xgboost.dump import load_dump


def load_file(
    path: str | os.PathLike[str],
    feature_names: Sequence[str] | None = None,
    limits: Limits = DEFAULT,
    n_columns: int | None = None,
) -> Model:
    """Read a model file. Nothing in it is ever executed, and a pickle is never loaded."""
    content = _content(path, limits)
    what = f"the file {Path(path).name!r}"
    model = read_content(content, what, feature_names, limits, n_columns)
    limits.check_forest(model.forest, what)
    return model


def _content(path: str | os.PathLike[str], limits: Limits) -> bytes:
    file = Path(path)
    if "\0" in os.fspath(path):
        raise ModelError(f"{os.fspath(path)!r} cannot be a path")
    try:
        exists = file.exists()
    except OSError as error:  # for example a name that is too long: the text of a model instead of its path
        what = f"{os.fspath(path)[:40]!r}... is not a path ({error.strerror})"
        raise ModelError(f"{what}; give the path of a model file") from error
    if not exists:
        raise ModelError(f"there is no file {os.fspath(path)!r}")
    if not file.is_file():
        raise ModelError(f"{os.fspath(path)!r} is a directory or device, not a model file")
    try:
        return limits.read(file)
    except OSError as error:
        raise ModelError(f"{os.fspath(path)!r} cannot be read: {error.strerror}") from error


def read_content(
    content: bytes, what: str, feature_names: Sequence[str] | None, limits: Limits, n_columns: int | None = None
) -> Model:
    """Read the content of a model file; `what` names the file in errors."""
    start = content[:64].lstrip()
    if start.startswith(b"["):
        return load_dump(parse_json(content, what, limits.nesting), feature_names, limits, n_columns)
    if start.startswith(b"{"):
        return _load_document(content, what, limits)
    if start.startswith(b"tree") and b"max_feature_idx=" in content[:4096]:
        return load_text(content, what)
    # ONNX files begin with the version of the format, as a small number. Few programs read any, so the reader waits.
    if content[:1] == b"\x08" and content[1:2] <= b"\x40":
        read: Model = import_module("arborshap.models.onnx.document").read_onnx(content, what, n_columns)
        return read
    raise UnsupportedModelError(f"{what} {_guess(content)}")


def _load_document(content: bytes, what: str, limits: Limits) -> Model:
    # After the brace, JSON continues with a quoted key, and UBJSON with the type of the key's length.
    is_binary = content[:1] == b"{" and content[1:2] in (b"i", b"U", b"I", b"l", b"L", b"#", b"$")
    parsed = parse_ubjson(content, what) if is_binary else parse_json(content, what, limits.nesting)
    if isinstance(parsed, dict) and "features_info" in parsed:
        catboost_document = import_module("arborshap.models.catboost.document")
        export = catboost_document.read_document(parsed)
        if export.link == "unknown":
            warn(unknown_objective("CatBoost", catboost_document.loss_of(parsed)))
        return Model(
            forest=export.forest, library="catboost JSON", link=Link.named(export.link), encode=export.recoding
        )
    if isinstance(parsed, dict) and isinstance(parsed.get("booster_str"), str):  # gpboost, with random effects
        fixed = load_text(parsed["booster_str"].encode(), what)
        return replace(fixed, library="gpboost JSON", link=Link("fixed effect of a mixed model"))
    if isinstance(parsed, dict) and "tree_info" in parsed and "max_feature_idx" in parsed:
        raise UnsupportedModelError(
            f"{what} is what LightGBM's dump_model returns; save the model with save_model instead"
        )
    document = xgboost_document.read_document(parsed)
    return Model(
        forest=document.forest,
        library="xgboost UBJSON" if is_binary else "xgboost JSON",
        link=Link.named(document.link),
        tolerance=xgboost_document.TOLERANCE,
        encode=document.recoding(),
        sparse_zero_is_missing=True,
    )


_DETOUR = (
    "load it yourself and pass the model object, or, for the command line, save TreeExplainer(model, X).save(path) and "
    "give that file"
)


def _guess(content: bytes) -> str:
    """Describe a file that is not a supported model, and say what to do about it."""
    if not content:
        return "is empty"
    if content[:8] == b"ARBORSHP" and b"a background" in content[:100]:
        return "is a saved background; give the model first, and Background.from_bytes(...) of this file as data"
    if content[:8] in (b"ARBORSHP", MAGIC):
        return "is a saved explainer; read it with TreeExplainer.load(path)"
    if content[:1] == b"\x80":
        return f"looks like a pickle, which could run any code when loaded; {_DETOUR}"
    if content[:4] == b"PK\x03\x04" and b"schema.json" in content:
        return f"is a skops file, whose trees scikit-learn would load unchecked; {_DETOUR}"
    if content[:4] == b"binf":
        return "is in XGBoost's old binary format; load it into XGBoost and save it as .json or .ubj"
    if content[:4] == b"CBM1":
        return 'is in CatBoost\'s binary format; load it into CatBoost and save it with format="json"'
    if b"booster[" in content[:64]:
        return 'is a text dump; dump it with dump_format="json", or better save it with save_model'
    return "is not a model file of a known format"
