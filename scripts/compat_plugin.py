"""A pytest plugin for `compat.py`: it swaps shap's explainer for the adapter, and writes down what each test came to.

The environment variable ``COMPAT_EXPLAINER`` names whose explainer is tested, ``arborshap`` or ``shap``, and
``COMPAT_RESULTS`` the file to append to: one line of JSON per test.
"""

import json
import os

import pytest
import shap


def pytest_configure() -> None:
    if os.environ["COMPAT_EXPLAINER"] != "arborshap":
        return
    from arborshap.adapters.shap import TreeExplainer

    for module in (shap, shap.explainers):
        for name in ("TreeExplainer", "Tree"):
            if hasattr(module, name):
                setattr(module, name, TreeExplainer)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when != "call" and report.outcome == "passed":
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        message = report.longrepr[2]
    else:
        message = "" if report.outcome == "passed" else str(crash.message if crash else report.longrepr)
    line = json.dumps({"test": report.nodeid, "outcome": report.outcome, "message": message})
    with open(os.environ["COMPAT_RESULTS"], "a", encoding="utf-8") as file:
        file.write(line + "\n")
