"""Warnings that name the caller's own line, whatever depth of this package they come from."""

from __future__ import annotations

import inspect
import warnings


def warn(message: str) -> None:
    """Warn the caller of the package. Python shows a warning once per line of the caller's code."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "arborshap":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
