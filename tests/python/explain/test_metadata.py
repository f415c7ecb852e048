"""Notes of the user's own, which a saved explainer keeps, and the fingerprint of a model."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from arborshap import InputError, TreeExplainer
from arborshap.cli import main

X = np.random.default_rng(0).normal(size=(40, 3))


def explainer(column: int = 0) -> TreeExplainer:
    return TreeExplainer(DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, X[:, column]), X)


def test_notes_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = explainer()
    assert ours.metadata == {}
    ours.metadata = {"version": "7.1", "tags": ["credit", "eu"], "rows": 40}
    assert ours.with_settings(n_jobs=1).metadata == ours.metadata
    ours.save(tmp_path / "saved")
    for again in (TreeExplainer.load(tmp_path / "saved"), pickle.loads(pickle.dumps(ours))):
        assert again.metadata == {"version": "7.1", "tags": ["credit", "eu"], "rows": 40}
        assert again.model_id == ours.model_id
    assert main(["inspect", str(tmp_path / "saved")]) == 0
    printed = capsys.readouterr().out
    assert "version         7.1" in printed
    assert ours.model_id in printed
    assert main(["inspect", str(tmp_path / "saved"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metadata"] == ours.metadata


@pytest.mark.parametrize("notes", [None, "text", {1: "one"}, {"now": object()}, {"gap": float("nan")}])
def test_what_json_cannot_hold_is_refused(notes: Any) -> None:
    with pytest.raises(InputError, match="metadata must be"):
        explainer().metadata = notes


def test_the_fingerprint_tells_models_apart() -> None:
    assert explainer(0).model_id == explainer(0).model_id
    assert explainer(0).model_id != explainer(1).model_id
    assert len(explainer().model_id) == 16
