"""Checks of the files that a command writes, before any work is done."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from arborshap._util.whole_files import appearing_whole
from arborshap.cli.endings import STANDARD
from arborshap.exceptions import InputError


def check_outputs(outputs: Sequence[Path | None], inputs: Sequence[Path | None]) -> None:
    """Refuse outputs that cannot be written or that are also inputs."""
    written = [path for path in outputs if path is not None and path != STANDARD]
    read = [path for path in inputs if path is not None]
    for path in written:
        if path.is_dir():
            raise InputError(f"{str(path)!r} is a directory; name a file to write")
        if not path.parent.is_dir():
            raise InputError(f"{str(path)!r} cannot be written: there is no directory {str(path.parent)!r}")
        for other in read:
            if path.exists() and other.exists() and path.samefile(other):
                raise InputError(f"{str(path)!r} is also an input; write the output to another file")


@contextmanager
def output_file(path: Path) -> Iterator[IO[bytes]]:
    """Open the output, which appears only when it is complete, unless it is standard output."""
    if path == STANDARD:
        yield sys.stdout.buffer
        return
    with appearing_whole(path) as beside, beside.open("wb") as file:
        yield file
