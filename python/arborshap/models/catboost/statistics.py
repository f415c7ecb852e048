"""CatBoost's statistics of categories: read from an export, and looked up for rows.

A statistic (CatBoost calls it a CTR) is a number per category of a column, or per combination of several columns: how
often it occurred in training, or what its targets were. Splits compare it with a border. A category, or combination,
that did not occur in training has the value of the prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.forest import frozen_copy
from arborshap.models.catboost.hashing import combined, signed
from arborshap.models.documents import shown, take, take_list, whole

_NO_KEY = 2**64 - 1  # the export begins with an empty slot of CatBoost's hash table


@dataclass(frozen=True, slots=True)
class Test:
    """One test of a combination; its outcome is a part of the combination's key.

    Attributes
    ----------
    column
        The column that is tested.
    border
        For a column of numbers: whether the value is above this.
    nan_is_largest
        Whether a missing number is above every border.
    category
        For a column of categories: whether it has this hash; ``None`` if the hash itself is the outcome.
    """

    column: int
    border: float | None = None
    nan_is_largest: bool = False
    category: int | None = None

    def outcome(self, column: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the outcome for every row, given the numbers of the column or the hashes of its categories."""
        if self.border is not None:
            with np.errstate(over="ignore"):
                above = column.astype(np.float32) > np.float32(self.border)
            return np.asarray(above | (np.isnan(column) & self.nan_is_largest), np.uint64)
        return signed(column) if self.category is None else (column == self.category).astype(np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """A number per category of a column, or per combination of columns.

    Attributes
    ----------
    kind
        What CatBoost calls the statistic, for the names of features.
    tests
        The tests whose outcomes make up a key.
    keys
        The keys that occurred in training, sorted.
    values
        The number of each key.
    default
        The number of any other key.
    """

    kind: str
    tests: tuple[Test, ...]
    keys: NDArray[np.uint64]
    values: NDArray[np.float32]
    default: float

    @property
    def columns(self) -> list[int]:
        """The columns that the statistic depends on, in order."""
        return sorted({test.column for test in self.tests})

    def of(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return the statistic of every row, given numbers or hashes for every column."""
        keys = np.zeros(len(columns[self.tests[0].column]), np.uint64)
        for test in self.tests:
            keys = combined(keys, test.outcome(columns[test.column]))
        if not len(self.keys):
            return np.full(len(keys), self.default)
        at = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.values[at].astype(np.float64), self.default)


@dataclass(frozen=True, slots=True)
class ColumnPlaces:
    """Where an export's features are among the columns of a row.

    Attributes
    ----------
    floats
        For each numerical feature, its column and whether a missing value is above every border.
    categories
        For each categorical feature, its column.
    """

    floats: dict[int, tuple[int, bool]]
    categories: dict[int, int]

    def category(self, described: Any, where: str) -> int:
        """Return the column of the categorical feature that an entry names."""
        feature = take(described, "cat_feature_index", int, where)
        if feature not in self.categories:
            raise ModelError(f"{where}: feature {feature} is not in categorical_features")
        return self.categories[feature]

    def number(self, described: Any, where: str) -> tuple[int, float, bool]:
        """Return the column of the numerical feature that an entry names, its border, and where NaN goes."""
        feature = take(described, "float_feature_index", int, where)
        if feature not in self.floats:
            raise ModelError(f"{where}: feature {feature} is not in float_features")
        column, nan_is_largest = self.floats[feature]
        return column, single(described.get("border"), f"{where}: border"), nan_is_largest


def single(number: Any, name: str) -> float:
    """Return a number rounded to float32, as CatBoost holds it."""
    with np.errstate(over="ignore"):
        return float(frozen_copy(name, [number], np.float64).astype(np.float32)[0])


def read_statistic(described: Any, data: dict[str, Any], places: ColumnPlaces, where: str) -> Statistic:
    """Read one entry of ``ctrs``, with its counts from ``ctr_data``."""
    kind = take(described, "ctr_type", str, where)
    tests = [_test(element, places, f"{where}, element {i}") for i, element in enumerate(_elements(described, where))]
    table = take(data, take(described, "identifier", str, where), dict, "ctr_data")
    keys, counts = _counts(table, where)
    target = take(described, "target_border_idx", int, where)
    counted, total, nothing = _shares(kind, counts, target, whole(table.get("counter_denominator", 0), where), where)
    prior = [single(described.get(f"prior_{part}"), f"{where}: prior") for part in ("numerator", "denomerator")]
    shift, scale = (single(described.get(name), f"{where}: {name}") for name in ("shift", "scale"))
    # CatBoost computes this in float32, step by step, and a border may be next to a result.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = (np.append(counted, 0).astype(np.float32) + np.float32(prior[0])) / (
            np.append(total, nothing).astype(np.float32) + np.float32(prior[1])
        )
        values = (share + np.float32(shift)) * np.float32(scale)
    if not np.isfinite(values).all():
        raise ModelError(f"{where}: a value of the statistic is not finite")
    order = np.argsort(keys)
    # The outcomes of numbers and of single categories come after all hashes of categories.
    tests.sort(key=lambda test: (test.border is not None) + 2 * (test.category is not None))
    return Statistic(kind, tuple(tests), keys[order], values[:-1][order], float(values[-1]))


def _elements(described: Any, where: str) -> Any:
    elements = take_list(described, "elements", where)
    if not len(elements):
        raise ModelError(f"{where}: 'elements' is empty")
    return elements


def _test(element: Any, places: ColumnPlaces, where: str) -> Test:
    match take(element, "combination_element", str, where):
        case "cat_feature_value":
            return Test(places.category(element, where))
        case "cat_feature_exact_value":
            value = take(element, "value", int, where) & 0xFFFFFFFF
            return Test(places.category(element, where), category=value)
        case "float_feature":
            return Test(*places.number(element, where))
        case other:
            raise UnsupportedModelError(f"{where} is a combination with {shown(other)}, which this version cannot read")


def _counts(table: dict[str, Any], where: str) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return the keys of a table of counts, and the counts of each key."""
    stride = whole(table.get("hash_stride"), f"{where}: hash_stride")
    cells = take_list(table, "hash_map", where)
    if stride < 2 or len(cells) % stride:
        raise ModelError(f"{where}: 'hash_map' has {len(cells)} entries, which are not rows of {stride}")
    keys = [whole(key, f"{where}: a key of 'hash_map'") for key in cells[::stride]]
    if not all(0 <= key < 2**64 for key in keys):
        raise ModelError(f"{where}: a key of 'hash_map' is not a 64-bit number")
    counts = np.array([frozen_copy(f"{where}: hash_map", cells[i::stride], np.float64) for i in range(1, stride)])
    known = np.array([key != _NO_KEY for key in keys], np.bool_)
    return np.array(keys, np.uint64)[known], counts.T[known]


def _shares(
    kind: str, counts: NDArray[np.float64], target: int, denominator: int, where: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return what a statistic counts per key, out of how many, and out of how many for an unknown key."""
    width = counts.shape[1]
    needed = {"BinarizedTargetMeanValue": 2, "FloatTargetMeanValue": 2, "Counter": 1, "FeatureFreq": 1}.get(kind, width)
    if width != needed:
        raise ModelError(f"{where}: a {kind} needs {needed} counts per key, not {width}")
    match kind:
        case "BinarizedTargetMeanValue" | "FloatTargetMeanValue":
            return counts[:, 0], counts[:, 1], 0
        case "Counter" | "FeatureFreq":
            return counts[:, 0], np.full(len(counts), float(denominator)), denominator
        case "Buckets" | "Borders" if not 0 <= target < width:
            raise ModelError(f"{where}: there is no target border {target}")
        case "Buckets":
            return counts[:, target], counts.sum(axis=1), 0
        case "Borders":
            return counts[:, target + 1 :].sum(axis=1), counts.sum(axis=1), 0
    raise UnsupportedModelError(f"{where} is a statistic of type {shown(kind)}, which this version cannot read")
