"""Warnings that name the caller's own line, whatever depth of this package they come from, and messages for a log."""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging


def warn(message: str) -> None:
    """Warn the caller of the package. Python shows a warning once per line of the caller's code."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "arborshap":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def debug_log() -> logging.Logger | None:
    """Return the logger ``arborshap`` if it wants messages for debugging.

    A program that logs has imported `logging`. If it has not, importing it here would only slow down our own import.
    """
    imported = sys.modules.get("logging")
    if imported is None:
        return None
    log: logging.Logger = imported.getLogger("arborshap")
    return log if log.isEnabledFor(imported.DEBUG) else None
