"""Files that appear only when they are whole."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from arborshap.exceptions import InputError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors that only writing has, and that do not say which file it was."""


@contextmanager
def appearing_whole(path: Path) -> Iterator[Path]:
    """Make a file beside `path` that takes its place when all went well, and goes away if not.

    A link stays a link: the file it leads to is replaced. Who may read the older file may read the new one, and nobody
    else. What is no file, such as a device or a pipe, cannot be replaced and is refused.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name[:40]}.{os.urandom(6).hex()}.part")
    try:
        mode = _mode_of(target)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600))
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield part
        if mode is not None:
            part.chmod(mode)
        part.replace(target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            part.unlink()
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise _unwritable(path, error) from error
        raise


def _mode_of(target: Path) -> int | None:
    """Tell who may do what with a file that is there already."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "it is not a file but a device or a pipe")
    return stat.S_IMODE(found)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{str(path)!r} cannot be written: {error.strerror}")
