"""The arguments of the command."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from arborshap import __version__
from arborshap._util.checks import bytes_in
from arborshap.cli.endings import ENDINGS, ending_of

_EXIT = "Exit status: 0 success, 1 error (the last line gives the reason), 2 wrong usage, 130 interrupted."


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``arborshap`` and its commands."""
    top = argparse.ArgumentParser(
        prog="arborshap", description="Exact interventional Shapley values of tree ensembles.", epilog=_EXIT
    )
    top.add_argument("--version", action="version", version=f"arborshap {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_explain(commands)
    inspect = commands.add_parser(
        "inspect", help="describe a model file", description="Describe a model file or a saved explainer."
    )
    inspect.add_argument("model", metavar="MODEL", type=Path, help="a model file or a saved explainer")
    inspect.add_argument("--json", action="store_true", help="print JSON")
    commands.add_parser("demo", help="train a model on bundled data and explain it (needs arborshap[demo])")
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
    add("model", metavar="MODEL", type=Path, help="a model file of XGBoost, LightGBM or CatBoost, or a saved explainer")
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
    add(
        "--groups",
        type=Path,
        metavar="FILE",
        help='columns that play as one player, as JSON: {"name": ["column", ...], ...}',
    )
    add(
        "--index",
        choices=["shapley", "taylor", "interaction", "banzhaf"],
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
    add(
        "--ignore",
        action="append",
        default=[],
        metavar="COLUMN",
        help="skip this column of the files; can be given several times",
    )
    add("--ignore-unknown", action="store_true", help="skip all columns of the files that the model does not know")
    add(
        "--with-prediction",
        action="store_true",
        help="also write the base value and the prediction of each row, to which the values add up",
    )
    add("--sep", type=_separator, metavar="CHAR", help="what separates the cells of CSV files (default: a comma)")
    add("--decimal", choices=[".", ","], default=".", help="the decimal point of CSV files (default: .)")
    add("--report", type=Path, metavar="FILE", help="also write an HTML report of the first 5000 rows")
    add("--json", action="store_true", help="print a summary, or the error, as JSON")
    add("--jobs", type=int, metavar="N", help="number of threads (default: -1, every core)")
    add(
        "--memory-limit",
        type=_bytes,
        metavar="BYTES",
        help="most memory for the engine's tables, such as 500MB or 2GiB",
    )
    add("--chunk-rows", type=_positive, metavar="N", help="number of rows to read and explain at a time")


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
