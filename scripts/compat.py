"""Run shap's own tests with `arborshap.adapters.shap.TreeExplainer` in place of shap's explainer: `make compat`.

The tests come from the source distribution of the shap that is installed, or from a folder (`--tests`), and are not
kept in this repository. What fails is run again with shap's own explainer. A test that fails there too, for example
because its data cannot be downloaded, says nothing about arborshap. `compat_known.toml` lists every other failure that
is known, with the reason; one that is not listed, or that fails for another reason, makes the script fail. Plots are
compared with those that shap's own explainer gives in the same environment, since pictures differ from one version of
matplotlib to the next.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import arborshap

HERE = Path(__file__).parent
UNPACKED = HERE.parent / "target" / "compat"
SUITES = {
    "trees": ["explainers/test_tree.py"],
    "plots": ["plots", "test_explanation.py", "explainers/test_explainer.py"],
}


@dataclass(frozen=True)
class Result:
    """What a test came to: passed, failed or skipped, and the message if it did not pass."""

    outcome: str
    message: str


@dataclass(frozen=True)
class Known:
    """A difference that is known: the test, a pattern of its message, and the reason."""

    test: str
    error: str
    reason: str

    def explains(self, test: str, result: Result) -> bool:
        return test.endswith(self.test) and re.search(self.error, result.message) is not None


def main() -> int:
    options = arguments()
    tests = options.tests or downloaded_tests(version("shap"))
    if tests is None:
        return 2
    known = known_differences()
    print(f"shap {version('shap')} by its own tests, with the explainer of arborshap {arborshap.__version__}\n")
    chosen = [options.only] if options.only else list(SUITES)
    good = [report(suite, tests, known, options.timeout) for suite in chosen]  # every suite, even if one is bad
    return 0 if all(good) else 1


def known_differences() -> list[Known]:
    listed = tomllib.loads((HERE / "compat_known.toml").read_text(encoding="utf-8"))
    return [Known(**entry) for entry in listed["difference"]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", type=Path, help="the folder of shap's tests; the default is to download them")
    parser.add_argument("--only", choices=SUITES, help="run one suite alone")
    parser.add_argument("--timeout", type=int, default=300, help="seconds that one test may take (300)")
    return parser.parse_args()


def downloaded_tests(release: str) -> Path | None:
    """Return the folder of the tests in shap's source distribution, which is downloaded if it is not there."""
    tests = UNPACKED / f"shap-{release}" / "tests"
    if tests.exists():
        return tests
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-binary", "shap", "--no-deps"]
        done = subprocess.run([*command, "--dest", folder, f"shap=={release}"], capture_output=True, text=True)
        found = list(Path(folder).glob("*.tar.gz"))
        if done.returncode or not found:
            print(
                f"shap's tests are in its source distribution, and shap {release} could not be downloaded:\n"
                f"{done.stderr.strip()[-500:]}\nNothing was tested. Give a folder of shap's tests with --tests, or "
                "run this with a network.",
                file=sys.stderr,
            )
            return None
        with tarfile.open(found[0]) as archive:
            wanted = [member for member in archive.getmembers() if "/tests/" in member.name]
            archive.extractall(UNPACKED, wanted, filter="data")
    return tests


def report(suite: str, tests: Path, known: list[Known], timeout: int) -> bool:
    """Run a suite and print what came of it; return whether every failure is known."""
    with tempfile.TemporaryDirectory() as images:
        if suite == "plots":
            run(tests, SUITES[suite], "shap", [f"--mpl-generate-path={images}", f"--timeout={timeout}"])
        settings = ["--mpl", f"--mpl-baseline-path={images}", f"--timeout={timeout}"]
        results, complete = run(tests, SUITES[suite], "arborshap", settings)
        failed = {test: result for test, result in results.items() if result.outcome == "failed"}
        with_shap = run(tests, list(failed), "shap", settings)[0] if failed else {}
    ours = {test for test in failed if with_shap.get(test, Result("passed", "")).outcome == "passed"}
    reasons = {
        test: next((entry.reason for entry in known if entry.explains(test, failed[test])), None) for test in ours
    }
    unlisted = [test for test in ours if reasons[test] is None]
    stale = [
        f"{entry.test} is listed as a known difference, but passes"
        for entry in known
        if any(test.endswith(entry.test) and result.outcome == "passed" for test, result in results.items())
    ]
    counts = Counter(result.outcome for result in results.values())
    print(
        f"{suite}: {counts['passed']} of {counts['passed'] + len(ours)} pass; {len(ours)} differ; "
        f"{len(failed) - len(ours)} fail with shap itself, {counts['skipped']} are skipped"
    )
    for test in sorted(reasons):
        print(f"  differs   {test}\n            {reasons[test] or 'NOT KNOWN: ' + first_line(failed[test].message)}")
    for test in sorted(set(failed) - ours):
        print(f"  shap too  {test}\n            {first_line(with_shap[test].message)}")
    for test, result in sorted(results.items()):
        if result.outcome == "skipped":
            print(f"  skipped   {test}\n            {first_line(result.message)}")
    for line in stale:
        print(f"  STALE     {line}")
    if not complete:
        print("  BROKEN    pytest did not reach the end; see above")
    print(flush=True)
    return complete and not unlisted and not stale


def run(tests: Path, names: list[str], explainer: str, settings: list[str]) -> tuple[dict[str, Result], bool]:
    """Run tests with an explainer; return what each came to, and whether pytest reached the end."""
    with tempfile.TemporaryDirectory() as folder:
        file, settings_file = Path(folder) / "results", Path(folder) / "pytest.ini"
        file.touch()
        settings_file.write_text("[pytest]\n")  # or pytest would read our own settings, which are above shap's tests
        environment = {
            **os.environ,
            "COMPAT_EXPLAINER": explainer,
            "COMPAT_RESULTS": str(file),
            "MPLBACKEND": "agg",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")])),
        }
        pytest = [sys.executable, "-m", "pytest", "--quiet", "--no-header", "--no-summary", "--tb=no"]
        quiet = ["-p", "no:cacheprovider", "-p", "compat_plugin", "-W", "ignore", "-m", "not xslow"]
        paths = [f"tests/{name.removeprefix('tests/')}" for name in names]
        command = [*pytest, *quiet, "-c", str(settings_file), "--rootdir", ".", *settings, *paths]
        done = subprocess.run(command, cwd=tests.parent, env=environment, check=False)
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    results = {line["test"]: Result(line["outcome"], line["message"]) for line in lines}
    return results, done.returncode in (0, 1)


def first_line(message: str) -> str:
    return message.strip().partition("\n")[0][:200]


if __name__ == "__main__":
    sys.exit(main())
