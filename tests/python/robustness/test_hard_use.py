"""Hard use: everyone asks first at the same time, every start method, pools within pools, calls cut short."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import TreeExplainer
from support.patience import HANG, with_twice_the_work
from support.stress import complete_trees

Array = NDArray[np.float64]
ENGINES = ("pattern", "counts", "sparse", "traversal", "auto")
INDICES = ("shapley", "banzhaf", "taylor", "interaction")


def explainer(engine: str = "auto", trees: int = 20, depth: int = 5, background: int = 100) -> TreeExplainer:
    rng = np.random.default_rng(1)
    forest = complete_trees(rng, trees, depth, n_features=8)
    return TreeExplainer(forest, rng.normal(size=(background, 8)), engine=engine, n_jobs=2)


def rows(n: int = 60) -> Array:
    return np.random.default_rng(2).normal(size=(n, 8))


def all_indices(of: TreeExplainer, X: Array) -> bytes:
    return b"".join(np.asarray(of(X, index=index).values).tobytes() for index in INDICES)  # type: ignore[arg-type]


# --- many threads -----------------------------------------------------------------------------------------------


def at_once(n: int, call: Callable[[int], object]) -> None:
    """Call from `n` threads, which all begin together; whatever one of them raises is raised here."""
    gate = threading.Barrier(n)

    def begin(number: int) -> object:
        gate.wait()
        return call(number)

    with ThreadPoolExecutor(n) as pool:
        for done in [pool.submit(begin, number) for number in range(n)]:
            done.result()


def test_first_calls_build_tables_once() -> None:
    """Eight threads that ask one explainer cost far less than eight that each ask their own.

    Processor time is compared with processor time of the same kind: an eighth is expected, whatever else is running.
    """

    def cost(explainers: list[TreeExplainer]) -> float:
        begin = time.process_time()
        at_once(8, lambda number: explainers[number].taylor_values(rows(1)))
        return time.process_time() - begin

    separate, shared = ([explainer("pattern", trees=60, depth=8) for _ in range(n)] for n in (8, 1))
    assert cost(8 * shared) < cost(separate) / 2


def test_mixed_calls_on_one_explainer() -> None:
    """Every index, pairs, plans, saving and pickling at the same time, all right."""
    shared, X = explainer(), rows()
    expected = all_indices(explainer(), X)
    pairs = explainer().pair_values(X[:3])

    def call(number: int) -> None:
        if number % 4 == 0:
            np.testing.assert_array_equal(shared.pair_values(X[:3]), pairs)
        elif number % 4 == 1:
            again = TreeExplainer.from_bytes(shared.to_bytes())
            np.testing.assert_allclose(again.shap_values(X), shared.shap_values(X), rtol=0, atol=1e-12)
        else:
            found = np.frombuffer(all_indices(shared, X))
            np.testing.assert_allclose(found, np.frombuffer(expected), rtol=0, atol=1e-12)
            assert shared.explain_plan(10).reason

    at_once(12, call)


def test_rows_that_another_thread_changes() -> None:
    """The values may be those of either, but they are of the shape asked for and the process lives."""
    shared, X = explainer("sparse", background=400), rows(2000)
    over = threading.Event()

    def scribble() -> None:
        rng = np.random.default_rng(3)
        while not over.is_set():
            X[rng.integers(len(X), size=200)] = rng.choice([np.nan, np.inf, 1e300, -1.0, 0.0], size=(200, 8))

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for _ in range(5):
            values = shared.shap_values(X)
            assert values.shape == X.shape
            assert np.isfinite(values).all()
    finally:
        over.set()
        thread.join()


# --- other processes --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_every_start_method(method: str) -> None:
    """A process started in any way explains with an explainer that came from its parent, in the same bits."""
    shared, X = explainer("pattern"), rows()
    expected = all_indices(shared, X)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        assert pool.submit(all_indices, shared, X).result(timeout=HANG) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_while_another_thread_builds() -> None:
    """A child forked in the middle of another thread's first call does not wait for that thread, which it has not."""

    def forked_in_the_middle(trees: int) -> bool:
        shared, X = explainer("pattern", trees=trees, depth=8), rows(1)
        begun = threading.Event()

        def told(fraction: float) -> None:
            if fraction > 0:
                begun.set()

        with ThreadPoolExecutor(1) as pool:
            building = pool.submit(shared.taylor_values, X, progress=told)
            assert begun.wait(HANG)
            child = os.fork()
            if child == 0:
                os._exit(0 if shared.taylor_values(X).shape == (1, 8, 8) else 1)
            in_the_middle = not building.done()
            watchdog = threading.Timer(HANG, os.kill, (child, signal.SIGKILL))
            watchdog.start()
            status = os.waitpid(child, 0)[1]
            watchdog.cancel()
            assert os.waitstatus_to_exitcode(status) == 0, "killed if it waits for a thread of its parent"
            assert building.result().shape == (1, 8, 8)
        return in_the_middle

    with_twice_the_work(forked_in_the_middle, 250)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend: str) -> None:
    """Parallel calls, each with threads of its own."""
    shared, X = explainer("pattern"), rows(80)
    calls = (joblib.delayed(shared.shap_values)(X[i::4]) for i in range(4))
    parts = joblib.Parallel(n_jobs=2, backend=backend)(calls)
    expected = shared.shap_values(X)
    for i, part in enumerate(parts):
        assert part.tobytes() == expected[i::4].tobytes()


# --- calls cut short --------------------------------------------------------------------------------------------


class EnoughError(Exception):
    pass


@pytest.mark.parametrize("engine", ENGINES)
def test_cut_short_again_and_again(engine: str) -> None:
    """A callback that raises, whatever was being done, leaves an explainer that gives the same bits.

    With `"auto"`, tables may have been finished before the call was cut short. Then few rows are explained with them,
    and otherwise not, so the bits are those of a fresh explainer or of the tables.
    """
    shared = explainer(engine, trees=60, depth=7, background=1000)

    def cut_short(n: int) -> bool:
        told: list[float] = []

        def enough(fraction: float) -> None:
            told.append(fraction)
            raise EnoughError

        with pytest.raises(EnoughError):
            shared.taylor_values(rows(n), progress=enough)
        assert len(told) == 1
        return told[0] < 1

    for _ in range(3):
        with_twice_the_work(cut_short, 3000)
    few = rows(5)
    possible = [engine, "pattern"] if engine == "auto" else [engine]
    fresh = [explainer(one, trees=60, depth=7, background=1000).taylor_values(few).tobytes() for one in possible]
    assert shared.taylor_values(few).tobytes() in fresh


def test_cut_short_beside_others() -> None:
    """One caller gives up while it builds tables that others wait for: they get theirs."""

    def given_up_in_the_middle(trees: int) -> bool:
        shared, X = explainer("pattern", trees=trees, depth=8), rows(20)
        expected = explainer("pattern", trees=trees, depth=8).taylor_values(X).tobytes()
        building, waited_for = threading.Event(), threading.Barrier(4)
        first_told: list[float] = []

        def enough(fraction: float) -> None:
            first_told.append(fraction)
            building.set()
            waited_for.wait(HANG)
            raise EnoughError

        def call(number: int) -> None:
            if number == 0:
                with pytest.raises(EnoughError):
                    shared.taylor_values(X, progress=enough)
                return
            told: list[float] = []

            def waits(fraction: float) -> None:
                told.append(fraction)
                if len(told) == 1:
                    waited_for.wait(HANG)

            assert building.wait(HANG)
            assert shared.taylor_values(X, progress=waits).tobytes() == expected
            first_told.append(told[0])

        at_once(4, call)
        return first_told[0] < 1 and max(first_told[1:]) == 0  # those who wait have done nothing yet

    with_twice_the_work(given_up_in_the_middle, 300)


# --- no global lock ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has its lock; see the page on robustness"
)
def test_free_threaded() -> None:
    """The module does not bring the lock back, and threads get the same bits."""
    assert not sys._is_gil_enabled()  # type: ignore[attr-defined]
    shared, X = explainer("pattern"), rows()
    expected = all_indices(explainer("pattern"), X)
    at_once(8, lambda _: all_indices(shared, X) == expected or pytest.fail("threads differ"))
