"""CatBoost's splits on combinations of columns, with every column as a player of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from functools import cache, partial
from pathlib import Path
from typing import Any

import catboost
import numpy as np
import pytest

from arborshap import Background, InputError, ModelError, TreeExplainer
from arborshap.explain import combinations
from support.oracle import INDICES, frame_worths, shapley
from support.saved_files import parts_of, with_text
from support.towns import CATEGORIES, fitted, frame, raw, strange_rows, target

pytestmark = pytest.mark.filterwarnings("ignore:the model splits on statistics of several columns")


@cache
def combined(classes: int = 2) -> Any:
    return fitted(classes, max_ctr_complexity=4, iterations=30, depth=5)


def depends_on_a_number_and_a_category() -> Any:
    """A model with combinations of a category and the border of a number."""
    return fitted(0, max_ctr_complexity=3, iterations=30, depth=6, combinations_ctr=["Borders", "Counter"])


@pytest.mark.parametrize("index", list(INDICES))
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_columns_have_the_values_of_the_definition(classes: int, index: Any) -> None:
    model = combined(classes)
    X, Z = strange_rows(), frame(7, seed=9)
    explainer = TreeExplainer(model, Z)
    assert len(explainer.feature_names) < 5
    explanation = explainer.explain_columns(X, index=index)
    worth = frame_worths(partial(raw, model), X, Z, list(range(5)))
    expected = INDICES[index](worth)
    values = explanation.values.reshape(expected.shape)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * np.abs(worth).max())
    assert explanation.feature_names == list(X.columns)
    assert explanation.data is not None
    np.testing.assert_array_equal(explanation.data[:, 1:], X.to_numpy()[:, 1:])
    np.testing.assert_allclose(np.reshape(explanation.base_values, worth[0].shape), worth[0], atol=1e-12)


def test_a_number_may_be_a_part_of_a_combination() -> None:
    model = depends_on_a_number_and_a_category()
    X, Z = strange_rows(), frame(9, seed=3)
    explainer = TreeExplainer(model, Z)
    tests = [one.tests for one in explainer.state.reader.model.encode.statistics]  # type: ignore[union-attr]
    assert any({test.border is None for test in some} == {True, False} for some in tests)
    worth = frame_worths(partial(raw, model), X, Z, list(range(5)))
    values = explainer.explain_columns(X).values
    np.testing.assert_allclose(values, shapley(worth)[..., 0], rtol=0, atol=1e-12 * np.abs(worth).max())


@pytest.mark.parametrize("index", list(INDICES))
def test_groups_and_weights(index: Any) -> None:
    model = combined()
    X, Z = strange_rows(), frame(6, seed=9)
    weights = np.array([1.0, 0.0, 2.0, 0.5, 1.0, 3.0])
    groups = {"who": ["a", "job"], "where": ["town"]}
    explainer = TreeExplainer(model, Z, groups=groups, sample_weight=weights)
    explanation = explainer.explain_columns(X, index=index)
    assert explanation.feature_names == ["who", "where", "b", "flag"]
    owners = [0, 1, 0, 2, 3]
    of_rows = [frame_worths(partial(raw, model), X, Z.iloc[[row]], owners) for row in range(len(Z))]
    worth = np.average(of_rows, axis=0, weights=weights)
    np.testing.assert_allclose(
        explanation.values, INDICES[index](worth)[..., 0], rtol=0, atol=1e-12 * np.abs(worth).max()
    )


def test_columns_in_one_group_keep_their_tables() -> None:
    Z = frame(20, seed=3)
    grouped = TreeExplainer(combined(), Z, groups={"combined": ["a", "b", *CATEGORIES]})
    np.testing.assert_array_equal(grouped.explain_columns(Z).values, grouped(Z).values)
    plain = TreeExplainer(fitted(), Z)
    np.testing.assert_array_equal(plain.explain_columns(Z, index="taylor").values, plain(Z, index="taylor").values)


def test_probabilities_rescale_every_pair() -> None:
    model = combined()
    X, Z = strange_rows(), frame(5, seed=9)
    explanation = TreeExplainer(model, Z, model_output="probability").explain_columns(X)
    expected = np.zeros((len(X), 5))
    for row in range(len(Z)):
        worth = frame_worths(partial(raw, model), X, Z.iloc[[row]], list(range(5)))[..., 0]
        chance = 1 / (1 + np.exp(-worth))
        slope = (chance[-1] - chance[0]) / (worth[-1] - worth[0])
        expected += slope[:, np.newaxis] * shapley(worth[..., np.newaxis])[..., 0] / len(Z)
    np.testing.assert_allclose(np.squeeze(explanation.values)[..., -5:], expected, rtol=0, atol=1e-12)
    with pytest.raises(InputError, match=r"index='taylor'.*use index='shapley' or model_output='raw'"):
        TreeExplainer(model, Z, model_output="probability").explain_columns(X, index="taylor")


def test_a_row_has_the_same_values_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Z = frame(9, seed=4), frame(30, seed=3)
    explainer = TreeExplainer(combined(3), Z, n_jobs=1)
    together = explainer.explain_columns(X).values
    for row in range(len(X)):
        np.testing.assert_array_equal(explainer.explain_columns(X.iloc[[row]]).values[0], together[row])
    np.testing.assert_array_equal(explainer.explain_columns(X.iloc[2]).values, together[2])
    np.testing.assert_array_equal(explainer.with_settings(n_jobs=2).explain_columns(X).values, together)
    assert explainer.explain_columns(X.iloc[:0]).values.shape == (0, 5, 3)
    done: list[float] = []
    monkeypatch.setattr(combinations, "_BLOCK", 16)
    blocks = explainer.explain_columns(X, progress=done.append).values
    np.testing.assert_allclose(blocks, together, rtol=0, atol=1e-12)
    assert done == sorted(done)
    assert done[-1] == 1.0


def test_a_saved_explainer_needs_no_catboost(tmp_path: Path) -> None:
    X = frame(4, seed=4)
    explainer = TreeExplainer(combined(), frame(12, seed=3), sample_weight=np.arange(1.0, 13.0))
    explainer.save(tmp_path / "towns.arborshap")
    X.to_json(tmp_path / "rows.json", orient="split", index=False)
    np.save(tmp_path / "values.npy", explainer.explain_columns(X).values)
    script = """
import json, sys
import numpy as np
from arborshap import TreeExplainer
explainer = TreeExplainer.load("towns.arborshap")
rows = np.array([[np.nan if c is None else c for c in row] for row in json.load(open("rows.json"))["data"]], object)
assert np.array_equal(explainer.explain_columns(rows).values, np.load("values.npy"))
assert "catboost" not in sys.modules and "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


def test_damaged_players_are_refused() -> None:
    saved = TreeExplainer(combined(), frame(5, seed=3)).to_bytes()
    wrong: Any
    for wrong in (
        {},
        {"owners": [0], "names": ["a"], "read": [0]},
        {"owners": [0, 1, 2, 3, 9], "names": list("abcde"), "read": [0, 1, 2, 3, 4]},
        {"owners": [0, 1, 2, 3, "x"], "names": list("abcde"), "read": [0, 1, 2, 3, 4]},
        {"owners": [0, 1, 2, 3, 4], "names": [1, 2, 3, 4, 5], "read": [0, 1, 2, 3, 4]},
        {"owners": [0, 1, 2, 3, 4], "names": list("abcde"), "read": [0, 1, 2, 3, 5]},
        {"owners": [0, 1, 2, 3, 4], "names": list("abcde"), "read": [0, 1, 2, 3]},
        {"owners": [0, 1, 2, 3, 4], "names": list("abcde")},
    ):
        text = json.dumps({**json.loads(parts_of(saved)["texts.python"][0]), "apart": wrong})
        with pytest.raises(ModelError, match="saved players do not fit"):
            TreeExplainer.from_bytes(with_text(saved, "texts.python", text))


def test_a_pipeline_may_end_in_combinations() -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scale = ColumnTransformer([("scale", StandardScaler(), ["b"])], remainder="passthrough")
    scale.set_output(transform="pandas")
    rows = frame().assign(unused=1.0)
    scale = scale.fit(rows)
    made = scale.transform(rows)
    names = [name for name in made.columns if name.split("__")[1] in CATEGORIES]
    options = {"max_ctr_complexity": 4, "iterations": 30, "depth": 5, "cat_features": names, "random_seed": 1}
    model = catboost.CatBoostRegressor(verbose=0, allow_writing_files=False, **options).fit(made, target(rows))
    pipeline = make_pipeline(scale, model)
    X, Z = strange_rows().assign(unused=2.0), frame(7, seed=9).assign(unused=3.0)
    with pytest.warns(UserWarning, match="play as one player: .* use explain_columns"):
        explainer = TreeExplainer(pipeline, Z, groups={"who": ["job", "unused"]})
    explanation = explainer.explain_columns(X)
    assert explanation.feature_names == ["a", "town", "who", "b", "flag"]
    worth = frame_worths(pipeline.predict, X, Z, [0, 1, 2, 3, 4, 2])
    np.testing.assert_allclose(explanation.values, shapley(worth)[..., 0], rtol=0, atol=1e-12 * np.abs(worth).max())
    again = TreeExplainer.from_bytes(explainer.to_bytes())
    np.testing.assert_array_equal(again.explain_columns(X).values, explanation.values)


def members(mixes: bool = False) -> Any:
    """Voting of two CatBoost models with combinations and a pipeline, whose own step may mix columns, too."""
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestRegressor, VotingRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    rows, numbers = frame(), ["a", "b"]
    step = make_pipeline(SimpleImputer(), PCA(2)) if mixes else SimpleImputer()
    piped = make_pipeline(ColumnTransformer([("x", step, numbers)]), RandomForestRegressor(3, max_depth=3))
    voting = VotingRegressor([("one", piped), ("two", piped), ("three", piped)], weights=[1, 2, 3])
    voting.fit(rows, target(rows))
    # scikit-learn cannot copy a CatBoost model with cat_features, so these are fitted by themselves.
    voting.estimators_[0] = depends_on_a_number_and_a_category()
    voting.estimators_[1] = fitted(max_ctr_complexity=4, iterations=10, one_hot_max_size=2)
    return voting


def test_members_of_a_wrapper_may_combine_columns() -> None:
    model = members()
    X, Z = strange_rows(), frame(6, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = TreeExplainer(model, Z)
    worth = frame_worths(model.predict, X, Z, list(range(5)))
    explanation = explainer.explain_columns(X)
    np.testing.assert_allclose(explanation.values, shapley(worth)[..., 0], rtol=0, atol=1e-12 * np.abs(worth).max())
    again = TreeExplainer.from_bytes(explainer.to_bytes())
    np.testing.assert_array_equal(again.explain_columns(X).values, explanation.values)


def test_what_cannot_be_told_apart_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline

    model, Z = combined(), frame(20, seed=3)
    with pytest.raises(InputError, match="needs background rows, but this explainer has no background"):
        TreeExplainer(model).explain_columns(Z)
    with pytest.raises(InputError, match="has only the counts of its background"):
        TreeExplainer(model, Background(model, Z)).explain_columns(Z)
    with pytest.raises(InputError, match="index must be"):
        TreeExplainer(model, Z).explain_columns(Z, index="median")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="y is only used"):
        TreeExplainer(model, Z).explain_columns(Z, np.zeros(20))
    with monkeypatch.context() as patched:
        patched.setattr(combinations, "MOST_PLAYERS", 2)
        with pytest.raises(InputError, match=r"tree \d+ depends on \d columns or groups together.*max_ctr_complexity"):
            TreeExplainer(model, Z).explain_columns(Z)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reduced = TreeExplainer(members(mixes=True), Z)
        numbers = frame()[["a", "b"]].fillna(0.0)
        mixing = TreeExplainer(make_pipeline(PCA(2), RandomForestRegressor(2)).fit(numbers, target(frame())), numbers)
    with pytest.raises(InputError, match="a step of a member's pipeline makes features of several columns"):
        reduced.explain_columns(Z)
    with pytest.raises(InputError, match=r"step 'pca' \(PCA\) makes features from several columns at once"):
        mixing.explain_columns(Z[["a", "b"]].fillna(0.0))


def test_a_long_call_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = TreeExplainer(combined(), frame(6, seed=3))
    monkeypatch.setattr(combinations, "_SECONDS_PER_TREE", 1.0)
    with pytest.warns(UserWarning, match=r"telling the columns of 2 rows apart.*for each of the 6 background rows"):
        explainer.explain_columns(frame(2))
