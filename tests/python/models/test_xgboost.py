"""XGBoost in detail: base scores, early stopping, older and newer layouts, frames with categories, dumps."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap.exceptions import InputError, ModelError
from arborshap.models import load
from arborshap.models.xgboost.document import read_document
from support.models.case import columns_of, data, predicted
from support.models.xgboost_cases import margin, train

pd = pytest.importorskip("pandas")


def version() -> tuple[int, ...]:
    import xgboost

    return tuple(int(part) for part in xgboost.__version__.split(".")[:2])


def saved(booster: Any) -> Any:
    return json.loads(booster.save_raw("json"))


def agrees(ours: NDArray[Any], theirs: NDArray[Any]) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("base_score", [None, 0.2, 0.7])
@pytest.mark.parametrize(
    ("objective", "target", "link"),
    [
        ("binary:logistic", "binary", "logistic"),
        ("reg:logistic", "binary", "logistic"),
        ("binary:logitraw", "binary", "identity"),
        ("binary:hinge", "binary", "step"),
        ("reg:squarederror", "y", "identity"),
        ("reg:absoluteerror", "y", "identity"),
        ("reg:pseudohubererror", "y", "identity"),
        ("reg:squaredlogerror", "positive", "identity"),
        ("count:poisson", "positive", "log"),
        ("reg:gamma", "positive", "log"),
        ("reg:tweedie", "positive", "log"),
        ("survival:cox", "positive", "log"),
        ("rank:pairwise", "binary", "identity"),
        ("rank:ndcg", "binary", "identity"),
        ("rank:map", "binary", "identity"),
        ("multi:softmax", "classes", "softmax"),
    ],
)
def test_base_score_is_read_in_the_space_of_each_objective(
    objective: str, target: str, link: str, base_score: float | None
) -> None:
    import xgboost

    parameters: dict[str, Any] = {"objective": objective}
    if base_score is not None:
        parameters["base_score"] = base_score
    if objective.startswith("multi"):
        parameters["num_class"] = 3
    booster = train(target, parameters, rounds=2)
    model = load(booster)
    assert model.link.name == link
    ours = model.forest.margin(data().rows)
    agrees(ours, margin(booster, data().rows))
    if objective != "multi:softmax":  # which predicts a class
        agrees(predicted(link, ours), columns_of(booster.predict(xgboost.DMatrix(data().rows))))


def test_base_score_of_survival_models() -> None:
    import xgboost

    given = data()
    matrix = xgboost.DMatrix(given.X)
    matrix.set_float_info("label_lower_bound", abs(given.y) + 0.1)
    matrix.set_float_info("label_upper_bound", abs(given.y) + 0.5)
    booster = xgboost.train({"objective": "survival:aft", "base_score": 0.3, "nthread": 1}, matrix, 2)
    agrees(load(booster).forest.margin(given.rows), margin(booster, given.rows))


def test_a_custom_objective_with_negative_hessians_loads_without_cover() -> None:
    import xgboost

    given = data()

    def odd(predicted: NDArray[Any], matrix: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        return predicted - matrix.get_label(), np.where(given.X[:, 1] > 1, -0.1, 1.0)

    booster = xgboost.train({"max_depth": 3, "nthread": 1}, xgboost.DMatrix(given.X, given.y), 3, obj=odd)
    forest = load(booster).forest
    agrees(forest.margin(given.rows), margin(booster, given.rows))


def stopped_early() -> Any:
    import xgboost

    given = data()
    options: dict[str, Any] = {"n_estimators": 30, "early_stopping_rounds": 3, "learning_rate": 0.7, "n_jobs": 1}
    model = xgboost.XGBRegressor(**options, num_parallel_tree=2, subsample=0.7, random_state=7)
    model.fit(given.X, given.y, eval_set=[(given.X[:80], given.y[80:160])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model


def test_only_the_wrapper_stops_at_the_best_iteration(tmp_path: Path) -> None:
    model = stopped_early()
    booster, rows = model.get_booster(), data().rows
    by_wrapper = model.predict(rows)[:, None]
    by_booster = margin(booster, rows)
    assert np.abs(by_wrapper - by_booster).max() > 1e-3
    agrees(load(model).forest.margin(rows), by_wrapper)
    agrees(load(booster).forest.margin(rows), by_booster)
    for suffix in ("json", "ubj"):
        model.save_model(tmp_path / f"wrapper.{suffix}")
        booster.save_model(tmp_path / f"booster.{suffix}")
        agrees(load(tmp_path / f"wrapper.{suffix}").forest.margin(rows), by_wrapper)
        agrees(load(tmp_path / f"booster.{suffix}").forest.margin(rows), by_booster)


@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_a_file_is_the_same_model_to_the_last_bit(suffix: str, tmp_path: Path) -> None:
    """Rows counted for a file and rows counted for the live model can then be merged."""
    booster = train("binary", {"objective": "binary:logistic"})
    booster.save_model(tmp_path / f"model.{suffix}")
    live, read = load(booster).forest.native.arrays(), load(tmp_path / f"model.{suffix}").forest.native.arrays()
    for name, numbers in live.items():
        np.testing.assert_array_equal(read[name], numbers, err_msg=name)


def test_a_slice_of_a_booster_is_a_model_too() -> None:
    booster = train("y", {}, rounds=6)[1:5:2]
    agrees(load(booster).forest.margin(data().rows), margin(booster, data().rows))


class TestLayouts:
    """Documents as other versions write them, made from one that is at hand."""

    def test_scalar_base_score(self) -> None:
        booster = train("binary", {"objective": "binary:logistic", "base_score": 0.3})
        document = saved(booster)
        document["learner"]["learner_model_param"]["base_score"] = "3E-1"
        agrees(read_document(document).forest.margin(data().rows), margin(booster, data().rows))

    def test_rounds_without_an_index(self) -> None:
        model = stopped_early()
        document = saved(model.get_booster())
        document["learner"]["gradient_booster"]["model"].pop("iteration_indptr", None)
        read = read_document(document, as_wrapper=True)
        assert read.iterations == model.best_iteration + 1
        assert read.forest.n_trees == 2 * read.iterations

    @pytest.mark.parametrize("n_weights", [5, 3])
    def test_dart_weights_among_the_trees(self, n_weights: int) -> None:
        booster = train("y", {"booster": "dart", "rate_drop": 0.6})
        document = saved(booster)
        dart = document["learner"]["gradient_booster"]
        agrees(read_document(document).forest.margin(data().rows), margin(booster, data().rows))
        model = dart["gbtree"]["model"] if "gbtree" in dart else dart["model"]
        weights = dart["weight_drop"] if "gbtree" in dart else model.pop("weight_drop")
        assert min(weights) < 1.0

        beside = {"name": "dart", "gbtree": {"name": "gbtree", "model": model}, "weight_drop": weights}
        document["learner"]["gradient_booster"] = beside
        old = read_document(document).forest
        agrees(old.margin(data().rows), margin(booster, data().rows))
        among = {"name": "gbtree", "model": model | {"weight_drop": weights[:n_weights]}}
        document["learner"]["gradient_booster"] = among
        new = read_document(document).forest
        factor = np.repeat([weights[t] if t >= n_weights else 1.0 for t in range(5)], np.diff(old.tree_offsets))
        np.testing.assert_allclose(new.value * np.float32(factor), old.value, rtol=1e-6)

    def test_vectors_kept_by_node(self) -> None:
        booster = train("pair", {"multi_strategy": "multi_output_tree"})
        document = saved(booster)
        for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
            if "leaf_weights" in tree:
                vectors = np.reshape(tree.pop("leaf_weights"), (-1, 2))
                by_node = np.zeros((len(tree["left_children"]), 2))
                for node, (left, right) in enumerate(zip(tree["left_children"], tree["right_children"], strict=True)):
                    if left == -1:
                        by_node[node] = vectors[right]
                        tree["right_children"][node] = -1
                tree["base_weights"] = by_node.ravel().tolist()
            tree.pop("sum_hessian", None)
        agrees(read_document(document).forest.margin(data().rows), margin(booster, data().rows))


def frame(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 5, 200)
    table = pd.DataFrame({"size": rng.normal(size=200), "colour": pd.Categorical(np.array([*"rgbyk"])[codes])})
    table["year"] = pd.Categorical(1990 + rng.integers(0, 4, 200))
    table["size"] = table["size"].where(rng.random(200) > 0.1)
    table.loc[::9, "colour"] = None
    return table


def trained_on(table: Any, remembering: bool = True) -> Any:
    import xgboost

    if remembering and version() < (3, 1):
        pytest.skip("this version of XGBoost does not remember categories")

    y = table["size"].fillna(0) + 2 * table["colour"].isin(["r", "k"]) + (table["year"].astype(int) == 1991)
    parameters = {"max_depth": 4, "nthread": 1, "max_cat_to_onehot": 2}
    return xgboost.train(parameters, xgboost.DMatrix(table, y, enable_categorical=True), 5)


def shuffled(table: Any) -> Any:
    """The same rows, whose category columns list their categories in another order, and some never used."""
    other = table.copy()
    other["colour"] = other["colour"].cat.set_categories([*"kyxgrb"])
    other["year"] = other["year"].cat.reorder_categories([1993, 1990, 1992, 1991])
    return other


def test_categories_of_a_frame_are_matched_by_name() -> None:
    import xgboost

    table = frame()
    booster = trained_on(table)
    model = load(booster)
    assert model.encode is not None
    expected = booster.predict(xgboost.DMatrix(table, enable_categorical=True), output_margin=True)[:, None]
    codes = model.encode(table)
    agrees(model.forest.margin(codes), expected)
    np.testing.assert_array_equal(model.encode(shuffled(table)), codes)
    np.testing.assert_array_equal(model.encode(codes), codes)
    assert model.raw_predict is not None
    agrees(model.raw_predict(codes), expected)


def test_frames_of_all_kinds_give_the_same_codes(tmp_path: Path) -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    table = frame()
    table["year"] = table["year"].astype(str).astype("category")
    table["year"] = table["year"].cat.rename_categories(str)
    booster = trained_on(table)
    booster.save_model(tmp_path / "model.ubj")
    for model in (load(booster), load(tmp_path / "model.ubj")):
        assert model.encode is not None
        codes = model.encode(table)
        np.testing.assert_array_equal(model.encode(pl.from_pandas(shuffled_colour(table))), codes)
        np.testing.assert_array_equal(model.encode(pa.Table.from_pandas(shuffled_colour(table))), codes)


def shuffled_colour(table: Any) -> Any:
    other = table.copy()
    other["colour"] = other["colour"].cat.set_categories([*"kyxgrb"])
    return other


def test_a_category_that_training_never_saw_is_named() -> None:
    table = frame()
    model = load(trained_on(table))
    assert model.encode is not None
    table["colour"] = table["colour"].cat.add_categories(["mauve"])
    table.loc[3, "colour"] = "mauve"
    with pytest.raises(InputError, match="column 'colour': the category 'mauve' did not occur in training"):
        model.encode(table)
    table["colour"] = np.arange(200)
    with pytest.raises(InputError, match="column 'colour' held categories in training"):
        model.encode(table)


def test_codes_are_taken_as_they_are_where_names_are_not_remembered() -> None:
    table = frame()
    document = saved(trained_on(table, remembering=False))
    document["learner"]["gradient_booster"]["model"].pop("cats", None)
    encode = read_document(document).recoding()
    assert encode is not None
    codes = encode(table)
    np.testing.assert_array_equal(np.nan_to_num(codes[:, 1], nan=-1), table["colour"].cat.codes)
    with pytest.raises(InputError, match="'colour': the model does not record which categories its codes stand for"):
        encode(pytest.importorskip("polars").from_pandas(table.astype({"year": int})))


class TestDump:
    def dump(self, booster: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load(booster.get_dump(dump_format="json"), **options).forest

    def same_differences(self, forest: Any, booster: Any, X: NDArray[Any]) -> None:
        gap = forest.margin(X) - margin(booster, X)
        np.testing.assert_allclose(gap, gap[:1].repeat(len(X), axis=0), atol=2e-5 * np.abs(gap).max() + 1e-6)

    def test_it_says_what_is_missing(self) -> None:
        with pytest.warns(UserWarning, match="no base score, no DART weights, no classes"):
            load(train("y", {}).get_dump(dump_format="json"))
        with pytest.warns(UserWarning, match="does not say which categories they stand for"):
            load(train("y", {"max_cat_to_onehot": 1}, categorical=True).get_dump(dump_format="json"))

    def test_differences_are_right(self) -> None:
        self.same_differences(self.dump(booster := train("y", {})), booster, data().rows)
        booster = train("y", {"max_cat_to_onehot": 1}, categorical=True)
        self.same_differences(self.dump(booster), booster, data().rows)

    def test_vector_leaves(self) -> None:
        if version() < (3, 2):
            pytest.skip("this version of XGBoost does not dump vector leaves")
        booster = train("pair", {"multi_strategy": "multi_output_tree"})
        self.same_differences(self.dump(booster), booster, data().rows)

    def test_a_file(self, tmp_path: Path) -> None:
        booster = train("y", {})
        booster.dump_model(tmp_path / "dump.json", dump_format="json", with_stats=True)
        with pytest.warns(UserWarning, match="An XGBoost dump"):
            forest = load(tmp_path / "dump.json").forest
        assert forest.cover is not None
        self.same_differences(forest, booster, data().rows)

    def test_names_need_their_order(self) -> None:
        import xgboost

        given = data()
        names = ["width", "height", "weight", "colour", "f9"]
        matrix = xgboost.DMatrix(given.X, given.y, feature_names=names)
        booster = xgboost.train({"max_depth": 3, "nthread": 1}, matrix, 3)
        with pytest.raises(ModelError, match=r"names its columns .* but not their order; give the names"):
            self.dump(booster)
        forest = self.dump(booster, feature_names=names)
        assert forest.feature_names == tuple(names)
        expected = booster.predict(xgboost.DMatrix(given.rows, feature_names=names), output_margin=True)[:, None]
        np.testing.assert_allclose(np.ptp(forest.margin(given.rows) - expected), 0, atol=1e-5)
        with pytest.raises(ModelError, match="which is not one of the 1 feature_names"):
            self.dump(booster, feature_names=["width"])

    def test_boolean_and_integer_columns(self) -> None:
        import xgboost

        rng = np.random.default_rng(3)
        X = np.column_stack([rng.integers(0, 2, (200, 2)), rng.integers(-5, 5, 200)]).astype(float)
        matrix = xgboost.DMatrix(X, X @ [1.0, -2.0, 0.5], feature_types=["i", "i", "int"])
        booster = xgboost.train({"max_depth": 3, "nthread": 1}, matrix, 3)
        with pytest.warns(UserWarning, match="Boolean columns are assumed to hold 0 and 1"):
            forest = load(booster.get_dump(dump_format="json")).forest
        X[:20, 1] = np.nan
        self.same_differences(forest, booster, X)

    def test_a_tree_deeper_than_the_json_parser_goes(self) -> None:
        tree = '{"nodeid": 0, "leaf": 0}'
        for i in range(1, 5000):
            tree = (
                f'{{"nodeid": {2 * i}, "split": "f0", "split_condition": {i}, "yes": {2 * i - 2}, "no": {2 * i - 1}, '
                f'"missing": {2 * i - 1}, "children": [{tree}, {{"nodeid": {2 * i - 1}, "leaf": {i}}}]}}'
            )
        with pytest.warns(UserWarning, match="An XGBoost dump"):
            forest = load([tree]).forest
        assert forest.max_depth == 4999
        np.testing.assert_array_equal(forest.margin([[0.5], [1.0], [77.2], [9999.0]]), [[0], [1], [77], [4999]])
