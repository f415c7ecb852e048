"""Models as other versions of the libraries save them (scripts/write_saved_models.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arborshap.exceptions import UnsupportedModelError
from arborshap.models import load
from arborshap.models.json import parse_json
from arborshap.models.ubjson import parse_ubjson

FOLDER = Path(__file__).parent / "saved"
RECORDED = json.loads((FOLDER / "recorded.json").read_text())


@pytest.mark.parametrize("name", RECORDED)
def test_margins_are_those_recorded(name: str) -> None:
    model = load(FOLDER / name)
    rows = np.array(RECORDED[name]["rows"], np.float64)
    expected = np.array(RECORDED[name]["margins"])
    size = np.abs(expected).max()
    np.testing.assert_allclose(model.forest.margin(rows), expected, rtol=0, atol=model.tolerance * size)
    assert (model.forest.flags & 32).any(), "a split must be by category"


@pytest.mark.parametrize("name", [name for name in RECORDED if name.startswith("dart")])
def test_newer_dart_models_have_their_weights_among_the_trees(name: str) -> None:
    content = (FOLDER / name).read_bytes()
    document = parse_json(content, name) if name.endswith(".json") else parse_ubjson(content, name)
    booster = document["learner"]["gradient_booster"]
    assert booster["name"] == "gbtree"
    assert min(booster["model"]["weight_drop"]) < 1.0


@pytest.mark.parametrize(("major", "version"), [(2, "v2"), (3, "v3")])
def test_older_texts_say_so(major: int, version: str) -> None:
    assert f"\nversion={version}\n" in (FOLDER / f"lightgbm-{major}.txt").read_text()


@pytest.mark.parametrize("version", ["version=v5\n", "version=\n", ""])
def test_a_text_of_an_unknown_version_is_refused(version: str, tmp_path: Path) -> None:
    text = (FOLDER / "lightgbm-3.txt").read_text().replace("version=v3\n", version)
    (tmp_path / "model.txt").write_text(text)
    with pytest.raises(
        UnsupportedModelError, match=r"version .*only v2, v3, v4 are known; load the model into LightGBM"
    ):
        load(tmp_path / "model.txt")


def test_every_file_is_read() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"recorded.json", *RECORDED}
