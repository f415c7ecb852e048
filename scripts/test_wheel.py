"""Test one abi3 wheel on every CPython here, with old and new libraries: `python scripts/test_wheel.py WHEEL`.

The interpreter that runs this script gets the whole test suite. The others get the tests of the package itself and a
smoke suite, with whichever model libraries have wheels for them. The newest interpreter also gets the tests of the
models, because it has the newest libraries. These tests run once more with the oldest libraries that `pyproject.toml`
allows.
"""

import re
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import venvs

SMOKE_TESTS = ("tests/python/project/test_package.py", "tests/python/project/test_smoke.py")
MODEL_TESTS = ("tests/python/models", "tests/python/steps")
OLDEST_TESTS = ("tests/python/project/test_smoke.py", *MODEL_TESTS, "tests/python/rows/test_frames.py")
IN_PARALLEL = ("--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile")
"""A process per core, each with whole files of tests, so that what a file sets up once is set up once."""

OLD_PYTHONS = ("3.11", "3.12")
"""The versions for which the oldest libraries have wheels."""


def install_wheel(directory: Path, python: Path, wheel: Path) -> None:
    stamp = venvs.Stamp(directory, "wheel", wheel.name, wheel)
    if not stamp.holds():
        if not venvs.install(python, "--force-reinstall", "--no-deps", wheel):
            raise SystemExit(f"{wheel.name} does not install into {directory.name}")
        stamp.write()


def borrow_packages(directory: Path) -> None:
    """Make the packages of our environment visible to another one, after its own packages.

    A `.pth` file only appends a path, so an editable arborshap in our own environment stays invisible.
    """
    (directory / "lib" / f"python{directory.name}" / "site-packages" / "borrowed.pth").write_text(
        sysconfig.get_path("purelib") + "\n"
    )


def project() -> dict[str, Any]:
    return tomllib.loads((venvs.ROOT / "pyproject.toml").read_text())


def group(name: str) -> list[str]:
    """Return the requirements of a dependency group, including the groups that it includes."""
    found = []
    for entry in project()["dependency-groups"][name]:
        found += [entry] if isinstance(entry, str) else group(entry["include-group"])
    return found


def install_newest(directory: Path, python: Path, requirements: list[str]) -> list[str]:
    """Install the newest version of everything that has a wheel; return the requirements that have none."""
    run_time = project()["project"]["dependencies"]
    stamp = venvs.Stamp(directory, "requirements", *run_time, *requirements)
    if stamp.holds():
        return []
    if not venvs.install(python, *run_time):
        raise SystemExit(f"the run-time requirements do not install into {directory.name}")
    missing = [requirement for requirement in requirements if not venvs.install(python, requirement, wheels_only=True)]
    for requirement in missing:
        print(f"no wheel of {requirement} for CPython {directory.name}; skipping it", flush=True)
    if not missing:  # the next run asks again for what is missing, and reports it again
        stamp.write()
    return missing


def install_oldest(directory: Path, python: Path) -> None:
    """Install the oldest allowed version of everything: `xgboost>=2.0` becomes `xgboost==2.0.*`."""
    requirements = [*project()["project"]["dependencies"], *group("models")]
    pinned = [re.sub(r">=([\d.]+)$", r"==\1.*", requirement) for requirement in requirements]
    if any("==" not in requirement for requirement in pinned):
        raise SystemExit(f"requirements must be of the form name>=version: {', '.join(requirements)}")
    stamp = venvs.Stamp(directory, "requirements", *pinned)
    if not stamp.holds():
        if not venvs.install(python, "--only-binary", ":all:", *pinned):
            raise SystemExit(f"the oldest libraries do not install: {', '.join(pinned)}")
        stamp.write()


def main(wheel: Path) -> None:
    own_version = f"{sys.version_info.major}.{sys.version_info.minor}"
    interpreters = venvs.interpreters() | {own_version: Path(sys.executable)}
    newest = max(interpreters, key=lambda version: int(version.partition(".")[2]))
    for version, interpreter in interpreters.items():
        directory = venvs.ROOT / ".venvs" / version
        python = venvs.make(directory, interpreter)
        tests: tuple[str, ...] = ()
        if version == own_version:
            print(f"\nCPython {version}: {wheel.name}, every test", flush=True)
            borrow_packages(directory)
        elif version == newest:
            print(f"\nCPython {version}: {wheel.name}, smoke tests and tests of the models", flush=True)
            missing = install_newest(directory, python, group("models"))
            tests = SMOKE_TESTS if missing else (*SMOKE_TESTS, *MODEL_TESTS)
        else:
            print(f"\nCPython {version}: {wheel.name}, smoke tests", flush=True)
            # Not with that group, because a release is also tested where CatBoost has no wheel.
            catboost = project()["project"]["optional-dependencies"]["catboost"]
            install_newest(directory, python, [*group("smoke"), *catboost])
            tests = SMOKE_TESTS
        install_wheel(directory, python, wheel)
        venvs.run(python, "-m", "pytest", "--quiet", *IN_PARALLEL, *tests)

    old = next((version for version in OLD_PYTHONS if version in interpreters), None)
    if old is None:
        print(f"\nthe oldest libraries are NOT tested: that needs CPython {' or '.join(OLD_PYTHONS)}", flush=True)
        return
    print(f"\nCPython {old}: {wheel.name}, the oldest libraries", flush=True)
    directory = venvs.ROOT / ".venvs" / "oldest"
    python = venvs.make(directory, interpreters[old])
    install_oldest(directory, python)
    install_wheel(directory, python, wheel)
    venvs.run(python, "-m", "pytest", "--quiet", *IN_PARALLEL, *OLDEST_TESTS)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
