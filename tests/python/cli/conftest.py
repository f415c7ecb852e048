from pathlib import Path

import pytest

from cli.files import Files, make_files


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    return make_files(tmp_path, capsys)
