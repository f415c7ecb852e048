"""What is not supported is refused by name, with a reason or advice; what is not a model is never a crash."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arborshap
from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.models import load
from support.models.case import data


def test_an_unknown_model_is_refused_by_name() -> None:
    for thing in (object(), 7, None, {}, [], lambda rows: rows, np.zeros(3), [1, 2]):
        with pytest.raises(
            UnsupportedModelError, match=r"is not supported.*supported_models\(\) lists what is"
        ) as caught:
            load(thing)
        assert type(thing).__name__ in str(caught.value)


def _refused_by_sklearn() -> list[tuple[Any, str]]:
    from sklearn import ensemble, linear_model, multiclass, svm, tree

    line = linear_model.LogisticRegression()
    stump = tree.DecisionTreeClassifier(max_depth=1)
    return [
        (ensemble.AdaBoostRegressor(n_estimators=2), "AdaBoostRegressor is not supported: .*median"),
        (ensemble.AdaBoostClassifier(line, n_estimators=2), "it boosts LogisticRegression, whose vote is not a sum"),
        (ensemble.RandomTreesEmbedding(n_estimators=2), "RandomTreesEmbedding is not supported: .*transformer"),
        (
            ensemble.StackingClassifier([("a", stump)], stump, cv=2),
            "StackingClassifier is not supported: its final estimator DecisionTreeClassifier is not a linear model",
        ),
        (
            ensemble.StackingClassifier([("a", stump)], cv=2, passthrough=True),
            "StackingClassifier is not supported: with passthrough=True",
        ),
        (multiclass.OneVsOneClassifier(stump), "OneVsOneClassifier is not supported: it counts votes"),
        (linear_model.LinearRegression(), "LinearRegression is not supported"),
        (svm.SVC(), "SVC is not supported"),
        (ensemble.BaggingClassifier(svm.SVC(), n_estimators=2), "BaggingClassifier, member 0: .*SVC is not supported"),
        (
            ensemble.GradientBoostingRegressor(n_estimators=2, init=linear_model.LinearRegression()),
            "init=LinearRegression, whose prediction is not constant",
        ),
    ]


@pytest.mark.parametrize("number", range(10))
def test_sklearn_models_that_are_no_sum_of_trees(number: int) -> None:
    model, message = _refused_by_sklearn()[number]
    given = data(gaps=False)
    model.fit(given.X, given.binary)
    with pytest.raises(UnsupportedModelError, match=message):
        load(model)


def test_a_model_that_is_not_fitted_is_refused() -> None:
    import catboost
    import lightgbm
    import xgboost
    from sklearn import ensemble, tree

    for model in (
        xgboost.XGBRegressor(),
        xgboost.XGBClassifier(),
        lightgbm.LGBMRegressor(),
        catboost.CatBoostRegressor(),
        tree.DecisionTreeRegressor(),
        ensemble.RandomForestClassifier(),
        ensemble.GradientBoostingClassifier(),
        ensemble.HistGradientBoostingRegressor(),
        ensemble.IsolationForest(),
    ):
        with pytest.raises(ModelError, match=f"this {type(model).__name__} is not fitted; call fit"):
            load(model)
    with pytest.raises(ModelError, match="XGBoost cannot save this booster"):
        load(xgboost.Booster())


def test_things_of_a_library_that_are_no_models() -> None:
    import catboost
    import lightgbm
    import xgboost

    rows = data().rows
    for thing in (xgboost.DMatrix(rows), lightgbm.Dataset(rows), catboost.Pool(rows)):
        with pytest.raises(UnsupportedModelError, match=f"{type(thing).__name__} is not supported"):
            load(thing)


def test_a_linear_booster_is_refused() -> None:
    import xgboost

    given = data()
    booster = xgboost.train({"booster": "gblinear"}, xgboost.DMatrix(np.nan_to_num(given.X), given.y), 2)
    with pytest.raises(UnsupportedModelError, match="gblinear, a linear model"):
        load(booster)


def test_a_dump_of_lightgbm_is_refused(tmp_path: Path) -> None:
    import lightgbm

    booster = lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(data().X, data().y), 2)
    (tmp_path / "dump.json").write_text(json.dumps(booster.dump_model()))
    with pytest.raises(
        UnsupportedModelError, match=r"'dump\.json' is what LightGBM's dump_model returns; save the model"
    ):
        load(tmp_path / "dump.json")


def test_texts_and_embeddings_of_catboost_are_refused() -> None:
    import catboost
    import pandas

    rng = np.random.default_rng(3)
    words = np.array(["red", "green", "blue", "grey"])
    frame = pandas.DataFrame(
        {"a": rng.normal(size=200), "text": [" ".join(words[rng.integers(0, 4, 5)]) for _ in range(200)]}
    )
    labels = frame["text"].str.count("red") > 1
    options = {"iterations": 5, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    with_text = catboost.CatBoostClassifier(text_features=["text"], **options).fit(frame, labels)
    vectors = pandas.DataFrame({"a": frame["a"], "vector": list(rng.normal(size=(200, 3)))})
    with_vectors = catboost.CatBoostClassifier(embedding_features=["vector"], **options).fit(vectors, labels)
    for model, kind in ((with_text, "text_features"), (with_vectors, "embedding_features")):
        with pytest.raises(UnsupportedModelError, match=f"trained with {kind}.*train without them"):
            load(model)


def test_paths_that_hold_no_model(tmp_path: Path) -> None:
    files = {
        "empty": (b"", "is empty"),
        "pickle.pkl": (pickle.dumps({"a": 1}), "looks like a pickle.*pass the model object"),
        "old.bin": (b"binf\x00\x00\x00", "old binary format.*save it as .json or .ubj"),
        "model.cbm": (b"CBM1\x00\x00", 'save it with format="json"'),
        "dump.txt": (b"booster[0]:\n0:[f0<1] yes=1,no=2", 'dump it with dump_format="json"'),
        "table.csv": (b"a,b\n1,2\n", "is not a model file of a known format"),
        "other.json": (b'{"a": 1}', "'learner' is missing"),
        "list.json": (b"[1, 2]", "tree 0: a node is int"),
        "none.json": (b"[]", "the dump holds no trees"),
        "spaces": (b" \n ", "is not a model file"),
    }
    for name, (content, message) in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match=message):
            load(tmp_path / name)
        with pytest.raises(ModelError, match=message):
            load(str(tmp_path / name))
    with pytest.raises(ModelError, match="there is no file"):
        load(tmp_path / "nowhere.json")
    with pytest.raises(ModelError, match="is a directory or device, not a model file"):
        load(tmp_path)
    if Path("/dev/zero").exists():  # reading all of it would never end
        with pytest.raises(ModelError, match="is a directory or device, not a model file"):
            load("/dev/zero")
    with pytest.raises(ModelError, match="cannot be a path"):
        load("model\0.json")


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    (tmp_path / "model.json").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelError, match="looks like a pickle"):
        load(tmp_path / "model.json")
    assert not (tmp_path / "sprung").exists()


def test_subclasses_are_read_as_what_they_descend_from() -> None:
    import xgboost
    from sklearn.base import TransformerMixin
    from sklearn.ensemble import RandomForestRegressor

    class MyForest(RandomForestRegressor):  # type: ignore[misc]
        pass

    class MyBoosting(xgboost.XGBRegressor, TransformerMixin):  # type: ignore[misc]
        pass

    given = data()
    assert load(MyForest(n_estimators=2).fit(given.X, given.y)).library.startswith("scikit-learn ")
    assert load(MyBoosting(n_estimators=2).fit(given.X, given.y)).library.startswith("xgboost ")


def test_a_forest_and_a_loaded_model_pass_through() -> None:
    from sklearn.tree import DecisionTreeRegressor

    model = load(DecisionTreeRegressor(max_depth=2).fit(data().X, data().y))
    assert load(model) is model
    assert load(model.forest).forest is model.forest
    assert isinstance(model.forest, arborshap.Forest)


def test_files_of_scikit_learn_are_refused_with_the_detour(tmp_path: Path) -> None:
    """A skops file is a zip archive with a schema; its trees would be loaded as they are, unchecked."""
    with zipfile.ZipFile(tmp_path / "model.skops", "w") as file:
        file.writestr("schema.json", "{}")
    detour = r"load it yourself and pass the model object, or, for the command line, save TreeExplainer\(model, X\)"
    with pytest.raises(UnsupportedModelError, match=f"'model.skops' is a skops file, .* unchecked; {detour}"):
        load(str(tmp_path / "model.skops"))
    (tmp_path / "model.joblib").write_bytes(pickle.dumps([1]))
    with pytest.raises(UnsupportedModelError, match=f"looks like a pickle, .*; {detour}"):
        load(str(tmp_path / "model.joblib"))
