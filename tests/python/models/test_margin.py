"""The trees as read predict what the library predicts: on ordinary rows, with gaps, and around every threshold."""

from __future__ import annotations

import re

import numpy as np
import pytest

from arborshap.models import load, supported_models
from support.models.case import edge_rows
from support.models.cases import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_margin_is_the_library_own(case: Case) -> None:
    built = case.build()
    model = load(built.model)
    assert model.forest.n_nodes > model.forest.n_trees, "a case must have splits to say anything"
    rows = np.vstack([built.X, edge_rows(model.forest, built.X)])
    expected = built.raw_predict(rows)
    size = np.abs(expected).max()
    seen = rows if model.encode is None else model.encode(rows)

    ours = model.forest.margin(seen)

    np.testing.assert_allclose(ours, expected, rtol=0, atol=case.tolerance * size)
    assert model.tolerance == case.tolerance
    if model.raw_predict is not None:
        given = rows if model.predicts_given_rows else seen
        np.testing.assert_allclose(model.raw_predict(given), expected, rtol=0, atol=1e-12 * size)
        assert re.match(r"[a-z-]+ \d+\.\d+", model.library), "a live model's library has a version"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cover_falls_from_parent_to_children(case: Case) -> None:
    forest = load(case.build().model).forest
    if forest.cover is None:
        pytest.skip("this kind of model does not say how much training weight reached its nodes")
    for tree in range(forest.n_trees):
        start, end = forest.tree_offsets[tree : tree + 2]
        left, right, cover = forest.left[start:end], forest.right[start:end], forest.cover[start:end]
        inner = left != -1
        np.testing.assert_allclose(cover[left[inner]] + cover[right[inner]], cover[inner], rtol=1e-4)


def test_what_is_listed_as_supported_is_what_the_cases_prove() -> None:
    proved: dict[str, set[str]] = {"arborshap": {"Forest"}}
    for case in CASES:
        proved.setdefault(case.library, set()).add(case.kind)
    assert {library: set(kinds) for library, kinds in supported_models().items()} == proved


def test_case_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
