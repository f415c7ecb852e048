"""The arguments of the command."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from arborshap import __version__
from arborshap._util.checks import bytes_in
from arborshap.cli.endings import ENDINGS, ending_of
from arborshap.game.indices import INDICES

_EXIT = "Exit status: 0 success, 1 error (the last line gives the reason), 2 wrong usage, 130 interrupted."


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``arborshap`` and its commands."""
    top = argparse.ArgumentParser(
        prog="arborshap", description="Exact interventional Shapley values of tree ensembles.", epilog=_EXIT
    )
    top.add_argument("--version", action="version", version=f"arborshap {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_explain(commands)
    _add_sketch(commands)
    _add_drift(commands)
    inspect = commands.add_parser(
        "inspect", help="describe a model file", description="Describe a model file or a saved explainer."
    )
    inspect.add_argument("model", metavar="MODEL", type=Path, help="a model file or a saved explainer")
    inspect.add_argument("--json", action="store_true", help="print JSON")
    commands.add_parser(
        "demo",
        help="train a model on bundled data and explain it (needs arborshap[demo])",
        description="Train XGBoost on a dataset bundled with scikit-learn, explain it against its whole training set, "
        "and write a report to the current folder. This needs arborshap[demo].",
    )
    return top


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    explain = commands.add_parser(
        "explain",
        help="explain the rows of a file",
        description="Explain the rows of a file (.csv, .tsv, .csv.gz, .parquet or .npy) of any size, a few rows at a "
        "time. The file - is standard input or output, as CSV.",
        epilog=_EXIT,
    )
    add = explain.add_argument
    add("model", metavar="MODEL", type=Path, help="a file of XGBoost, LightGBM, CatBoost or ONNX, or a saved explainer")
    add(
        "--background",
        type=Path,
        metavar="FILE",
        help="the rows to compare predictions with; if omitted, values are path-dependent",
    )
    add("--rows", type=Path, metavar="FILE", required=True, help="the rows to explain")
    add(
        "--out",
        type=_output,
        metavar="FILE",
        required=True,
        help="where to write the values: .csv, .tsv, .csv.gz, .parquet or .npy",
    )
    _add_groups(explain)
    add(
        "--index",
        choices=INDICES,
        default="shapley",
        help="what to compute (default: shapley)",
    )
    add("--model-output", choices=["raw", "prediction", "probability"], help="what to explain (default: raw)")
    add("--top-k", type=_positive, metavar="K", help="keep only the K largest values of each row")
    add("--float32", action="store_true", help="write single precision")
    add(
        "--id",
        action="append",
        default=[],
        metavar="COLUMN",
        help="copy this column of the rows to the output; can be given several times",
    )
    _add_skipping(explain)
    add(
        "--with-prediction",
        action="store_true",
        help="also write the base value and the prediction of each row; the values sum to their difference",
    )
    _add_dialect(explain)
    add("--report", type=Path, metavar="FILE", help="also write an HTML report of the first 5000 rows")
    _add_run(explain)
    _add_memory(explain)
    add("--chunk-rows", type=_positive, metavar="N", help="number of rows to read, explain and write at a time")


def _add_sketch(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sketch = commands.add_parser(
        "sketch",
        help="summarise the rows of a file as counts, for arborshap drift",
        description="Count how the rows of a file fall through the model's trees, and write the counts to a file. "
        "Make one file per week, for example; arborshap drift compares them without the rows.",
        epilog=_EXIT,
    )
    add = sketch.add_argument
    add("model", metavar="MODEL", type=Path, help="a model file or a saved explainer")
    add("rows", metavar="ROWS", type=Path, help="the rows: .csv, .tsv, .csv.gz, .parquet or .npy, or - for CSV")
    add("--out", type=Path, metavar="FILE", required=True, help="where to write the counts, such as week40.bg")
    add("--minimum-rows", type=_positive, metavar="N", help="refuse to write counts of fewer rows, for privacy")
    add("--no-error-bars", action="store_true", help="leave out what standard errors need, for a much smaller file")
    add("--model-output", choices=["raw", "prediction", "probability"], help="the unit of the drift (default: raw)")
    _add_groups(sketch)
    _add_skipping(sketch)
    _add_dialect(sketch)
    _add_run(sketch)


def _add_drift(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    drift = commands.add_parser(
        "drift",
        help="explain what moved the mean prediction between sketches",
        description="Explain what moved the mean prediction between periods. Give one file of arborshap sketch per "
        "period, oldest first; periods are named after the files.",
        epilog=_EXIT,
    )
    add = drift.add_argument
    add("model", metavar="MODEL", type=Path, help="the model file or saved explainer that the sketches were made with")
    add("sketches", metavar="SKETCH", type=Path, nargs="+", help="two or more files of arborshap sketch")
    add("--out", type=_output, metavar="FILE", help="also write all numbers: .csv, .tsv, .csv.gz or .parquet")
    add("--report", type=Path, metavar="FILE", help="also write an HTML page")
    add(
        "--since",
        choices=["first", "previous"],
        default="first",
        help="compare each period with the first one or with the one before it (default: first)",
    )
    add("--index", choices=["shapley", "banzhaf"], default="shapley", help="what to compute (default: shapley)")
    add("--raw", action="store_true", help="compare raw predictions, even if the sketches have another --model-output")
    _add_dialect(drift)
    _add_run(drift)
    _add_memory(drift)


def _add_groups(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--groups",
        type=Path,
        metavar="FILE",
        help='columns that play as one player, as JSON: {"name": ["column", ...], ...}',
    )


def _add_skipping(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="COLUMN",
        help="skip this column of the files; can be given several times",
    )
    command.add_argument(
        "--ignore-unknown", action="store_true", help="skip all columns of the files that the model does not know"
    )


def _add_dialect(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--sep", type=_separator, metavar="CHAR", help="what separates the cells of CSV files (default: a comma)")
    add(
        "--decimal",
        choices=[".", ","],
        default=".",
        metavar="CHAR",
        help="the decimal point of CSV files, . or , (default: .)",
    )


def _add_run(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--json", action="store_true", help="print a summary, or the error, as JSON")
    add("--jobs", type=int, metavar="N", help="number of threads (default: -1, every core)")


def _add_memory(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--memory-limit",
        type=_bytes,
        metavar="BYTES",
        help="most memory for the engine's tables, such as 500MB or 2GiB",
    )


def _output(text: str) -> Path:
    path = Path(text)
    if ending_of(path) not in ENDINGS:  # a file called ".csv" has no ending
        raise argparse.ArgumentTypeError(f"{text!r} must end in .csv, .tsv, .csv.gz, .parquet or .npy, or be -")
    return path


def _separator(text: str) -> str:
    char = {"tab": "\t", "\\t": "\t"}.get(text.lower(), text)
    if len(char) != 1 or char in '"\r\n.' or char.isalnum():
        raise argparse.ArgumentTypeError(f"{text!r} must be one character, such as ';', or the word tab")
    return char


def _positive(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def _bytes(text: str) -> int:
    found = bytes_in(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500MB or 2GiB")
    return found
