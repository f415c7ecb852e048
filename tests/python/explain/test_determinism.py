"""The same numbers whoever asks and however: threads, batches, many callers, a fork; and Ctrl-C ends a call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import Forest, TreeExplainer
from support.forests import random_forest, random_rows
from support.oracle import ENGINES, INDICES
from support.patience import HANG, with_twice_the_work
from support.places import TESTS

Array = NDArray[np.float64]
every_engine = pytest.mark.parametrize("engine", ENGINES)


@cache
def forest() -> Forest:
    return random_forest(30, 5, 8, n_outputs=2)


def all_values(explainer: TreeExplainer, X: Array) -> list[Array]:
    return [explainer(X, index=index).values for index in INDICES]  # type: ignore[arg-type]


def assert_same(some: list[Array], others: list[Array]) -> None:
    for one, other in zip(some, others, strict=True):
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


@every_engine
@pytest.mark.parametrize(("n", "m"), [(1200, 50), (5, 4500), (70, 130)])
def test_number_of_threads(engine: str, n: int, m: int) -> None:
    X, Z = random_rows(n, 8, 1), random_rows(m, 8, 2)
    weights = np.random.default_rng(3).random(m)
    alone = TreeExplainer(forest(), Z, sample_weight=weights, engine=engine, n_jobs=1)
    expected = all_values(alone, X)
    for n_jobs in (2, 4):
        explainer = TreeExplainer(forest(), Z, sample_weight=weights, engine=engine, n_jobs=n_jobs)
        assert_same(all_values(explainer, X), expected)
        assert np.asarray(explainer.expected_value).tobytes() == np.asarray(alone.expected_value).tobytes()


def test_number_of_threads_for_pairs() -> None:
    X, Z = random_rows(40, 8, 1), random_rows(150, 8, 2)
    values = [TreeExplainer(forest(), Z, n_jobs=n_jobs).pair_values(X) for n_jobs in (1, 2, 4)]
    assert_same(values[1:], values[:1] * 2)


@every_engine
def test_batch(engine: str) -> None:
    """A row alone has the values it has among others, wherever it stands; so has one call after another."""
    X, Z = random_rows(1100, 8, 1), random_rows(100, 8, 2)
    explainer = TreeExplainer(forest(), Z, engine=engine, n_jobs=2)
    together = all_values(explainer, X)
    for row in (0, 1, 63, 64, 127, 128, 1099):
        alone = all_values(TreeExplainer(forest(), Z, engine=engine, n_jobs=2), X[row : row + 1])
        among_others = [values[row : row + 1] for values in together]
        if engine == "auto":  # which engine is best depends on the number of rows, and they agree to rounding
            for one, other in zip(alone, among_others, strict=True):
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
        else:
            assert_same(alone, among_others)
    order = np.random.default_rng(4).permutation(1100)
    assert_same(all_values(explainer, X[order]), [values[order] for values in together])
    assert_same(all_values(explainer, X), together)


@every_engine
def test_order_in_memory(engine: str) -> None:
    X, Z = random_rows(30, 8, 1), random_rows(100, 8, 2)
    expected = all_values(TreeExplainer(forest(), Z, engine=engine), X)
    explainer = TreeExplainer(forest(), np.asfortranarray(Z), engine=engine)
    assert_same(all_values(explainer, np.asfortranarray(X)), expected)
    assert_same(all_values(explainer, np.repeat(X, 2, axis=0)[::2]), expected)


@every_engine
def test_many_threads_on_one_explainer(engine: str) -> None:
    """Whatever an explainer prepares on first use, it prepares once and right with everyone asking at the same time."""
    X, Z = random_rows(200, 8, 1), random_rows(300, 8, 2)
    expected = all_values(TreeExplainer(forest(), Z, engine=engine, n_jobs=1), X)
    explainer = TreeExplainer(forest(), Z, engine=engine, n_jobs=2)
    slices = [slice(start, start + 50) for start in range(0, 200, 50)] * 4
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda part: all_values(explainer, X[part]), slices))
    for part, values in zip(slices, found, strict=True):
        assert_same(values, [value[part] for value in expected])


# --- in a process of its own ------------------------------------------------------------------------------------

PREAMBLE = textwrap.dedent("""
    import os, sys, time
    sys.path.insert(0, {tests!r})
    import numpy as np
    from arborshap import TreeExplainer
    from support.forests import random_forest, random_rows
""").format(tests=str(TESTS))


def output_of(script: str, *arguments: str) -> str:
    """What a script prints; one that hangs is killed, with its children."""
    code = PREAMBLE + textwrap.dedent(script)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=HANG)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, errors
    return output


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@every_engine
def test_fork(engine: str) -> None:
    """A child of a process that has explained with threads explains too, and nothing waits for threads left behind."""
    script = """
        forest, X, Z = random_forest(20, 5, 8), random_rows(300, 8, 1), random_rows(300, 8, 2)
        explainer = TreeExplainer(forest, Z, engine=sys.argv[1], n_jobs=2)
        expected = explainer.shap_values(X)
        child = os.fork()
        if child == 0:
            again = explainer.shap_values(X)
            anew = TreeExplainer(forest, Z, engine=sys.argv[1], n_jobs=2).shap_values(X)
            os._exit(0 if again.tobytes() == anew.tobytes() == expected.tobytes() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print("same")
    """
    assert output_of(script, engine) == "same\n"


LONG = {
    "values": "explainer.shap_values(X)",
    "interactions": "explainer.taylor_values(X)",
    "pairs": "explainer.pair_values(X[:100], X)",
    "contrast": "explainer.contrast(X, all_rows)",
    "construction": "TreeExplainer(forest, X, n_jobs=2)",
}

INTERRUPTED = """
    import signal, threading
    forest, all_rows = random_forest(50, 8, 30), random_rows(int(sys.argv[2]), 30, 1)
    explainer = TreeExplainer(forest, all_rows[:1000], engine=sys.argv[1], n_jobs=2)

    def call(X):
        CALL

    def spent(call, *arguments):
        begin = time.process_time()
        try:
            call(*arguments)
        except KeyboardInterrupt:
            print("interrupted")
        return time.process_time() - begin

    def interrupt(after):
        while time.process_time() < after:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    part = all_rows[: len(all_rows) // 40]
    call(part)  # prepares what is prepared once
    cost = spent(call, part)
    threading.Thread(target=interrupt, args=[time.process_time() + cost]).start()
    total = spent(call, all_rows)
    print("early" if total < 10 * cost else f"late: {cost} s for a part, {total} s until it stopped")
    print(explainer.shap_values(part[:2]).shape)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt cannot be sent to one process alone")
@pytest.mark.parametrize(
    ("engine", "call", "n"),
    [
        ("auto", "values", 120_000),
        ("pattern", "values", 120_000),
        ("sparse", "values", 2_000),
        ("traversal", "values", 400),
        ("pattern", "interactions", 16_000),
        ("auto", "pairs", 4_000),
        ("traversal", "contrast", 400),  # the others prepare tables for every contrast, which no part of the rows tells
        ("auto", "construction", 1_000_000),  # a fortieth takes longer than the 50 ms between two looks at the signals
    ],
)
def test_interrupt(engine: str, call: str, n: int) -> None:
    """Ctrl-C ends a call long before its work is done, and the process goes on.

    Work is counted in processor time: the call is interrupted when it has spent what a fortieth of its rows cost, and
    must stop before it has spent ten times as much.
    """
    script = INTERRUPTED.replace("CALL", LONG[call])
    assert output_of(script, engine, str(n)).splitlines() == ["interrupted", "early", "(2, 30)"]


@every_engine
def test_progress_may_end_a_call(engine: str) -> None:
    """An exception of the caller's own progress function ends the call there, and the explainer stays usable."""

    class StopHereError(Exception):
        pass

    def stopped_before_the_end(n: int) -> bool:
        told: list[float] = []

        def stop(fraction: float) -> None:
            told.append(fraction)
            raise StopHereError

        X = random_rows(n, 30, 1)
        explainer = TreeExplainer(random_forest(60, 8, 30), X, engine=engine, n_jobs=2)
        with pytest.raises(StopHereError):
            explainer.shap_values(X, progress=stop)
        assert explainer.shap_values(X[:1]).shape == (1, 30)
        assert len(told) == 1
        return told[0] < 1

    with_twice_the_work(stopped_before_the_end, 40_000 if engine in ("pattern", "auto") else 6_000)


@every_engine
def test_progress_ends_at_one(engine: str) -> None:
    told: list[float] = []
    X = random_rows(10_000 if engine in ("pattern", "auto") else 300, 30, 1)
    explainer = TreeExplainer(random_forest(60, 8, 30), X, engine=engine, n_jobs=2)
    explainer.shap_values(X, progress=told.append)
    assert all(0 <= fraction <= 1 for fraction in told)
    assert told[-1] == 1
