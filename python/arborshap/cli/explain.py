"""``arborshap explain``: rows from a file, a chunk at a time, through an explainer, into a file."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from arborshap import TreeExplainer, __version__
from arborshap._util.progress import Report, reporting
from arborshap._util.whole_files import appearing_whole
from arborshap.cli.explainers import explainer_of
from arborshap.cli.files import open_table
from arborshap.cli.results import Results
from arborshap.cli.table import Batch, ChosenColumns, Table, choose_columns
from arborshap.exceptions import InputError
from arborshap.game.indices import PAIR_INDICES, order_of_index
from arborshap.result.axes import output_labels

REPORTED = 5000
"""Rows on a report's page: as many as a browser shows without effort."""

_CHUNK_BYTES = 2**25
"""What the rows and values of a chunk may take, unless the user says how many rows it has."""


def explain(wanted: argparse.Namespace) -> None:
    """Carry out the command; raises what is wrong, and then leaves no output behind."""
    start = time.perf_counter()
    _check_paths(wanted)
    rows = open_table(wanted.rows, "rows")
    explainer = explainer_of(wanted, rows)
    columns = choose_columns(
        rows,
        explainer.state.columns.matched,
        explainer.facts().n_columns,
        ignored=wanted.ignore,
        ids=wanted.id,
        spaces_are_underscores=explainer.state.columns.spaces_are_underscores,
    )
    with appearing_whole(wanted.out) as out:
        with out.open("wb") as file:
            n_rows = _write_all(explainer, rows, columns, file, wanted)
        if wanted.report is not None:  # before the values appear, so that both do or none
            _report(explainer, rows, columns, wanted.index, wanted.report)
    _summarise(explainer, n_rows, time.perf_counter() - start, wanted)


def _write_all(
    explainer: TreeExplainer, rows: Table, columns: ChosenColumns, out: IO[bytes], wanted: argparse.Namespace
) -> int:
    """Explain and write chunk after chunk; returns how many rows there were."""
    dtype = np.dtype(np.float32 if wanted.float32 else np.float64)
    shape = _shape_of_a_row(explainer, wanted)
    outputs = _output_names(explainer)
    results = Results(
        out,
        wanted.out.suffix.lower(),
        players=explainer.feature_names,
        outputs=outputs,
        ids=wanted.id,
        shape=shape,
        dtype=dtype,
        ranked=wanted.top_k is not None,
        about={"version": __version__, "index": wanted.index, "expected_value": _plain(explainer.expected_value)},
    )
    chunk_rows = wanted.chunk_rows or _chunk_rows(explainer, wanted)
    n_rows, done = 0, 0.0
    with reporting(sys.stderr.isatty()) as report:
        for batch in rows.batches(columns, chunk_rows):
            within = None if report is None else _within(report, done, batch.done)
            try:
                _write(explainer, batch, results, dtype, within, wanted)
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
    wanted: argparse.Namespace,
) -> None:
    progress = report or False
    if wanted.top_k is not None:
        top = explainer.top_values(batch.rows, wanted.top_k, index=wanted.index, dtype=dtype, progress=progress)
        results.write(top.values, batch.ids, top.players)
        return
    results.write(explainer.values(batch.rows, index=wanted.index, dtype=dtype, progress=progress), batch.ids)


def _report(explainer: TreeExplainer, rows: Table, columns: ChosenColumns, index: Any, page: Path) -> None:
    first = next(rows.batches(columns, REPORTED))
    if first.n_rows == REPORTED and rows.n_rows != REPORTED:
        print(f"arborshap: the report shows the first {REPORTED} rows", file=sys.stderr)
    explainer(first.rows, index=index).report(page)


def _check_paths(wanted: argparse.Namespace) -> None:
    """Refuse, before any work, to write where it cannot be done or where something is read from."""
    outputs = [path for path in (wanted.out, wanted.report) if path is not None]
    inputs = [path for path in (wanted.model, wanted.background, wanted.rows, wanted.groups) if path is not None]
    for path in outputs:
        if path.is_dir():
            raise InputError(f"{str(path)!r} is a directory; name a file to write")
        if not path.parent.is_dir():
            raise InputError(f"{str(path)!r} cannot be written: there is no directory {str(path.parent)!r}")
        for read in inputs:
            if path.exists() and read.exists() and path.samefile(read):
                raise InputError(f"{str(path)!r} is also read from; write the output somewhere else")
    if wanted.report is not None and wanted.report.resolve() == wanted.out.resolve():
        raise InputError(f"the report and the values cannot both be written to {str(wanted.out)!r}")
    if wanted.top_k is not None and wanted.out.suffix.lower() == ".npy":
        raise InputError("--top-k writes names beside numbers, which .npy cannot hold; write .csv or .parquet")
    if wanted.top_k is not None and wanted.index in PAIR_INDICES:
        raise InputError(f"--top-k ranks players, and --index {wanted.index} is of pairs of them")
    if wanted.id and wanted.out.suffix.lower() == ".npy":
        raise InputError("--id copies a column, which .npy has no place for; write .csv or .parquet")


def _shape_of_a_row(explainer: TreeExplainer, wanted: argparse.Namespace) -> tuple[int, ...]:
    n_players = len(explainer.feature_names)
    if wanted.top_k is not None and wanted.top_k > n_players:
        raise InputError(f"--top-k {wanted.top_k} is more than there are players, {n_players}")
    players = (wanted.top_k or n_players,) * order_of_index(wanted.index)
    outputs = _output_names(explainer)
    return players if outputs is None else (*players, len(outputs))


def _output_names(explainer: TreeExplainer) -> Sequence[str] | None:
    n_outputs = explainer.n_outputs
    return None if n_outputs == 1 else output_labels(explainer.output_names, n_outputs)


def _chunk_rows(explainer: TreeExplainer, wanted: argparse.Namespace) -> int:
    """As many rows as fit: read, and once more as a matrix; computed, and once more on their way into the file."""
    facts = explainer.facts()
    numbers = 2 * (facts.n_features + facts.n_players ** order_of_index(wanted.index) * facts.n_outputs)
    allowed = _CHUNK_BYTES if wanted.memory_limit is None else min(_CHUNK_BYTES, wanted.memory_limit // 4)
    return int(max(1, min(2**16, allowed // (8 * numbers))))


def _within(report: Report, start: float, end: float) -> Report:
    """Turn the fraction of one chunk into the fraction of the file."""
    return lambda fraction: report(start + fraction * (end - start))


def _summarise(explainer: TreeExplainer, n_rows: int, seconds: float, wanted: argparse.Namespace) -> None:
    expected = _plain(explainer.expected_value)
    if wanted.json:
        summary = {
            "out": str(wanted.out),
            "report": None if wanted.report is None else str(wanted.report),
            "rows": n_rows,
            "index": wanted.index,
            "players": explainer.feature_names,
            "outputs": _output_names(explainer),
            "expected_value": expected,
            "background_rows": explainer.facts().n_background,
            "seconds": round(seconds, 3),
        }
        print(json.dumps(summary))
    elif sys.stderr.isatty():
        print(f"{n_rows:,} rows explained in {seconds:.1f} s: {wanted.out}", file=sys.stderr)


def _plain(expected: Any) -> float | list[float]:
    return expected if isinstance(expected, float) else [float(value) for value in expected]
