"""Members that read the same rows in different ways: pipelines inside wrappers, categories, markers, CatBoost."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor, StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.impute import SimpleImputer
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from arborshap import InputError, ModelError, TreeExplainer, VerificationError
from support.models.wrapper_cases import boosted, class_forest, forest, hist, light
from support.oracle import INDICES
from support.raw_tables import table, target, worths

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:X has feature names")

RAW = table(160)[["town", "age", "w", "size"]]
TYPED = RAW.astype({"town": "category"})
NUMBERS = RAW[["age", "w", "size"]].round(0)
Y = target(table(160))


def one_hot(last: Any) -> Any:
    encoder = make_column_transformer(
        (OneHotEncoder(), ["town"]), (SimpleImputer(add_indicator=True), ["age"]), remainder="passthrough"
    )
    return make_pipeline(encoder, last)


def ordinal(last: Any) -> Any:
    return make_pipeline(make_column_transformer((OrdinalEncoder(), ["town"]), remainder="passthrough"), last)


def with_catboost() -> Any:
    catboost = pytest.importorskip("catboost")
    model = VotingRegressor([("trees", one_hot(forest())), ("boosting", ordinal(hist()))]).fit(RAW, Y)
    options = {"iterations": 4, "depth": 3, "verbose": 0, "allow_writing_files": False, "max_ctr_complexity": 1}
    # scikit-learn cannot copy a CatBoost model with cat_features, so it is fitted by itself.
    model.estimators_[1] = catboost.CatBoostRegressor(cat_features=["town"], **options).fit(RAW, Y)
    return model


CASES: dict[str, tuple[Any, Callable[[], Any]]] = {
    "voting": (
        RAW,
        lambda: VotingRegressor([("a", one_hot(forest())), ("b", ordinal(hist()))], weights=[1, 3]).fit(RAW, Y),
    ),
    "stacking": (RAW, lambda: StackingRegressor([("a", one_hot(forest())), ("b", ordinal(light()))], cv=2).fit(RAW, Y)),
    "two categories": (
        TYPED,
        lambda: VotingRegressor([("a", boosted(enable_categorical=True)), ("b", light())]).fit(TYPED, Y),
    ),
    "categories and a pipeline": (
        TYPED,
        lambda: VotingRegressor([("a", boosted(enable_categorical=True)), ("b", one_hot(forest()))]).fit(TYPED, Y),
    ),
    "catboost and a pipeline": (RAW, with_catboost),
    "a marker": (
        NUMBERS,
        lambda: VotingRegressor([("a", boosted(missing=-1.0)), ("b", boosted())]).fit(NUMBERS, Y),
    ),
    "bagging": (
        NUMBERS,
        lambda: BaggingRegressor(
            make_pipeline(SimpleImputer(), StandardScaler(), forest()), n_estimators=3, max_features=2, random_state=0
        ).fit(NUMBERS, Y),
    ),
    "targets": (RAW, lambda: MultiOutputRegressor(one_hot(forest())).fit(RAW, np.stack([Y, -2 * Y], axis=1))),
    "in a pipeline": (
        RAW,
        lambda: make_pipeline(
            FunctionTransformer(), VotingRegressor([("a", one_hot(forest())), ("b", ordinal(hist()))])
        ).fit(RAW, Y),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_members_play_the_game_on_the_columns_that_they_share(name: str) -> None:
    rows, made = CASES[name][0], CASES[name][1]()
    X, Z = rows[:4], rows[20:32]
    explainer = TreeExplainer(made, Z)
    assert explainer.feature_names == list(rows)

    def predict(frame: Any) -> Any:
        frame = frame.astype({"town": TYPED["town"].dtype}) if rows is TYPED else frame
        return np.asarray(made.predict(frame)).reshape(len(frame), -1)

    worth = worths(predict, X, Z, range(rows.shape[1]))
    close = 2e-5 if name in ("two categories", "categories and a pipeline", "a marker") else 1e-9
    again = TreeExplainer.from_bytes(explainer.to_bytes())
    pickled = pickle.loads(pickle.dumps(explainer))
    for index, definition in INDICES.items():
        found = explainer(X, index=index).values  # type: ignore[arg-type]
        expected = definition(worth).reshape(found.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=close * np.abs(worth).max(), err_msg=index)
        np.testing.assert_array_equal(again(X, index=index).values, found)  # type: ignore[arg-type]
    np.testing.assert_array_equal(pickled.shap_values(X), explainer.shap_values(X))
    assert np.abs(explainer.shap_values(X)).max() > 0.01


def records_categories() -> bool:
    """Whether XGBoost writes the names of categories into its models."""
    import xgboost

    return tuple(int(part) for part in xgboost.__version__.split(".")[:2]) >= (3, 1)


@pytest.mark.parametrize("name", ["voting", "two categories", "catboost and a pipeline"])
def test_members_read_rows_of_every_kind(name: str) -> None:
    rows, made = CASES[name][0], CASES[name][1]()
    explainer = TreeExplainer(made, rows[20:32])
    expected = explainer.shap_values(rows[:4])
    arrow = pa.Table.from_pandas(rows[:4].reset_index(drop=True))
    records = rows[:4].astype({"town": object}).to_dict("records")
    loaded = TreeExplainer.from_bytes(explainer.to_bytes())
    np.testing.assert_array_equal(explainer.shap_values(rows[:4][list(rows)[::-1]]), expected)
    for one in (explainer, loaded):
        assert one.shap_values(rows[:0]).shape == (0, 4)
    for given in (pl.from_arrow(arrow), arrow, records):
        if name == "two categories" and not records_categories():
            with pytest.raises(InputError, match="column 'town'"):
                explainer.shap_values(given)
            continue
        for one in (explainer, loaded):
            np.testing.assert_array_equal(one.shap_values(given), expected)
            np.testing.assert_array_equal(one.shap_values(given[:1]), expected[:1])
    with pytest.raises(InputError, match="data has no rows"):
        TreeExplainer(made, rows[:0])


def test_classes_and_probabilities_of_pipelines_that_vote() -> None:
    labels = np.where(target(table(160)) > 0, "yes", "no")
    members = [("a", one_hot(class_forest())), ("b", make_pipeline(OrdinalEncoder(), class_forest()))]
    model = VotingClassifier(members, voting="soft").fit(RAW, labels)
    explanation = TreeExplainer(model, RAW[20:32])(RAW[:4])
    assert explanation.output_names == ["no", "yes"]
    total = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(total, model.predict_proba(RAW[:4]), rtol=0, atol=1e-12)


def test_members_that_join_columns_are_warned_about() -> None:
    mixed = make_pipeline(SimpleImputer(), PCA(2), forest())
    model = VotingRegressor([("a", mixed), ("b", boosted())]).fit(NUMBERS, Y)
    with pytest.warns(UserWarning, match=r"a member of the model makes features from several.*'age', 'w', 'size'"):
        explainer = TreeExplainer(model, NUMBERS[20:40])
    assert explainer.feature_names == ["age + w + size"]


def test_a_member_that_looks_at_other_rows_is_found_out() -> None:
    scaled = make_pipeline(SimpleImputer(), StandardScaler(), forest())
    model = VotingRegressor([("a", scaled), ("b", boosted())]).fit(NUMBERS, Y)
    TreeExplainer(model, NUMBERS[20:40])
    model.estimators_[0][1].transform = lambda rows: rows - rows.mean(axis=0)
    with pytest.raises(VerificationError, match="looks at other rows"):
        TreeExplainer(model, NUMBERS[20:40])


def test_errors_name_the_step_and_the_member() -> None:
    model = CASES["voting"][1]()
    explainer = TreeExplainer(model, RAW[20:32])
    strange = RAW[:2].assign(town="Rom")
    with pytest.raises(InputError, match=r"the step 'columntransformer' of a member refuses these rows.*Rom"):
        explainer.shap_values(strange)
    with pytest.raises(InputError, match="has no column 'age'"):
        explainer.shap_values(RAW[:2].drop(columns="age"))
    model.estimators_[0] = make_pipeline(FunctionTransformer(), forest().fit(NUMBERS, Y))
    with pytest.raises(ModelError, match="VotingRegressor, member 'a': the first step of the pipeline"):
        TreeExplainer(model, RAW[20:32])


def test_a_saved_explainer_of_members_that_was_changed_is_refused() -> None:
    from arborshap.models.recoding import describe
    from arborshap.models.registry import load
    from arborshap.models.saved_recoding import from_description

    model = load(CASES["categories and a pipeline"][1]())
    described, n = describe(model.encode), model.forest.n_features
    assert described is not None
    assert from_description(described, n) is not None
    changes: list[Callable[[Any], Any]] = [
        lambda views: views[0].update(columns=[0, 1, 2, 9]),
        lambda views: views[0].update(columns=[0, 1]),
        lambda views: views[1].update(sources=[[0]]),
        lambda views: views[1].pop("library"),
        lambda views: views[1]["recoding"].update(n_made=3),
        lambda views: views[1]["recoding"].update(numbers="x"),
        lambda views: views[1]["recoding"].update(steps="{}"),
        lambda views: views.pop(),
    ]
    for change in changes:
        changed = pickle.loads(pickle.dumps(described))
        change(changed["views"])
        with pytest.raises(ModelError, match=r"saved|steps of the pipeline"):
            from_description(changed, n)


@pytest.mark.skipif("not records_categories()", reason="older XGBoost refuses the text of categories as well")
@pytest.mark.parametrize("name", ["two categories", "categories and a pipeline"])
def test_text_in_a_column_of_numbers_is_refused_by_name(name: str) -> None:
    explainer = TreeExplainer(CASES[name][1](), TYPED[20:32])
    records = RAW[:2].astype({"age": object}).to_dict("records")
    records[1]["age"] = "old"
    for given in (records, [list(record.values()) for record in records]):
        with pytest.raises(InputError, match=r"row 1 of column 'age' is 'old'"):
            explainer.shap_values(given)
