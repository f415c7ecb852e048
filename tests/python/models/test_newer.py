"""Models as newer libraries save them, for machines whose own libraries do not (scripts/write_newer_models.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arborshap.models import load
from arborshap.models._json import parse_json
from arborshap.models._ubjson import parse_ubjson

FOLDER = Path(__file__).parent / "newer"
RECORDED = json.loads((FOLDER / "recorded.json").read_text())


@pytest.mark.parametrize("name", RECORDED["margins"])
def test_margins_are_those_recorded(name: str) -> None:
    model = load(FOLDER / name)
    rows = np.array(RECORDED["rows"], np.float64)
    expected = np.array(RECORDED["margins"][name])
    np.testing.assert_allclose(model.forest.margin(rows), expected, rtol=0, atol=2e-5 * np.abs(expected).max())
    assert (model.forest.flags & 32).any(), "a split must be by category"


@pytest.mark.parametrize("name", RECORDED["margins"])
def test_the_layout_is_the_newer_one(name: str) -> None:
    content = (FOLDER / name).read_bytes()
    document = parse_json(content, name) if name.endswith(".json") else parse_ubjson(content, name)
    booster = document["learner"]["gradient_booster"]
    assert booster["name"] == "gbtree"
    assert min(booster["model"]["weight_drop"]) < 1.0


def test_every_file_is_read() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"recorded.json", *RECORDED["margins"]}
