"""Seconds and values of a contender, and where they were measured."""

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from contenders import CORES, Contender
from fasttreeshap_worker import FIELDS

Array: TypeAlias = NDArray[Any]

ROOT = Path(__file__).resolve().parent.parent.parent
FASTTREESHAP = ROOT / ".venvs" / "fasttreeshap" / "bin" / "python"

MOST_REPEATS = 7
PATIENCE = 3.0
"""Seconds after which nothing is repeated any more, once there are two measurements."""
LONG = 20.0
"""Seconds of a measurement that is not repeated at all."""


@dataclass(frozen=True)
class Measured:
    """The best of some repeats."""

    construct: float
    explain: float
    repeats: int
    values: Array

    @property
    def seconds(self) -> float:
        return self.construct + self.explain


def measure(
    contender: Contender, model: Any, background: Array | None, rows: Array, most: int = MOST_REPEATS
) -> Measured:
    """Construct and explain up to so many times."""
    theirs, reference = contender.rows(rows), None if background is None else contender.rows(background)
    best: Measured | None = None
    spent, repeats = 0.0, 0
    while repeats < most and spent < (LONG if repeats < 2 else PATIENCE):
        time.sleep(0.05)  # the threads of whoever came before may still be spinning
        start = time.perf_counter()
        explainer = contender.construct(model, reference)
        between = time.perf_counter()
        values = contender.explain(explainer, theirs)
        end = time.perf_counter()
        del explainer
        repeats += 1
        spent += end - start
        if best is None or end - start < best.seconds:
            best = Measured(between - start, end - between, repeats, values)
    assert best is not None
    return Measured(best.construct, best.explain, repeats, best.values)


def fasttreeshap_version() -> str | None:
    if not FASTTREESHAP.exists():
        return None
    ask = "import fasttreeshap; print(fasttreeshap.__version__)"
    asked = subprocess.run([FASTTREESHAP, "-c", ask], check=False, capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else None


def fasttreeshap_measured(model: Any, rows: Array) -> Measured | str:
    """Return what fasttreeshap takes in its own environment, or why it cannot be measured."""
    if fasttreeshap_version() is None:
        return "does not build here"
    shap = import_module("shap")
    trees = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent").model.trees
    with tempfile.TemporaryDirectory() as scratch:
        files = [Path(scratch, name) for name in ("trees.npz", "rows.npy", "out.npz")]
        np.savez(files[0], **{f"{t} {field}": getattr(tree, field) for t, tree in enumerate(trees) for field in FIELDS})
        np.save(files[1], rows)
        worker = Path(__file__).with_name("fasttreeshap_worker.py")
        command: list[str | Path] = [FASTTREESHAP, worker, files[0], files[1], str(CORES), files[2]]
        subprocess.run(command, check=True)
        with np.load(files[2]) as out:
            totals = out["constructing"] + out["explaining"]
            best = int(np.argmin(totals))
            return Measured(
                float(out["constructing"][best]), float(out["explaining"][best]), len(totals), out["values"]
            )


@dataclass(frozen=True)
class Agreement:
    """How far the values of two packages are apart, relative to the largest value."""

    difference: float
    """Over the rows that agree."""
    rows_apart: int
    """Rows that do not."""


TOLERANCE = 2e-5
"""XGBoost and the packages that follow it add leaves in float32."""
MOST_ROWS_APART = 1e-3
"""The share of rows that may be wrong: a package that misses a threshold by a float step shows in one of thousands."""


def agreement(ours: Array, theirs: Array) -> Agreement:
    """Compare values row by row; end the run if too many rows differ."""
    if ours.shape != theirs.shape:
        raise SystemExit(f"the values have shapes {ours.shape} and {theirs.shape}")
    rows = np.abs(ours - theirs).reshape(len(ours), -1).max(axis=1) / np.max(np.abs(ours))
    apart = ~(rows < TOLERANCE)
    if np.count_nonzero(apart) > MOST_ROWS_APART * len(rows):
        worst = f"the worst by {np.max(rows):.1e} of the largest value"
        raise SystemExit(f"{np.count_nonzero(apart)} of {len(rows)} rows disagree, {worst}")
    return Agreement(float(np.max(rows[~apart])), int(np.count_nonzero(apart)))


def machine() -> dict[str, Any]:
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass  # not Linux: what Python knows must do
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None
    return {
        "cpu": name,
        "cores": CORES,
        "memory_gb": None if memory is None else round(memory / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
    }


class Bystanders:
    """The share of the machine that other processes use, from the start of this object until it is asked."""

    def __init__(self) -> None:
        self._start = self._times()

    @staticmethod
    def _times() -> tuple[float, float, float] | None:
        """Return the seconds of all cores: in total, busy, and busy for this process."""
        try:
            ticks = [int(t) for t in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        except OSError:
            return None  # not Linux
        idle = ticks[3] + ticks[4]
        own = os.times()
        second = os.sysconf("SC_CLK_TCK")
        return sum(ticks) / second, (sum(ticks) - idle) / second, sum(own[:4])

    def share(self) -> float | None:
        now = self._times()
        if now is None or self._start is None:
            return None
        there, at_work, ours = (b - a for a, b in zip(self._start, now, strict=True))
        return round(max(0.0, at_work - ours) / there, 3)


PACKAGES = (
    "arborshap",
    "shap",
    "shapiq",
    "woodelf_explainer",
    "xgboost",
    "lightgbm",
    "scikit-learn",
    "catboost",
    "numpy",
)


def versions(names: Sequence[str] = PACKAGES) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            print(f"{name} is not installed here", file=sys.stderr)
    if names is PACKAGES and (built := fasttreeshap_version()):
        found["fasttreeshap"] = built
    return found
