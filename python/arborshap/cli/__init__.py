"""The command ``arborshap``: explain the rows of a file, look into a model file, or see a demonstration."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arborshap import demo
from arborshap.cli import arguments, explain, inspect
from arborshap.exceptions import ArborshapError

REFUSED, INTERRUPTED, TERMINATED = 1, 130, 143


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    An error that has a reason is one line, without a traceback; a traceback means a defect of arborshap.
    """
    wanted = arguments.parser().parse_args(words)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name that the terminal cannot show is no reason to fail
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _ending_cleanly():
            if wanted.command == "explain":
                explain.explain(wanted)
            elif wanted.command == "inspect":
                inspect.inspect(wanted)
            else:
                return demo.main()
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("arborshap: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except (ArborshapError, MemoryError, OSError) as error:
        _tell(error, as_json=getattr(wanted, "json", False))
        return REFUSED
    return 0


def _tell(error: Exception, *, as_json: bool) -> None:
    message = " ".join(str(error).split()) or type(error).__name__
    if as_json:
        try:
            print(json.dumps({"error": message, "kind": type(error).__name__}), flush=True)
            return
        except OSError:
            pass  # nothing can be said there: perhaps that was the error
    print(f"arborshap: error: {message}", file=sys.stderr)


@contextmanager
def _ending_cleanly() -> Iterator[None]:
    """Let a polite request to end, SIGTERM, remove unfinished files as Ctrl-C does."""

    def end(*_: object) -> None:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
