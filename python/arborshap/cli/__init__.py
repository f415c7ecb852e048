"""The command ``arborshap``: explain rows, sketch and compare populations, inspect a model, or run a demonstration."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arborshap import demo
from arborshap.cli import arguments, drift, explain, inspect, sketch
from arborshap.exceptions import ArborshapError

REFUSED, INTERRUPTED, TERMINATED = 1, 130, 143

_COMMANDS = {
    "explain": explain.explain,
    "sketch": sketch.sketch,
    "drift": drift.drift,
    "inspect": inspect.inspect,
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    An expected error is one line, without a traceback; a traceback means a bug in arborshap.
    """
    options = arguments.parser().parse_args(words)
    if isinstance(sys.stdout, io.TextIOWrapper):  # do not fail on a name that the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _ending_cleanly():
            if options.command == "demo":
                return demo.main()
            _COMMANDS[options.command](options)
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("arborshap: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; keep the interpreter from reporting that again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except (ArborshapError, MemoryError, OSError) as error:
        _tell(error, as_json=getattr(options, "json", False))
        return REFUSED
    return 0


def _tell(error: Exception, *, as_json: bool) -> None:
    message = " ".join(str(error).split()) or type(error).__name__
    if as_json:
        try:
            print(json.dumps({"error": message, "kind": type(error).__name__}), flush=True)
            return
        except OSError:
            pass  # standard output cannot be written, which may be the error itself
    print(f"arborshap: error: {message}", file=sys.stderr)


@contextmanager
def _ending_cleanly() -> Iterator[None]:
    """Remove unfinished files on SIGTERM, as on Ctrl-C."""

    def end(*_: object) -> None:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
