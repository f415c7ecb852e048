"""Run code in a process of its own that may grow only by so much."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.patience import HANG

_PRELUDE = """
from pathlib import Path
import numpy as np
from arborshap import ForestBuilder, TreeExplainer

rng = np.random.default_rng(0)

def small_trees(n_trees, n_features):
    builder = ForestBuilder(n_features, 1, rule="<", precision="float32")
    for _ in range(n_trees):
        builder.add_tree(left=[1, -1, 3, -1, -1], right=[2, -1, 4, -1, -1], threshold=rng.normal(size=5),
                         feature=rng.integers(0, n_features, 5), value=rng.normal(size=5))
    return builder.build()

def most():  # of this process alone: getrusage would start from the size of the parent
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
"""


def grows_at_most(n_bytes: float, *, before: str, measured: str) -> None:
    """Fail if the second piece of code makes the process larger by more than `n_bytes`.

    Both pieces may use ``np``, ``rng``, ``TreeExplainer`` and ``small_trees(n_trees, n_features)``.
    """
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not tell how large a process was")
    pieces = [
        _PRELUDE,
        textwrap.dedent(before),
        "size = most()",
        textwrap.dedent(measured),
        f"assert most() - size < {n_bytes}, most() - size",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(pieces)], check=True, timeout=HANG)
