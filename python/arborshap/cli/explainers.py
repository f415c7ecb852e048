"""From the files named on the command line to an explainer."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arborshap import TreeExplainer, _core
from arborshap._util.checks import repeated
from arborshap.cli.files import Inputs
from arborshap.cli.table import Table, choose_columns
from arborshap.exceptions import InputError
from arborshap.explain.labels import OutputName
from arborshap.forest.linear import MAGIC
from arborshap.models import Model, load
from arborshap.models.recoding import text_columns

_PAIRWISE = ("softmax", "signed square")
"""Links that are rescaled pair by pair, which takes the background rows themselves."""
_BACKGROUND_ROWS = 2**16
"""Number of background rows read at a time."""


def explainer_of(options: argparse.Namespace, rows: Table, inputs: Inputs) -> TreeExplainer:
    """Make the explainer: load a saved one, or make one of a model file, with or without a background."""
    if is_saved(options.model):
        return _saved(options, rows)
    background = None if options.background is None else inputs.open(options.background, "background")
    check_ignored(options.ignore, [rows] if background is None else [rows, background])
    set_apart = [*options.ignore, *options.id]
    model, keywords = model_for(options, background or rows, set_apart)
    keywords |= {"memory_limit": options.memory_limit}
    if background is None:
        return TreeExplainer(model, model_output=options.model_output or "raw", **keywords)
    batches = batches_of(background, model, set_apart, options)
    try:
        output: OutputName = options.model_output or "raw"
        if output == "raw" or model.link.name not in _PAIRWISE:
            return TreeExplainer.from_batches(model, some_rows(batches, background), model_output=output, **keywords)
        data = _joined(list(some_rows(batches, background)))
        return TreeExplainer(model, data, model_output=output, **keywords)
    except InputError as error:
        # A message about the rows begins with their name; all others are about other options.
        if str(background.path) in str(error) or not str(error).startswith(("data", "batch")):
            raise
        raise InputError(f"background {str(background.path)!r}: {error}") from error


def model_for(options: argparse.Namespace, table: Table, set_apart: Sequence[str] = ()) -> tuple[Model, dict[str, Any]]:
    """Read the model file, and return the groups, names and threads for an explainer of the rows of a file."""
    names = table.names
    names = None if names is None else [name for name in names if name not in (*set_apart, *table.index)]
    model = load(str(options.model), feature_names=names)
    fit = model.column_names is None and names is not None and len(names) == model.n_columns
    return model, {
        "groups": None if options.groups is None else read_groups(options.groups),
        # A model that names its columns keeps its own names; any other model gets them from the file.
        "feature_names": names if fit else None,
        "n_jobs": options.jobs,
    }


def batches_of(table: Table, model: Model, set_apart: Sequence[str], options: argparse.Namespace) -> Iterator[Any]:
    """Read the rows of a file for a model, some at a time."""
    columns = choose_columns(
        table,
        model.column_names,
        model.n_columns,
        ignored=set_apart,
        ignores_unknown=options.ignore_unknown,
        texts=text_columns(model.encode, model.n_columns),
        spaces_are_underscores=model.spaces_are_underscores,
    )
    return (batch.rows for batch in table.batches(columns, _BACKGROUND_ROWS))


def is_saved(path: Path) -> bool:
    """Whether a file begins like one that `TreeExplainer.save` wrote."""
    try:
        with path.open("rb") as file:
            return file.read(len(_core.MAGIC)) in (_core.MAGIC, MAGIC)
    except OSError:
        return False  # reading it as a model will report the error


def _saved(options: argparse.Namespace, rows: Table) -> TreeExplainer:
    for option, given in [
        ("--background", options.background),
        ("--groups", options.groups),
        ("--model-output", options.model_output),
    ]:
        if given is not None:
            raise InputError(
                f"{str(options.model)!r} is a saved explainer, which includes this setting; leave out {option}"
            )
    check_ignored(options.ignore, [rows])
    explainer = TreeExplainer.load(options.model, n_jobs=options.jobs, memory_limit=options.memory_limit)
    if explainer.facts().model_output in ("log_loss", "squared_error"):
        raise InputError(f"{str(options.model)!r} explains losses, which need labels; explain them from Python")
    return explainer


def some_rows(batches: Iterator[Any], table: Table) -> Iterator[Any]:
    """Yield the batches; raise `InputError` if there are none."""
    first = next(batches, None)
    if first is None:
        raise InputError(f"{table.what} {str(table.path)!r} has no rows")
    yield first
    yield from batches


def check_ignored(names: list[str], tables: list[Table]) -> None:
    """Refuse a name that no file has, because it is probably misspelled."""
    for name in names:
        if not any(name in (table.names or ()) for table in tables):
            files = " nor ".join(repr(str(table.path)) for table in tables)
            raise InputError(f"--ignore {name}: there is no such column in {files}")


def read_groups(path: Path) -> Any:
    """Read groups from JSON: an object of lists of columns, or an index map."""
    where = f"groups {str(path)!r}"
    try:
        groups = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_repeats)
    except FileNotFoundError as error:
        raise InputError(f"there is no groups file {str(path)!r}") from error
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if not isinstance(groups, (dict, list)):
        raise InputError(f'{where} must hold {{"name": ["column", ...], ...}}, or the player of each column')
    return groups


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := repeated(name for name, _ in pairs):
        raise InputError(f"the group {twice[0]!r} is defined twice")
    return dict(pairs)


def _joined(batches: list[Any]) -> Any:
    if isinstance(batches[0], np.ndarray):
        return np.concatenate(batches)
    import pyarrow

    return pyarrow.Table.from_batches(batches)
