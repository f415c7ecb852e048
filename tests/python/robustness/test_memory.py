"""Memory in proportion to the file, whatever a file says; and what cannot fit is a `MemoryError` that tells how big."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arborshap import ForestBuilder, TreeExplainer, _core
from arborshap._util.checks import check_fits
from support.patience import HANG
from support.places import CORPUS

MULTIPLE = 60
"""Bytes of memory for a byte of a file, at worst: an empty container is two bytes of text, and a Python object."""
ROOM = 8 << 20
"""For what is the same for any file."""

CHILD = """
import sys
import numpy as np
import arborshap.models, arborshap.models.files, arborshap.models.xgboost.dump, arborshap.models.lightgbm.live
import arborshap.models.catboost.document, arborshap.models.xgboost.live
from arborshap.exceptions import ModelError

def peak():  # of this process alone: what getrusage tells begins with the parent's
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before = peak()
try:
    arborshap.models.load(sys.argv[1])
    outcome = "read"
except ModelError as error:
    outcome = f"refused: {str(error)[:200]}"
print(peak() - before, outcome)
"""


def peak_of_loading(path: Path) -> tuple[int, str]:
    """How much more memory a process takes when it loads a file, and what came of it."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, str(path)],
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)),
    )
    assert done.returncode == 0, done.stderr
    taken, _, outcome = done.stdout.strip().partition(" ")
    return int(taken), outcome


def _xgboost(edit: Callable[[dict[str, Any], dict[str, Any]], object], name: str = "xgboost-plain.json") -> bytes:
    document = json.loads((CORPUS / "json" / name).read_bytes())
    edit(document["learner"], document["learner"]["gradient_booster"]["model"]["trees"][0])
    return json.dumps(document).encode()


def _one_large_set(learner: dict[str, Any], tree: dict[str, Any]) -> None:
    n = len(tree["categories_nodes"])
    tree["categories"] = list(range(100_000))
    tree["categories_segments"], tree["categories_sizes"] = [0] * n, [100_000] * n


def _lightgbm_bits() -> bytes:
    text = (CORPUS / "lightgbm" / "categories.txt").read_text()
    head, _, rest = text.partition("\ncat_threshold=")
    words = " ".join(["4294967295"] * 30_000)
    return (head.replace("cat_boundaries=0 2 3", "cat_boundaries=0 2 30000") + "\ncat_threshold=" + words
            + rest[rest.index("\n") :]).encode()  # fmt: skip


def _lightgbm_long_word() -> bytes:
    text = (CORPUS / "lightgbm" / "plain.txt").read_text()
    n = 20_000
    text = text.replace("num_leaves=4", f"num_leaves={n}", 1)
    head, _, rest = text.partition("\nleaf_value=")
    return f"{head}\nleaf_value={' '.join(['1'] * (n - 1))} {'1' * n}{rest[rest.index(chr(10)) :]}".encode()


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "two billion features": (
        lambda: _xgboost(lambda learner, _: learner["learner_model_param"].update(num_feature="2147483647")),
        "2,147,483,647 features, but limits allow",
    ),
    "a set of categories for many": (
        lambda: _xgboost(_one_large_set, "xgboost-categories.json"),
        "nodes must not share",
    ),
    "all bits of a set": (_lightgbm_bits, "read"),
    "one long word among many": (_lightgbm_long_word, "longer than any number"),
    "empty lists": (lambda: b"[" + b"[]," * 200_000 + b"[]]", "tree 0: a node is list"),
    "empty objects": (lambda: b'{"learner":[' + b"{}," * 200_000 + b"{}]}", "'learner' must be dict"),
    "nesting": (lambda: b"[" * 1_000_000, "nested containers"),
    "nesting of UBJSON": (lambda: b"{i\x01a" + b"[" * 1_000_000, "containers are nested"),
    "empty arrays of UBJSON": (lambda: b"{i\x01a[" + b"[$d#i\x00" * 200_000 + b"]}", "'learner' is missing"),
    "a long text in a deep place": (lambda: b"[" * 3000 + b'"' + b"a" * 1_000_000 + b'"' + b"]" * 3000, "tree 0"),
    "text of wide letters": (lambda: b'{"a":"' + "\U0001f333".encode() + b"a" * 1_000_000 + b'"}', "is missing"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system in Linux's way")
@pytest.mark.parametrize("name", FILES)
def test_memory_is_in_proportion_to_the_file(name: str, tmp_path: Path) -> None:
    make, message = FILES[name]
    path = tmp_path / "model"
    path.write_bytes(make())
    taken, outcome = peak_of_loading(path)
    assert message in outcome
    assert taken < MULTIPLE * path.stat().st_size + ROOM, f"{taken >> 20} MiB for {path.stat().st_size} bytes"


def wide_explainer(n_features: int) -> TreeExplainer:
    builder = ForestBuilder(n_features, rule="<=", precision="float64")
    builder.add_tree(left=[1, -1, -1], right=[2, -1, -1], feature=[0, 0, 0], threshold=[0.0, 0, 0], value=[0.0, 1, 2])
    return TreeExplainer(builder.build(), np.zeros((1, n_features)), n_jobs=1)


def test_a_result_that_cannot_fit_is_refused_with_its_size() -> None:
    explainer = wide_explainer(40_000)
    X = np.zeros((1_000, 40_000), np.float32)
    message = "1000 x 40000 x 40000 x 1 float64 values, takes 12,800,000,000,000 bytes.*explain fewer rows at a time"
    with pytest.raises(MemoryError, match=message):
        explainer.shap_interaction_values(X)
    with pytest.raises(MemoryError, match="explain fewer rows at a time"):
        explainer.state.core.explain(X, "taylor", engine="auto", n_threads=1)


@pytest.mark.parametrize(("free", "fits"), [(100_000_000, False), (200_000_000, True)])
def test_a_result_fits_into_what_is_free(free: int, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The core says what is free: of the machine, of a container, and of the address space."""
    monkeypatch.setattr(_core, "available_memory", lambda: free)
    message = "200,000,000 bytes, but this machine has 100,000,000 free"
    with nullcontext() if fits else pytest.raises(MemoryError, match=message):
        check_fits((25_000_000,), np.dtype(np.float64), None)


def test_sizes_beyond_all_machines() -> None:
    """Rows without columns can be any number, and take no memory themselves."""
    builder = ForestBuilder(0, rule="<=", precision="float64")
    builder.add_tree(left=[-1], right=[-1], feature=[0], threshold=[0.0], value=[1.0])
    forest = builder.build()
    rows = np.zeros((2**59, 0))
    with pytest.raises(MemoryError, match="the margins needs 4611686018427387904 bytes"):
        forest.margin(rows)
    explainer = TreeExplainer(forest, np.zeros((1, 0)), n_jobs=1)
    assert explainer.shap_values(rows).shape == (2**59, 0)


LITTLE = """
import resource
import numpy as np
from arborshap import ForestBuilder, TreeExplainer
builder = ForestBuilder(3, rule="<=", precision="float64")
builder.add_tree(left=[1, -1, -1], right=[2, -1, -1], feature=[0, 0, 0], threshold=[0.0, 0, 0], value=[0.0, 1, 2])
forest = builder.build()
Z = np.random.default_rng(0).normal(size=(3_000_000, 3))
def used():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
wanted = TreeExplainer(forest, Z[:1000], n_jobs=1).shap_values(Z[:10])
resource.setrlimit(resource.RLIMIT_AS, (used() + (4 << 20), resource.RLIM_INFINITY))
calls = {
    "margins": lambda: forest.margin(Z),
    "values": lambda: TreeExplainer(forest, Z[:1000], memory_limit=2**40, n_jobs=1).shap_values(Z),
    "pairs": lambda: TreeExplainer(forest, Z[:1000], memory_limit=2**40, n_jobs=1).pair_values(Z[:1000]),
    "codes": lambda: TreeExplainer(forest, Z, engine="traversal", memory_limit=2**40, n_jobs=1),
}
for name, call in calls.items():
    try:
        call()
        print(name, "done")
    except MemoryError as error:
        print(name, error)
# What is small is still done.
assert (TreeExplainer(forest, Z[:1000], n_jobs=2).shap_values(Z[:10]) == wanted).all()
print("alive")
"""

NO_THREADS = """
import numpy as np
from arborshap import ForestBuilder, TreeExplainer
builder = ForestBuilder(3, rule="<=", precision="float64")
builder.add_tree(left=[1, -1, -1], right=[2, -1, -1], feature=[0, 0, 0], threshold=[0.0, 0, 0], value=[0.0, 1, 2])
Z = np.random.default_rng(0).normal(size=(2000, 3))
explainer = TreeExplainer(builder.build(), Z, n_jobs=2)
told = []
values = explainer.shap_values(Z, progress=told.append)
gap = values.sum(axis=1) + explainer.expected_value - explainer.forest.margin(Z)[:, 0]
print(np.abs(gap).max() < 1e-12, told[-1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system in Linux's way")
def test_little_memory_is_an_error_and_not_the_end() -> None:
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}  # or every thread would bring room of its own
    done = subprocess.run(
        [sys.executable, "-c", LITTLE], capture_output=True, text=True, timeout=HANG, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *refused, last = done.stdout.splitlines()
    assert last == "alive"
    assert [re.sub(r"\d+ bytes", "so many bytes", line.partition(";")[0]) for line in refused] == [
        "margins the margins needs so many bytes",
        "values the result needs so many bytes",
        "pairs the result needs so many bytes",
        "codes the codes of the rows needs so many bytes",
    ]


def test_where_the_system_grants_no_thread() -> None:
    """A stack that no machine has makes every thread fail to start."""
    environment = {**os.environ, "RUST_MIN_STACK": str(2**50)}
    done = subprocess.run(
        [sys.executable, "-c", NO_THREADS], capture_output=True, text=True, timeout=HANG, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "True 1.0\n"
