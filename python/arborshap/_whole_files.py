"""Files that appear only when they are whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arborshap.exceptions import InputError


@contextmanager
def appearing_whole(path: Path) -> Iterator[Path]:
    """Make a file beside `path` that takes its place when all went well, and goes away if not."""
    import tempfile  # slow to import, and few files are written

    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o666 & ~_umask())  # as any new file, not as a temporary one
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
