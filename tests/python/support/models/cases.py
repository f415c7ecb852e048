"""Every supported kind of model, as one list, which the tests and the README's table use."""

from __future__ import annotations

from support.models import (
    catboost_cases,
    lightgbm_cases,
    more_cases,
    other_cases,
    sklearn_cases,
    spark_cases,
    treelite_cases,
    wrapper_cases,
    xgboost_cases,
)
from support.models.case import BuiltCase, Case

__all__ = ["CASES", "LINEAR", "BuiltCase", "Case"]

CASES: list[Case] = [
    *xgboost_cases.CASES,
    *sklearn_cases.CASES,
    *wrapper_cases.CASES,
    *lightgbm_cases.CASES,
    *catboost_cases.CASES,
    *treelite_cases.CASES,
    *other_cases.CASES,
    *more_cases.CASES,
    *spark_cases.CASES,
]

LINEAR: list[Case] = lightgbm_cases.LINEAR
"""Trees with linear functions in their leaves, for which not everything can be computed."""
