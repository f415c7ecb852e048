"""The models of all cases, each trained once for all tests."""

from __future__ import annotations

from functools import cache

from support.models.case import BuiltCase
from support.models.cases import Case


@cache
def built(case: Case) -> BuiltCase:
    return case.build()
