"""``arborshap drift``: explains what moved the mean prediction between files of ``arborshap sketch``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from arborshap import Background, Drift, TreeExplainer, __version__, drift_contributions
from arborshap._util.checks import repeated
from arborshap.cli.csv_sink import CsvSink
from arborshap.cli.dialect import Dialect
from arborshap.cli.endings import STANDARD, ending_of, is_compressed, is_text
from arborshap.cli.explainers import is_saved
from arborshap.cli.parquet import ParquetSink
from arborshap.cli.paths import check_outputs, output_file
from arborshap.exceptions import InputError, ModelError
from arborshap.models import load

_SHOWN = 10
"""Number of players listed for people; the file and JSON list all of them."""


def drift(options: argparse.Namespace) -> None:
    """Carry out the command. If it raises, it leaves no output behind."""
    _check(options)
    periods = {_name(path): _read(path) for path in options.sketches}
    made_for = {"raw" if part.weighted is None else part.weighted.name for part in periods.values()}
    if len(made_for) > 1 and not options.raw:
        raise InputError(
            f"the sketches were made for different outputs, {sorted(made_for)}; make all with the same --model-output, "
            "or compare them with --raw"
        )
    model: Any = TreeExplainer.load(options.model) if is_saved(options.model) else load(str(options.model))
    found = drift_contributions(
        model,
        periods,
        options.since,
        index=options.index,
        model_output="raw" if options.raw else None,
        n_jobs=options.jobs,
        memory_limit=options.memory_limit,
    )
    if options.out is None:
        _report(found, options.report)
    else:
        with output_file(options.out) as file:
            _write(found, file, options)
            _report(found, options.report)  # before the numbers appear, so that both files appear or neither does
    if options.json:
        print(json.dumps(_summary(found, options)))
    elif options.out != STANDARD:
        print(_in_words(found))


def _check(options: argparse.Namespace) -> None:
    check_outputs([options.out, options.report], [options.model, *options.sketches])
    if len(options.sketches) < 2:
        raise InputError("a drift needs at least two sketches; make one per period with arborshap sketch")
    if twice := repeated(map(_name, options.sketches)):
        raise InputError(f"two sketches are called {twice[0]!r}; periods are named after files, so rename one of them")
    if options.out is None:
        return
    if ending_of(options.out) == ".npy":
        raise InputError("the numbers of a drift have names, but .npy holds only numbers; write .csv or .parquet")
    if options.out == STANDARD and options.json:
        raise InputError("--json prints a summary where the numbers would go; write the numbers to a file")
    if options.report is not None and options.report.resolve() == options.out.resolve():
        raise InputError(f"the report and the numbers cannot both be written to {str(options.out)!r}; name two files")


def _name(path: Path) -> str:
    return path.stem


def _read(path: Path) -> Background:
    try:
        return Background.from_bytes(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"there is no sketch {str(path)!r}") from error
    except ModelError as error:
        raise InputError(f"{str(path)!r} was not written by arborshap sketch: {error}") from error


def _report(found: Drift, page: Path | None) -> None:
    if page is not None:
        found.report(page)


def _write(found: Drift, file: Any, options: argparse.Namespace) -> None:
    """Write one line per period and player."""
    columns = found.columns()
    sink: CsvSink | ParquetSink
    if is_text(options.out):
        dialect = Dialect.of(options.out, options)
        sink = CsvSink(file, list(columns), dialect, is_compressed=is_compressed(options.out))
    else:
        about = {"version": __version__, "index": found.index, "model_output": found.model_output}
        sink = ParquetSink(file, list(columns), about)
    sink.write(list(columns.values()))
    sink.close()


def _summary(found: Drift, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "out": None if options.out is None else str(options.out),
        "report": None if options.report is None else str(options.report),
        "periods": found.periods,
        "rows": found.n_rows,
        "since": found.since,
        "index": found.index,
        "model_output": found.model_output,
        "means": found.means.tolist(),
        "players": found.feature_names,
        "outputs": found.output_names,
        "values": found.values.tolist(),
        "standard_error": None if (errors := found.standard_error) is None else [_known(line) for line in errors],
    }


def _known(errors: Any) -> list[Any] | None:
    """Return the standard errors of one change as JSON can hold them: ``None`` if they are not known."""
    return None if np.isnan(errors).all() else errors.tolist()


def _in_words(found: Drift) -> str:
    """Describe the last change of each output, the largest contributions first."""
    last, first = found.periods[-1], found.periods[0 if found.since == "first" else -2]
    position = found.periods.index(first)
    outputs = [""] if found.values.ndim == 2 else found.output_names or [str(k) for k in range(found.values.shape[2])]
    values, means = (numbers.reshape(*numbers.shape[:n], -1) for numbers, n in ((found.values, 2), (found.means, 1)))
    errors = None if found.standard_error is None else found.standard_error.reshape(values.shape)
    lines = []
    for k, output in enumerate(outputs):
        before, after = float(means[position, k]), float(means[-1, k])
        where = f", output {output}" if output else ""
        moved = f"{before:.6g} in {first}, {after:.6g} in {last}, change {after - before:+.6g}"
        lines.append(f"mean {found.unit.name}{where}: {moved}")
        order = np.argsort(-np.abs(values[-1, :, k]), kind="stable")
        width = max(len(found.feature_names[j]) for j in order[:_SHOWN])
        for j in order[:_SHOWN]:
            error = "" if errors is None or np.isnan(errors[-1, j, k]) else f" ± {1.96 * errors[-1, j, k]:.2g}"
            lines.append(f"  {found.feature_names[j]:<{width}}  {values[-1, j, k]:+.4g}{error}")
        if len(order) > _SHOWN:
            lines.append(f"  {len(order) - _SHOWN} others  {values[-1, order[_SHOWN:], k].sum():+.4g}")
    return "\n".join(lines)
