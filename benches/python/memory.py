"""The memory of a job beyond its input and its output.

`python memory.py CASE` measures one case of `cases.py` and prints the bytes. `measured_apart` runs that in a process of
its own, because memory that earlier jobs have freed would hide what this one takes.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


def status(field: str) -> int | None:
    """Return the bytes of a field in Linux's status of this process."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), None)


def forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("the peak of memory cannot be reset here: it includes the making of the rows", file=sys.stderr)


def bytes_beyond(job: Callable[[], Array]) -> tuple[Array, int | None]:
    """Return the values of a job, and the peak of its memory beyond what was there before and the values themselves."""
    forget_peak()
    before = status("VmRSS")
    values = job()
    peak = status("VmHWM")
    return values, None if peak is None or before is None else peak - before - values.nbytes


def measured_apart(case: str) -> int | None:
    """Return the bytes of a case, measured in a process of its own; ``None`` where the system does not say."""
    run = subprocess.run([sys.executable, __file__, case], check=True, stdout=subprocess.PIPE, text=True)
    return None if run.stdout.strip() == "None" else int(run.stdout)


def main(name: str) -> None:
    import contenders
    from cases import CASES
    from workloads import model_of, rows_of

    case = next(case for case in CASES if case.name == name)
    own = contenders.ARBORSHAP[case.task]
    model, rows = model_of(case.workload), rows_of(case.workload, case.n)
    background = rows_of(case.workload, case.m, background=True) if case.m else None
    few = None if background is None else background[:10]
    own.explain(own.construct(model, few), rows[:10])  # everything is loaded once before it is measured
    _, beyond = bytes_beyond(lambda: own.explain(own.construct(model, background), rows))
    print(beyond)


if __name__ == "__main__":
    main(sys.argv[1])
