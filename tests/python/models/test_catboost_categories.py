"""CatBoost's columns of categories: hashes, kinds of rows, statistics, combinations, and saved explainers."""

from __future__ import annotations

import json
import random
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import catboost
import numpy as np
import pytest

from arborshap import InputError, ModelError, TreeExplainer, UnsupportedModelError
from arborshap.models import load
from arborshap.models.catboost.hashing import category_hash
from support.oracle import frame_worths, shapley
from support.towns import CATEGORIES, TOWNS, fitted, frame, raw, strange_rows, target

pd = pytest.importorskip("pandas")


def test_texts_are_hashed_as_catboost_hashes_them(tmp_path: Path) -> None:
    letters = random.Random(1)
    texts = {"".join(letters.choice("abäé東z 09-") for _ in range(n)) for n in range(150)} | {"nan", "-5", "1"}
    rows = pd.DataFrame({"text": sorted(texts)})
    pool = catboost.Pool(rows, np.arange(len(rows)), cat_features=["text"])
    model = catboost.CatBoostRegressor(iterations=2, verbose=0, allow_writing_files=False).fit(pool)
    model.save_model(tmp_path / "model.json", format="json", pool=pool)
    listed = json.loads((tmp_path / "model.json").read_text())["features_info"]["cat_features_hash"]
    assert len(listed) == len(texts)
    assert {entry["value"]: category_hash(entry["value"]) for entry in listed} == {
        entry["value"]: entry["hash"] for entry in listed
    }


@pytest.mark.parametrize(
    ("classes", "options"),
    [
        (0, {}),
        (0, {"one_hot_max_size": 10}),
        (0, {"grow_policy": "Lossguide"}),
        (0, {"simple_ctr": ["BinarizedTargetMeanValue", "Counter:Prior=0.3/1"]}),
        (0, {"simple_ctr": ["Buckets:TargetBorderCount=3:Prior=0.2/1:Prior=2/1"]}),
        (0, {"simple_ctr": ["Borders:TargetBorderCount=4", "Counter"], "counter_calc_method": "Full"}),
        (3, {}),
        (2, {"max_ctr_complexity": 4, "simple_ctr": ["Buckets"], "combinations_ctr": ["Borders", "Counter"]}),
        (2, {"max_ctr_complexity": 4, "iterations": 40, "depth": 6}),
    ],
    ids=str,
)
def test_values_are_those_of_the_definition(classes: int, options: dict[str, Any], tmp_path: Path) -> None:
    model = fitted(classes, **options)
    X, Z = strange_rows(), frame(12, seed=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that a combination joins
        explainer = TreeExplainer(model, Z)
        model.save_model(tmp_path / "model.json", format="json")
        of_file = TreeExplainer(tmp_path / "model.json", Z)
    explanation = explainer(X)
    owners = [explanation.feature_names.index(name) for name in owner_names(explainer)]
    worth = frame_worths(partial(raw, model), X, Z, owners)
    expected = shapley(worth)
    values = explanation.values.reshape(expected.shape)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * np.abs(worth).max())
    assert np.abs(values).max() > 0.1
    assert explanation.data is not None
    np.testing.assert_array_equal(explanation.data[:, 1:], X.to_numpy()[:, 1:])
    for other in (of_file, TreeExplainer.from_bytes(explainer.to_bytes())):
        np.testing.assert_array_equal(other(X).values, explanation.values)


def owner_names(explainer: TreeExplainer) -> list[str]:
    """The player of each column, by a row whose columns differ from the background's."""
    described = explainer.feature_names
    return [next(player for player in described if name in player.split(" + ")) for name in frame(1).columns]


def test_every_kind_of_rows_gives_the_same_values() -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    model = fitted()
    X = frame(6, seed=4)
    explainer = TreeExplainer(model, frame(20, seed=3))
    expected = explainer(X)
    kinds = {
        "objects": X.to_numpy(),
        "lists": X.to_numpy().tolist(),
        "polars": polars.from_pandas(X),
        "polars categories": polars.from_pandas(X).with_columns(polars.col("town").cast(polars.Categorical)),
        "pyarrow": pyarrow.Table.from_pandas(X),
        "category columns": X.astype(dict.fromkeys(CATEGORIES, "category")),
        "text columns": X.astype({"job": "string", "town": "string"}),
        "numbers as text": X.to_numpy().astype(str),
        "other order": X[["job", "flag", "a", "b", "town"]],
    }
    for kind, rows in kinds.items():
        np.testing.assert_array_equal(explainer(rows).values, expected.values, err_msg=kind)
    assert explainer(X.iloc[:0]).values.shape == (0, 5)
    assert expected.data is not None
    assert set(TOWNS) & set(expected.data[:, 1])
    # A background of another kind is read, and compared with CatBoost's own predictions, like any rows.
    for kind, rows in kinds.items():
        np.testing.assert_array_equal(
            TreeExplainer(model, rows)(X).values, TreeExplainer(model, X)(X).values, err_msg=kind
        )


def test_whole_numbers_and_truth_values_are_categories() -> None:
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200)]).astype(object)
    rows[:, 1] = rows[:, 1].astype(int)
    model = catboost.CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False, cat_features=[1])
    model.fit(rows, rows[:, 0].astype(float) + 3.0 * (rows[:, 1] == 1))
    explainer = TreeExplainer(model, rows[:50])
    expected = explainer(rows[:5]).values
    true = pd.DataFrame({0: rows[:5, 0].astype(float), 1: rows[:5, 1].astype(bool)})
    np.testing.assert_array_equal(explainer(true).values, expected)
    np.testing.assert_array_equal(explainer(rows[:5].astype(np.float64)).values, expected)
    for wrong, message in ((np.nan, "row 0 of column '1' is missing"), (1.5, "row 0 of column '1' is 1.5")):
        with pytest.raises(InputError, match=f"{message}.*only text and whole numbers"):
            explainer([[0.5, wrong]])
        with pytest.raises(InputError, match=f"{message}.*only text and whole numbers"):
            explainer(pd.DataFrame({0: [0.5], 1: [wrong]}))
    with pytest.raises(InputError, match="row 0 of column '0' is 'high', not a number"):
        explainer([["high", 1]])
    with pytest.raises(InputError, match=r"row 0 of column '1' is \[1\].*only text and whole numbers"):
        explainer([[0.5, [1]]])
    with pytest.raises(InputError, match=r"row 0 of column '1' is .*not valid Unicode"):
        explainer([[0.5, "\ud800"]])
    with pytest.raises(InputError, match="list of rows of different lengths"):
        explainer([[0.5, 1], [0.5]])
    with pytest.raises(InputError, match="has 3 columns, but the model has 2"):
        explainer([[0.5, 1, 2]])


def test_combined_columns_play_as_one_and_say_so() -> None:
    model = fitted(2, max_ctr_complexity=4, iterations=40, depth=6)
    Z = frame(30, seed=3)
    with pytest.warns(UserWarning, match=r"play as one player: 'town', 'job'.*max_ctr_complexity=1"):
        explainer = TreeExplainer(model, Z)
    assert explainer.feature_names == ["a", "town + job", "b", "flag"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grouped = TreeExplainer(model, Z, groups={"where and what": ["town", "job"]})
    assert grouped.feature_names == ["a", "where and what", "b", "flag"]
    np.testing.assert_array_equal(grouped(Z).values, explainer(Z).values)
    # Without a background nothing is mixed, but the players are the same.
    with pytest.warns(UserWarning, match="play as one player"):
        assert TreeExplainer(model)(Z).values.shape == (30, 4)


def test_trace_report_and_importance_show_columns_of_text(tmp_path: Path) -> None:
    model = fitted()
    X = frame(30, seed=3)
    explainer = TreeExplainer(model, X)
    trace = explainer.trace(X.iloc[[0]], X.iloc[[1]], 0)
    np.testing.assert_allclose(trace.phi.sum(), np.subtract(trace.value_x, trace.value_z).sum(), atol=1e-12)
    assert len(explainer.importance(X).values) == 5
    explainer(X).report(tmp_path / "report.html")
    assert "Oslo" in (tmp_path / "report.html").read_text()


def test_a_pipeline_that_ends_in_categories() -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scale = ColumnTransformer([("scale", StandardScaler(), ["a", "b"])], remainder="passthrough")
    scale.set_output(transform="pandas")
    model = catboost.CatBoostRegressor(iterations=8, verbose=0, allow_writing_files=False, max_ctr_complexity=1)
    names = [f"remainder__{name}" for name in CATEGORIES]
    rows = frame()
    pipeline = make_pipeline(scale, model.set_params(cat_features=names)).fit(rows, target(rows))
    X, Z = frame(3, seed=8), frame(10, seed=9)
    worth = frame_worths(pipeline.predict, X, Z, list(range(5)))
    values = TreeExplainer(pipeline, Z)(X).values
    np.testing.assert_allclose(values, shapley(worth)[:, :, 0], rtol=0, atol=1e-12 * np.abs(worth).max())


@pytest.mark.parametrize("loss", ["MultiRMSE", "MultiLogloss"])
def test_statistics_of_several_targets_are_refused(loss: str, tmp_path: Path) -> None:
    """CatBoost's export has one table for the statistics of all targets, which is that of one of them."""
    rows = frame()
    kind = catboost.CatBoostRegressor if loss == "MultiRMSE" else catboost.CatBoostClassifier
    targets = np.column_stack([target(rows) > 1, rows["job"] % 2 == 0]).astype(int)
    options = {"iterations": 12, "depth": 4, "random_seed": 0, "thread_count": 1, "verbose": 0, "loss_function": loss}
    options |= {"cat_features": CATEGORIES, "allow_writing_files": False, "max_ctr_complexity": 2}
    model = kind(**options).fit(rows, targets)
    path = tmp_path / "model.json"
    model.save_model(path, format="json")
    for given in (model, path):
        with pytest.raises(UnsupportedModelError, match=r"several targets and statistics.*a model per target"):
            load(given)
    document = json.loads(path.read_text())
    document["model_info"]["params"] = {}
    path.write_text(json.dumps(document))
    with pytest.raises(UnsupportedModelError, match="several targets and statistics"):
        load(path)
    only_one = kind(**options | {"iterations": 1, "depth": 1}).fit(rows, targets)
    with pytest.raises(UnsupportedModelError, match="several targets and statistics"):
        load(only_one)  # a single statistic, whose target nothing names
    counted = kind(**options, simple_ctr=["Counter"], combinations_ctr=["Counter"]).fit(rows, targets)
    assert TreeExplainer(counted, frame(9)).n_outputs == 2  # which compares the trees with CatBoost's own predictions


def test_a_damaged_export_is_refused(tmp_path: Path) -> None:
    model = fitted()
    path = tmp_path / "model.json"
    model.save_model(path, format="json")
    whole = path.read_text()

    def damaged(change: Any) -> None:
        document = json.loads(whole)
        change(document)
        path.write_text(json.dumps(document))
        load(path)

    def entry(document: Any) -> Any:
        return next(one for one in document["features_info"]["ctrs"] if one["ctr_type"] == "Borders")

    def table(document: Any) -> Any:
        return document["ctr_data"][entry(document)["identifier"]]

    damages = {
        "not rows of 3": lambda d: table(d)["hash_map"].append(1),
        "64-bit": lambda d: table(d)["hash_map"].__setitem__(0, "-1"),
        "must be a whole number": lambda d: table(d).__setitem__("hash_stride", "x"),
        "no target border 9": lambda d: entry(d).__setitem__("target_border_idx", 9),
        "'elements' is empty": lambda d: entry(d).__setitem__("elements", []),
        "not in categorical_features": lambda d: entry(d)["elements"][0].__setitem__("cat_feature_index", 99),
        "is missing": lambda d: d.__setitem__("ctr_data", {}),
        "not that of a border": lambda d: entry(d).__setitem__("borders", []),
        "not finite": lambda d: entry(d).__setitem__("prior_numerator", 1e39),
        "cannot read": lambda d: entry(d).__setitem__("ctr_type", "Median"),
    }
    for message, change in damages.items():
        with pytest.raises((ModelError, UnsupportedModelError), match=message):
            damaged(change)


def test_a_damaged_saved_explainer_is_refused() -> None:
    from arborshap.models.recoding import describe
    from arborshap.models.saved_recoding import from_description

    loaded = load(fitted())
    n_features = loaded.forest.n_features
    described = describe(loaded.encode)
    assert described is not None
    again = from_description(json.loads(json.dumps(described)), n_features)
    assert again is not None
    assert loaded.encode is not None
    np.testing.assert_array_equal(again(frame(9)), loaded.encode(frame(9)))
    for key in ("named", "statistics", "column_names"):
        wrong: Any
        for wrong in (None, 3, [], [[]], [None], {"a": 1}, "text"):
            if key == "column_names" and wrong is None:
                continue
            with pytest.raises(ModelError, match="do not fit"):
                from_description({**described, key: wrong}, n_features)
