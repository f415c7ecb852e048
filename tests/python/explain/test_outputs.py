"""Probabilities and losses: each against a plain computation over all pairs, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import ForestBuilder, InputError, TreeExplainer, UnsupportedModelError
from arborshap.explain import pairs, softmax, weighted
from arborshap.explain.labels import Labels
from arborshap.models import Link, Model, load, margin_functions
from support import oracle
from support.models import lightgbm_cases, xgboost_cases
from support.models.case import columns_of, data

Array = NDArray[np.float64]

ROWS, BACKGROUND = slice(0, 4), slice(20, 30)
WEIGHTS = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 0.5, 1.0, 4.0, 1.0, 1.0])


class Classifier(NamedTuple):
    """A model, its raw prediction and its probabilities by its own library, (rows, outputs), and its labels."""

    model: Any
    raw: Callable[[Array], Array]
    probability: Callable[[Array], Array]
    labels: list[Any]
    tolerance: float


def xgboost_classifier(target: str) -> Classifier:
    import xgboost

    options = (
        {"objective": "multi:softprob", "num_class": 3} if target == "classes" else {"objective": "binary:logistic"}
    )
    booster = xgboost_cases.train(target, options)
    return Classifier(
        booster,
        lambda X: xgboost_cases.margin(booster, X),
        lambda X: columns_of(booster.predict(xgboost.DMatrix(X))),
        [0, 1, 2][: 3 if target == "classes" else 2],
        2e-5,
    )


def lightgbm_classifier(target: str, **options: Any) -> Classifier:
    booster = lightgbm_cases.train(target, **options)
    return Classifier(
        booster,
        lambda X: lightgbm_cases.raw_score(booster, X),
        lambda X: columns_of(booster.predict(X)),
        [0, 1, 2][: 3 if target == "classes" else 2],
        1e-9,
    )


def lightgbm_wrapper(target: str) -> Classifier:
    import lightgbm

    given = data()
    labels = np.array(["high", "low", "mid"])[getattr(given, target)]
    model = lightgbm.LGBMClassifier(n_estimators=5, num_leaves=6, min_child_samples=5, n_jobs=1, verbose=-1)
    model.fit(given.X, labels)
    n_margins = 3 if target == "classes" else 1
    return Classifier(
        model,
        lambda X: columns_of(model.predict(X, raw_score=True)),
        lambda X: columns_of(np.asarray(model.predict_proba(X))[:, -n_margins:]),
        model.classes_.tolist(),
        1e-9,
    )


def sklearn_classifier(kind: str, target: str, **options: Any) -> Classifier:
    from sklearn import ensemble

    given = data(gaps=False)
    labels = np.array(["high", "low", "mid"])[getattr(given, target)]
    model = getattr(ensemble, kind)(random_state=7, max_depth=3, **options).fit(given.X, labels)
    raw = model.predict_proba if kind == "RandomForestClassifier" else model.decision_function
    n_margins = load(model).forest.n_outputs
    return Classifier(
        model,
        lambda X: columns_of(raw(X)),
        lambda X: columns_of(model.predict_proba(X)[:, -n_margins:]),
        model.classes_.tolist(),
        1e-9,
    )


def catboost_classifier(target: str, **options: Any) -> Classifier:
    import catboost

    given = data()
    model = catboost.CatBoostClassifier(
        iterations=5, depth=3, random_seed=7, thread_count=1, verbose=0, allow_writing_files=False, **options
    )
    model.fit(given.X, getattr(given, target) * 10)
    n_margins = load(model).forest.n_outputs
    return Classifier(
        model,
        lambda X: columns_of(model.predict(X, prediction_type="RawFormulaVal")),
        lambda X: columns_of(model.predict_proba(X)[:, -n_margins:]),
        model.classes_.tolist(),
        1e-9,
    )


BOOSTING = {"n_estimators": 5}
CLASSIFIERS: dict[str, Callable[[], Classifier]] = {
    "xgboost": lambda: xgboost_classifier("binary"),
    "xgboost, 3 classes": lambda: xgboost_classifier("classes"),
    "lightgbm": lambda: lightgbm_classifier("binary", objective="binary"),
    "lightgbm, steep": lambda: lightgbm_classifier("binary", objective="binary", sigmoid=2.5),
    "lightgbm, 3 classes": lambda: lightgbm_classifier("classes", objective="multiclass", num_class=3),
    "lightgbm, named": lambda: lightgbm_wrapper("binary"),
    "lightgbm, named, 3 classes": lambda: lightgbm_wrapper("classes"),
    "boosting": lambda: sklearn_classifier("GradientBoostingClassifier", "binary", **BOOSTING),
    "boosting, exponential": lambda: sklearn_classifier(
        "GradientBoostingClassifier", "binary", loss="exponential", **BOOSTING
    ),
    "boosting, 3 classes": lambda: sklearn_classifier("GradientBoostingClassifier", "classes", **BOOSTING),
    "hist": lambda: sklearn_classifier("HistGradientBoostingClassifier", "binary", max_iter=5),
    "hist, 3 classes": lambda: sklearn_classifier("HistGradientBoostingClassifier", "classes", max_iter=5),
    "catboost": lambda: catboost_classifier("binary"),
    "catboost, 3 classes": lambda: catboost_classifier("classes"),
}
AGAINST_THE_REST: dict[str, Callable[[], Classifier]] = {
    "lightgbm": lambda: lightgbm_classifier("classes", objective="multiclassova", num_class=3, sigmoid=0.5),
    "catboost": lambda: catboost_classifier("classes", loss_function="MultiClassOneVsAll"),
}


@cache
def classifier(name: str) -> Classifier:
    return CLASSIFIERS[name]()


def steepness_of(model: Any) -> float:
    return load(model).link.curve(0).steps[0].scale


def rows_of(name: str) -> Array:
    return data(gaps=name.startswith(("xgboost", "lightgbm", "catboost"))).X


def pair_by_pair(model: Classifier, X: Array, Z: Array) -> Array:
    """The margin's Shapley values of every pair, by the definition: (rows, others, players, margins)."""
    return np.stack([oracle.shapley(oracle.worths(model.raw, X, z[np.newaxis])) for z in Z], axis=1)


@cache
def pairs_of(name: str) -> Array:
    return pair_by_pair(classifier(name), rows_of(name)[ROWS], rows_of(name)[BACKGROUND])


def secants(g_x: Array, g_z: Array, h_x: Array, h_z: Array, slope_at: Callable[[Array], Array]) -> Array:
    """(g(x) - g(z)) / (h(x) - h(z)) for every pair, and the slope where there is no difference: (rows, others, ...)."""
    rise, run = g_x[:, np.newaxis] - g_z, h_x[:, np.newaxis] - h_z
    level = np.abs(run) < 1e-6  # XGBoost's own float32 sums leave nothing to divide here
    return np.where(level, slope_at(h_x)[:, np.newaxis], rise / np.where(level, 1.0, run))


def jacobians(h_x: Array, h_z: Array) -> Array:
    """The softmax's slopes, averaged over 2000 points of the line between two rows' margins: [..., k, j]."""
    total = np.zeros((*h_x.shape, h_x.shape[-1]))
    for t in (np.arange(2000) + 0.5) / 2000:
        p = np.exp(h_z + t * (h_x - h_z))
        p /= p.sum(axis=-1, keepdims=True)
        total += p[..., np.newaxis] * np.eye(p.shape[-1]) - p[..., np.newaxis] * p[..., np.newaxis, :]
    return total / 2000


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_are_the_plain_computation_over_all_pairs(name: str) -> None:
    model = classifier(name)
    X, Z = rows_of(name)[ROWS], rows_of(name)[BACKGROUND]
    raw = pairs_of(name)
    h_x, h_z, p_x, p_z = model.raw(X), model.raw(Z), model.probability(X), model.probability(Z)
    if h_x.shape[1] == 1:
        steepness = steepness_of(model.model)
        slopes = secants(p_x, p_z, h_x, h_z, lambda h: steepness * p_x * (1.0 - p_x))
        expected = raw * slopes[:, :, np.newaxis, :]
    else:
        slopes = jacobians(*np.broadcast_arrays(h_x[:, np.newaxis], h_z))
        expected = np.einsum("xzkj,xzij->xzik", slopes, raw)
    averaged = np.average(expected, axis=1, weights=WEIGHTS)
    base = np.average(p_z, axis=0, weights=WEIGHTS)

    explainer = TreeExplainer(model.model, Z, model_output="probability", sample_weight=WEIGHTS)
    explanation = explainer(X)

    tolerance = max(model.tolerance, 1e-6 if h_x.shape[1] > 1 else 0.0)  # midpoints are not exact
    np.testing.assert_allclose(explanation.values.reshape(averaged.shape), averaged, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(explainer.shap_values(X), explanation.values)
    every = explainer.pair_values(X)
    np.testing.assert_allclose(every.reshape(expected.shape), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(np.ravel(explainer.expected_value), base, rtol=0, atol=model.tolerance)
    total = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(total.reshape(p_x.shape), p_x, rtol=0, atol=model.tolerance)
    gaps = p_x[:, np.newaxis] - p_z
    np.testing.assert_allclose(every.sum(axis=2).reshape(gaps.shape), gaps, rtol=0, atol=model.tolerance)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_losses_are_the_plain_computation_over_all_pairs(name: str) -> None:
    model = classifier(name)
    X, Z = rows_of(name)[ROWS], rows_of(name)[BACKGROUND]
    classes = np.array([1, 0, 1, 0]) if len(model.labels) == 2 else np.array([2, 0, 1, 2])
    y = np.array(model.labels)[classes]
    raw = pairs_of(name)
    h_x, h_z, p_x, p_z = model.raw(X), model.raw(Z), model.probability(X), model.probability(Z)
    if h_x.shape[1] == 1:
        p_x, p_z = np.hstack([1.0 - p_x, p_x]), np.hstack([1.0 - p_z, p_z])
    loss_x = -np.log(p_x[np.arange(4), classes])
    loss_z = -np.log(p_z[:, classes]).T  # of every other row, were its label that of the row
    if h_x.shape[1] == 1:
        run = h_x - h_z.T
        level = np.abs(run) < 1e-6
        here = steepness_of(model.model) * (p_x[:, 1] - classes)[:, np.newaxis]
        slopes = np.where(level, here, (loss_x[:, np.newaxis] - loss_z) / np.where(level, 1.0, run))
        expected = raw[..., 0] * slopes[:, :, np.newaxis]
    else:
        mean = np.zeros((4, len(Z), 3))
        for t in (np.arange(2000) + 0.5) / 2000:
            p = np.exp(h_z + t * (h_x[:, np.newaxis] - h_z))
            mean += p / p.sum(axis=-1, keepdims=True) / 2000
        expected = np.einsum("xzj,xzij->xzi", mean - np.eye(3)[classes][:, np.newaxis], raw)

    explainer = TreeExplainer(model.model, Z, model_output="log_loss", sample_weight=WEIGHTS)
    explanation = explainer(X, y)

    tolerance = 5 * max(model.tolerance, 1e-6 if h_x.shape[1] > 1 else 0.0)
    averaged = np.average(expected, axis=1, weights=WEIGHTS)
    np.testing.assert_allclose(explanation.values, averaged, rtol=0, atol=tolerance)
    np.testing.assert_allclose(explainer.pair_values(X, y=y), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(
        explanation.base_values, np.average(loss_z, axis=1, weights=WEIGHTS), rtol=0, atol=5 * model.tolerance
    )
    total = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(total, loss_x, rtol=0, atol=5 * model.tolerance)
    assert explanation.output_names is None


@pytest.mark.parametrize("name", AGAINST_THE_REST)
def test_one_class_against_the_rest_has_a_scalar_each(name: str) -> None:
    model = AGAINST_THE_REST[name]()
    X, Z = data().X[ROWS], data().X[BACKGROUND]
    p_x = model.probability(X)
    steepness = steepness_of(model.model)
    slopes = secants(p_x, model.probability(Z), model.raw(X), model.raw(Z), lambda h: steepness * p_x * (1.0 - p_x))
    expected = (pair_by_pair(model, X, Z) * slopes[:, :, np.newaxis, :]).mean(axis=1)
    values = TreeExplainer(model.model, Z, model_output="probability").shap_values(X)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9)
    with pytest.raises(UnsupportedModelError, match="3 probabilities that do not sum to 1"):
        TreeExplainer(model.model, Z, model_output="log_loss")


def test_a_forest_of_classifiers_predicts_probabilities_already() -> None:
    model = sklearn_classifier("RandomForestClassifier", "classes", n_estimators=5)
    X = data(gaps=False).X
    raw, probability = (TreeExplainer(model.model, X, model_output=output) for output in ("raw", "probability"))
    np.testing.assert_array_equal(probability.shap_values(X[:5]), raw.shap_values(X[:5]))
    assert probability.taylor_values(X[:5]).shape == (5, 5, 5, 3)
    with pytest.raises(UnsupportedModelError, match="log loss of a zero probability is infinite"):
        TreeExplainer(model.model, X, model_output="log_loss")


@pytest.mark.parametrize("output", ["probability", "log_loss"])
def test_shap_rescales_in_the_same_way(output: Any) -> None:
    shap = pytest.importorskip("shap")
    booster = xgboost_cases.train("binary", {"objective": "binary:logistic"})
    X, Z = data().X[:20], data().X[50:80]
    y = data().binary[:20] if output == "log_loss" else None
    theirs = shap.TreeExplainer(booster, Z, model_output=output).shap_values(X, y)
    ours = TreeExplainer(booster, Z, model_output=output).shap_values(X, y)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


def test_where_margins_are_equal_the_slope_counts() -> None:
    """Two features that cancel out: no difference to divide by, and values all the same."""
    builder = ForestBuilder(2, rule="<=", precision="float64")
    for feature, up in ((0, 1.0), (1, -1.0)):
        builder.add_tree(
            left=[1, -1, -1], right=[2, -1, -1], feature=[feature] * 3, threshold=[0.5] * 3, value=[0, 0, up]
        )
    forest = builder.build(base=0.3)
    p = 1.0 / (1.0 + np.exp(-2.0 * 0.3))
    model = Model(forest=forest, library="by hand", link=Link.named("logistic", 2.0))
    values = TreeExplainer(model, [[0.0, 0.0]], model_output="probability").shap_values([[1.0, 1.0]])
    np.testing.assert_allclose(values, [[2.0 * p * (1.0 - p), -2.0 * p * (1.0 - p)]], rtol=1e-15)
    values = TreeExplainer(model, [[0.0, 0.0]], model_output="log_loss").shap_values([[1.0, 1.0]], [1])
    np.testing.assert_allclose(values, [[2.0 * (p - 1.0), -2.0 * (p - 1.0)]], rtol=1e-15)


MARGINS = [-750.0, -40.0, -1.0, -1e-9, 0.0, 1e-12, 0.3, 0.3 + 1e-13, 2.0, 36.0, 800.0]


@pytest.mark.parametrize("loss", [False, True])
def test_slopes_are_exact_however_near_or_far_the_margins(loss: bool) -> None:
    """Against the same quotient in 400 digits."""
    pairs = np.array([(a, b) for a in MARGINS for b in MARGINS if a != b])
    expected = []
    with localcontext() as context:
        context.prec = 400
        for a, b in pairs.tolist():
            e_a, e_b = Decimal(a).exp(), Decimal(b).exp()
            rise = (1 + e_a).ln() - (1 + e_b).ln() if loss else e_a / (1 + e_a) - e_b / (1 + e_b)
            expected.append(float(rise / (Decimal(a) - Decimal(b))))
    slope = margin_functions.softplus_slope if loss else margin_functions.logistic_slope
    np.testing.assert_allclose(
        slope(pairs[:, 0], pairs[:, 1]), expected, rtol=1e-13 if not loss else 2e-13, atol=1e-300
    )


def test_a_softmax_of_two_is_a_logistic_function_of_their_difference() -> None:
    rng = np.random.default_rng(5)
    start, end = rng.normal(size=(2, 200, 2)) * 10.0 ** rng.uniform(-8, 2.5, size=(200, 1))
    product = softmax.softmax_means(start, end, two_by_two=True)
    slope = margin_functions.logistic_slope(start[:, 1] - start[:, 0], end[:, 1] - end[:, 0])
    np.testing.assert_allclose(product[:, 0, 1], slope, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(product[:, 1, 0], product[:, 0, 1])
    assert not product[:, [0, 1], [0, 1]].any()


def test_mean_slopes_of_a_softmax_lead_from_one_end_to_the_other() -> None:
    rng = np.random.default_rng(6)
    probabilities = softmax.Softmax("probability", 7, None)
    loss = softmax.Softmax("log_loss", 7, Labels("class", 7))
    y = np.array([3.0, 0.0])
    theirs = rng.normal(size=(300, 7)) * 10.0 ** rng.uniform(-6, 2, size=(300, 1))
    ours = np.vstack([theirs[1] + 1e-7, rng.normal(size=7)])
    for output, labels in ((probabilities, None), (loss, y)):
        reached = np.einsum("xzkj,xzj->xzk", output.slopes(ours, theirs, labels), ours[:, np.newaxis] - theirs)
        for x in range(2):
            label = None if labels is None else labels[x : x + 1]
            expected = output.of(ours[x : x + 1], label) - output.of(theirs, label)
            np.testing.assert_allclose(reached[x], expected, rtol=0, atol=1e-12 if labels is None else 1e-11)


@pytest.mark.parametrize("name", ["lightgbm", "lightgbm, 3 classes"])
def test_a_row_has_the_same_bits_whatever_is_explained_with_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = classifier(name).model, data().X
    explainer = TreeExplainer(model, X, model_output="probability", n_jobs=1)
    values = explainer.shap_values(X[:40])
    np.testing.assert_array_equal(explainer.shap_values(X[7:8]), values[7:8])
    np.testing.assert_array_equal(
        TreeExplainer(model, X, model_output="probability", n_jobs=2).shap_values(X[:40]), values
    )
    np.testing.assert_array_equal(explainer.shap_values(X[:40], dtype=np.float32), values.astype(np.float32))
    monkeypatch.setattr(pairs, "_CHUNK", 1000)  # blocks of a few dozen pairs
    monkeypatch.setattr(weighted, "_CHUNK", 35)  # blocks of seven rows
    seen: list[float] = []
    np.testing.assert_allclose(explainer.shap_values(X[:40], progress=seen.append), values, rtol=0, atol=1e-14)
    assert len(seen) > (100 if name == "lightgbm, 3 classes" else 20)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_a_background_that_changes_later_changes_nothing() -> None:
    X = data().X
    background = X[BACKGROUND].copy()
    explainer = TreeExplainer(classifier("lightgbm").model, background, model_output="probability")
    values = explainer.shap_values(X[:5])
    background[:] = 0.0
    np.testing.assert_array_equal(explainer.shap_values(X[:5]), values)


def test_no_rows_have_no_values() -> None:
    X = data().X
    explainer = TreeExplainer(classifier("lightgbm, 3 classes").model, X[BACKGROUND], model_output="probability")
    assert explainer(X[:0]).shape == (0, 5, 3)
    assert explainer.pair_values(X[:0]).shape == (0, 10, 5, 3)
    assert explainer.pair_values(X[:2], X[:0]).shape == (2, 0, 5, 3)


def test_groups_play_as_one() -> None:
    model, X = classifier("lightgbm"), data().X
    players = [0, 1, 1, 0, 2]
    explainer = TreeExplainer(model.model, X[BACKGROUND], model_output="probability", groups=players)
    p_x = model.probability(X[ROWS])
    expected = []
    for z in X[BACKGROUND][:, np.newaxis]:
        raw = oracle.shapley(oracle.worths(model.raw, X[ROWS], z, players))[..., 0]
        slope = secants(p_x, model.probability(z), model.raw(X[ROWS]), model.raw(z), lambda _: p_x * (1 - p_x))[:, 0]
        expected.append(raw * slope)
    np.testing.assert_allclose(explainer.shap_values(X[ROWS]), np.mean(expected, axis=0), rtol=0, atol=1e-9)


def test_a_contrast_is_of_the_probabilities() -> None:
    model, X = classifier("lightgbm, 3 classes"), data().X
    explainer = TreeExplainer(model.model, X, model_output="probability")
    contrast = explainer.contrast(X[0], X[1])
    p = model.probability(X[:2])
    np.testing.assert_allclose(contrast.values.sum(axis=0), p[0] - p[1], atol=1e-12)
    np.testing.assert_allclose(contrast.base_values, p[1], atol=1e-12)
    np.testing.assert_allclose(contrast.values, explainer.pair_values(X[:1], X[1:2])[0, 0], atol=1e-15)


def test_labels_may_be_chances_where_there_are_two_classes() -> None:
    model, X = classifier("lightgbm"), data().X
    explainer = TreeExplainer(model.model, X[BACKGROUND], model_output="log_loss")
    zero, half, one = (explainer(X[:1], [y]) for y in (0, 0.25, 1))
    np.testing.assert_allclose(half.values, 0.75 * zero.values + 0.25 * one.values, atol=1e-14)
    np.testing.assert_allclose(half.base_values, 0.75 * zero.base_values + 0.25 * one.base_values, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("lightgbm", None, "needs y, the true label of each row"),
        ("lightgbm", [0, 1, 2, 0], "y of row 2 is 2; labels are 0, 1 or a probability in between"),
        ("lightgbm", [0, np.nan, 1, 0], "y of row 1 is nan"),
        ("lightgbm", [0, 1], r"y has shape \(2,\), but there are 4 rows"),
        ("lightgbm", ["a", "b", "a", "b"], "y must be numbers"),
        ("lightgbm, 3 classes", [0, 1, 2, 3], "y of row 3 is 3; the classes are numbered from 0 to 2"),
        ("lightgbm, 3 classes", [0, 0.5, 2, 1], "y of row 1 is 0.5; the classes are numbered"),
        ("boosting", ["high", "low", "lo", "low"], r"y of row 2 is .*'lo'.*; the classes are \['high', 'low'\]"),
        ("catboost", [0, 10, 1, 0], r"y of row 2 is .*1.*; the classes are \[0, 10\]"),
    ],
)
def test_labels_that_are_none_of_the_model_are_refused(name: str, y: Any, message: str) -> None:
    X = rows_of(name)
    explainer = TreeExplainer(classifier(name).model, X[BACKGROUND], model_output="log_loss")
    for call in (explainer, explainer.shap_values, lambda X, y: explainer.pair_values(X, y=y)):
        with pytest.raises(InputError, match=message):
            call(X[ROWS], y)


def test_what_is_not_defined_is_refused() -> None:
    model, X = classifier("lightgbm").model, data().X
    probability = TreeExplainer(model, X, model_output="probability")
    loss = TreeExplainer(model, X, model_output="log_loss")
    several = TreeExplainer(classifier("lightgbm, 3 classes").model, X, model_output="probability")
    for call in (several.taylor_values, several.shap_interaction_values, several.banzhaf_values):
        with pytest.raises(InputError, match="which is done for Shapley values only"):
            call(X[:2])
    with pytest.raises(InputError, match="depends on the label of a row"):
        _ = loss.expected_value
    with pytest.raises(InputError, match=r"pair_values\(x, z, y=...\)"):
        loss.contrast(X[0], X[1])
    for explainer in (probability, TreeExplainer(model, X)):
        for with_labels in (explainer.shap_values, lambda X, y, e=explainer: e.pair_values(X, y=y)):
            with pytest.raises(InputError, match="only used with model_output='log_loss'"):
                with_labels(X[:1], [1])
    with pytest.raises(InputError, match="needs a background"):
        TreeExplainer(model, model_output="probability")
    with pytest.raises(InputError, match="engine='pattern' cannot compute model_output='probability'"):
        several.with_settings(engine="pattern")
    with pytest.raises(InputError, match="engine='pattern' cannot compute model_output='probability'"):
        TreeExplainer(classifier("lightgbm, 3 classes").model, X, model_output="probability", engine="pattern")
    with pytest.raises(MemoryError, match="memory_limit allows 1,000"):
        TreeExplainer(model, X, model_output="probability", memory_limit=1000).shap_values(X)
    assert several.explain_plan(100).trees_by_walk == 15


def test_models_without_probabilities_are_refused_by_name() -> None:
    from sklearn.ensemble import IsolationForest

    X = data(gaps=False).X
    builder = ForestBuilder(5, rule="<", precision="float64")
    builder.add_tree(left=[-1], right=[-1], feature=[0], threshold=[0], value=[1])
    for model, message in (
        (xgboost_cases.train("y", {}), "xgboost .*its link is identity"),
        (xgboost_cases.train("positive", {"objective": "count:poisson"}), "its link is log"),
        (xgboost_cases.train("binary", {"objective": "binary:hinge"}), "its link is step"),
        (
            lightgbm_cases.train("positive", objective="regression", reg_sqrt=True),
            "lightgbm .*its link is signed square",
        ),
        (IsolationForest(n_estimators=2).fit(X), "scikit-learn .*its link is anomaly score"),
        (builder.build(), "arborshap .*its link is unknown"),
    ):
        for output in ("probability", "log_loss"):
            with pytest.raises(UnsupportedModelError, match=message):
                TreeExplainer(model, X, model_output=output)


def test_an_explanation_knows_what_it_is_of() -> None:
    booster = xgboost_classifier("binary").model
    X = data().X
    assert TreeExplainer(booster, X[BACKGROUND])(X[ROWS]).model_output == "raw"
    assert TreeExplainer(booster, X[BACKGROUND], model_output="probability")(X[ROWS])[0].model_output == "probability"
