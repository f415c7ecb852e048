"""Backgrounds in parts and in batches: any cut and any order give the same bits, in the memory of a batch."""

from __future__ import annotations

import pickle
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingRegressor
from xgboost import XGBRegressor

from arborshap import Background, Forest, ForestBuilder, InputError, ModelError, TreeExplainer
from support.memory import grows_at_most
from support.models.case import data
from support.oracle import INDICES
from support.patience import UNHURRIED
from support.saved_files import parts_of, with_text

Array = NDArray[np.float64]

X = data(gaps=False).X
MODEL = GradientBoostingRegressor(n_estimators=6, max_depth=3, random_state=0).fit(X, data().y)


def deep_model() -> Forest:
    """A path of more players than tables can have, so that rows are kept."""
    depth = 16
    left = [n + 1 if n % 2 == 0 and n < 2 * depth else -1 for n in range(2 * depth + 1)]
    right = [n + 2 if n % 2 == 0 and n < 2 * depth else -1 for n in range(2 * depth + 1)]
    builder = ForestBuilder(depth, 1, rule="<", precision="float64")
    feature = [min(n // 2, depth - 1) for n in range(2 * depth + 1)]
    value = np.sin(np.arange(2.0 * depth + 1))
    builder.add_tree(left=left, right=right, feature=feature, threshold=[0.5] * (2 * depth + 1), value=value)
    return builder.build()


DEEP = deep_model()
DEEP_X = (np.random.default_rng(1).random(size=(300, 16)) < 0.8).astype(float)


def assert_same(one: TreeExplainer, other: TreeExplainer, rows: Array) -> None:
    np.testing.assert_array_equal(one.expected_value, other.expected_value)
    assert one.feature_names == other.feature_names
    for index in INDICES:
        ours, theirs = one(rows, index=index), other(rows, index=index)  # type: ignore[arg-type]
        np.testing.assert_array_equal(ours.values, theirs.values, err_msg=index)


@settings(UNHURRIED, max_examples=15)
@given(st.data())
def test_any_cut_and_any_order(draws: st.DataObject) -> None:
    deep = draws.draw(st.booleans(), "rows kept")
    model: Any = DEEP if deep else MODEL
    rows = DEEP_X if deep else X
    assert ("distinct rows" in repr(Background(model, rows[:3]))) == deep
    rows = rows[:40]
    weights = draws.draw(st.sampled_from([None, np.linspace(0.1, 3.7, 40)]), "weights")
    order = draws.draw(st.permutations(range(40)), "order")
    cuts = sorted(draws.draw(st.lists(st.integers(0, 40), max_size=6), "cuts"))
    parts = [
        Background(model, rows[pick], sample_weight=None if weights is None else weights[pick])
        for pick in (order[a:b] for a, b in zip([0, *cuts], [*cuts, 40], strict=True))
    ]
    parts = [pickle.loads(pickle.dumps(part)) if i % 2 else part for i, part in enumerate(parts)]
    while len(parts) > 1:
        a = parts.pop(draws.draw(st.integers(0, len(parts) - 1), "first"))
        b = parts.pop(draws.draw(st.integers(0, len(parts) - 1), "second"))
        parts.append(a.merge(b))
    whole = Background(model, rows, sample_weight=weights)
    assert len(parts[0]) == len(whole) == 40
    assert parts[0].to_bytes() == whole.to_bytes()
    explainer = TreeExplainer(model, parts[0])
    assert_same(explainer, TreeExplainer(model, whole), rows[:3])
    usual = TreeExplainer(model, rows, sample_weight=weights)
    for index in INDICES:
        ours, theirs = explainer(rows[:3], index=index), usual(rows[:3], index=index)  # type: ignore[arg-type]
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-12, err_msg=index)


def test_tables_are_the_same_as_of_rows_in_memory() -> None:
    explainer = TreeExplainer(MODEL, Background(MODEL, X[:100]).merge(Background(MODEL, X[100:])))
    assert_same(explainer, TreeExplainer(MODEL, X, engine="pattern"), X[:20])
    assert explainer.facts().n_background == len(X)
    assert_same(TreeExplainer.from_bytes(explainer.to_bytes()), explainer, X[:20])


def test_what_only_rows_can_give_is_refused() -> None:
    explainer = TreeExplainer(MODEL, Background(MODEL, X))
    with pytest.raises(InputError, match="has no order of its rows; give the rows to pair with"):
        explainer.pair_values(X[:2])
    assert explainer.pair_values(X[:2], X[:3]).shape == (2, 3, 5)
    with pytest.raises(InputError, match="only the counts of the background were kept"):
        TreeExplainer(MODEL, Background(MODEL, X), engine="sparse").shap_values(X[:2])
    from sklearn.ensemble import GradientBoostingClassifier

    classifier = GradientBoostingClassifier(n_estimators=2).fit(X, data().binary)
    with pytest.raises(InputError, match="'probability' needs more counts than this Background has"):
        TreeExplainer(classifier, Background(classifier, X), model_output="probability")
    with pytest.raises(InputError, match="a Background already includes its weights"):
        TreeExplainer(MODEL, Background(MODEL, X), sample_weight=np.ones(len(X)))
    deep = TreeExplainer(DEEP, Background(DEEP, DEEP_X))
    with pytest.raises(InputError, match="has no order of its rows"):
        deep.pair_values(DEEP_X[:2])


def test_names_and_groups_travel_with_the_background() -> None:
    frame = pd.DataFrame(X, columns=list("abcde"))
    groups = {"pair": ["a", "d"]}
    turned, names = frame[list("edcba")], list("abcde")
    parts = [Background(MODEL, turned[i::3], groups=groups, feature_names=names) for i in range(3)]
    sent = Background.from_bytes(reduce(Background.merge, parts).to_bytes())
    explainer = TreeExplainer(MODEL, sent)
    assert explainer.feature_names == ["pair", "b", "c", "e"]
    expected = TreeExplainer(MODEL, frame, groups=groups, engine="pattern").shap_values(frame)
    np.testing.assert_array_equal(explainer.shap_values(frame[list("edcba")]), expected)
    assert_same(TreeExplainer(MODEL, sent, groups=groups, feature_names=list("abcde")), explainer, X[:3])
    with pytest.raises(InputError, match="do not belong together"):
        TreeExplainer(MODEL, sent, groups={"pair": [0, 1]})
    with pytest.raises(InputError, match="do not belong together"):
        sent.merge(Background(MODEL, X))
    with pytest.raises(InputError, match="the background has 5 features, but the model has 16"):
        TreeExplainer(DEEP, Background(MODEL, X))
    with pytest.raises(InputError, match="a ndarray was given; give another Background"):
        sent.merge(X)  # type: ignore[arg-type]


def test_parts_whose_columns_stand_in_another_order_do_not_merge() -> None:
    """The model has no names, so each part took its own frame's order for the model's."""
    frame = pd.DataFrame(X, columns=list("abcde"))
    part, turned = Background(MODEL, frame[:50]), Background(MODEL, frame[50:][list("edcba")])
    with pytest.raises(
        InputError, match=r"one part was made from the columns \['a', .*but \['e', .*the same feature_names"
    ):
        part.merge(turned)
    with pytest.raises(InputError, match=r"background was made from the columns \['e', .*but \['a', "):
        TreeExplainer(MODEL, turned, feature_names=list("abcde"))
    with pytest.raises(InputError, match=r"different names for their groups: \['g', .*\['h', "):
        Background(MODEL, frame, groups={"g": [0, 1]}).merge(Background(MODEL, frame, groups={"h": [0, 1]}))


def test_a_part_without_names_takes_those_of_the_other() -> None:
    frame = pd.DataFrame(X, columns=list("abcde"))
    named, bare = Background(MODEL, frame[:50]), Background(MODEL, X[50:])
    for merged in (named.merge(bare), bare.merge(named)):
        assert TreeExplainer(MODEL, merged).feature_names == list("abcde")
        assert merged.to_bytes() == Background(MODEL, frame).to_bytes()


def test_parts_of_a_model_that_names_its_columns() -> None:
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = XGBRegressor(n_estimators=3, max_depth=2, n_jobs=1).fit(frame, data().y)
    sent = Background.from_bytes(Background(model, frame[:50]).to_bytes())
    merged = sent.merge(Background(model, frame[50:][list("edcba")]))
    assert_same(TreeExplainer(model, merged), TreeExplainer(model, frame, engine="pattern"), X[:3])


def test_names_given_to_the_explainer_are_its_own() -> None:
    names = list("vwxyz")
    assert TreeExplainer(MODEL, Background(MODEL, X), feature_names=names).feature_names == names
    grouped = Background(MODEL, X, groups={"pair": [1, 3]})
    assert TreeExplainer(MODEL, grouped, feature_names=names).feature_names == ["v", "pair", "x", "z"]


def test_parts_without_rows_and_rows_without_weight() -> None:
    empty = Background(MODEL, X[:0])
    assert len(empty) == 0
    assert empty.merge(Background(MODEL, X)).to_bytes() == Background(MODEL, X).to_bytes()
    with pytest.raises(InputError, match="the background has no rows"):
        TreeExplainer(MODEL, empty)
    with pytest.raises(InputError, match="data is missing"):
        Background(MODEL, None)
    with pytest.raises(InputError, match="weight of background row 1 is 1e-30"):
        Background(MODEL, X[:2], sample_weight=[1.0, 1e-30])
    with pytest.raises(InputError, match="sample_weight of row 0 is -1"):
        Background(MODEL, X[:2], sample_weight=[-1.0, 1.0])


def test_damaged_backgrounds_are_refused() -> None:
    content = Background(MODEL, X[:5]).to_bytes()
    for at in range(0, len(content), 3):
        for changed in (content[:at], content[:at] + bytes([content[at] ^ 0x81]) + content[at + 1 :]):
            with pytest.raises(ModelError):
                Background.from_bytes(changed)
    with pytest.raises(ModelError, match="it holds a background, not an explainer"):
        TreeExplainer.from_bytes(content)
    with pytest.raises(InputError, match="needs bytes, got a str"):
        Background.from_bytes("?")  # type: ignore[arg-type]
    assert parts_of(content)["rows"].tolist() == [5]
    for text in (None, "", "{}", "[" * 100_000, '{"column_names": 1}'):
        with pytest.raises(ModelError, match="names of the background's columns"):
            Background.from_bytes(with_text(content, "texts.python", text))


def test_batches_of_every_kind() -> None:
    import polars
    import pyarrow

    frame = pd.DataFrame(X, columns=list("abcde"))
    starts = range(0, len(X), 70)
    arrow = pyarrow.Table.from_pandas(frame)
    kinds: dict[str, Any] = {
        "numpy": (X[i : i + 70] for i in starts),
        "pandas, columns turned": (frame[i : i + 70][list("abcde" if i % 140 else "edcba")] for i in starts),
        "polars": polars.from_pandas(frame).iter_slices(70),
        "pyarrow": arrow.to_batches(70),
        "with weights": ((X[i : i + 70], np.full(len(X[i : i + 70]), 0.25)) for i in starts),
        "mixed": [arrow[:100], frame[100:100], frame[100:]],
    }
    usual = TreeExplainer(MODEL, X, engine="pattern")
    for kind, batches in kinds.items():
        explainer = TreeExplainer.from_batches(MODEL, batches, feature_names=list("abcde"))
        np.testing.assert_array_equal(explainer.shap_values(X), usual.shap_values(X), err_msg=kind)
        assert explainer.expected_value == usual.expected_value
    explained = list(explainer.explain_batches((frame[i : i + 70] for i in starts), index="banzhaf"))
    np.testing.assert_array_equal(np.concatenate([e.values for e in explained]), usual.banzhaf_values(X))
    assert explained[0].data_names == list("abcde")


def test_batches_that_do_not_fit_are_named() -> None:
    frame = pd.DataFrame(X, columns=list("abcde"))
    with pytest.raises(InputError, match=r"batch 1 has no column 'e'"):
        TreeExplainer.from_batches(MODEL, [frame, frame[list("abcd")]])
    with pytest.raises(InputError, match="batch 2 has 4 columns"):
        TreeExplainer.from_batches(MODEL, [X, X, X[:, :4]])
    with pytest.raises(InputError, match="batches is empty"):
        TreeExplainer.from_batches(MODEL, [])
    with pytest.raises(InputError, match="the background has no rows"):
        TreeExplainer.from_batches(MODEL, [X[:0], X[:0]])
    with pytest.raises(InputError, match=r"batch 1: sample_weight has shape \(3,\)"):
        TreeExplainer.from_batches(MODEL, [X, (X, np.ones(3))])
    with pytest.raises(InputError, match="batch 2: the weight of background row 1 is 1e-30"):
        TreeExplainer.from_batches(MODEL, [X, X, (X[:2], [1.0, 1e-30])])
    explainer = TreeExplainer(MODEL, X)
    explained = explainer.explain_batches([X[:3], X[:3, :4]])
    assert next(explained).shape == (3, 5)
    with pytest.raises(InputError, match="batch 1: X has 4 columns"):
        next(explained)


def test_a_model_that_is_read_wrongly_is_noticed_in_any_batch() -> None:
    from arborshap import VerificationError
    from arborshap.models import Model, load

    model = load(MODEL)

    def off(rows: NDArray[Any]) -> Array:
        return np.asarray(MODEL.predict(rows).reshape(-1, 1) + (rows[:, :1] > 2))

    wrong = Model(forest=model.forest, library="wrong", raw_predict=off)
    with pytest.raises(VerificationError, match="of batch 1"):
        TreeExplainer.from_batches(wrong, [X[X[:, 0] < 2], X[X[:, 0] > 2]])
    TreeExplainer.from_batches(wrong, [X[X[:, 0] < 2], X[X[:, 0] > 2]], verify=False)


def test_pipelines_and_probabilities_in_batches() -> None:
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=4)).fit(X, data().y)
    explainer = TreeExplainer.from_batches(pipeline, [X[:100], X[100:]])
    usual = TreeExplainer(pipeline, X, engine="pattern")
    assert_same(explainer, usual, X[:5])
    assert_same(TreeExplainer(pipeline, Background(pipeline, X)), usual, X[:5])
    classifier = GradientBoostingClassifier(n_estimators=2).fit(X, data().binary)
    loss = TreeExplainer(classifier, X[:9], model_output="log_loss")
    (explained,) = loss.explain_batches([(X[:4], data().binary[:4])])
    np.testing.assert_array_equal(explained.values, loss(X[:4], data().binary[:4]).values)


def test_missing_categories_are_missing_in_batches() -> None:
    builder = ForestBuilder(1, 1, rule="<", precision="float64")
    builder.add_tree(left=[1, -1, -1], right=[2, -1, -1], feature=[0, 0, 0], threshold=[0.5] * 3, value=[0.0, 1.0, 5.0])
    explainer = TreeExplainer.from_batches(builder.build(), [[[np.nan]], [[0.0]], [[1.0]]])
    assert explainer.expected_value == pytest.approx((5.0 + 1.0 + 5.0) / 3)


def test_more_rows_than_memory() -> None:
    """Two million rows of 20 columns are 320 MB; the process may grow by 60 MB."""
    before = """
        forest = small_trees(10, 20)
        def batches(n):
            for _ in range(n):
                yield rng.random(size=(20_000, 20))
        TreeExplainer.from_batches(forest, batches(2), n_jobs=1)
    """
    measured = """
        explainer = TreeExplainer.from_batches(forest, batches(100), n_jobs=1)
        total = sum(len(e.values) for e in explainer.explain_batches(batches(5), dtype=np.float32))
        assert explainer.facts().n_background == 2_000_000 and total == 100_000
    """
    grows_at_most(60e6, before=before, measured=measured)
