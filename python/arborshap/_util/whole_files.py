"""Files that appear only when they are complete."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from arborshap.exceptions import InputError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors that only writing raises, and that do not name the file."""


def checked_path(path: object) -> Path:
    """Return the path of a file that is given as text or as a path object."""
    found = path.__fspath__() if isinstance(path, os.PathLike) else path
    if not isinstance(found, str):
        raise InputError(f"path must be the path of a file, as text or a pathlib.Path; got {path!r}")
    return Path(found)


@contextmanager
def appearing_whole(path: Path) -> Iterator[Path]:
    """Write to a temporary file beside `path` that replaces it on success and is deleted on failure.

    A link stays a link: the file that it points to is replaced. The new file has the permissions of the old one. A
    device or a pipe cannot be replaced and is refused.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:40]}.{os.urandom(6).hex()}.part")
    try:
        mode = _mode_of(target)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600))
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise _unwritable(path, error) from error
        raise


def _mode_of(target: Path) -> int | None:
    """Return the permissions of an existing file; ``None`` if there is none."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")
    return stat.S_IMODE(found)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{str(path)!r} cannot be written: {error.strerror}")
