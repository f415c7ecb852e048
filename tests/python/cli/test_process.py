"""The command as a process: signals, terminals, pipes, memory, and what stands around `explain`."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from xgboost import XGBRegressor

from arborshap import TreeExplainer, __version__
from arborshap.cli import main
from support.cli_files import NAMES, Files
from support.patience import HANG

COMMAND = [sys.executable, "-m", "arborshap"]


def explain(files: Files, rows: str, out: str, *more: object) -> list[str]:
    named = ["--background", files.path("rows.npy"), "--rows", files.path(rows), "--out", files.path(out)]
    return [*COMMAND, "explain", str(files.path("model.json")), *map(str, [*named, *more])]


def test_installed_under_its_name() -> None:
    (script,) = [entry for entry in metadata.entry_points(group="console_scripts") if entry.name == "arborshap"]
    assert script.load() is main


@pytest.mark.parametrize(("signal_sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_without_a_trace(files: Files, signal_sent: signal.Signals, status: int) -> None:
    """Sent when some of the output is there, and long before all of it could be."""
    files.write("long.csv", ",".join(NAMES) + "\n" + "1,2,3,4\n" * 1_000_000)
    before = sorted(files.directory.iterdir())
    command = explain(files, "long.csv", "out.csv", "--chunk-rows", 10)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            while running.poll() is None and not any(part.stat().st_size for part in files.directory.glob("*.part")):
                time.sleep(0.01)
            running.send_signal(signal_sent)
            _, said = running.communicate(timeout=HANG)
        finally:
            running.kill()
    assert running.returncode == status
    assert said == ("arborshap: interrupted\n" if status == 130 else "")
    assert sorted(files.directory.iterdir()) == before


def all_of(controller: int) -> str:
    """What is shown on a terminal until nobody writes to it any more; a terminal that nobody reads is soon full."""
    shown = b""
    with open(controller, "rb", buffering=0) as screen, suppress(OSError):  # its end is an error on Linux
        while part := screen.read(2**16):
            shown += part
    return shown.decode()


def test_a_terminal_sees_how_far_it_is(files: Files) -> None:
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    with subprocess.Popen(explain(files, "rows.csv", "out.csv", "--chunk-rows", 10), stderr=terminal) as running:
        os.close(terminal)
        shown = all_of(controller)
    assert running.returncode == 0
    assert "100%" in shown
    assert "60 rows explained in" in shown


def test_whoever_reads_may_go_away(files: Files) -> None:
    reading = subprocess.Popen(
        [*COMMAND, "inspect", files.path("model.json")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert reading.stdout is not None
    reading.stdout.close()
    _, said = reading.communicate(timeout=HANG)
    assert said == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("command", ["explain", "inspect"])
def test_nowhere_to_say_it(files: Files, command: str) -> None:
    inspect = [*COMMAND, "inspect", str(files.path("model.json"))]
    arguments = inspect if command == "inspect" else explain(files, "rows.csv", "out.csv")
    with open("/dev/full", "w") as full:
        done = subprocess.run([*arguments, "--json"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANG)
    assert done.returncode == 1
    assert done.stderr == "arborshap: error: [Errno 28] No space left on device\n"


def test_names_that_the_terminal_cannot_show(files: Files) -> None:
    rows = files.rows.set_axis(["gr\u00f6\u00dfe \U0001f600", *NAMES[1:]], axis=1)
    XGBRegressor(n_estimators=3, max_depth=2, n_jobs=1).fit(rows, rows.iloc[:, 0]).save_model(files.path("model.json"))
    command = [*COMMAND, "inspect", str(files.path("model.json"))]
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=plain, capture_output=True, text=True, timeout=HANG)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"gr\xf6\xdfe \U0001f600" in done.stdout


def test_inspect(files: Files) -> None:
    assert main(["inspect", str(files.path("model.json"))]) == 0
    text = files.capsys.readouterr().out
    assert "xgboost JSON" in text
    assert "12, up to 3 deep" in text
    assert main(["inspect", str(files.path("model.json")), "--json"]) == 0
    facts = json.loads(files.capsys.readouterr().out)
    forest = TreeExplainer(str(files.path("model.json")), files.rows).forest
    assert (facts["trees"], facts["leaves"], facts["max_depth"]) == (12, forest.n_leaves, 3)
    assert list(facts["splits"]) == NAMES
    assert sum(facts["splits"].values()) == forest.n_nodes - forest.n_leaves
    assert main(["inspect", str(files.path("rows.csv"))]) == 1
    assert "is not a model file" in files.capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, shown in [(["--version"], __version__), (["--help"], "inspect"), (["explain", "-h"], "--top-k")]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        assert shown in capsys.readouterr().out


def test_the_demonstration_says_whether_it_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for status in (0, 1):
        monkeypatch.setattr("arborshap.demo.main", lambda status=status: status)
        assert main(["demo"]) == status


def most_memory(command: list[str]) -> int:
    """The most bytes the command ever held."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True, text=True)
    return int(done.stdout) * 1024


def write_parquet(path: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, pa.schema([(name, pa.float32()) for name in NAMES])) as writer:
        for start in range(0, n_rows, 250_000):
            n = min(250_000, n_rows - start)
            writer.write_table(pa.table({name: rng.normal(size=n).astype(np.float32) for name in NAMES}))


def test_two_million_rows_in_little_memory(files: Files) -> None:
    """Rows and values are 32 and 64 MB here, and each is there more than once if nothing is streamed."""
    write_parquet(files.path("few.parquet"), 1000)
    write_parquet(files.path("many.parquet"), 2_000_000)
    least = most_memory(explain(files, "few.parquet", "out.parquet"))
    assert most_memory(explain(files, "many.parquet", "out.parquet")) < least + 90e6
    written = pq.ParquetFile(files.path("out.parquet"))
    assert written.metadata.num_rows == 2_000_000
    last = pq.ParquetFile(files.path("many.parquet")).read_row_group(7).slice(249_000)
    expected = TreeExplainer(str(files.path("model.json")), files.rows).shap_values(last)
    ours = written.read_row_group(written.num_row_groups - 1).to_pandas().to_numpy()[-1000:]
    np.testing.assert_array_equal(ours, expected)
    as_background = explain(files, "few.parquet", "out.parquet", "--background", files.path("many.parquet"))
    assert most_memory(as_background) < least + 60e6
