"""Linear functions in the leaves of LightGBM's trees."""

from __future__ import annotations

import numpy as np

from arborshap.exceptions import ModelError
from arborshap.forest.forest import Forest
from arborshap.forest.linear import LinearForest
from arborshap.models.documents import whole
from arborshap.models.lightgbm.fields import field, numbers


def is_linear(fields: dict[str, str]) -> bool:
    """Whether the leaves of a tree hold linear functions; a tree of a single leaf has none."""
    return fields.get("is_linear", "0") != "0" and "leaf_const" in fields


def with_slopes(forest: Forest, blocks: list[dict[str, str]], averaged: int) -> Forest:
    """Return the same forest with linear functions in its leaves, if the model text has such."""
    found = []
    for t, fields in enumerate(blocks):
        if not is_linear(fields):
            continue
        where = f"tree {t}"
        leaves = whole(field(fields, "num_leaves", where), f"{where}: num_leaves")
        counts = numbers(fields, "num_features", where, np.int32, leaves)
        if (counts < 0).any():
            raise ModelError(f"{where}: num_features has a negative entry")
        columns = numbers(fields, "leaf_features", where, np.int32, int(counts.sum()))
        slopes = numbers(fields, "leaf_coeff", where, np.float64, int(counts.sum())) / averaged
        nodes = int(forest.tree_offsets[t]) + leaves - 1 + np.repeat(np.arange(leaves), counts)
        found.append((columns, nodes, slopes))
    entries = [np.concatenate(arrays) for arrays in zip(*found, strict=True)]
    return LinearForest.of(forest, *entries) if entries and len(entries[0]) else forest
