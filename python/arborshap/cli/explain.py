"""``arborshap explain``: reads rows from a file, explains them in chunks, and writes the values to a file."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from arborshap import TreeExplainer, __version__
from arborshap._util.progress import Report, reporting
from arborshap.cli.dialect import Dialect
from arborshap.cli.endings import STANDARD, ending_of
from arborshap.cli.explainers import explainer_of
from arborshap.cli.files import inputs_of
from arborshap.cli.paths import check_outputs, output_file
from arborshap.cli.results import Results
from arborshap.cli.table import Batch, ChosenColumns, Table, choose_columns
from arborshap.exceptions import InputError
from arborshap.explain.values import predictions_of
from arborshap.game.indices import PAIR_INDICES, order_of_index
from arborshap.result.axes import output_labels

REPORTED = 5000
"""Number of rows in a report: as many as a browser shows without effort."""

_CHUNK_BYTES = 2**25
"""Most bytes that the rows and values of a chunk take, unless the user sets the number of rows."""


def explain(options: argparse.Namespace) -> None:
    """Carry out the command. If it raises, it leaves no output behind."""
    start = time.perf_counter()
    _check_paths(options)
    with inputs_of(options) as inputs:
        rows = inputs.open(options.rows, "rows")
        explainer = explainer_of(options, rows, inputs)
        columns = choose_columns(
            rows,
            explainer.state.columns.matched,
            explainer.facts().n_columns,
            ignored=options.ignore,
            ids=options.id,
            ignores_unknown=options.ignore_unknown,
            texts=explainer.state.reader.texts,
            spaces_are_underscores=explainer.state.columns.spaces_are_underscores,
        )
        with output_file(options.out) as file:
            n_rows = _write_all(explainer, rows, columns, file, options)
            if options.report is not None:  # before the values appear, so that both files appear or neither does
                _report(explainer, rows, columns, options.index, options.report)
    _summarise(explainer, n_rows, time.perf_counter() - start, options)


def _write_all(
    explainer: TreeExplainer, rows: Table, columns: ChosenColumns, out: IO[bytes], options: argparse.Namespace
) -> int:
    """Explain and write one chunk after another; return the number of rows."""
    dtype = np.dtype(np.float32 if options.float32 else np.float64)
    shape = _shape_of_a_row(explainer, options)
    outputs = _output_names(explainer)
    results = Results(
        out,
        options.out,
        Dialect.of(options.out, options),
        players=explainer.feature_names,
        outputs=outputs,
        ids=options.id,
        shape=shape,
        dtype=dtype,
        ranked=options.top_k is not None,
        with_prediction=options.with_prediction,
        about={"version": __version__, "index": options.index, "expected_value": _plain(explainer.expected_value)},
    )
    chunk_rows = options.chunk_rows or _chunk_rows(explainer, options)
    n_rows, done = 0, 0.0
    with reporting(sys.stderr.isatty()) as report:
        for batch in rows.batches(columns, chunk_rows):
            within = None if report is None else _within(report, done, batch.done)
            try:
                _write(explainer, batch, results, dtype, within, options)
            except InputError as error:
                last = n_rows + batch.n_rows - 1
                raise InputError(f"rows {str(rows.path)!r}, among rows {n_rows} to {last}: {error}") from error
            n_rows, done = n_rows + batch.n_rows, batch.done
    if n_rows == 0:
        raise InputError(f"rows {str(rows.path)!r} has no rows")
    results.close()
    return n_rows


def _write(
    explainer: TreeExplainer,
    batch: Batch,
    results: Results,
    dtype: np.dtype[Any],
    report: Report | None,
    options: argparse.Namespace,
) -> None:
    progress = report or False
    predictions = _predictions(explainer, batch) if options.with_prediction else None
    if options.top_k is not None:
        top = explainer.top_values(batch.rows, options.top_k, index=options.index, dtype=dtype, progress=progress)
        results.write(top.values, batch.ids, top.players, predictions)
        return
    values = explainer.values(batch.rows, index=options.index, dtype=dtype, progress=progress)
    results.write(values, batch.ids, predictions=predictions)


def _predictions(explainer: TreeExplainer, batch: Batch) -> NDArray[np.float64]:
    """Return the base value and the prediction of each row, per output."""
    found = predictions_of(explainer.state, explainer.state.reader.matrix(batch.rows))
    assert found is not None  # only losses have no predictions, and these are refused
    base = np.broadcast_to(np.atleast_1d(explainer.expected_value), found.shape)
    return np.hstack([base, found])


def _report(explainer: TreeExplainer, rows: Table, columns: ChosenColumns, index: Any, page: Path) -> None:
    first = next(rows.batches(columns, REPORTED))
    if first.n_rows == REPORTED and rows.n_rows != REPORTED:
        print(f"arborshap: the report shows the first {REPORTED} rows", file=sys.stderr)
    explainer(first.rows, index=index).report(page)


def _check_paths(options: argparse.Namespace) -> None:
    """Refuse, before any work, outputs that cannot be written or that are also inputs."""
    if options.rows == STANDARD and options.background == STANDARD:
        raise InputError("the rows and the background cannot both come from standard input; name a file for one")
    if options.out == STANDARD and options.json:
        raise InputError("--json prints a summary where the values would go; write the values to a file")
    check_outputs([options.out, options.report], [options.model, options.background, options.rows, options.groups])
    if options.report is not None and options.report.resolve() == options.out.resolve():
        raise InputError(f"the report and the values cannot both be written to {str(options.out)!r}; name two files")
    is_npy = ending_of(options.out) == ".npy"
    if options.top_k is not None and is_npy:
        raise InputError("--top-k writes names and numbers, but .npy holds only numbers; write .csv or .parquet")
    if options.top_k is not None and options.index in PAIR_INDICES:
        raise InputError(
            f"--top-k ranks players, but --index {options.index} has values of pairs; leave one of them out"
        )
    if options.id and is_npy:
        raise InputError("--id copies a column, but .npy holds only values; write .csv or .parquet")
    if options.with_prediction and is_npy:
        raise InputError("--with-prediction adds columns, but .npy holds only values; write .csv or .parquet")


def _shape_of_a_row(explainer: TreeExplainer, options: argparse.Namespace) -> tuple[int, ...]:
    n_players = len(explainer.feature_names)
    if options.top_k is not None and options.top_k > n_players:
        raise InputError(f"--top-k {options.top_k} is too large; there are {n_players} players")
    players = (options.top_k or n_players,) * order_of_index(options.index)
    outputs = _output_names(explainer)
    return players if outputs is None else (*players, len(outputs))


def _output_names(explainer: TreeExplainer) -> Sequence[str] | None:
    n_outputs = explainer.n_outputs
    return None if n_outputs == 1 else output_labels(explainer.output_names, n_outputs)


def _chunk_rows(explainer: TreeExplainer, options: argparse.Namespace) -> int:
    """Return how many rows fit: they are held twice as input, and their values twice as output."""
    facts = explainer.facts()
    numbers = 2 * (facts.n_features + facts.n_players ** order_of_index(options.index) * facts.n_outputs)
    allowed = _CHUNK_BYTES if options.memory_limit is None else min(_CHUNK_BYTES, options.memory_limit // 4)
    return int(max(1, min(2**16, allowed // (8 * numbers))))


def _within(report: Report, start: float, end: float) -> Report:
    """Turn the fraction done of one chunk into the fraction done of the file."""
    return lambda fraction: report(start + fraction * (end - start))


def _summarise(explainer: TreeExplainer, n_rows: int, seconds: float, options: argparse.Namespace) -> None:
    expected = _plain(explainer.expected_value)
    if options.json:
        summary = {
            "out": str(options.out),
            "report": None if options.report is None else str(options.report),
            "rows": n_rows,
            "index": options.index,
            "players": explainer.feature_names,
            "outputs": _output_names(explainer),
            "expected_value": expected,
            "background_rows": explainer.facts().n_background,
            "seconds": round(seconds, 3),
        }
        print(json.dumps(summary))
    elif sys.stderr.isatty():
        print(f"{n_rows:,} rows explained in {seconds:.1f} s: {options.out}", file=sys.stderr)


def _plain(expected: Any) -> float | list[float]:
    return expected if isinstance(expected, float) else [float(value) for value in expected]
