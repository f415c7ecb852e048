"""gpboost, causalml, YDF and PerpetualBooster in detail, and explainers that are read where no library is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arborshap import ModelError, TreeExplainer, UnsupportedModelError
from arborshap.models import load
from support.models import more_cases, other_cases
from support.models.case import data
from support.models.more_cases import causal, gpboost_trained, perpetual_trained, ydf_trained
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
    with pytest.raises(UnsupportedModelError, match="linear model in each leaf"):
        load(gpboost.train({"linear_tree": True, "verbose": -1}, gpboost.Dataset(data(gaps=False).X, data().y), 2))


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


@pytest.mark.parametrize(
    ("options", "message"),
    [({"split_axis": "SPARSE_OBLIQUE"}, "tree 0, node 0 is a NumericalSparseObliqueCondition"), ({}, "Categorical")],
)
def test_other_splits_of_ydf_are_refused(options: dict[str, Any], message: str) -> None:
    ydf = pytest.importorskip("ydf")
    if options:
        model = ydf_trained("RandomForestLearner", data().y, num_trees=2, **options)
    else:
        town = np.array(["Bern", "Chur", "Thun"])[data().X[:, 3].astype(int) % 3]
        given = {"town": town, "y": data().y + 3.0 * (town == "Chur")}
        model = ydf.CartLearner(label="y", task=ydf.Task.REGRESSION).train(given, verbose=0)
    with pytest.raises(UnsupportedModelError, match=f"{message}.*turn categories and texts into columns of numbers"):
        load(model)


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
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ModelError, match="this PerpetualBooster is not fitted"):
        load(perpetual.PerpetualBooster())
    with pytest.raises(UnsupportedModelError, match="branch of its own for missing values"):
        load(perpetual_trained("PerpetualRegressor", data().y, create_missing_branch=True))
    frame = pandas.DataFrame({"town": pandas.Categorical(np.array(["a", "b", "c"])[np.arange(300) % 3]), "x": data().y})
    model = perpetual.PerpetualBooster(objective="SquaredLoss", budget=0.1, iteration_limit=3)
    model.fit(frame, data().y + (frame["town"] == "a"))
    with pytest.raises(UnsupportedModelError, match="columns of categories; turn them into columns of numbers"):
        load(model)
