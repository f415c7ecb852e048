"""The columns of a CatBoost export, and the features that its trees split on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.forest import frozen_copy
from arborshap.models.catboost.recoding import CatBoostRecoding
from arborshap.models.catboost.statistics import ColumnPlaces, Statistic, read_statistic, single
from arborshap.models.documents import shown, take, take_list

_NAN_IS_LARGEST = {"AsTrue": True, "AsFalse": False, "AsIs": False}


@dataclass(frozen=True, slots=True)
class Split:
    """One split: whether a feature is above a border, or has the code of one category.

    Attributes
    ----------
    feature
        The feature of the trees.
    border
        The border; ignored for a category.
    nan_is_largest
        Whether a missing value counts as above the border.
    category
        The code of the category; ``None`` for a border.
    """

    feature: int
    border: float
    nan_is_largest: bool = False
    category: int | None = None


def refused(kind: str) -> UnsupportedModelError:
    """Return the error for a model with text or embedding features."""
    return UnsupportedModelError(
        f"the model was trained with {kind}, whose splits test what CatBoost computes from a whole text or vector, and "
        "this cannot be read; train without them, or turn them into columns of numbers before training"
    )


class Features:
    """The columns of a model, and the features that its trees split on: the columns, and then the statistics."""

    def __init__(self, document: dict[str, Any], described: dict[str, Any]) -> None:
        found: dict[int, str] = {}
        self.places = ColumnPlaces({}, {})
        self.named: dict[int, list[int]] = {}
        for kind in ("float_features", "categorical_features", "text_features", "embedding_features"):
            for i, feature in enumerate(take_list(described, kind, "features_info") if kind in described else []):
                where = f"{kind}, entry {i}"
                if kind in ("text_features", "embedding_features"):
                    raise refused(kind)
                column = take(feature, "flat_feature_index", int, where)
                if column in found:
                    raise ModelError(f"{where}: column {column} is described twice")
                name = feature.get("feature_id", "")
                found[column] = name if isinstance(name, str) and name != str(column) else ""
                self._place(kind, feature, column, where)
        if sorted(found) != list(range(len(found))):
            raise ModelError("features_info must describe every column exactly once")
        self.names = [found[column] for column in range(len(found))]
        # Splits are numbered: borders of numbers, then categories, then borders of statistics.
        self._splits: list[tuple[int, float]] = []
        self._n_others = sum(
            len(take_list(feature, key, kind))
            for kind, key in (("float_features", "borders"), ("categorical_features", "values"))
            for feature in described.get(kind, [])
            if key in feature
        )
        data = document.get("ctr_data", {})
        entries = take_list(described, "ctrs", "features_info") if "ctrs" in described else []
        self.statistics: list[Statistic] = []
        self._described: list[str] = []
        for i, entry in enumerate(entries):
            where = f"ctrs, entry {i}"
            self.statistics.append(read_statistic(entry, data, self.places, where))
            self._described.append(repr(sorted((key, str(entry[key])) for key in entry if key != "borders")))
            borders = frozen_copy(f"{where}: borders", take_list(entry, "borders", where), np.float64)
            self._splits += [(len(self.names) + i, border) for border in borders.tolist()]

    def _place(self, kind: str, feature: Any, column: int, where: str) -> None:
        index = take(feature, "feature_index", int, where)
        if kind == "categorical_features":
            self.places.categories[index] = column
            values = take_list(feature, "values", where) if "values" in feature else []
            hashes = frozen_copy(f"{where}: values", values, np.int64)
            self.named[column] = [value & 0xFFFFFFFF for value in hashes.tolist()]
            return
        treatment = take(feature, "nan_value_treatment", str, where)
        if treatment not in _NAN_IS_LARGEST:
            raise ModelError(f"{where}: its nan_value_treatment {treatment!r} is unknown")
        self.places.floats[index] = column, _NAN_IS_LARGEST[treatment]

    @property
    def n_features(self) -> int:
        """Number of features of the trees."""
        return len(self.names) + len(self.statistics) + len(self.hashed)

    @property
    def has_target_statistics(self) -> bool:
        """Whether some statistic is one of the targets, and not of how often a category occurs."""
        return any(statistic.kind not in ("Counter", "FeatureFreq") for statistic in self.statistics)

    @property
    def is_ambiguous(self) -> bool:
        """Whether two statistics differ in nothing but their target, which the export does not name."""
        return len(set(self._described)) < len(self._described)

    @property
    def hashed(self) -> tuple[int, ...]:
        """The columns of categories that share a statistic with other columns."""
        combined = {column for one in self.statistics if len(one.columns) > 1 for column in one.columns}
        return tuple(sorted(combined & self.named.keys()))

    def recoding(self) -> CatBoostRecoding | None:
        """Return how rows are recoded; ``None`` if all columns are numbers."""
        if not self.named:
            return None
        return CatBoostRecoding(
            tuple(self.names) if any(self.names) else None,
            tuple(tuple(self.named[j]) if j in self.named else None for j in range(len(self.names))),
            tuple(self.statistics),
            self.hashed,
        )

    def split(self, split: Any, where: str) -> Split:
        """Read one split."""
        match take(split, "split_type", str, where):
            case "FloatFeature":
                return Split(*self.places.number(split, where))
            case "OneHotFeature":
                column = self.places.category(split, where)
                value = take(split, "value", int, where) & 0xFFFFFFFF
                if value not in self.named[column]:
                    raise ModelError(f"{where}: the category {value} is not among the values of its feature")
                return Split(column, 0.0, category=self.named[column].index(value))
            case "OnlineCtr":
                at = take(split, "split_index", int, where) - self._n_others
                feature, border = self._splits[at] if 0 <= at < len(self._splits) else (0, None)
                if border is None or border != split.get("border"):
                    raise ModelError(f"{where}: its split_index is not that of a border of a statistic in 'ctrs'")
                return Split(feature, single(border, where))
            case other:
                raise UnsupportedModelError(
                    f"{where} is a split of type {shown(other)}, which cannot be read; train without text and "
                    "embedding features"
                )
