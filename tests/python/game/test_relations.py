"""What comes out of a fitted transformer depends on the columns that it is said to depend on, and on no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from arborshap import InputError, ModelError, TreeExplainer, UnsupportedModelError
from arborshap.game.groups import players_from
from arborshap.game.relations import Relation, components, relation_of
from support.patience import UNHURRIED

# Four columns of small integers: 3, 2, 4 and 1 different ones, and gaps in the second for those that fill them.
RNG = np.random.default_rng(0)
CELLS = np.column_stack([RNG.integers(0, k, 60) for k in (3, 2, 4, 1)]).astype(float)
CELLS[0] = [2, 1, 3, 0]
NUMBERS = CELLS + RNG.normal(size=CELLS.shape)
GAPS = np.where((np.arange(60) % 5 == 0)[:, np.newaxis] & np.array([False, True, False, True]), np.nan, NUMBERS)
GAPS[:, 0] = np.nan  # nothing is known of the first
CLASSES = RNG.integers(0, 3, 60)


def repeated(*counts: int) -> list[set[int]]:
    return [{column} for column, count in enumerate(counts) for _ in range(count)]


EACH, ALL = repeated(1, 1, 1, 1), {0, 1, 2, 3}
NAMED = ColumnTransformer(
    [
        ("last", StandardScaler(), [3, 0]),
        ("gone", "drop", [1]),
        ("none", StandardScaler(), []),
        ("one-hot", OneHotEncoder(), slice(1, 3)),
        ("mask", "passthrough", [False, False, True, False]),
    ],
    remainder="passthrough",
)

TRANSFORMERS: list[Any] = [
    (StandardScaler(), NUMBERS, EACH),
    (MinMaxScaler(), NUMBERS, EACH),
    (MaxAbsScaler(), NUMBERS, EACH),
    (RobustScaler(), NUMBERS, EACH),
    (Binarizer(), NUMBERS, EACH),
    (PowerTransformer(), NUMBERS, EACH),
    (QuantileTransformer(n_quantiles=10), NUMBERS, EACH),
    (Normalizer(), NUMBERS, [ALL] * 4),
    (PCA(2), NUMBERS, [ALL] * 2),
    (OneHotEncoder(), CELLS, repeated(3, 2, 4, 1)),
    (OneHotEncoder(drop="first"), CELLS, repeated(2, 1, 3, 0)),
    (OneHotEncoder(drop="if_binary"), CELLS, repeated(3, 1, 4, 1)),
    (OneHotEncoder(drop=[2, 1, 0, 0]), CELLS, repeated(2, 1, 3, 0)),
    (OneHotEncoder(max_categories=3), CELLS, repeated(3, 2, 3, 1)),
    (OneHotEncoder(max_categories=3, drop="first", handle_unknown="infrequent_if_exist"), CELLS, repeated(2, 1, 2, 0)),
    (OneHotEncoder(categories=[[0, 1, 2, 9], [0, 1], [0, 1, 2, 3], [0]]), CELLS, repeated(4, 2, 4, 1)),
    (OrdinalEncoder(), CELLS, EACH),
    (TargetEncoder(), CELLS, repeated(3, 3, 3, 3)),
    (KBinsDiscretizer(3, encode="onehot", strategy="uniform"), NUMBERS, repeated(3, 3, 3, 3)),
    (KBinsDiscretizer([2, 3, 4, 2], encode="onehot-dense", strategy="uniform"), NUMBERS, repeated(2, 3, 4, 2)),
    (KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), NUMBERS, EACH),
    (SplineTransformer(n_knots=3, degree=2), NUMBERS, repeated(4, 4, 4, 4)),
    (SplineTransformer(n_knots=3, degree=2, include_bias=False), NUMBERS, repeated(3, 3, 3, 3)),
    (SimpleImputer(), GAPS, [{1}, {2}, {3}]),
    (SimpleImputer(keep_empty_features=True), GAPS, EACH),
    (SimpleImputer(strategy="constant", fill_value=7.0), NUMBERS, EACH),
    (SimpleImputer(add_indicator=True), GAPS, [{1}, {2}, {3}, {0}, {1}, {3}]),
    (
        SimpleImputer(strategy="most_frequent", add_indicator=True, keep_empty_features=True),
        GAPS,
        [*EACH, {0}, {1}, {3}],
    ),
    (MissingIndicator(), GAPS, [{0}, {1}, {3}]),
    (MissingIndicator(features="all"), GAPS, EACH),
    (KNNImputer(), GAPS, [ALL] * 3),
    (VarianceThreshold(), CELLS, [{0}, {1}, {2}]),
    (SelectKBest(f_regression, k=1), np.column_stack([NUMBERS[:, :3], CLASSES]), [{3}]),
    (SelectFromModel(DecisionTreeClassifier(max_depth=1)), np.column_stack([NUMBERS[:, :3], CLASSES]), [{3}]),
    (PolynomialFeatures(2, interaction_only=True, include_bias=True), NUMBERS[:, :2], [set(), {0}, {1}, {0, 1}]),
    (PolynomialFeatures(2, include_bias=False), NUMBERS[:, :2], [{0}, {1}, {0}, {0, 1}, {1}]),
    (FunctionTransformer(), NUMBERS, EACH),
    (FunctionTransformer(np.exp), NUMBERS, EACH),
    (FunctionTransformer(np.sort, feature_names_out="one-to-one"), NUMBERS, [ALL] * 4),
    (make_pipeline(StandardScaler(), "passthrough", PolynomialFeatures(2)), NUMBERS[:, :1], [set(), {0}, {0}]),
    (make_pipeline(VarianceThreshold(), OneHotEncoder()), CELLS, repeated(3, 2, 4)),
    (FeatureUnion([("a", PCA(1)), ("b", "drop"), ("c", "passthrough")]), NUMBERS, [ALL, *EACH]),
    (NAMED, CELLS, [{3}, {0}, *repeated(0, 2, 4), {2}]),
    (ColumnTransformer([("a", PCA(1), lambda X: [3, 1])]), NUMBERS, [{1, 3}]),
]


def name_of(value: Any) -> str | None:
    if not isinstance(value, BaseEstimator):
        return None
    return str(value).partition(" at 0x")[0][:60].replace("\n", "")  # without addresses, which differ between processes


def dense(cells: Any) -> NDArray[np.float64]:
    return np.asarray(cells.toarray() if scipy.sparse.issparse(cells) else cells, float)


@pytest.mark.parametrize(("transformer", "cells", "sources"), TRANSFORMERS, ids=name_of)
def test_it_is_read_from_what_was_fitted(transformer: Any, cells: NDArray[np.float64], sources: list[set[int]]) -> None:
    fitted = transformer.fit(cells, CLASSES)
    relation = relation_of(fitted)
    assert relation.n_inputs == cells.shape[1]
    assert [set(found) for found in relation.sources] == sources


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("transformer", "cells", "sources"), TRANSFORMERS, ids=name_of)
def test_nothing_else_changes_what_comes_out(
    transformer: Any, cells: NDArray[np.float64], sources: list[set[int]]
) -> None:
    fitted = transformer.fit(cells, CLASSES)
    before = dense(fitted.transform(cells))
    assert before.shape[1] == len(sources)
    for column in range(cells.shape[1]):
        changed = cells.copy()
        changed[:, column] = np.roll(cells[:, column], 1)
        after = dense(fitted.transform(changed))
        differs = ~np.isclose(before, after, equal_nan=True).all(axis=0)
        for j in np.flatnonzero(differs):
            assert column in sources[j], f"output {j} changes with input {column}"


class Doubled(StandardScaler):  # type: ignore[misc]
    """Named otherwise, and does what a scaler does."""


class Mixing(StandardScaler):  # type: ignore[misc]
    """No longer what its parent is."""

    def transform(self, X: Any, copy: Any = None) -> Any:
        return super().transform(X).cumsum(axis=1)


class Silent(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Says nothing of its columns."""

    def fit(self, X: Any, y: Any = None) -> Silent:
        return self

    def transform(self, X: Any) -> Any:
        return np.asarray(X)[:, :2]


def test_a_subclass_is_known_by_its_transform() -> None:
    assert relation_of(Doubled().fit(NUMBERS)).sources == [frozenset({j}) for j in range(4)]
    assert relation_of(Mixing().fit(NUMBERS)).sources == [frozenset(ALL)] * 4


def test_the_next_step_knows_how_wide_a_silent_one_is() -> None:
    with pytest.raises(UnsupportedModelError, match=r"Silent does not say how many columns .* get_feature_names_out"):
        relation_of(make_pipeline(StandardScaler(), Silent()).fit(NUMBERS))
    followed = make_pipeline(StandardScaler(), Silent(), MinMaxScaler()).fit(NUMBERS)
    assert relation_of(followed).sources == [frozenset(ALL)] * 2
    inside = ColumnTransformer([("a", make_pipeline(StandardScaler(), Silent()), [0, 1, 2])]).fit(NUMBERS)
    assert relation_of(inside).sources == [frozenset({0, 1, 2})] * 2


@pytest.mark.parametrize(
    "transformer", [StandardScaler(), OneHotEncoder(), NAMED.__class__([]), make_pipeline(PCA()), SimpleImputer()]
)
def test_what_is_not_fitted_is_refused(transformer: Any) -> None:
    with pytest.raises(ModelError, match="not fitted"):
        relation_of(transformer)


@UNHURRIED
@given(
    st.lists(st.sets(st.integers(0, 5)), max_size=5),
    st.lists(st.sets(st.integers(0, 4), max_size=5), max_size=4),
)
def test_following_two_relations_is_following_paths(first: list[set[int]], second: list[set[int]]) -> None:
    later = [frozenset(j for j in wanted if j < len(first)) for wanted in second]
    joined = Relation(6, [frozenset(s) for s in first]).then(Relation(len(first), later))
    assert joined.sources == [frozenset(i for j in wanted for i in first[j]) for wanted in later]


@UNHURRIED
@given(st.integers(1, 8), st.data())
def test_players_are_the_connected_components(n: int, data: st.DataObject) -> None:
    sets = data.draw(st.lists(st.sets(st.integers(0, n - 1)), max_size=6))
    players = components(n, sets)
    # Warshall's closure of "is in a set with".
    linked = np.eye(n, dtype=bool)
    for members in sets:
        linked[np.ix_(sorted(members), sorted(members))] = True
    for k in range(n):
        linked |= linked[:, [k]] & linked[[k], :]
    assert [[players[i] == players[j] for j in range(n)] for i in range(n)] == linked.tolist()
    assert list(dict.fromkeys(players)) == list(range(len(set(players))))


# --- as groups ------------------------------------------------------------------------------------------------------


def test_an_encoder_groups_the_columns_it_made() -> None:
    encoder = OneHotEncoder(drop="first").fit(CELLS)
    players, names = players_from(encoder, [f"f{j}" for j in range(6)], 6)
    assert players.tolist() == [0, 0, 1, 2, 2, 2]
    assert names == ["x0", "x1", "x2"]


def test_columns_from_elsewhere_stay_alone_and_are_found_by_name() -> None:
    import pandas as pd

    encoder = OneHotEncoder().fit(pd.DataFrame({"town": ["Bern", "Chur"], "kind": ["a", "b"]}))
    names = ["kind_b", "age", "town_Bern", "town_Chur", "kind_a"]
    players, player_names = players_from(encoder, names, 5)
    assert players.tolist() == [0, 1, 2, 2, 0]
    assert player_names == ["kind", "age", "town"]
    with pytest.raises(InputError, match="this OneHotEncoder makes 4 columns, but the model has 3 features"):
        players_from(encoder, ["a", "b", "c"], 3)


def test_players_of_the_same_name_are_not_made_one() -> None:
    import pandas as pd

    frame = pd.DataFrame(NUMBERS[:, :3], columns=["a", "b", "a + b"])
    steps = ColumnTransformer([("mix", PCA(1), ["a", "b"]), ("keep", "passthrough", ["a + b"])]).fit(frame)
    with pytest.raises(InputError, match="two players would have the same name; rename a raw column"):
        players_from(steps, ["f0", "f1"], 2)


def test_a_constant_stays_alone() -> None:
    poly = PolynomialFeatures(2).fit(NUMBERS[:, :1])
    assert players_from(poly, ["one", "x", "xx"], 3)[1] == ["one", "x0"]


def test_the_pipeline_with_its_model_groups_the_models_columns() -> None:
    pipeline = Pipeline([("encode", OneHotEncoder(sparse_output=False)), ("tree", DecisionTreeRegressor(max_depth=4))])
    pipeline.fit(CELLS, CELLS @ [1.0, 2.0, -1.0, 0.0] + (CELLS[:, 0] == 1) * CELLS[:, 2])
    features = pipeline[:-1].transform(CELLS)
    grouped = TreeExplainer(pipeline[-1], features, groups=pipeline)
    assert grouped.feature_names == ["x0", "x1", "x2", "x3"]
    raw = TreeExplainer(pipeline, CELLS)
    np.testing.assert_allclose(grouped.shap_values(features), raw.shap_values(CELLS), atol=1e-12)
