"""Virtual environments to test a wheel in, one per CPython on this machine."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path) -> None:
    """Run a command from the project's root, with our output streams; a failure ends the script."""
    sys.stdout.flush()
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        raise SystemExit(f"failed with status {done.returncode}: {' '.join(map(str, command))}")


def interpreters() -> dict[str, Path]:
    """Return every CPython on this machine that can run the wheel, by version."""
    found = subprocess.run([ROOT / "scripts" / "pythons.sh"], check=True, capture_output=True, text=True)
    return {version: Path(path) for version, path in (line.split(" ", 1) for line in found.stdout.splitlines())}


def make(directory: Path, interpreter: Path) -> Path:
    """Make a virtual environment unless it exists; return its Python.

    If an interrupted run left one without pip, it is made again.
    """
    python = directory / "bin" / "python"
    if not python.exists() or subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode:
        run(interpreter, "-m", "venv", "--clear", directory)
    return python


def install(python: Path, *requirements: str | Path, wheels_only: bool = False) -> bool:
    """Install with pip; return whether that succeeded.

    With `wheels_only`, False means that there is no wheel. Any other failure, such as one of the network, ends the
    script.
    """
    flags = ["--only-binary", ":all:"] if wheels_only else []
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *flags, *requirements]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=wheels_only, text=True)
    if not wheels_only:
        return done.returncode == 0
    # If the network fails, pip gives up after its last retry and reports the same as if there were no wheel.
    gave_up = "Retry(total=0" in done.stderr or "No matching distribution found" not in done.stderr
    if done.returncode and gave_up:
        raise SystemExit(f"pip failed to install {', '.join(map(str, requirements))}:\n{done.stderr}")
    return done.returncode == 0


class Stamp:
    """A note in an environment of what was installed there, so that a second run need not ask pip again."""

    def __init__(self, directory: Path, name: str, *content: str | Path) -> None:
        self._path = directory / f".{name}.json"
        self._content = [hashlib.sha256(c.read_bytes()).hexdigest() if isinstance(c, Path) else c for c in content]

    def holds(self) -> bool:
        """Whether the note is still current."""
        return self._path.exists() and json.loads(self._path.read_text()) == self._content

    def write(self) -> None:
        """Write the current note."""
        self._path.write_text(json.dumps(self._content))
