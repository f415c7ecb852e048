"""``arborshap sketch``: counts the rows of a file and writes the counts, to be compared when the rows are gone."""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import reduce

from arborshap import Background, TreeExplainer
from arborshap.cli.explainers import batches_of, check_ignored, is_saved, model_for, some_rows
from arborshap.cli.files import inputs_of
from arborshap.cli.paths import check_outputs, output_file
from arborshap.cli.table import Table, choose_columns
from arborshap.exceptions import InputError

_ROWS = 2**16
"""Number of rows read and counted at a time."""


def sketch(options: argparse.Namespace) -> None:
    """Carry out the command. If it raises, it leaves no output behind."""
    start = time.perf_counter()
    check_outputs([options.out], [options.model, options.rows, options.groups])
    with inputs_of(options) as inputs:
        rows = inputs.open(options.rows, "rows")
        check_ignored(options.ignore, [rows])
        try:
            part = _by_explainer(options, rows) if is_saved(options.model) else _by_model(options, rows)
        except InputError as error:
            if str(rows.path) in str(error) or not str(error).startswith(("data", "batch")):
                raise
            raise InputError(f"rows {str(rows.path)!r}: {error}") from error
    written = part.to_bytes(minimum_rows=options.minimum_rows)
    with output_file(options.out) as file:
        file.write(written)
    _summarise(part, len(written), time.perf_counter() - start, options)


def _by_model(options: argparse.Namespace, rows: Table) -> Background:
    model, keywords = model_for(options, rows, options.ignore)
    return Background.from_batches(
        model,
        some_rows(batches_of(rows, model, options.ignore, options), rows),
        model_output=options.model_output or "raw",
        error_bars=not options.no_error_bars,
        **keywords,
    )


def _by_explainer(options: argparse.Namespace, rows: Table) -> Background:
    """Count for the model, the groups and the output of a saved explainer."""
    for option, given in (("--groups", options.groups), ("--model-output", options.model_output)):
        if given is not None:
            raise InputError(
                f"{str(options.model)!r} is a saved explainer, which includes this setting; leave out {option}"
            )
    explainer = TreeExplainer.load(options.model, n_jobs=options.jobs)
    state = explainer.state
    columns = choose_columns(
        rows,
        state.columns.matched,
        explainer.facts().n_columns,
        ignored=options.ignore,
        ignores_unknown=options.ignore_unknown,
        texts=state.reader.texts,
        spaces_are_underscores=state.columns.spaces_are_underscores,
    )
    batches = (batch.rows for batch in rows.batches(columns, _ROWS))
    bars = not options.no_error_bars
    return reduce(
        Background.merge, (explainer.background_part(batch, error_bars=bars) for batch in some_rows(batches, rows))
    )


def _summarise(part: Background, n_bytes: int, seconds: float, options: argparse.Namespace) -> None:
    if options.json:
        summary = {
            "out": str(options.out),
            "rows": len(part),
            "bytes": n_bytes,
            "error_bars": part.has_error_bars,
            "model_output": "raw" if part.weighted is None else part.weighted.name,
            "seconds": round(seconds, 3),
        }
        print(json.dumps(summary))
    elif sys.stderr.isatty():
        print(f"{len(part):,} rows counted in {seconds:.1f} s: {options.out}, {n_bytes:,} bytes", file=sys.stderr)
