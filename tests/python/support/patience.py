"""How tests wait: for an event, or with more and more work, but never for a number of seconds."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, settings

HANG = 900.0
"""Seconds after which whatever hangs is ended. It says nothing about speed: on any machine, a test takes far less."""

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For examples that may take as long as they do; a busy machine is no reason to fail."""


def with_twice_the_work(attempt: Callable[[int], bool], n: int, times: int = 8) -> None:
    """Attempt with `n`, then with twice as much each time, until the attempt reports that there was enough work.

    What can only be seen in the middle of a call cannot be seen if the call ends too early, and how early it ends
    depends on the machine.
    """
    assert any(attempt(n << doubled) for doubled in range(times)), f"even {n << (times - 1)} was too little work"
