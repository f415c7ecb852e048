"""The trace: its leaves add up to the value of the pair, tree by tree, and its steps are those of the paper."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import Forest, ForestBuilder, InputError, ModelError, TreeExplainer
from arborshap.forest.forest import NodeFlag
from arborshap.game.relations import Relation
from arborshap.models import load
from arborshap.trace import Leaf, Split, Trace
from arborshap.trace.question import Question
from support.figures import figure_4
from support.models.case import edge_rows
from support.models.cases import CASES, Case
from support.oracle import shapley, worths
from support.trained import built

pytestmark = pytest.mark.filterwarnings("ignore:An XGBoost dump holds only the trees")

Array = NDArray[np.float64]
GROUPS = [0, 1, 0, 2, 1]


def pairs(model: Any, X: Array) -> list[tuple[Array, Array]]:
    """Two pairs of ordinary rows, and two of rows with a value on or right beside a threshold."""
    edges = edge_rows(load(model).forest, X)
    chosen = edges[np.random.default_rng(3).permutation(len(edges))[:4]]
    return [(X[0], X[7]), (X[14], X[1]), (chosen[0], chosen[1]), (chosen[2], chosen[3])]


def one_tree(forest: Forest, tree: int) -> Forest:
    """Cut out a tree, as a forest of its own that starts from zero."""
    first, end = forest.tree_offsets[tree], forest.tree_offsets[tree + 1]
    sets = np.flatnonzero((forest.category_nodes >= first) & (forest.category_nodes < end))
    categories = [forest.categories[forest.category_offsets[s] : forest.category_offsets[s + 1]] for s in sets]
    return Forest(
        n_features=forest.n_features,
        tree_offsets=np.array([0, end - first]),
        **{name: getattr(forest, name)[first:end] for name in ("left", "right", "feature", "threshold", "flags")},
        value=forest.value[first:end],
        tree_output=forest.tree_output[[tree]],
        base=np.zeros(forest.n_outputs),
        category_nodes=forest.category_nodes[sets] - first,
        category_offsets=np.cumsum([0, *map(len, categories)]),
        categories=np.concatenate([np.zeros(0, np.uint32), *categories]),
    )


def check_steps(trace: Trace) -> None:
    """What must hold of every walk."""
    skipped = [edge for split in trace.splits for edge in (split.left, split.right) if not edge.followed]
    assert len(trace.steps) + sum(edge.n_below for edge in skipped) == trace.n_nodes
    steps = {step.node: step for step in trace.steps}
    assert len(steps) == len(trace.steps), "no node is come to twice"
    for step in trace.steps:
        assert not set(step.s_x) & set(step.s_z)
        assert (step.parent is None) == (step is trace.steps[0])
    for split in trace.splits:
        types = {edge.type: edge for edge in (split.left, split.right)}
        assert set(types) == ({"F", "B"} if split.scenario == 1 else {"X", "Z"})
        went = {kind for kind, edge in types.items() if edge.followed}
        known = split.player in split.s_x, split.player in split.s_z
        assert went == {1: {"F"}, 2: {"X"} if known[0] else {"Z"}, 3: {"X", "Z"}}[split.scenario]
        assert split.scenario == 1 or (split.scenario == 2) == any(known)
        for kind in went:
            child = steps[types[kind].child]
            assert (child.parent, child.depth) == (split.node, split.depth + 1)
            joins = split.scenario == 3
            assert child.s_x == split.s_x + ((split.player,) if joins and kind == "X" else ())
            assert child.s_z == split.s_z + ((split.player,) if joins and kind == "Z" else ())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_trees_add_up_to_the_definition(case: Case) -> None:
    check_sum(case, None)


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.name)
def test_trees_add_up_with_groups(case: Case) -> None:
    check_sum(case, GROUPS)


def check_sum(case: Case, groups: list[int] | None) -> None:
    model, X, predict = built(case).model, built(case).X, built(case).raw_predict
    explainer = TreeExplainer(model, X[40:45], groups=groups)
    n_trees = load(model).forest.n_trees
    parted = 0
    for x, z in pairs(model, X):
        traces = [explainer.trace(x, z, tree) for tree in range(n_trees)]
        total = np.sum([trace.phi for trace in traces], axis=0)
        worth = worths(predict, x[np.newaxis], z[np.newaxis], players=groups)
        size = np.abs(worth).max()
        np.testing.assert_allclose(total, explainer.pair_values([x], [z])[0, 0], rtol=0, atol=1e-13 * size)
        expected = shapley(worth)[0].reshape(total.shape)
        np.testing.assert_allclose(total, expected, rtol=0, atol=case.tolerance * size)
        for trace in traces[:5]:
            check_steps(trace)
            parted += sum(split.scenario > 1 for split in trace.splits)
    assert parted > 0, "a case must have rows that part"


@pytest.mark.parametrize("case", CASES[::4], ids=lambda case: case.name)
def test_each_tree_by_itself(case: Case) -> None:
    model, X = built(case).model, built(case).X
    forest = load(model).forest
    explainer = TreeExplainer(model, X[40:45])
    for tree in range(min(forest.n_trees, 6)):
        alone = one_tree(forest, tree)
        for x, z in pairs(model, X):
            trace = explainer.trace(x, z, tree)
            rows = np.stack([x, z])
            loaded = load(model)
            seen = rows if loaded.encode is None else np.asarray(loaded.encode(rows), np.float64)
            groups = None if loaded.sources is None else Relation(5, loaded.sources).owners(range(5))
            expected = TreeExplainer(alone, seen[1:], groups=groups).pair_values(seen[:1])[0, 0]
            size = max(np.abs(alone.value).max(), 1e-300)
            np.testing.assert_allclose(trace.phi, expected, rtol=0, atol=1e-13 * size)
            own = alone.tree_output[0]
            margins = alone.margin(seen)[:, slice(None) if own == -1 else [own]]
            np.testing.assert_array_equal([trace.value_x, trace.value_z], margins)
            gained = np.subtract(trace.value_x, trace.value_z)
            np.testing.assert_allclose(trace.phi.sum(axis=0).reshape(-1).sum(), gained.sum(), rtol=0, atol=1e-12 * size)


def explainer_of(values: list[float]) -> TreeExplainer:
    return TreeExplainer(figure_4(values), [[-2, -1, 2]])


def test_figure_4() -> None:
    trace = explainer_of([3, 8, 100, -50]).trace([0, 0, 1], [-2, -1, 2])
    root, below, x_leaf, z_leaf = trace.steps
    assert isinstance(root, Split)
    assert isinstance(below, Split)
    assert isinstance(x_leaf, Leaf)
    assert isinstance(z_leaf, Leaf)
    assert (root.scenario, root.left.type, root.right.type) == (1, "F", "B")
    assert (root.left.followed, root.right.followed, root.right.n_below) == (True, False, 3)
    assert (below.scenario, below.left.type, below.right.type) == (3, "X", "Z")
    assert (root.test, below.test, below.x, below.z) == ("x1 ≤ 0.5", "x2 ≤ 1.33", 1, 2)
    assert (x_leaf.node, x_leaf.s_x, x_leaf.s_z, x_leaf.weight_x, x_leaf.weight_z) == (3, ("x2",), (), 1, 0)
    assert (z_leaf.node, z_leaf.s_x, z_leaf.s_z, z_leaf.weight_x, z_leaf.weight_z) == (4, (), ("x2",), 0, 1)
    assert x_leaf.contributions == {"x2": (3,)}
    assert z_leaf.contributions == {"x2": (-8,)}
    assert trace.phi.tolist() == [0, 0, -5]
    assert (trace.value_x, trace.value_z, trace.outputs) == ((3,), (8,), ("prediction",))


def test_text() -> None:
    assert repr(explainer_of([3, 8, 100, -50]).trace([0, 0, 1], [-2, -1, 2])).splitlines() == [
        "Tree 0 of 1: the walk reaches 4 of 7 nodes, including 2 leaves",
        "h(x) = 3, h(z) = 8",
        "",
        "0: x1 ≤ 0.5? x 0, z -1; scenario 1, S_X {}, S_Z {}",
        "├─F─ 1: x2 ≤ 1.33? x 1, z 2; scenario 3, S_X {}, S_Z {}",
        "│    ├─X─ 3: leaf 3, S_X {x2}, S_Z {} -> x2 +3",
        "│    └─Z─ 4: leaf 8, S_X {}, S_Z {x2} -> x2 -8",
        "└─B─ not entered (3 nodes)",
        "",
        "phi of x2 = -5 = +3 (leaf 3)  -8 (leaf 4)",
        "together -5 = h(x) - h(z)",
    ]


def test_rows_that_never_part_share_nothing() -> None:
    trace = explainer_of([3, 8, 100, -50]).trace([0, 0, 1], [0, 0, 1])
    assert trace.phi.tolist() == [0, 0, 0]
    assert trace.leaves[0].contributions == {}
    assert "nothing to share" in repr(trace)


def test_weights_of_many_players() -> None:
    """A path of 1100 players: W(k, d) is beyond any float's range on the way, and phi is an even share."""
    n = 1100
    builder = ForestBuilder(n, rule="<=", precision="float64")
    inner = np.arange(n)
    left, right = np.full(2 * n + 1, -1), np.full(2 * n + 1, -1)
    left[2 * inner], right[2 * inner] = 2 * inner + 1, 2 * inner + 2
    feature, value = np.zeros(2 * n + 1, np.int64), np.zeros(2 * n + 1)
    feature[2 * inner], value[-1] = inner, 1.0
    builder.add_tree(left=left, right=right, feature=feature, threshold=np.zeros(2 * n + 1), value=value)
    trace = TreeExplainer(builder.build(), -np.ones((1, n))).trace(np.ones(n), -np.ones(n))
    np.testing.assert_allclose(trace.phi, 1 / n, rtol=1e-12)
    lines = repr(trace).splitlines()
    assert len(lines) < 300
    assert max(map(len, lines)) < 700


def test_categories_as_text_and_gaps_can_be_read_and_made_json() -> None:
    import pandas as pd
    import xgboost

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], 200), "size": rng.normal(size=200)})
    frame["colour"] = frame["colour"].astype("category")
    frame.loc[::5, "size"] = np.nan
    y = (frame["colour"] == "red") * 2.0 + frame["size"].fillna(3)
    model = xgboost.XGBRegressor(n_estimators=3, max_depth=3, enable_categorical=True).fit(frame, y)
    explainer = TreeExplainer(model, frame)
    x, z = frame[frame["colour"] == "red"].iloc[[0]], frame[frame["colour"] == "blue"].iloc[[0]]
    x = x.assign(size=np.nan)
    trace = explainer.trace(x, z)
    by_colour = [split for split in trace.splits if split.feature == "colour"]
    assert by_colour
    assert {(split.x, split.z) for split in by_colour} == {("red", "blue")}
    assert all(split.test in ("colour in {red}", "colour not in {red}") for split in by_colour)
    codes = [split.test for split in explainer.trace([2, np.nan], [0, 1.0]).splits if split.feature == "colour"]
    assert codes
    assert not any("red" in test for test in codes), "a row in codes is compared with codes"
    written = json.loads(json.dumps(trace.to_dict(), allow_nan=False))
    sizes = [step for step in written["steps"] if step["kind"] == "split" and step["feature"] == "size"]
    assert sizes
    assert all(step["x"] is None and step["missing_goes"] in ("left", "right") for step in sizes)
    assert "size < " in repr(trace)
    assert "x missing" in repr(trace)


@pytest.mark.parametrize("library", ["lightgbm", "scikit-learn"])
def test_categories_are_called_by_their_names(library: str) -> None:
    import lightgbm
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=200), "town": rng.choice(["Bern", "Chur", "Thun"], 200)})
    frame["town"] = frame["town"].astype("category")
    y = (frame["town"] == "Chur") * 5.0
    model: Any = lightgbm.LGBMRegressor(n_estimators=2, min_child_samples=2, verbose=-1, n_jobs=1)
    if library == "scikit-learn":
        model = HistGradientBoostingRegressor(max_iter=2)
    explainer = TreeExplainer(model.fit(frame, y), frame)
    chur, bern = frame[frame["town"] == "Chur"].iloc[[0]], frame[frame["town"] == "Bern"].iloc[[0]]
    root = explainer.trace(chur, bern).splits[0]
    assert root.feature == "town"
    assert root.test in ("town in {Chur}", "town not in {Chur}", "town in {Bern, Thun}", "town not in {Bern, Thun}")


def test_behind_a_pipeline_cells_are_what_the_tree_reads() -> None:
    import pandas as pd
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"metres": 1000 + 50 * rng.normal(size=80), "tons": rng.normal(size=80)})
    y = (frame["metres"] > 1010) * 2.0 + frame["tons"]
    pipeline = make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=3, random_state=0)).fit(frame, y)
    explainer = TreeExplainer(pipeline, frame)
    x, z = frame.iloc[[0]], frame.iloc[[1]]
    traces = [explainer.trace(x, z, tree) for tree in range(3)]
    np.testing.assert_allclose(sum(trace.phi for trace in traces), explainer.pair_values(x, z)[0, 0], atol=1e-12)
    read = dict(zip(frame.columns, pipeline[0].transform(x)[0], strict=True))
    for split in (split for trace in traces for split in trace.splits):
        assert split.x == pytest.approx(read[split.player])
        assert split.threshold is not None
        assert abs(split.threshold) < 10, "thresholds are in the tree's own units, and so are the cells beside them"


def test_a_dict_says_all_that_the_trace_does() -> None:
    trace = explainer_of([3, 8, 100, -50]).trace([0, 0, 1], [-2, -1, 2])
    written = json.loads(json.dumps(trace.to_dict(), allow_nan=False))
    assert written["phi"] == [0, 0, -5]
    assert [step["node"] for step in written["steps"]] == [0, 1, 3, 4]
    assert written["steps"][0]["right"] == {"child": 2, "type": "B", "followed": False, "n_below": 3}
    assert written["steps"][2]["contributions"] == {"x2": [3]}
    for step, original in zip(written["steps"], trace.steps, strict=True):
        fields = set(original.__dataclass_fields__) | {"kind"}
        assert set(step) == fields


def test_several_outputs() -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    labels = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(X, labels)
    explainer = TreeExplainer(model, X)
    x, z = X[X[:, 0].argmax()], X[X[:, 0].argmin()]
    assert explainer.output_names == ["high", "low", "middle"]
    trace = explainer.trace(x, z, tree=4)  # the second of the trees that add to the second class
    assert trace.outputs == ("low",)
    assert trace.phi.shape == (3, 3)
    assert trace.phi.any(axis=0).tolist() == [False, True, False]


def test_every_kind_of_question() -> None:
    """Routing in Python is routing in the core, for every byte of flags that a node may carry."""
    single = float(np.float32(1.1))
    values = [
        1.1,
        single,
        np.nextafter(1.1, 2),
        np.nextafter(1.1, 0),
        0,
        -0.0,
        1,
        2,
        2.9,
        3,
        -0.5,
        -1,
        -1.5,
        1e-36,
        1e-34,
    ]
    rows = np.array([*values, np.nan, np.inf, -np.inf, 2.0**32, 2.0**32 + 2, 1e300, -1e300])[:, np.newaxis]
    seen = 0
    for flags in range(256):
        sets = [0, 2] if flags & 32 else []
        arrays: dict[str, Any] = {
            "tree_offsets": [0, 3],
            "left": [1, -1, -1],
            "right": [2, -1, -1],
            "feature": [0, 0, 0],
            "threshold": [0 if flags & 32 else 1.1, 0, 0],
            "flags": [flags, 0, 0],
            "value": [0, 1, 0],
            "tree_output": [0],
            "base": [0],
            "category_nodes": [0] if sets else [],
            "category_offsets": [0, len(sets)] if sets else [0],
            "categories": sets,
        }
        try:
            forest = Forest(1, **arrays)
        except ModelError:
            continue  # bits that contradict each other
        question = Question.of_node(forest.trees[0], 0)
        left = [question.goes_left(float(value)) for value in rows[:, 0]]
        assert left == (forest.margin(rows)[:, 0] == 1).tolist(), NodeFlag(flags)
        seen += 1
    assert seen >= 48


@pytest.mark.parametrize("tree", [-1, 1, True, 0.0, "0"])
def test_no_such_tree(tree: Any) -> None:
    with pytest.raises(InputError, match="tree must be the position of a tree, from 0 to 0"):
        explainer_of([1, 2, 3, 4]).trace([0, 0, 1], [1, 1, 1], tree)


def test_one_row_each() -> None:
    with pytest.raises(InputError, match="z has 2 rows; a trace compares one row with one row"):
        explainer_of([1, 2, 3, 4]).trace([0, 0, 1], [[1, 1, 1], [2, 2, 2]])
