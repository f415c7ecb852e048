"""Explainers saved, loaded and pickled: the same to the last bit, without the model's library, or refused by name."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from arborshap import ArborshapError, Forest, InputError, ModelError, TreeExplainer
from arborshap.explain.settings import Settings
from support.models.case import data
from support.models.cases import CASES, LINEAR, Case
from support.oracle import ENGINES, INDICES
from support.patience import HANG
from support.saved_files import parts_of, sealed, with_text
from support.trained import built

pytestmark = pytest.mark.filterwarnings("ignore:An XGBoost dump holds only the trees")

Array = NDArray[np.float64]


def loaded(explainer: TreeExplainer) -> TreeExplainer:
    return TreeExplainer.from_bytes(explainer.to_bytes())


def assert_same(again: TreeExplainer, explainer: TreeExplainer, rows: Any) -> None:
    """Fail unless both are alike in everything, and give the same bits in every index."""
    assert vars(again).keys() == vars(explainer).keys()
    assert repr(again) == repr(explainer)
    ours, theirs = again.forest, explainer.forest
    assert (ours.feature_names, ours.output_names) == (theirs.feature_names, theirs.output_names)
    assert (again.feature_names, again.output_names) == (explainer.feature_names, explainer.output_names)
    np.testing.assert_array_equal(again.expected_value, explainer.expected_value)
    for index in INDICES:
        got, want = again(rows, index=index), explainer(rows, index=index)  # type: ignore[arg-type]
        np.testing.assert_array_equal(got.values, want.values, err_msg=index)
        np.testing.assert_array_equal(got.base_values, want.base_values)
        assert got.data_names == want.data_names
        assert list(got.feature_names) == list(want.feature_names)


@pytest.mark.parametrize("case", [*CASES, *LINEAR], ids=lambda case: case.name)
def test_every_kind_of_model_in_every_engine(case: Case) -> None:
    model, X = built(case).model, built(case).X
    for engine in ENGINES:
        explainer = TreeExplainer(model, X[5:20], engine=engine, verify=False)
        again = loaded(explainer)
        assert_same(again, explainer, X[:3])
        np.testing.assert_array_equal(again.pair_values(X[:2]), explainer.pair_values(X[:2]))
        np.testing.assert_array_equal(again.contrast(X[0], X[1]).values, explainer.contrast(X[0], X[1]).values)


COVERED = (
    "xgboost-multiclass",
    "xgboost-dart",
    "sklearn-forest-classifier",
    "sklearn-isolation",
    "lightgbm-categorical",
)


@pytest.mark.parametrize("case", [case for case in CASES if case.name in COVERED], ids=lambda case: case.name)
def test_without_a_background(case: Case) -> None:
    model, X = built(case).model, built(case).X
    for engine in ENGINES:
        explainer = TreeExplainer(model, engine=engine)
        explainer.shap_values(X[:1])  # verified now, as a loaded one no longer can be
        assert_same(loaded(explainer), explainer, X[:3])


def forest_model() -> Any:
    return GradientBoostingRegressor(n_estimators=8, max_depth=3, random_state=0).fit(data(gaps=False).X, data().y)


def test_weights_groups_and_names() -> None:
    X = data(gaps=False).rows
    weights = np.linspace(0.0, 3.0, len(X))
    groups = {"pair": [0, 3]}
    explainer = TreeExplainer(
        forest_model(), X, groups=groups, sample_weight=weights, feature_names=list("abcde"), memory_limit=10**8
    )
    explainer.feature_names = ["both", "second", "third", "größte"]
    again = loaded(explainer)
    assert again.feature_names == ["both", "second", "third", "größte"]
    assert again.state.settings.memory_limit is None, "the limit is of the machine, not of the explainer"
    again = again.with_settings(memory_limit=10**8)
    assert_same(again, explainer, X[:4])
    frame = pd.DataFrame(X, columns=list("abcde"))
    np.testing.assert_array_equal(again.shap_values(frame[list("edcba")]), explainer.shap_values(X))
    with pytest.raises(InputError, match="has no column 'e'"):
        again.shap_values(frame[list("abcd")])
    with pytest.raises(InputError, match="row 2 of column 'b' is missing"):
        again.shap_values(frame.replace({"b": {frame["b"][2]: np.nan}}))


@pytest.mark.parametrize("output", ["probability", "log_loss"])
def test_probabilities_and_losses(output: Any) -> None:
    xgboost = pytest.importorskip("xgboost")
    given = data()
    labels = np.array(["low", "middle", "high"])[given.classes]
    from sklearn.ensemble import GradientBoostingClassifier

    for model, y in (
        (xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(given.X, given.binary), given.binary),
        (GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(data(gaps=False).X, labels), labels),
    ):
        X = data(gaps=False).X
        explainer = TreeExplainer(model, X[:20], model_output=output, sample_weight=np.arange(1.0, 21.0))
        again = loaded(explainer)
        for one in (again, pickle.loads(pickle.dumps(explainer))):
            got, want = (e(X[:5], y[:5] if output == "log_loss" else None) for e in (one, explainer))
            np.testing.assert_array_equal(got.values, want.values)
            np.testing.assert_array_equal(got.base_values, want.base_values)
            assert got.output_names == want.output_names


def category_frame(n: int = 120) -> tuple[Any, Array]:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue", "grey"], n)),
            "size": rng.normal(size=n),
            "grade": pd.Categorical([f"grade {grade}" for grade in rng.integers(3, 9, n)]),
        }
    )
    y = (frame["colour"] == "red") * 2.0 + frame["size"] * (frame["grade"].astype(str) > "grade 5")
    frame.loc[::17, "colour"] = None
    return frame, y.to_numpy()


def category_models() -> list[Any]:
    import lightgbm
    import xgboost

    return [
        xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1, enable_categorical=True, max_cat_to_onehot=1),
        lightgbm.LGBMRegressor(
            n_estimators=5, min_child_samples=3, min_data_per_group=3, cat_smooth=1.0, n_jobs=1, verbose=-1
        ),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3, categorical_features="from_dtype"),
    ]


@pytest.mark.parametrize("model", category_models(), ids=lambda model: type(model).__name__)
def test_categories_of_frames_are_recoded_without_the_library(model: Any) -> None:
    import polars
    import pyarrow

    frame, y = category_frame()
    explainer = TreeExplainer(model.fit(frame, y), frame)
    again = loaded(explainer)
    assert (explainer.forest.flags & 32).any(), "the trees must split on categories"
    assert_same(again, explainer, frame[:7])
    for rows in (frame[list(frame.columns[::-1])], polars.from_pandas(frame), pyarrow.Table.from_pandas(frame)):
        np.testing.assert_array_equal(again.shap_values(rows), explainer.shap_values(frame))
    unseen = frame.copy()
    unseen["colour"] = unseen["colour"].cat.add_categories(["new"])
    unseen.loc[3:9, "colour"] = "new"
    results: list[Any] = []
    for one in (again, explainer):
        try:
            results.append(one.shap_values(unseen))
        except InputError as error:
            results.append(str(error))
    np.testing.assert_array_equal(results[0], results[1])


def test_numbers_and_text_as_categories_of_a_matrix_or_plain_columns() -> None:
    """HistGradientBoosting takes categories in any column; what it does with them is done without it."""
    given = data()
    X = given.X.copy()
    X[:, 3] = X[:, 3] / 2 - 3
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features=[3, 2]).fit(X, given.y)
    explainer = TreeExplainer(model, X[:50])
    rows = X[:20].copy()
    rows[:, 3] = [99, -99, 0.25, -0.25, np.nan] * 4
    np.testing.assert_array_equal(loaded(explainer).shap_values(rows), explainer.shap_values(rows))
    for one in (explainer, loaded(explainer)):
        rows[0, 3] = np.inf
        with pytest.raises(InputError):
            one.shap_values(rows)

    frame, y = category_frame()
    text = frame.assign(colour=frame["colour"].astype(object).where(frame["colour"].notna(), None))[["colour", "size"]]
    model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3, categorical_features=["colour"]).fit(text, y)
    explainer = TreeExplainer(model, text)
    np.testing.assert_array_equal(loaded(explainer).shap_values(text), explainer.shap_values(text))
    for one in (explainer, loaded(explainer)):
        with pytest.raises(InputError, match="categories that are not numbers; give a frame"):
            one.shap_values(np.zeros((2, 2)))


def test_a_marker_for_missing_values() -> None:
    xgboost = pytest.importorskip("xgboost")
    X = np.where(np.isnan(data().X), -1.0, data().X)
    model = xgboost.XGBRegressor(n_estimators=4, max_depth=3, missing=-1.0, n_jobs=1).fit(X, data().y)
    explainer = TreeExplainer(model, X[:30])
    assert_same(loaded(explainer), explainer, X[:5])


def pipeline_explainer() -> tuple[TreeExplainer, Any]:
    frame, y = category_frame()
    frame = frame[["colour", "size"]].assign(colour=frame["colour"].astype(str))
    steps = ColumnTransformer([("hot", OneHotEncoder(), ["colour"])], remainder="passthrough")
    model = make_pipeline(steps, GradientBoostingRegressor(n_estimators=5, random_state=0)).fit(frame, y)
    return TreeExplainer(model, frame), frame


def test_a_pipeline_is_pickled_with_its_steps() -> None:
    explainer, frame = pipeline_explainer()
    again = pickle.loads(pickle.dumps(explainer))
    assert_same(again, explainer, frame[:5])
    inner = next(part for part in pickle.loads(pickle.dumps(explainer)).__reduce__()[1] if isinstance(part, bytes))
    with pytest.raises(ModelError, match="belong to a pickled explainer of a Pipeline"):
        TreeExplainer.from_bytes(inner)


class Mine(TreeExplainer):
    """An explainer of the user's own."""


def test_pickle_copy_joblib_and_cloudpickle() -> None:
    X = data(gaps=False).rows
    explainer = Mine(forest_model(), X, n_jobs=1, memory_limit=10**9, engine="sparse")
    buffer = io.BytesIO()
    joblib.dump(explainer, buffer)
    buffer.seek(0)
    again = [copy.copy(explainer), copy.deepcopy(explainer), joblib.load(buffer)]
    again += [pickle.loads(pickle.dumps(explainer, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    cloudpickle = pytest.importorskip("cloudpickle")
    again.append(cloudpickle.loads(cloudpickle.dumps(explainer)))
    for one in again:
        assert type(one) is Mine
        assert one.state.settings == Settings("sparse", 1, 10**9, 1)
        assert_same(one, explainer, X[:2])


def test_a_recoding_of_the_user_s_own_is_pickled_but_not_saved() -> None:
    from arborshap.models import Model, load

    model = load(forest_model())
    own = Model(forest=model.forest, library="mine", encode=np.abs)
    explainer = TreeExplainer(own, data(gaps=False).rows)
    with pytest.raises(InputError, match="recodes its rows with a custom function"):
        explainer.to_bytes()
    assert_same(pickle.loads(pickle.dumps(explainer)), explainer, data(gaps=False).rows[:3])


def test_many_workers_explain_with_one_pickled_explainer() -> None:
    X = data(gaps=False).rows
    explainer = TreeExplainer(forest_model(), X, n_jobs=1)
    parts = joblib.Parallel(n_jobs=2)(joblib.delayed(explainer.shap_values)(X[i::4]) for i in range(4))
    for i, part in enumerate(parts):
        np.testing.assert_array_equal(part, explainer.shap_values(X[i::4]))


NOTHING_BUT_NUMPY = """
    import sys

    class Blocked:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {"xgboost", "sklearn", "lightgbm", "catboost", "pandas", "scipy", "pyarrow"}:
                raise ImportError(f"{name} is not to be had")

    sys.meta_path.insert(0, Blocked())
    import numpy as np
    from arborshap import TreeExplainer

    explainer = TreeExplainer.load("explainer")
    np.save("values.npy", explainer.taylor_values(np.load("rows.npy")))
"""


def test_a_process_without_the_model_s_library(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    given = data()
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=4, n_jobs=1).fit(given.X, given.classes)
    explainer = TreeExplainer(model, given.X[:40])
    explainer.save(tmp_path / "explainer")
    np.save(tmp_path / "rows.npy", given.X[:6])
    subprocess.run([sys.executable, "-c", textwrap.dedent(NOTHING_BUT_NUMPY)], cwd=tmp_path, check=True, timeout=HANG)
    np.testing.assert_array_equal(np.load(tmp_path / "values.npy"), explainer.taylor_values(given.X[:6]))


def test_files_appear_whole_and_as_any_other(tmp_path: Path) -> None:
    explainer = TreeExplainer(forest_model(), data(gaps=False).rows)
    path = tmp_path / "explainer"
    explainer.save(path)
    assert path.read_bytes() == explainer.to_bytes()
    assert TreeExplainer.from_bytes(bytearray(path.read_bytes())).to_bytes() == explainer.to_bytes()
    assert TreeExplainer.load(str(path), n_jobs=1).facts().n_threads == 1
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="folder' cannot be written: it is a directory"):
        explainer.save(tmp_path / "folder")
    with pytest.raises(InputError, match="cannot be written"):
        explainer.save(tmp_path / "nowhere" / "explainer")
    assert sorted(os.listdir(tmp_path)) == ["explainer", "folder", "plain"]


def small_bytes() -> bytes:
    X = data(gaps=False).X
    model = RandomForestClassifier(n_estimators=2, max_depth=2, random_state=0).fit(X, data().binary)
    return TreeExplainer(model, X[:4]).to_bytes()


def test_every_byte_counts() -> None:
    content = small_bytes()
    for at in range(len(content)):
        for cut in (content[:at], content[:at] + bytes([content[at] ^ 0x41]) + content[at + 1 :]):
            with pytest.raises(ModelError):
                TreeExplainer.from_bytes(cut)


def test_what_is_refused_is_named(tmp_path: Path) -> None:
    content = small_bytes()
    (tmp_path / "model.json").write_text('{"learner": {}}')
    with pytest.raises(ModelError, match=r"model\.json: this is not a saved explainer"):
        TreeExplainer.load(tmp_path / "model.json")
    with pytest.raises(FileNotFoundError):
        TreeExplainer.load(tmp_path / "none")
    with pytest.raises(ModelError, match=r"has \d+ bytes where \d+ belong"):
        TreeExplainer.from_bytes(content[:-1])
    with pytest.raises(ModelError, match="checksum"):
        TreeExplainer.from_bytes(content[:40] + b"?" + content[41:])
    with pytest.raises(ModelError, match="version 7 of the format, and this arborshap reads version 1"):
        TreeExplainer.from_bytes(sealed(content[:8] + b"\7\0\0\0" + content[12:]))
    with pytest.raises(InputError, match="needs bytes, got a str"):
        TreeExplainer.from_bytes("explainer")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="n_jobs"):
        TreeExplainer.from_bytes(content, n_jobs=0)
    explainer = TreeExplainer.from_bytes(content)
    explainer.feature_names = ["half \ud83d", *explainer.feature_names[1:]]
    with pytest.raises(InputError, match=r"the name 'half \\ud83d' is not valid Unicode"):
        explainer.to_bytes()


def test_names_that_were_tampered_with_are_refused_or_harmless() -> None:
    content = small_bytes()
    about = json.loads(parts_of(content)["texts.python"][0])
    odd: list[Any] = [None, 7, -1.5, "x", [], ["x"], {}, {"kind": "x"}, [[1]], "\x00", float("nan"), 10**30]
    rows = data(gaps=False).rows[:2]
    refused = 0
    for key in about:
        for value in odd:
            try:
                again = TreeExplainer.from_bytes(with_text(content, "texts.python", json.dumps({**about, key: value})))
                again(rows)
            except ArborshapError:
                refused += 1
    assert refused > 5 * len(about)
    for text in ("", "[]", "{", "[" * 100_000, "null"):
        with pytest.raises(ModelError, match="saved description"):
            TreeExplainer.from_bytes(with_text(content, "texts.python", text))
    for name in ("players", "columns", "library", "python"):
        with pytest.raises(ModelError, match=f"has no '{name}'|belong"):
            TreeExplainer.from_bytes(with_text(content, f"texts.{name}", None))


def test_the_documented_format_can_be_read_by_anyone() -> None:
    model = forest_model()
    X = data(gaps=False).rows
    explainer = TreeExplainer(model, X)
    arrays = parts_of(explainer.to_bytes())
    forest: Forest = explainer.forest
    for name in ("left", "right", "threshold", "flags", "base", "cover"):
        leaf = forest.left == -1 if name == "threshold" else np.zeros(1, bool)
        np.testing.assert_array_equal(np.where(leaf, 0, arrays[name]), np.where(leaf, 0, getattr(forest, name)))
    assert arrays["holds"] == ["an explainer"]
    assert arrays["texts.players"] == explainer.feature_names
    assert arrays["background.rows"].tolist() == [len(X)]
    assert len(arrays["background.codes"]) % len(X) == 0
