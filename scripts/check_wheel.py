"""Check the files of a release: `python scripts/check_wheel.py WHEEL SDIST`.

The wheel must not need more of a system than its name says, the metadata of both files must be valid, and the wheel
must install into an empty environment of every CPython here, bring numpy and nothing else, and explain a saved model
there.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import venvs


def check_platform(wheel: Path) -> None:
    """Compare the wheel's platform tag with the symbols and libraries that it uses."""
    if sys.platform != "linux":
        return
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", wheel], check=True, capture_output=True, text=True
    )
    found = json.loads(shown.stdout)
    promised = wheel.stem.rsplit("-", 1)[1].split(".")
    if found["overall_tag"] not in promised or found["external_libs"] or found["unsupported_isa"]:
        raise SystemExit(f"{wheel.name} needs more than its name says:\n{shown.stdout}")
    print(f"auditwheel: {found['overall_tag']}, no library from outside")


def check_empty_environments(wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        case = Path(scratch, "case")
        case.mkdir()
        venvs.run(sys.executable, "scripts/saved_model.py", "write", case)
        for version, interpreter in venvs.interpreters().items():
            print(f"CPython {version}, empty environment", flush=True)
            python = venvs.make(Path(scratch, version), interpreter)
            before = packages(python)
            if not venvs.install(python, wheel):
                raise SystemExit(f"{wheel.name} does not install into an empty environment of CPython {version}")
            brought = packages(python) - before
            if brought != {"arborshap", "numpy"}:
                raise SystemExit(f"{wheel.name} brought {sorted(brought)}; it should bring numpy and itself")
            venvs.run(python, "scripts/saved_model.py", "check", case)


def packages(python: Path) -> set[str]:
    """Return the names of the packages that are installed in an environment."""
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        text=True,
    )
    return {package["name"] for package in json.loads(listed.stdout)}


def main(wheel: Path, sdist: Path) -> None:
    check_platform(wheel)
    venvs.run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    check_empty_environments(wheel)
    print(f"{wheel.name} ({wheel.stat().st_size / 1e6:.2f} MB) and {sdist.name} are ready for release")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
