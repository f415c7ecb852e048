"""Test one abi3 wheel on every CPython of this machine: `python scripts/test_wheel.py WHEEL`.

The interpreter this runs on gets the whole test suite. The others get the tests of the package itself and a smoke
suite, with whichever model libraries have wheels for them.
"""

import sys
import sysconfig
import tomllib
from pathlib import Path

import venvs

SMOKE_TESTS = ("tests/python/test_package.py", "tests/python/test_smoke.py")


def install_wheel(directory: Path, python: Path, wheel: Path) -> None:
    stamp = venvs.Stamp(directory, "wheel", wheel.name, wheel)
    if not stamp.holds():
        if not venvs.install(python, "--force-reinstall", "--no-deps", wheel):
            raise SystemExit(f"{wheel.name} does not install into {directory.name}")
        stamp.write()


def borrow_packages(directory: Path) -> None:
    """Let an environment see the packages of the one we run in, after its own.

    A path named in a `.pth` file is only appended: an editable arborshap in our own environment stays out of sight.
    """
    (directory / "lib" / f"python{directory.name}" / "site-packages" / "borrowed.pth").write_text(
        sysconfig.get_path("purelib") + "\n"
    )


def install_smoke_requirements(directory: Path, python: Path) -> None:
    groups = tomllib.loads((venvs.ROOT / "pyproject.toml").read_text())
    requirements: list[str] = groups["dependency-groups"]["smoke"]
    stamp = venvs.Stamp(directory, "requirements", *requirements)
    if stamp.holds():
        return
    if not venvs.install(python, *groups["project"]["dependencies"]):
        raise SystemExit(f"the run-time requirements do not install into {directory.name}")
    for requirement in requirements:
        if not venvs.install(python, requirement, wheels_only=True):
            print(f"no wheel of {requirement} for CPython {directory.name}: going on without", flush=True)
    stamp.write()


def main(wheel: Path) -> None:
    own_version = f"{sys.version_info.major}.{sys.version_info.minor}"
    interpreters = venvs.interpreters() | {own_version: Path(sys.executable)}
    for version, interpreter in interpreters.items():
        directory = venvs.ROOT / ".venvs" / version
        python = venvs.make(directory, interpreter)
        if version == own_version:
            print(f"\nCPython {version}: {wheel.name}, every test", flush=True)
            borrow_packages(directory)
            tests: tuple[str, ...] = ()
        else:
            print(f"\nCPython {version}: {wheel.name}, smoke tests", flush=True)
            install_smoke_requirements(directory, python)
            tests = SMOKE_TESTS
        install_wheel(directory, python, wheel)
        venvs.run(python, "-m", "pytest", "--quiet", *tests)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
