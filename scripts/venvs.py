"""Virtual environments to try a wheel in, one for each CPython found on this machine."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path) -> None:
    """Run a command from the project's root, its output going where ours goes; a failure ends the script."""
    sys.stdout.flush()
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        raise SystemExit(f"failed with status {done.returncode}: {' '.join(map(str, command))}")


def interpreters() -> dict[str, Path]:
    """Every CPython of this machine that can run the wheel, by version."""
    found = subprocess.run([ROOT / "scripts" / "pythons.sh"], check=True, capture_output=True, text=True)
    return {version: Path(path) for version, path in (line.split(" ", 1) for line in found.stdout.splitlines())}


def make(directory: Path, interpreter: Path) -> Path:
    """Make a virtual environment unless it is there already; returns its Python."""
    python = directory / "bin" / "python"
    if not python.exists():
        run(interpreter, "-m", "venv", "--clear", directory)
    return python


def install(python: Path, *requirements: str | Path, wheels_only: bool = False) -> bool:
    """Install with pip; returns whether that went well."""
    flags = ["--only-binary", ":all:"] if wheels_only else []
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *flags, *requirements]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=wheels_only).returncode == 0


class Stamp:
    """A note inside an environment of what was installed there, so that a second run need not ask pip again."""

    def __init__(self, directory: Path, name: str, *content: str | Path) -> None:
        self._path = directory / f".{name}.json"
        self._content = [hashlib.sha256(c.read_bytes()).hexdigest() if isinstance(c, Path) else c for c in content]

    def holds(self) -> bool:
        """Whether the note says the same as now."""
        return self._path.exists() and json.loads(self._path.read_text()) == self._content

    def write(self) -> None:
        """Note what holds now."""
        self._path.write_text(json.dumps(self._content))
