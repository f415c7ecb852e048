from pathlib import Path

import pytest

from support.cli_files import Files, make_files


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    return make_files(tmp_path, capsys)
