"""Predictions after the link, at n + m: against pairwise sums, the definition of every index, and hostile margins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import ForestBuilder, InputError, TreeExplainer, UnsupportedModelError
from arborshap.explain import lowrank
from arborshap.forest import Forest
from arborshap.forest.margins import forest_of_margin, margin_ranges
from arborshap.models import Link, Model, load
from arborshap.models.margin_functions import MarginFunction, Step
from support import oracle
from support.models import lightgbm_cases, xgboost_cases
from support.models.case import columns_of, data, predicted
from support.models.cases import CASES, Case
from support.trained import built

pytestmark = pytest.mark.filterwarnings("ignore:An XGBoost dump holds only the trees")

Array = NDArray[np.float64]
ROWS, BACKGROUND = slice(0, 12), slice(20, 60)
WEIGHTS = np.random.default_rng(0).uniform(0.0, 2.0, 40) * (np.arange(40) % 9 > 0)


def linked(case: Case) -> bool:
    """Whether the model's prediction is a function of its margins that is not the margins themselves."""
    link = load(built(case).model).link
    return (bool(link.curves) or link.name == "softmax") and not link.is_raw


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_predictions_agree_with_pairwise_sums(case: Case) -> None:
    if not linked(case):
        pytest.skip("the prediction is the sum of the trees, or is not known")
    model, X = built(case).model, built(case).X
    explainer = TreeExplainer(model, X[BACKGROUND], model_output="prediction", sample_weight=WEIGHTS)
    explanation = explainer(X[ROWS])
    pairs = explainer.pair_values(X[ROWS])
    expected = np.average(pairs, axis=1, weights=WEIGHTS)
    np.testing.assert_allclose(explanation.values, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    loaded = load(model)
    if loaded.link.name in ("logistic", "log", "softplus", "softmax", "signed square"):
        steepness = loaded.link.curve(0).steps[0].scale if loaded.link.curves else 1.0
        own = predicted(loaded.link.name, loaded.forest.margin(loaded.read(X[ROWS], "X").matrix), steepness)
        total = explanation.values.sum(axis=1) + explanation.base_values
        np.testing.assert_allclose(total.reshape(own.shape), own, rtol=0, atol=1e-10 * np.abs(own).max())


@pytest.mark.parametrize("output", ["log_loss", "squared_error"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_losses_agree_with_pairwise_sums(case: Case, output: Any) -> None:
    model, X = built(case).model, built(case).X
    try:
        explainer = TreeExplainer(model, X[BACKGROUND], model_output=output, sample_weight=WEIGHTS)
    except UnsupportedModelError:
        pytest.skip("the model has no such loss")
    loaded = load(model)
    labels = [0, 1] if loaded.classes is None else list(loaded.classes)
    y = np.resize(labels if output == "log_loss" else [0.3, -2.0, 5.0], 12)
    expected = np.average(explainer.pair_values(X[ROWS], y=y), axis=1, weights=WEIGHTS)
    values = explainer.shap_values(X[ROWS], y)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


class Own(NamedTuple):
    """A model, its library's raw prediction and own prediction, and how far that arithmetic may be from float64."""

    model: Any
    raw: Callable[[Any], Any]
    predict: Callable[[Any], Any]
    tolerance: float = 1e-9


def own_xgboost(objective: str) -> Own:
    import xgboost

    if objective == "survival:aft":
        matrix, times = xgboost.DMatrix(data().X), np.exp(data().y / 4.0)
        matrix.set_float_info("label_lower_bound", times)
        matrix.set_float_info("label_upper_bound", times)
        booster = xgboost.train({"objective": objective, "max_depth": 3, "nthread": 1}, matrix, 5)
    else:
        target = "binary" if objective == "reg:logistic" else "positive"
        booster = xgboost_cases.train(target, {"objective": objective})
    return Own(booster, lambda X: xgboost_cases.margin(booster, X), lambda X: booster.predict(xgboost.DMatrix(X)), 2e-5)


def own_lightgbm(objective: str) -> Own:
    target = "binary" if objective in ("binary", "cross_entropy_lambda") else "positive"
    booster = lightgbm_cases.train(target, objective=objective)
    return Own(booster, lambda X: lightgbm_cases.raw_score(booster, X), booster.predict)


def own_hist(loss: str) -> Own:
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(loss=loss, max_iter=5, max_depth=3).fit(data().X, np.exp(data().y / 4.0))
    return Own(model, lambda X: np.log(model.predict(X)), model.predict)


def own_catboost(loss: str) -> Own:
    import catboost

    options = {"iterations": 5, "depth": 3, "thread_count": 1, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostRegressor(loss_function=loss, **options).fit(data().X, np.exp(data().y / 4.0))

    def asked(kind: str) -> Callable[[Any], Any]:
        return lambda X: model.predict(X, prediction_type=kind)

    return Own(model, asked("RawFormulaVal"), asked("Exponent"))


OWN = [
    *((own_xgboost, f"{kind}") for kind in ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox")),
    (own_xgboost, "survival:aft"),
    (own_xgboost, "reg:logistic"),
    *((own_lightgbm, kind) for kind in ("poisson", "gamma", "tweedie", "binary", "cross_entropy_lambda")),
    *((own_hist, kind) for kind in ("poisson", "gamma")),
    *((own_catboost, kind) for kind in ("Poisson", "Tweedie:variance_power=1.5")),
]


@pytest.mark.parametrize(("make", "kind"), OWN)
def test_every_index_is_the_definition_rescaled_pair_by_pair(make: Callable[[str], Own], kind: str) -> None:
    """Worths of coalitions and predictions come from the model's own library, and so do the mean slopes."""
    model, raw, predict, tolerance = make(kind)
    X, Z, weights = data().X[:3], data().X[30:], np.array([1.0, 2.0, 0.0, 3.0, 1.0, 0.5])
    gaps = np.abs(columns_of(raw(X)) - columns_of(raw(Z)).T).min(axis=0)
    Z = Z[np.argsort(-gaps, kind="stable")[:6]]  # far enough for quotients of the library's numbers
    slopes = (columns_of(predict(X)) - columns_of(predict(Z)).T) / (columns_of(raw(X)) - columns_of(raw(Z)).T)
    for groups in (None, [0, 1, 0, 2, 1]):
        worths = [oracle.worths(raw, X, z[np.newaxis], groups) for z in Z]
        explainer = TreeExplainer(model, Z, model_output="prediction", sample_weight=weights, groups=groups)
        mean = np.average(columns_of(predict(Z))[:, 0], weights=weights)
        np.testing.assert_allclose(explainer.expected_value, mean, rtol=max(tolerance, 1e-10))
        for index, compute in oracle.INDICES.items():
            every = np.stack([compute(worth)[..., 0] for worth in worths], axis=1)
            every *= slopes.reshape(*slopes.shape, *(1,) * (every.ndim - 2))
            expected = np.average(every, axis=1, weights=weights)
            values = explainer.values(X, index=index)  # type: ignore[arg-type]
            np.testing.assert_allclose(values, expected, rtol=0, atol=20 * tolerance * np.abs(expected).max())


@pytest.mark.parametrize("engine", oracle.ENGINES)
def test_engines_agree(engine: str) -> None:
    X = data().X
    booster = lightgbm_cases.train("binary", objective="binary")
    explainers = [TreeExplainer(booster, X, model_output="probability", engine=e) for e in (engine, "traversal")]
    for index in oracle.INDICES:
        ours, reference = (explainer.values(X[:9], index=index) for explainer in explainers)  # type: ignore[arg-type]
        np.testing.assert_allclose(ours, reference, rtol=0, atol=1e-13)


def test_squared_errors_are_the_definition() -> None:
    X, Z, y = data().X[:4], data().X[30:40], np.array([0.0, 2.0, -1.0, 7.0])
    booster = lightgbm_cases.train("y")
    h_x, h_z = booster.predict(X), booster.predict(Z)
    raw = np.stack([oracle.shapley(oracle.worths(booster.predict, X, z[np.newaxis]))[..., 0] for z in Z], axis=1)
    slopes = h_x[:, np.newaxis] + h_z - 2.0 * y[:, np.newaxis]
    explainer = TreeExplainer(booster, Z, model_output="squared_error")
    explanation = explainer(X, y)
    np.testing.assert_allclose(explanation.values, (raw * slopes[:, :, np.newaxis]).mean(axis=1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(explanation.base_values, ((h_z - y[:, np.newaxis]) ** 2).mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, (h_x - y) ** 2, rtol=1e-10)
    assert explainer.explain_plan(4).weightings == 2
    assert explainer.explain_plan(4).bound == 0.0
    for wrong, message in ((None, "needs y, the true value"), ([np.nan] * 4, "finite number"), (["a"] * 4, "numbers")):
        with pytest.raises(InputError, match=message):
            explainer.shap_values(X, wrong)
    with pytest.raises(UnsupportedModelError, match="needs a regressor with one output"):
        TreeExplainer(lightgbm_cases.train("binary", objective="binary"), Z, model_output="squared_error")


def test_an_identity_link_is_the_raw_prediction() -> None:
    X = data().X
    booster = lightgbm_cases.train("y")
    explainers = [TreeExplainer(booster, X, model_output=output) for output in ("raw", "prediction")]
    np.testing.assert_array_equal(explainers[0].shap_values(X[:5]), explainers[1].shap_values(X[:5]))
    # Without a background, too.
    np.testing.assert_array_equal(
        TreeExplainer(booster, model_output="prediction").shap_values(X[:5]), TreeExplainer(booster).shap_values(X[:5])
    )


def stumps(*rises: float, base: float = 0.0) -> Forest:
    """One stump per feature: it adds its rise if the feature is above 0.5."""
    builder = ForestBuilder(len(rises), rule="<=", precision="float64")
    for feature, rise in enumerate(rises):
        builder.add_tree(
            left=[1, -1, -1], right=[2, -1, -1], feature=[feature] * 3, threshold=[0.5] * 3, value=[0, 0, rise]
        )
    return builder.build(base=base)


CURVES = {
    "logistic": MarginFunction.of(Step("logistic")),
    "calibrated": MarginFunction.of(Step("logistic", -3.7, 1.2)),
    "exp": MarginFunction.of(Step("exp")),
    "exp less 1": MarginFunction.of(Step("exp", 0.5), Step("identity", 1.0, -1.0)),
    "softplus": MarginFunction.of(Step("softplus")),
    "softplus, mirrored": MarginFunction.of(Step("softplus", -1.0, 2.0)),
    "calibrated twice": MarginFunction.of(Step("logistic"), Step("logistic", 9.0, -4.0)),
    "square": MarginFunction.of(Step("square", 2.0, 1.0)),
    "line": MarginFunction.of(Step("identity", -2.0, 1.0)),
}
RANGES = [
    ((-41.0, 42.0), (-9.3, 8.3)),
    ((-700.0, 700.0), (-700.0, 700.0)),
    ((-700.0, 700.0), (-1.0, 1.0)),
    ((-5.0, 5.0), (0.1, 0.1)),
    ((-5.0, 5.0), (0.0, 1e-9)),
    ((-30.0, 30.0), (20.0, 25.0)),
    ((-30.0, 30.0), (-25.0, -20.0)),
    ((-800.0, 700.0), (-800.0, -750.0)),
    ((-1e300, 709.0), (-3.0, 3.0)),
]


@pytest.mark.parametrize("ranges", RANGES, ids=str)
@pytest.mark.parametrize("name", CURVES)
def test_slopes_are_sums_of_products(name: str, ranges: tuple[tuple[float, float], tuple[float, float]]) -> None:
    """At margins that no grid has: the error is within the bound, and the bound within the tolerance."""
    curve, (rows, background) = CURVES[name], ranges
    found = lowrank.factors_of(curve, rows, background)
    assert found is not None
    assert found.rank <= 60
    assert found.bound <= 1e-12
    rng = np.random.default_rng(1)
    near = max(rows[0], -2000.0)
    a = np.concatenate([rng.uniform(near, rows[1], 300), rng.uniform(*background, 300), rows, background])
    b = np.concatenate([rng.uniform(*background, 300), background])
    weights = found.weights(b)
    assert weights.min() >= 0.0
    assert weights.max() <= 1.01
    exact = curve.slope(a[:, np.newaxis], b[np.newaxis])
    largest = np.abs(exact).max(axis=1)
    if name.startswith("softplus"):  # next to a slope of 1, which belongs to the other label
        largest = np.maximum(largest, 1.0)
    error = np.abs(exact - found.coefficients(a) @ weights).max(axis=1)
    assert (error <= 2e-12 * largest + 1e-300).all()


def test_a_curve_with_a_kink_is_left_to_pairs() -> None:
    signed = MarginFunction.of(Step("signed square"))
    assert lowrank.factors_of(signed, (-5.0, 5.0), (-1.0, 1.0)) is None
    booster = lightgbm_cases.train("positive", objective="regression", reg_sqrt=True)
    X = data().X
    explainer = TreeExplainer(booster, X[BACKGROUND], model_output="prediction")
    total = explainer(X[:9]).values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, booster.predict(X[:9]), rtol=1e-10)
    assert explainer.explain_plan(9).trees_by_walk > 0


@pytest.mark.parametrize("function", ["logistic", "exp", "softplus"])
@pytest.mark.parametrize(
    ("rises", "base"), [((300.0, -150.0, 550.0), -350.0), ((1e-9, -2e-9), 0.0), ((0.0, 0.0), 3.0), ((5.0, 3.0), 690.0)]
)
def test_margins_may_be_anything(function: str, rises: tuple[float, ...], base: float) -> None:
    """Against every pair's quotient, for margins up to 700, next to one another, and all the same."""
    forest = stumps(*rises, base=base)
    model = Model(forest=forest, library="by hand", link=Link(function, (MarginFunction.of(Step(function)),)))
    X = np.array(np.meshgrid(*[[0.0, 1.0]] * len(rises))).reshape(len(rises), -1).T.copy()
    for background in (X, X[:1], X[-1:]):
        explainer = TreeExplainer(model, background, model_output="prediction")
        expected = explainer.pair_values(X).mean(axis=1)
        values = explainer.shap_values(X)
        assert np.isfinite(values).all()
        for row, pairs in zip(values, expected, strict=True):
            np.testing.assert_allclose(row, pairs, rtol=0, atol=1e-11 * np.abs(pairs).max())
        total = values.sum(axis=1) + explainer.expected_value
        own = model.link.curve(0).value(forest.margin(X)[:, 0])
        np.testing.assert_allclose(total, own, rtol=0, atol=1e-11 * np.abs(own).max())


def test_a_loss_that_is_almost_zero_keeps_its_digits() -> None:
    """Where every margin says the true class for sure, values are tiny, and still right to many digits."""
    forest = stumps(2.0, 1.5, base=28.0)
    model = Model(forest=forest, library="by hand", link=Link.named("logistic"))
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    explainer = TreeExplainer(model, X, model_output="log_loss")
    expected = np.stack([oracle.shapley(oracle.worths(forest.margin, X, z[np.newaxis]))[..., 0] for z in X], axis=1)
    h = forest.margin(X)[:, 0]
    loss = np.log1p(np.exp(-h))
    gap = h[:, np.newaxis] - h
    slopes = np.where(gap == 0.0, -1.0 / (1.0 + np.exp(h)), (loss[:, np.newaxis] - loss) / np.where(gap == 0, 1, gap))
    expected = (expected * slopes[:, :, np.newaxis]).mean(axis=1)
    np.testing.assert_allclose(explainer.shap_values(X, [1] * 4), expected, rtol=1e-9)


def test_a_prediction_that_overflows_is_refused() -> None:
    model = Model(forest=stumps(900.0, 1.0), library="by hand", link=Link.named("log"))
    safe = np.array([[0.0, 0.0], [0.0, 1.0]])
    explainer = TreeExplainer(model, safe, model_output="prediction")
    with pytest.raises(InputError, match=r"row 1 of X: its margin is 900, and model_output='prediction' overflows"):
        explainer.shap_values([[0.0, 0.0], [1.0, 0.0]])
    with pytest.raises(InputError, match="row 0 of data: its margin is 901"):
        TreeExplainer(model, [[1.0, 1.0]], model_output="prediction")


def test_the_mean_of_several_links() -> None:
    """Each margin has a curve of its own, and the prediction is their mean, as calibration on several folds gives."""
    X = data().X
    forest = load(xgboost_cases.train("pair", {"multi_strategy": "one_output_per_tree"})).forest
    curves = MarginFunction.of(Step("logistic", -1.3, 0.2)), MarginFunction.of(Step("logistic", 0.8, -0.4))
    model = Model(forest=forest, library="by hand", link=Link("calibrated", curves, averaged=True))

    def own(rows: Array) -> Array:
        h = forest.margin(rows)
        return np.asarray((1 / (1 + np.exp(1.3 * h[:, 0] - 0.2)) + 1 / (1 + np.exp(0.4 - 0.8 * h[:, 1]))) / 2)

    for output in ("prediction", "probability"):
        explainer = TreeExplainer(model, X[BACKGROUND], model_output=output)
        values = explainer.shap_values(X[:7])
        assert values.shape == (7, 5)
        np.testing.assert_allclose(values, explainer.pair_values(X[:7]).mean(axis=1), rtol=0, atol=1e-13)
        np.testing.assert_allclose(values.sum(axis=1) + explainer.expected_value, own(X[:7]), atol=1e-12)
        again = TreeExplainer.from_bytes(explainer.to_bytes())
        np.testing.assert_array_equal(again.shap_values(X[:7]), values)
        np.testing.assert_array_equal(again.expected_value, explainer.expected_value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_margins_one_by_one(case: Case) -> None:
    loaded = load(built(case).model)
    forest, X = loaded.forest, loaded.read(built(case).X, "X").matrix
    whole, ranges = forest.margin(X), margin_ranges(forest)
    assert (whole >= ranges[:, 0]).all()
    assert (whole <= ranges[:, 1]).all()
    if forest.n_outputs > 1:
        for output in range(forest.n_outputs):
            np.testing.assert_array_equal(forest_of_margin(forest, output).margin(X)[:, 0], whole[:, output])
