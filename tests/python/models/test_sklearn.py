"""scikit-learn in detail: names, links, conventions of older versions, and categories recoded by the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from joblib.parallel import get_active_backend
from sklearn import ensemble, tree
from sklearn.dummy import DummyClassifier, DummyRegressor

from arborshap import TreeExplainer
from arborshap._util.threads import reading_threads
from arborshap.exceptions import InputError, UnsupportedModelError
from arborshap.forest import builder as forest_builder
from arborshap.models import load
from arborshap.models.sklearn.common import quiet
from support.models.case import columns_of, data, predicted

pd = pytest.importorskip("pandas")


def test_values_kept_as_counts_mean_the_same_as_fractions() -> None:
    given = data(gaps=False)
    model = tree.DecisionTreeClassifier(max_depth=3).fit(given.X, given.classes)
    expected = load(model).forest.margin(given.rows)
    state = model.tree_.__getstate__()
    state["values"] = state["values"] * 37.0  # as scikit-learn did before 1.3, up to the counts themselves
    model.tree_.__setstate__(state)
    assert model.tree_.value.max() > 1.0
    np.testing.assert_allclose(load(model).forest.margin(given.rows), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "target", "link", "outputs"),
    [
        (tree.DecisionTreeRegressor(max_depth=2), "y", "identity", None),
        (tree.DecisionTreeClassifier(max_depth=2), "classes", "probability", ("0", "1", "2")),
        (
            tree.DecisionTreeClassifier(max_depth=2),
            "class_pair",
            "probability",
            ("0: 0", "0: 1", "0: 2", "1: 0", "1: 1"),
        ),
        (ensemble.GradientBoostingRegressor(n_estimators=2), "y", "identity", None),
        (ensemble.GradientBoostingClassifier(n_estimators=2), "binary", "logistic", None),
        (ensemble.GradientBoostingClassifier(n_estimators=2, loss="exponential"), "binary", "logistic", None),
        (ensemble.GradientBoostingClassifier(n_estimators=2), "classes", "softmax", ("0", "1", "2")),
        (ensemble.HistGradientBoostingClassifier(max_iter=2), "binary", "logistic", None),
        (ensemble.HistGradientBoostingClassifier(max_iter=2), "classes", "softmax", ("0", "1", "2")),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_links_and_names(model: Any, target: str, link: str, outputs: tuple[str, ...] | None) -> None:
    given = data(gaps=False)
    frame = pd.DataFrame(given.X, columns=[*"abcde"])
    model.fit(frame, getattr(given, target))
    loaded = load(model)
    assert (loaded.link.name, loaded.forest.output_names, loaded.forest.feature_names) == (
        link,
        outputs,
        tuple("abcde"),
    )
    raw = loaded.forest.margin(given.rows)
    predict = getattr(model, "predict_proba", model.predict)
    theirs = columns_of(predict(frame[:60]))[:, -raw.shape[1] :]
    np.testing.assert_allclose(
        predicted(link, raw, loaded.link.curve(0).steps[0].scale if loaded.link.curves else 1.0), theirs, rtol=1e-9
    )


@pytest.mark.parametrize(
    ("init", "is_constant"),
    [
        (DummyClassifier(strategy="prior"), True),
        (DummyClassifier(strategy="constant", constant=1), True),
        (DummyClassifier(strategy="uniform"), True),
        (DummyClassifier(strategy="stratified"), False),
    ],
)
def test_a_constant_start_is_read_and_a_random_one_refused(init: Any, is_constant: bool) -> None:
    given = data(gaps=False)
    model = ensemble.GradientBoostingClassifier(n_estimators=3, init=init).fit(given.X, given.binary)
    if is_constant:
        expected = columns_of(model.decision_function(given.rows))
        np.testing.assert_allclose(load(model).forest.margin(given.rows), expected, rtol=1e-9)
    else:
        with pytest.raises(UnsupportedModelError, match="init=DummyClassifier, whose prediction is not constant"):
            load(model)


def test_a_quantile_start() -> None:
    given = data(gaps=False)
    init = DummyRegressor(strategy="quantile", quantile=0.9)
    model = ensemble.GradientBoostingRegressor(n_estimators=3, init=init, loss="huber").fit(given.X, given.y)
    np.testing.assert_allclose(load(model).forest.margin(given.rows)[:, 0], model.predict(given.rows), rtol=1e-9)


class _RowsOnly(tree.DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that takes no weights, so that bagging gives it a sample's rows and it may never see a class."""

    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(X, y)


def test_bagged_trees_whose_samples_lack_a_class() -> None:
    given = data(gaps=False)
    model = ensemble.BaggingClassifier(_RowsOnly(max_depth=2), n_estimators=8, max_samples=4, random_state=3)
    model.fit(given.X, np.array([*"xyz"])[given.classes])
    assert any(list(one.classes_) in ([0, 2], [1, 2]) for one in model.estimators_), "a class before the last must lack"
    loaded = load(model)
    assert loaded.forest.output_names == ("x", "y", "z")
    np.testing.assert_allclose(loaded.forest.margin(given.rows), model.predict_proba(given.rows), atol=1e-12)


def category_frame() -> Any:
    given = data()
    frame = pd.DataFrame(given.X, columns=["size", "height", "width", "colour", "depth"])
    frame["colour"] = pd.Categorical([f"c{int(code)}" for code in given.X[:, 3]])
    frame.loc[::13, "colour"] = None
    return frame


class TestCategoriesOfHistGradientBoosting:
    FROM_DTYPE = ensemble.HistGradientBoostingRegressor(max_iter=2, categorical_features="from_dtype")

    def test_text_categories_come_in_a_frame(self) -> None:
        frame = category_frame()
        fitted = ensemble.HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype")
        fitted.fit(frame, data().y)
        model = load(fitted)
        assert model.encode is not None
        assert model.raw_predict is not None
        assert (model.forest.flags & 32).any(), "the trees must split on categories"
        unseen = frame.copy()
        unseen["colour"] = unseen["colour"].cat.add_categories(["new"])
        unseen.loc[3:20, "colour"] = "new"
        for rows in (frame, unseen):
            codes = model.encode(rows)
            expected = columns_of(fitted.predict(rows))
            np.testing.assert_allclose(model.forest.margin(codes), expected, rtol=1e-9)
            np.testing.assert_allclose(model.raw_predict(codes), expected, rtol=1e-12)

    def test_other_frames_give_the_same_codes(self) -> None:
        frame = category_frame()
        model = load(self.FROM_DTYPE.fit(frame, data().y))
        assert model.encode is not None
        for other in (
            pytest.importorskip("polars").from_pandas(frame),
            pytest.importorskip("pyarrow").Table.from_pandas(frame),
        ):
            np.testing.assert_array_equal(model.encode(other), model.encode(frame))

    def test_text_categories_cannot_come_in_a_matrix(self) -> None:
        model = load(self.FROM_DTYPE.fit(category_frame(), data().y))
        assert model.encode is not None
        with pytest.raises(InputError, match="categories that are not numbers; give a frame"):
            model.encode(data().rows)

    def test_what_the_model_refuses_is_refused_as_input(self) -> None:
        model = load(
            ensemble.HistGradientBoostingRegressor(max_iter=2, categorical_features=[3]).fit(data().X, data().y)
        )
        assert model.encode is not None
        rows = data().rows.copy()
        rows[0, 3] = np.inf
        with pytest.raises(InputError, match="the model's own preprocessing refuses these rows"):
            model.encode(rows)

    def test_odd_numbers_as_categories(self) -> None:
        """Categories that are negative or no whole numbers, and values that are none of them."""
        given = data()
        X = given.X.copy()
        X[:, 3] = X[:, 3] / 2 - 3
        fitted = ensemble.HistGradientBoostingRegressor(max_iter=5, categorical_features=[3, 2]).fit(X, given.y)
        model = load(fitted)
        assert model.encode is not None
        X[:20, 3] = [99, -99, 0.25, -0.25, np.nan] * 4
        np.testing.assert_allclose(model.forest.margin(model.encode(X)), columns_of(fitted.predict(X)), rtol=1e-9)


def test_an_isolation_forest_of_single_rows() -> None:
    given = data(gaps=False)
    model = ensemble.IsolationForest(n_estimators=3, max_samples=2, random_state=0).fit(given.X)
    ours = load(model).forest.margin(given.rows)
    np.testing.assert_allclose(2.0 ** -ours[:, 0], -model.score_samples(given.rows), rtol=1e-9)  # c(2) is 1


def test_rows_that_gradient_boosting_refuses_are_refused() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    model = ensemble.GradientBoostingRegressor(n_estimators=2).fit(frame, frame["a"])
    gaps = frame[:3].copy()
    gaps.iloc[1, 1] = np.nan
    explainer = TreeExplainer(model, frame)
    with pytest.raises(InputError, match=r"X: row 1 of column 'b' is missing, and scikit-learn .* refuses such rows"):
        explainer(gaps)
    with pytest.raises(InputError, match="X: row 1 of column 1 is missing"):
        explainer.shap_values(gaps.to_numpy())
    with pytest.raises(InputError, match="z: row 0 of column 'b' is missing"):
        explainer.contrast(frame.iloc[0], gaps.iloc[1])


def test_few_rows_are_predicted_on_the_calling_thread() -> None:
    """To compare predictions must not take longer than to make them: joblib waits for its threads in steps of 10 ms."""
    backends: list[str] = []

    def predict(rows: Any) -> Any:
        backends.append(type(get_active_backend()[0]).__name__)
        return np.zeros(len(rows))

    raw_predict = quiet(predict, 1)
    assert raw_predict(np.zeros((100, 2))).shape == (100, 1)
    assert raw_predict(np.zeros((1000, 2))).shape == (1000, 1)
    assert backends[0] == "SequentialBackend" != backends[1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_is_read_with_the_threads_of_the_explainer(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = data(gaps=False)
    model = ensemble.RandomForestRegressor(n_estimators=3, random_state=0).fit(given.X, given.y)
    used: list[int] = []

    def noted() -> int:
        used.append(reading_threads())
        return used[-1]

    monkeypatch.setattr(forest_builder, "reading_threads", noted)
    TreeExplainer(model, given.X[:10], n_jobs=n_jobs)
    load(model)
    assert used == [n_jobs, 1]
