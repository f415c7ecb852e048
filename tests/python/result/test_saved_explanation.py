"""Explanations in files: everything comes back to the last bit, and other files are refused."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from arborshap import Explanation, InputError, ModelError, TreeExplainer

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
Y = FRAME["a"] + FRAME["b"] > 0
BINARY = TreeExplainer(XGBClassifier(n_estimators=3, n_jobs=1).fit(FRAME, Y), FRAME)
CLASSES = TreeExplainer(RandomForestClassifier(3, max_depth=3, random_state=0).fit(FRAME, Y), FRAME)


def texts() -> Explanation:
    frame = FRAME.assign(town=np.where(Y, "Bern", "Chur"), when=pd.Timestamp("2026-01-02"))
    frame.loc[3, "town"] = None
    encoded = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    only = frame[["a", "town"]]
    model = make_pipeline(encoded, RandomForestClassifier(2, random_state=0)).fit(only, Y)
    return TreeExplainer(model, only)(only)


def cases() -> dict[str, Explanation]:
    labelled = FRAME.set_axis([f"row {i}" for i in range(30)])
    return {
        "log-odds": BINARY(FRAME),
        "classes": CLASSES(FRAME),
        "pairs": BINARY(FRAME, index="taylor"),
        "a row": CLASSES(FRAME)[4],
        "a column": BINARY(FRAME)[:, "b"],
        "sizes": BINARY(FRAME).abs,
        "labels": BINARY(labelled),
        "texts": texts(),
        "groups": TreeExplainer(CLASSES.model, FRAME, groups={"both": ["a", "b"]})(FRAME),
        "a contrast": BINARY.contrast(FRAME[:10], FRAME[10:]),
        "no rows": BINARY(FRAME[:0]),
    }


@pytest.mark.parametrize("name", cases())
def test_everything_comes_back(name: str, tmp_path: Path) -> None:
    explanation = cases()[name]
    explanation.save(tmp_path / "e.npz")
    loaded = Explanation.load(tmp_path / "e.npz")
    for array in ("values", "base_values", "data", "reference", "row_labels", "standard_error"):
        ours, theirs = getattr(explanation, array), getattr(loaded, array)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            pd.testing.assert_frame_equal(
                pd.DataFrame(np.ravel(theirs)), pd.DataFrame(np.ravel(ours)), check_exact=True
            )
            assert np.shape(theirs) == np.shape(ours)
            assert np.asarray(theirs).dtype == np.asarray(ours).dtype
    for field in ("feature_names", "data_names", "data_players", "output_names", "index", "model_output", "axes"):
        assert getattr(loaded, field) == getattr(explanation, field)
    assert (loaded.unit, loaded.adds_up, repr(loaded)) == (explanation.unit, explanation.adds_up, repr(explanation))
    assert loaded.provenance is None


def test_it_is_used_like_any_other(tmp_path: Path) -> None:
    explanation = BINARY(FRAME)
    explanation.save(tmp_path / "e.npz")
    loaded = Explanation.load(tmp_path / "e.npz")
    np.testing.assert_array_equal(loaded.predictions, explanation.predictions)
    np.testing.assert_array_equal(loaded[3:5, "a"].values, explanation[3:5, "a"].values)
    pd.testing.assert_frame_equal(loaded.to_frame(), explanation.to_frame().reset_index(drop=True))
    assert loaded.plot.waterfall is not None
    assert loaded.report(tmp_path / "page.html").exists()


def damaged() -> dict[str, bytes]:
    good = io.BytesIO()
    np.savez(good, something=np.ones(3))
    strange = io.BytesIO()
    np.savez(strange, about=np.frombuffer(b'{"format": "a list of tunes"}', np.uint8))
    newer = io.BytesIO()
    np.savez(newer, about=np.frombuffer(b'{"format": "arborshap explanation", "version": 99}', np.uint8))
    return {
        "empty": b"",
        "a pickle": pickle.dumps([1]),
        "another archive": good.getvalue(),
        "strange": strange.getvalue(),
        "newer": newer.getvalue(),
        "cut": good.getvalue()[:50],
    }


@pytest.mark.parametrize("name", damaged())
def test_other_files_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "e.npz").write_bytes(damaged()[name])
    with pytest.raises(ModelError, match=r"e\.npz is not an explanation that Explanation.save wrote, or it is damaged"):
        Explanation.load(tmp_path / "e.npz")


def test_a_byte_that_changed_is_noticed(tmp_path: Path) -> None:
    """Every byte in turn: the values come back, or a message does. Some bytes, such as dates, have no effect."""
    explanation = BINARY(FRAME[:3])
    path = tmp_path / "e.npz"
    explanation.save(path)
    whole = path.read_bytes()
    n_refused = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            np.testing.assert_array_equal(Explanation.load(path).values, explanation.values)
        except ModelError:
            n_refused += 1
    assert n_refused > len(whole) // 2


def test_names_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    explanation: Any = BINARY(FRAME)
    explanation.values = explanation.values[:, :2]
    explanation.save(tmp_path / "e.npz")
    with pytest.raises(ModelError, match=r"its values of shape \(30, 2\) do not fit its names"):
        Explanation.load(tmp_path / "e.npz")


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.npz cannot be read"):
        Explanation.load(tmp_path / "none.npz")
    explanation = BINARY(FRAME)
    explanation.data = np.full(explanation.values.shape, object(), dtype=object)
    with pytest.raises(InputError, match="data has a cell of type object"):
        explanation.save(tmp_path / "e.npz")
    assert not (tmp_path / "e.npz").exists()


def test_a_path_is_text_or_a_path() -> None:
    explanation = BINARY(FRAME)
    calls: list[Any] = [explanation.save, Explanation.load, explanation.report, BINARY.save, TreeExplainer.load]
    for call in calls:
        for path in (None, 3, b"e.npz"):
            with pytest.raises(InputError, match=r"path must be the path of a file, as text or a pathlib\.Path; got"):
                call(path)
