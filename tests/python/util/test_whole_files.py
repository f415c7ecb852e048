"""What is written appears whole or not at all, and leaves everything else about its place as it was.

And what is read has an end.
"""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arborshap import ModelError, TreeExplainer
from arborshap._util.whole_files import appearing_whole
from arborshap.exceptions import InputError


def write(path: Path, text: str = "new") -> None:
    with appearing_whole(path) as part:
        part.write_text(text)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_a_new_file_is_as_open_as_others(tmp_path: Path) -> None:
    with umask(0o027):
        write(tmp_path / "file")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o664])
def test_who_may_read_the_older_file_may_read_the_new_one(tmp_path: Path, mode: int) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(mode)
    with umask(0o022), appearing_whole(tmp_path / "file") as part:
        assert stat.S_IMODE(part.stat().st_mode) == 0o600  # nobody reads along before it is known who may
        part.write_text("new")
    assert (tmp_path / "file").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere/file")
    write(tmp_path / "link")  # which led nowhere
    write(tmp_path / "link", "newer")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "file").read_text() == "newer"


def test_devices_pipes_and_directories_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to("pipe")
    before = sorted(os.listdir(tmp_path))
    for name, reason in [("pipe", "a device or a pipe"), ("link", "a device or a pipe"), ("directory", "a directory")]:
        with pytest.raises(InputError, match=f"{name}' cannot be written: it is .*{reason}"):
            write(tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == before


def test_no_room_names_the_file(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(InputError, match=r"large' cannot be written: File too large"):
            write(tmp_path / "large", "x" * 20_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []


def begin_and_stop(path: Path) -> None:
    with appearing_whole(path) as part:
        part.write_text("new")
        raise KeyboardInterrupt


def test_an_error_within_leaves_the_older_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        begin_and_stop(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_the_longest_name_there_can_be(tmp_path: Path) -> None:
    write(tmp_path / ("n" * 255))
    assert os.listdir(tmp_path) == ["n" * 255]


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a device that never ends")
def test_a_device_is_not_read_to_its_end() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**34, hard))  # should it be, then not for long
    try:
        with pytest.raises(ModelError, match="'/dev/zero' is not a regular file"):
            TreeExplainer.load("/dev/zero")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
