"""gpboost, causalml, YDF and PerpetualBooster in detail, and explainers that are read where no library is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arborshap import ForestBuilder, InputError, ModelError, TreeExplainer, UnsupportedModelError
from arborshap.models import load
from arborshap.models.perpetual import add_tree
from arborshap.models.saved_recoding import from_description
from arborshap.models.vocabulary import VocabularyRecoding
from support.models import more_cases, other_cases
from support.models.case import data
from support.models.more_cases import causal, gpboost_trained, perpetual_trained, ydf_trained
from support.oracle import frame_worths, shapley, worths
from support.trained import built

READER = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root not in sys.stdlib_module_names | {"numpy", "arborshap"} and not root.startswith("_"):
            raise ImportError(f"{name} is not allowed here")
sys.meta_path.insert(0, Nothing())
from pathlib import Path
import numpy as np
import arborshap
for path in Path(sys.argv[1]).glob("*.explainer"):
    explainer = arborshap.TreeExplainer.load(path)
    np.save(path.with_suffix(".npy"), explainer(np.load(path.with_suffix(".rows.npy"))).values)
assert "sklearn" not in sys.modules
"""


def test_other_explainers_are_read_where_only_numpy_is_installed(tmp_path: Path) -> None:
    expected = {}
    for case in [*other_cases.CASES, *more_cases.CASES]:
        try:
            made = built(case)
        except pytest.skip.Exception:
            continue
        explainer = TreeExplainer(made.model, made.X[20:40])
        explainer.save(tmp_path / f"{case.name}.explainer")
        np.save(tmp_path / f"{case.name}.rows.npy", made.X[:5])
        expected[case.name] = explainer(made.X[:5]).values
    assert "other-dictionary" in expected
    subprocess.run([sys.executable, "-c", READER, str(tmp_path)], check=True, timeout=120)
    for name, values in expected.items():
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), values, err_msg=name)


def test_other_mixed_models_of_gpboost_are_read_from_files(tmp_path: Path) -> None:
    booster = gpboost_trained(data().y, groups=True)
    booster.save_model(str(tmp_path / "mixed.json"))
    model = load(tmp_path / "mixed.json")
    assert model.link.name == load(booster).link.name == "fixed effect of a mixed model"
    X = data().rows
    predicted = booster.predict(X, group_data_pred=np.arange(len(X)) % 7, pred_latent=True)
    np.testing.assert_allclose(model.forest.margin(X)[:, 0], predicted["fixed_effect"], atol=1e-12)
    plain = gpboost_trained(data().y)
    plain.save_model(str(tmp_path / "plain.txt"))
    np.testing.assert_array_equal(load(tmp_path / "plain.txt").forest.margin(X), load(plain).forest.margin(X))


def test_other_models_of_gpboost_are_refused() -> None:
    gpboost = pytest.importorskip("gpboost")
    with pytest.raises(ModelError, match="this GPBoostRegressor is not fitted"):
        load(gpboost.GPBoostRegressor())
    with pytest.raises(UnsupportedModelError, match="GPModel is not supported: it has no trees"):
        load(gpboost.GPModel(group_data=np.arange(6) % 2))


def test_other_linear_trees_of_gpboost_are_read() -> None:
    gpboost = pytest.importorskip("gpboost")
    X = data(gaps=False).X
    options = {"linear_tree": True, "verbose": -1, "num_threads": 1, "num_leaves": 6}
    booster = gpboost.train(options, gpboost.Dataset(X, data(gaps=False).y), 3)
    worth = worths(lambda rows: booster.predict(rows, pred_latent=True), X[:3], X[20:26])
    values = TreeExplainer(booster, X[20:26]).shap_values(X[:3])
    assert repr(load(booster).forest).startswith("LinearForest(3 trees")
    np.testing.assert_allclose(values, shapley(worth)[..., 0], rtol=0, atol=1e-12 * np.abs(worth).max())


def test_other_effects_are_named_after_treatments() -> None:
    model = causal("UpliftTreeClassifier", both=True)
    assert TreeExplainer(model, data(gaps=False).rows).output_names == ["effect of call", "effect of mail"]
    forest = causal("CausalRandomForestRegressor", both=True, n_estimators=2)
    X = data(gaps=False).rows
    assert TreeExplainer(forest, X).output_names == ["effect of 1", "effect of 2"]
    forest.predict(X, with_outcomes=True)  # from now on, it always returns outcomes, too
    TreeExplainer(forest, X)


def test_other_causal_models_are_refused() -> None:
    tree = pytest.importorskip("causalml.inference.tree")
    meta = pytest.importorskip("causalml.inference.meta")
    from sklearn.tree import DecisionTreeRegressor

    with pytest.raises(ModelError, match="this CausalTreeRegressor is not fitted"):
        load(tree.CausalTreeRegressor())
    with pytest.raises(UnsupportedModelError, match="BaseSRegressor is not supported: of causalml's models, only"):
        load(meta.BaseSRegressor(DecisionTreeRegressor()))


def test_other_causal_forests_that_are_no_mean_of_trees_are_refused() -> None:
    honest = type("CausalForestDML", (), {"__module__": "econml.dml.causal_forest"})
    with pytest.raises(UnsupportedModelError, match=r"CausalForestDML is not supported: .* is not a mean of trees"):
        load(honest())


def test_other_splits_of_ydf_are_refused() -> None:
    oblique = ydf_trained("RandomForestLearner", data().y, num_trees=2, split_axis="SPARSE_OBLIQUE")
    with pytest.raises(UnsupportedModelError, match=r"tree 0, node 0 is a NumericalSparseObliqueCondition.*oblique"):
        load(oblique)
    ydf = pytest.importorskip("ydf")
    codes = ydf.Column("code", ydf.Semantic.CATEGORICAL, is_already_integerized=True)
    learner = ydf.CartLearner(label="y", task=ydf.Task.REGRESSION, features=[codes])
    with pytest.raises(UnsupportedModelError, match=r"column 'code' holds the codes of categories.*train it on texts"):
        load(learner.train({"code": data().X[:, 3].astype(int) + 1, "y": data().y}, verbose=0))


def towns() -> Any:
    """Rows with categories: texts, of which some are missing, and numbers."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    frame = {
        "town": rng.choice(["Bern", "Chur", "Thun", "Ulm"], 300),
        "x": data().X[:, 0],
        "k": rng.integers(0, 6, 300),
    }
    return pandas.DataFrame(frame)


def heights(rows: Any) -> Any:
    return 3.0 * (rows["town"] == "Chur") + rows["x"].fillna(0.0) * (rows["town"] != "Bern") + rows["k"] % 2


def test_other_categories_of_ydf_are_those_of_the_definition() -> None:
    ydf = pytest.importorskip("ydf")
    rows = towns()
    rows.loc[::9, "town"] = ""
    learner = ydf.GradientBoostedTreesLearner(
        label="y",
        task=ydf.Task.REGRESSION,
        num_trees=5,
        features=[("k", ydf.Semantic.CATEGORICAL)],
        include_all_columns=True,
        min_vocab_frequency=1,
    )
    model = learner.train(rows.assign(y=heights(rows)), verbose=0)
    rows = rows[model.input_feature_names()]
    X, Z = rows.iloc[[3, 9, 20, 7]].copy(), rows.iloc[50:58]
    X.loc[3, "town"], X.loc[20, "k"] = "never seen", 77
    explainer = TreeExplainer(model, Z)
    explanation = explainer(X)
    worth = frame_worths(model.predict, X, Z, range(3))
    np.testing.assert_allclose(explanation.values, shapley(worth)[..., 0], rtol=0, atol=2e-6 * np.abs(worth).max())
    assert explanation.data is not None
    assert explanation.data[0].tolist() == X.iloc[0].tolist()
    again = TreeExplainer.from_bytes(explainer.to_bytes())
    missing = X.astype({"town": object})
    missing.loc[9, "town"] = None
    for same in (X, X.to_numpy(), missing, X.to_dict("records"), X.astype({"town": "category", "k": "category"})):
        np.testing.assert_array_equal(again(same).values, explanation.values)
    with pytest.raises(InputError, match=r"row 0 of column 'town' is '\[1\]', but the column holds categories"):
        again([{"town": [1], "x": 0.0, "k": 1}])


def test_other_categories_of_perpetual_are_those_of_the_definition() -> None:
    perpetual, pandas = pytest.importorskip("perpetual"), pytest.importorskip("pandas")
    rows = towns()
    rows.loc[::9, "town"] = None
    target = heights(rows)
    rows = rows.astype({"town": "category", "k": "category"})
    options = {"objective": "SquaredLoss", "budget": 0.3, "iteration_limit": 8, "num_threads": 1}
    model = perpetual.PerpetualBooster(**options).fit(rows.copy(), target)
    X, Z = rows.iloc[[3, 9, 20, 7]], rows.iloc[50:58]
    explainer = TreeExplainer(model, Z)
    explanation = explainer(X)
    worth = frame_worths(lambda mixed: model.predict(mixed.copy()), X, Z, range(3))
    np.testing.assert_allclose(explanation.values, shapley(worth)[..., 0], rtol=0, atol=1e-6 * np.abs(worth).max())
    again = TreeExplainer.from_bytes(explainer.to_bytes())
    for same in (X, X.to_numpy(), X.astype({"town": object, "k": int})):
        np.testing.assert_array_equal(again(same).values, explanation.values)
    with pytest.raises(InputError, match=r"'Bonn', which did not occur in training.*set it to missing instead"):
        again([["Bonn", 0.0, 1]])
    # From a pandas frame, PerpetualBooster looks a missing category up as the text "nan", before "oslo".
    other = rows.assign(town=rows["town"].cat.rename_categories({"Ulm": "oslo"}))
    model = perpetual.PerpetualBooster(**options).fit(other.copy(), target)
    explainer = TreeExplainer(model, other.dropna(subset="town"))
    assert explainer(pandas.DataFrame({"town": ["oslo"], "x": [0.0], "k": [1]})).values.shape == (1, 3)
    with pytest.raises(InputError, match=r"row 0 of column 'town' is missing.*category of their own"):
        explainer([[None, 0.0, 1]])


def test_other_damaged_sets_and_vocabularies_are_refused() -> None:
    node = {"is_leaf": False, "split_feature": 0, "split_value": 0.0, "weight_value": 0.0, "left_cats": "0z"}
    leaf = {"is_leaf": True, "split_feature": 0, "split_value": 0.0, "weight_value": 1.0}
    nodes = {"0": {**node, "left_child": 1, "right_child": 2, "missing_node": 1}, "1": leaf, "2": leaf}
    with pytest.raises(ModelError, match="tree 3: 'left_cats' is '0z', which is not a set of categories"):
        add_tree(ForestBuilder(1, rule="<", precision="float64"), nodes, "tree 3", 0)
    described = {"kind": "texts of categories", "categories": [["a"], None], "unknown": 0.0, "missing": ""}
    good = {**described, "never_missing": []}
    assert from_description(good, 2) == VocabularyRecoding([["a"], None], 0.0, "")
    wrong: Any
    damages = [("unknown", "x"), ("missing", None), ("never_missing", None), ("never_missing", ["x"])]
    for name, wrong in [*damages, ("categories", [["a"]]), ("categories", [[None], None]), ("categories", None)]:
        with pytest.raises(ModelError, match="texts of categories do not fit"):
            from_description({**good, name: wrong}, 2)


def test_other_links_of_ydf_are_found() -> None:
    counts = np.round(np.exp(0.3 * data().y))
    links = {
        "log": ydf_trained("GradientBoostedTreesLearner", counts, num_trees=2, loss="POISSON"),
        "identity": ydf_trained("GradientBoostedTreesLearner", data().y, num_trees=2),
        "logistic": ydf_trained("GradientBoostedTreesLearner", data().binary, num_trees=2),
        "softmax": ydf_trained("GradientBoostedTreesLearner", data().classes, num_trees=2),
    }
    assert {link: load(model).link.name for link, model in links.items()} == {link: link for link in links}


def test_other_boosters_of_perpetual_are_refused() -> None:
    perpetual = pytest.importorskip("perpetual")
    with pytest.raises(ModelError, match="this PerpetualBooster is not fitted"):
        load(perpetual.PerpetualBooster())
    with pytest.raises(UnsupportedModelError, match="branch of its own for missing values"):
        load(perpetual_trained("PerpetualRegressor", data().y, create_missing_branch=True))
