"""Fuzz every reader in turn; print how many files were tried and what was found: ``fuzz.py [seconds per reader]``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILT = ROOT / "target" / "fuzz"
FINDINGS = BUILT / "findings"

# Flags with which the stable compiler records coverage for libFuzzer.
COVERAGE = (
    "-Cpasses=sancov-module -Ccodegen-units=1 -Cllvm-args=-sanitizer-coverage-level=4 "
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table "
    "-Cllvm-args=-sanitizer-coverage-trace-compares"
)


def build() -> Path:
    """Build the native targets; naming the host compiles build scripts without coverage."""
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    host: str = re.findall(r"host: (\S+)", version)[0]
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target", host]
    environment = {**os.environ, "RUSTFLAGS": COVERAGE, "CARGO_TARGET_DIR": str(BUILT)}
    subprocess.run(command, cwd=ROOT / "fuzz", env=environment, check=True)
    return BUILT / host / "release"


def fuzz(name: str, command: list[str], seconds: int) -> bool:
    """Run one target; return whether nothing was found."""
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={FINDINGS}/{name}-", "-print_final_stats=1"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    executions = re.findall(r"stat::number_of_executed_units: (\d+)", done.stderr)
    coverage = re.findall(r"cov: (\d+)", done.stderr)
    outcome = "nothing found" if done.returncode == 0 else f"FOUND something, see {FINDINGS}"
    counted = f"{int(executions[-1]) if executions else 0:>11,} files"
    print(f"{name:<18}{counted}, {coverage[-1] if coverage else '?':>6} edges, {outcome}", flush=True)
    if done.returncode:
        print(done.stderr[-3000:])
    return done.returncode == 0


def main() -> int:
    """Fuzz all targets."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    native = build()
    FINDINGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("forest", "saved"):
            (Path(folder) / name).mkdir()
        limits = ["-rss_limit_mb=2048", "-timeout=10"]
        commands = {
            "native forest": [str(native / "forest"), f"{folder}/forest", "-max_len=1500", *limits],
            "native saved": [
                *(str(native / "saved"), f"{folder}/saved", str(ROOT / "tests/corpus/saved")),
                *("-max_len=4096", *limits),
            ],
            **{
                f"Python {corpus}": [sys.executable, str(ROOT / "fuzz/readers.py"), corpus]
                for corpus in ("json", "ubjson", "lightgbm", "saved")
            },
        }
        fine = [fuzz(name.replace(" ", "-"), command, seconds) for name, command in commands.items()]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
