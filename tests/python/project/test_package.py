"""The package as a thing to install: what it brings, what it says of itself, what importing it costs."""

import doctest
import importlib
import json
import pkgutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib import metadata, resources
from typing import Any

from packaging.requirements import Requirement

import arborshap
from support.places import ROOT


def in_fresh_process(code: str) -> Any:
    """What the code prints, as JSON, in an interpreter that has imported nothing yet."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_importing_brings_numpy_and_nothing_else() -> None:
    brought = in_fresh_process("""
import json, sys
before = set(sys.modules)
import arborshap
top = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(top - sys.stdlib_module_names)))
""")
    assert brought == ["arborshap", "numpy"]


def test_every_module_imports_with_numpy_alone() -> None:
    modules = in_fresh_process("""
import importlib, json, pkgutil, sys

class NumpyAlone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {"arborshap", "numpy"} | sys.stdlib_module_names:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, NumpyAlone())
import arborshap
names = [module.name for module in pkgutil.walk_packages(arborshap.__path__, "arborshap.")]
modules = [name for name in names if not name.startswith("arborshap.adapters.")]  # for people who use a tool
print(json.dumps([importlib.import_module(name).__name__ for name in modules]))
""")
    assert {
        "arborshap._core",
        "arborshap.demo",
        "arborshap.models.xgboost.live",
        "arborshap.models.sklearn.estimators",
    } <= {*modules}


def test_importing_brings_few_modules_beside_numpy() -> None:
    """Modules are counted, since seconds would tell of the machine and its disk."""
    numpy, own = in_fresh_process("""
import json, sys
before = len(sys.modules)
import numpy
between = len(sys.modules)
import arborshap
print(json.dumps([between - before, len(sys.modules) - between]))
""")
    assert own < numpy


def test_types_travel_with_the_package() -> None:
    installed = resources.files("arborshap")
    assert installed.joinpath("py.typed").is_file()
    assert installed.joinpath("_core.pyi").is_file()


def test_the_version_is_said_once() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert arborshap.__version__ == cargo["package"]["version"]
    assert metadata.version("arborshap") == arborshap.__version__


def test_numpy_is_the_only_requirement() -> None:
    requirements = map(Requirement, metadata.requires("arborshap") or ())
    needed = [r.name for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]
    assert needed == ["numpy"]


def test_the_metadata_names_python_and_licence() -> None:
    said = metadata.metadata("arborshap")
    assert said["Requires-Python"] == ">=3.11"
    assert said["License-Expression"] == "MIT OR Apache-2.0"
    assert {*(said.get_all("License-File") or ())} == {"LICENSE-APACHE", "LICENSE-MIT"}


def test_one_wheel_serves_every_python() -> None:
    wheel = metadata.distribution("arborshap").read_text("WHEEL")
    assert wheel is not None
    tags = [line.removeprefix("Tag: ") for line in wheel.splitlines() if line.startswith("Tag: ")]
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        expected = "cp{0}{1}-cp{0}{1}t-".format(*sys.version_info)
    else:
        expected = "cp311-abi3-"
    assert tags
    assert all(tag.startswith(expected) for tag in tags)


def test_every_public_name_is_there() -> None:
    assert [name for name in arborshap.__all__ if not hasattr(arborshap, name)] == []


def test_the_examples_in_docstrings_run() -> None:
    modules = [module.name for module in pkgutil.walk_packages(arborshap.__path__, "arborshap.")]
    found = [name for name in ["arborshap", *modules] if not is_for_a_tool_that_is_missing(name)]
    results = {name: doctest.testmod(importlib.import_module(name)) for name in found}
    assert [name for name, result in results.items() if result.failed] == []
    assert results["arborshap.forest.builder"].attempted > 0


def is_for_a_tool_that_is_missing(name: str) -> bool:
    if not name.startswith("arborshap.adapters."):
        return False
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as missing:
        return not str(missing.name).startswith("arborshap")
    return False
