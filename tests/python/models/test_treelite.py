"""treelite in detail: links, and dumps that are not what they should be, since treelite itself checks little."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.models import load
from arborshap.models.treelite import read_document
from support.models import xgboost_cases
from support.models.case import columns_of, data, predicted
from support.models.treelite_cases import CASES

treelite = pytest.importorskip("treelite")


@pytest.mark.parametrize(
    ("objective", "target", "link"),
    [
        ("reg:squarederror", "y", "identity"),
        ("binary:logistic", "binary", "logistic"),
        ("count:poisson", "positive", "log"),
        ("multi:softprob", "classes", "softmax"),
    ],
)
def test_links(objective: str, target: str, link: str) -> None:
    parameters = {"objective": objective} | ({"num_class": 3} if target == "classes" else {})
    model = treelite.frontend.from_xgboost(xgboost_cases.train(target, parameters))
    loaded = load(model)
    assert loaded.link.name == link
    theirs = columns_of(treelite.gtil.predict(model, data().rows.astype(np.float32)))
    np.testing.assert_allclose(predicted(link, loaded.forest.margin(data().rows)), theirs, rtol=1e-4)


def _tree(document: dict[str, Any]) -> Any:
    return document["trees"][0]["nodes"]


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], object], type[ModelError], str]] = {
    "a cycle": (lambda d: _tree(d)[0].update(left_child=0), ModelError, "tree 0, node 0: .*reached twice"),
    "a child out of range": (lambda d: _tree(d)[0].update(left_child=99), ModelError, "tree 0, node 0: its left child"),
    "a leaf of text": (lambda d: _tree(d)[1].update(leaf_value="x"), ModelError, "tree 0"),
    "a leaf of two": (lambda d: _tree(d)[1].update(leaf_value=[1, 2]), ModelError, "tree 0, node 1: its leaf has 2"),
    "nodes out of place": (lambda d: _tree(d).reverse(), ModelError, "tree 0: node 2 is at position 0"),
    "another comparison": (lambda d: _tree(d)[0].update(comparison_op="=="), UnsupportedModelError, "compare by <, =="),
    "two comparisons": (lambda d: _tree(d)[0].update(comparison_op="<="), UnsupportedModelError, "compare by <, <="),
    "an output that is not there": (lambda d: d["class_id"].__setitem__(0, 5), ModelError, "class 5 of target 0"),
    "too few outputs": (lambda d: d["target_id"].pop(), ModelError, "one entry for each of 2 trees"),
    "many classes": (lambda d: d.update(num_class=[2**31 - 1]), ModelError, "base scores, but it has 1"),
    "no classes": (lambda d: d.update(num_class=[]), ModelError, "base scores, but it has 1"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_dump(name: str) -> None:
    edit, error, message = HOSTILE[name]
    model = next(case for case in CASES if case.name == "treelite-less").build().model
    document = json.loads(model.dump_as_json())
    assert read_document(document, "float64").n_trees == 2
    edit(document)
    with pytest.raises(error, match=message):
        read_document(document, "float64")
