"""Recodings of rows made again from what a saved explainer tells of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.models.cut_names import may_be_cut
from arborshap.models.joined import JoinedRecoding, View
from arborshap.models.recoding import BY_NAME, Category, LightGBMRecoding, OrdinalRecoding, XGBoostRecoding

# Recodings in the rooms of their libraries, which are imported only for models of theirs.
_OWN = {
    "categories of CatBoost": ("arborshap.models.catboost.recoding", "CatBoostRecoding"),
    "texts of categories": ("arborshap.models.vocabulary", "VocabularyRecoding"),
    "steps of a pipeline": ("arborshap.models.wrappers.piped", "ReplayedRecoding"),
}


def from_description(described: Any, n_features: int) -> Callable[[Any], NDArray[np.float64]] | None:
    """Make a recoding from its description, which may have been tampered with."""
    if described is None:
        return None
    fields = dict(described) if isinstance(described, dict) else {}
    called = str(fields.pop("kind", None))
    if called in _OWN:
        module, name = _OWN[called]
        made: Callable[[Any], NDArray[np.float64]] = getattr(import_module(module), name).from_description(
            fields, n_features
        )
        return made
    if called == JoinedRecoding.kind:
        return _joined(fields, n_features)
    kind = BY_NAME.get(called)
    lists = fields.get("categories")
    if kind is None or not isinstance(lists, list):
        raise ModelError("this version does not know the saved recoding of rows")
    for known in lists:
        listed = isinstance(known, list) and all(isinstance(category, Category) for category in known)
        if not listed and (known is not None or kind is LightGBMRecoding):
            raise ModelError("the saved recoding of rows has categories that are not lists of strings and numbers")
    if kind is XGBoostRecoding and len(lists) == n_features and isinstance(fields.get("missing"), float):
        unsure = fields.get("unsure", [])
        cut = [j for j, known in enumerate(lists) if may_be_cut(known or ())]
        if isinstance(unsure, list) and all(j in cut for j in unsure):
            return XGBoostRecoding(lists, fields["missing"], unsure)
    columns = fields.get("category_columns")
    is_listed = isinstance(columns, list) and all(isinstance(j, int) and 0 <= j < n_features for j in columns)
    if kind is LightGBMRecoding and fields.get("n_features") == n_features and is_listed:
        return LightGBMRecoding(n_features, lists, fields["category_columns"])
    if kind is OrdinalRecoding and len(lists) == n_features:
        return OrdinalRecoding(lists)
    raise ModelError("the saved recoding of rows does not fit the model's columns")


def _joined(fields: dict[str, Any], n_features: int) -> JoinedRecoding:
    """Make the recodings of all members of a composition."""
    try:
        width, names = int(fields["n_columns"]), fields["column_names"]
        views = []
        for one in fields["views"]:
            columns = tuple(int(column) for column in one["columns"])
            sources = tuple(frozenset(map(int, columns)) for columns in one["sources"])
            encode = from_description(one["recoding"], len(sources))
            views.append(View(encode, columns, sources, str(one["library"]), one["takes_missing"] is True))
        recoding = JoinedRecoding(tuple(views), width, None if names is None else tuple(map(str, names)))
        used = [j for view in views for one in (view.columns, *view.sources) for j in one]
        fits = len(recoding.sources) == n_features and all(0 <= j < width for j in used)
        fits = fits and (names is None or len(names) == width)
        fits = fits and all(_makes(view) for view in views)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ModelError):
            raise
        fits = False
    if not fits:
        raise ModelError("the saved recodings of members do not fit the model's columns")
    return recoding


def _makes(view: View) -> bool:
    """Whether a view takes its columns, and makes as many features as it says."""
    own = getattr(view.encode, "sources", None)
    if own is None:
        return len(view.sources) == len(view.columns)
    return int(getattr(view.encode, "n_columns", -1)) == len(view.columns) and len(own) == len(view.sources)
