"""One row at a time, over and over, as a service asks: little beside the engine's time, and no memory that grows."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import tracemalloc
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from arborshap import TreeExplainer
from support.effort import calls_of
from support.forests import random_forest, random_rows
from support.patience import HANG
from support.places import TESTS


@cache
def explainer() -> TreeExplainer:
    return TreeExplainer(random_forest(5, 4, 6), random_rows(100, 6, 4), n_jobs=1)


def test_python_adds_little_to_the_engine() -> None:
    """Functions that a call runs are counted, since a few microseconds say more about the machine than about us."""
    row = np.zeros((1, 6))
    ours = explainer()
    ours(row)  # the first call checks more
    assert calls_of(ours.shap_values, row) < 30
    assert calls_of(ours, row) < 100


@pytest.mark.parametrize("method", ["shap_values", "taylor_values", "__call__"])
def test_python_keeps_nothing_of_a_call(method: str) -> None:
    call, row = getattr(explainer(), method), np.zeros((1, 6))

    def held_after(calls: int) -> int:
        for _ in range(calls):
            call(row)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = held_after(200)
        assert held_after(2000) - before < 20_000  # ten bytes per call would already show
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no other way to ask for the memory held now")
def test_the_process_does_not_grow() -> None:
    """40,000 calls; were each to leave 64 bytes behind, anywhere, that would be 2.5 MB."""
    code = f"""
        import sys
        from pathlib import Path
        sys.path.insert(0, {str(TESTS)!r})
        import numpy as np
        from arborshap import TreeExplainer
        from support.forests import random_forest, random_rows

        row, ours = np.zeros((1, 6)), TreeExplainer(random_forest(5, 4, 6), random_rows(100, 6, 4), n_jobs=1)
        def held_after(calls):
            for _ in range(calls):
                ours.shap_values(row)
            lines = Path("/proc/self/status").read_text().splitlines()
            return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        before = held_after(5_000)
        grown = held_after(40_000) - before
        assert grown < 1.5e6, grown
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    subprocess.run(command, check=True, timeout=HANG)
