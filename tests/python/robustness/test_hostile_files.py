"""Files made to harm that are not in the tests of the models: what is shared, nested or announced without end."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arborshap import ForestBuilder, InputError, Limits, TreeExplainer
from arborshap.exceptions import ModelError
from arborshap.models import load
from support.effort import lines_in_proportion
from support.mutation import mutated
from support.places import CORPUS

pytestmark = pytest.mark.filterwarnings("ignore:An XGBoost dump")


def document(name: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((CORPUS / "json" / name).read_bytes())
    return parsed


def written(folder: Path, content: Any) -> Path:
    path = folder / "model"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def xgboost_tree(parsed: dict[str, Any]) -> dict[str, Any]:
    trees: list[dict[str, Any]] = parsed["learner"]["gradient_booster"]["model"]["trees"]
    return next(tree for tree in trees if len(tree["categories_nodes"]) > 1)


def test_nodes_of_xgboost_that_share_categories(tmp_path: Path) -> None:
    """Otherwise a thousand nodes with one set of a million would take gigabytes."""
    parsed = document("xgboost-categories.json")
    tree = xgboost_tree(parsed)
    n = len(tree["categories_nodes"])
    tree["categories_segments"], tree["categories_sizes"] = [0] * n, [len(tree["categories"])] * n
    with pytest.raises(
        ModelError, match=r"tree \d: its nodes use \d+ categories, but it lists \d+; nodes must not share"
    ):
        load(written(tmp_path, parsed))


def lightgbm(**lines: Callable[[list[str]], list[str]]) -> bytes:
    """LightGBM's text with some lines of the first tree changed, word by word."""
    text = (CORPUS / "lightgbm" / "categories.txt").read_text()
    for key, change in lines.items():
        before, _, rest = text.partition(f"\n{key}=")
        value, newline, after = rest.partition("\n")
        text = f"{before}\n{key}={' '.join(change(value.split()))}{newline}{after}"
    return text.encode()


def with_first(new: str) -> Callable[[list[str]], list[str]]:
    return lambda words: [new, *words[1:]]


LIGHTGBM: dict[str, tuple[bytes, str]] = {
    "nodes that share a set": (
        lightgbm(decision_type=lambda w: ["1"] * len(w), threshold=lambda w: ["0"] * len(w)),
        "tree 0, node 1: another node already uses set of categories 0",
    ),
    "a threshold that is NaN": (
        lightgbm(decision_type=lambda w: ["2"] * len(w), threshold=with_first("nan")),
        "tree 0, node 0: its threshold is NaN",
    ),
    "a child of two parents": (
        lightgbm(left_child=with_first("-1"), right_child=with_first("-1")),
        "tree 0, node 0: .*reached twice",
    ),
    "text that is not UTF-8": (lightgbm()[:-1] + b"\xff", "is not UTF-8 text"),
}


@pytest.mark.parametrize("name", LIGHTGBM)
def test_a_lightgbm_model(name: str, tmp_path: Path) -> None:
    content, message = LIGHTGBM[name]
    with pytest.raises(ModelError, match=message):
        load(written(tmp_path, content))


Damage = Callable[[dict[str, Any]], object]

CATBOOST: dict[str, tuple[str, Damage, str]] = {
    "a border that is NaN": (
        "symmetrictree",
        lambda d: d["oblivious_trees"][0]["splits"][0].update(border=float("nan")),
        "tree 0, node .: its threshold is NaN",
    ),
    "leaves of another number of outputs": (
        "symmetrictree",
        lambda d: d.update(scale_and_bias=[1, [0, 0, 0]]),
        "4 leaves with 3 outputs need 12",
    ),
    "a nested tree with one child": (
        "depthwise",
        lambda d: d["trees"][0].pop("left"),
        "tree 0, node 0: 'left' is missing",
    ),
    "a nested tree without values": (
        "depthwise",
        lambda d: d["trees"][0].update(left={}),
        "tree 0, node 1: 'value' is missing",
    ),
    "an infinite value": (
        "depthwise",
        lambda d: d["trees"][0].update(left={"value": float("inf"), "weight": 1}),
        "tree 0, node 1: its leaf value is inf",
    ),
}


@pytest.mark.parametrize("name", CATBOOST)
def test_a_catboost_model(name: str, tmp_path: Path) -> None:
    policy, damage, message = CATBOOST[name]
    parsed = document(f"catboost-{policy}.json")
    damage(parsed)
    with pytest.raises(ModelError, match=message):
        load(written(tmp_path, parsed))


@pytest.mark.parametrize("name", ["xgboost-plain.json", "catboost-depthwise.json", "dump-plain.json"])
def test_a_key_twice_and_text_that_is_not_utf8(name: str, tmp_path: Path) -> None:
    content = (CORPUS / "json" / name).read_bytes()
    at = content.index(b"{") + 1
    key = content[at : content.index(b":", at)]
    with pytest.raises(ModelError, match="appears twice"):
        load(written(tmp_path, content[:at] + key + b":1," + content[at:]))
    with pytest.raises(ModelError, match="is not UTF-8 text"):
        load(written(tmp_path, content.replace(b'"', b'"\xff', 1)))


def test_types_of_features_that_are_not_there(tmp_path: Path) -> None:
    """A few bytes that claim two billion features, of which one is a category."""
    parsed = document("xgboost-plain.json")
    parsed["learner"]["learner_model_param"]["num_feature"] = str(2**31 - 1)
    parsed["learner"]["feature_types"] = ["c"]
    with pytest.raises(ModelError, match="'feature_types' has 1 entries, but there are 2147483647 features"):
        load(written(tmp_path, parsed))


class Name(str):
    """A name that counts how often one is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_name_twice_is_found_without_comparing_all_with_all() -> None:
    n = 2000
    builder = ForestBuilder(n, rule="<", precision="float32")
    names = [Name(j) for j in [*range(n - 1), n - 2]]
    Name.compared = 0
    with pytest.raises(ModelError, match="feature_names has '1998' more than once"):
        builder.build(feature_names=names)
    assert 0 < Name.compared < 10 * n


def test_a_name_twice_among_many(tmp_path: Path) -> None:
    parsed = document("xgboost-plain.json")
    n = 200_000
    parsed["learner"]["learner_model_param"]["num_feature"] = str(n)
    parsed["learner"]["feature_names"] = [*map(str, range(n - 1)), str(n - 2)]
    path = written(tmp_path, parsed)
    with lines_in_proportion(path.read_bytes()), pytest.raises(ModelError, match="has '199998' more than once"):
        load(path)


def test_an_error_does_not_repeat_a_file_in_full(tmp_path: Path) -> None:
    key = "k" * 100_000
    with pytest.raises(ModelError, match="appears twice") as caught:
        load(written(tmp_path, f'{{"{key}": 1, "{key}": 2}}'.encode()))
    assert len(str(caught.value)) < 300


@cache
def treelite_dump() -> bytes:
    treelite: Any = pytest.importorskip("treelite")
    model = treelite.frontend.load_lightgbm_model(str(CORPUS / "lightgbm" / "categories.txt"))
    dumped: str = model.dump_as_json(pretty_print=False)
    return dumped.encode()


def treelite_document() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(treelite_dump())
    return parsed


def test_dumps_of_treelite() -> None:
    from arborshap.models.treelite import read_document

    dumped = treelite_dump()
    rng = random.Random(4)
    refused = 0
    for _ in range(600):
        content = mutated("json", dumped, rng)
        try:
            read_document(json.loads(content), "float64")
        except ModelError:
            refused += 1
        except (json.JSONDecodeError, UnicodeDecodeError):  # damage to bytes; treelite itself writes JSON
            pass
    assert refused > 100


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: d["trees"][1].update(nodes=[1, 2]), "tree 1: each of its nodes must be an object"),
        (lambda d: d["trees"][0]["nodes"][0].update(left_child=0), "tree 0, node 0: .*reached twice"),
        (lambda d: d["trees"][0]["nodes"][0].update(right_child=99), "tree 0, node 0: its right child is node 99"),
        (lambda d: d["trees"][0]["nodes"][0].update(node_id=5), "tree 0: node 5 is at position 0"),
        (
            lambda d: d["trees"][0]["nodes"][-1].update(leaf_value=float("nan")),
            r"tree 0, node \d: its leaf value is NaN",
        ),
        (lambda d: d["trees"][0]["nodes"][0].update(category_list=[-1]), "tree 0, node 0: categories"),
        (lambda d: d["class_id"].__setitem__(0, 7), "tree 0: it adds to class 7"),
        (lambda d: d.update(num_target=2**40), "base scores"),
    ],
)
def test_a_dump_of_treelite(edit: Damage, message: str) -> None:
    from arborshap.models.treelite import read_document

    parsed = treelite_document()
    edit(parsed)
    with pytest.raises(ModelError, match=message):
        read_document(parsed, "float64")


LIMITED = {
    "bytes": ("json/xgboost-plain.json", "has 1,965 bytes, but limits allow 1,964"),
    "trees": ("lightgbm/plain.txt", "has 2 trees, but limits allow 1"),
    "nodes": ("ubjson/xgboost-plain.ubj", "nodes, but limits allow"),
    "depth": ("json/catboost-symmetrictree.json", "is 2 deep, but limits allow 1"),
    "features": ("json/dump-plain.json", "has 2 features, but limits allow 1"),
    "categories": ("json/xgboost-categories.json", "categories, but limits allow"),
}


@pytest.mark.parametrize("name", LIMITED)
def test_limits(name: str) -> None:
    path, message = LIMITED[name]
    file = CORPUS / path
    forest = load(file).forest
    found = {
        "bytes": file.stat().st_size,
        "trees": forest.n_trees,
        "nodes": forest.n_nodes,
        "depth": forest.max_depth,
        "features": forest.n_features,
        "categories": len(forest.categories),
    }[name]
    X = np.zeros((2, forest.n_features))
    TreeExplainer(file, X, limits=Limits(**{name: found}))
    with pytest.raises(ModelError, match=f"{message}.*limits=Limits\\({name}=...\\)"):
        TreeExplainer(file, X, limits=Limits(**{name: found - 1}))


def test_limits_of_saved_explainers() -> None:
    file = CORPUS / "saved" / "rows"
    TreeExplainer.load(file, limits=Limits(bytes=file.stat().st_size, trees=2, depth=2, features=3))
    for limits, message in [
        (Limits(bytes=file.stat().st_size - 1), "bytes, but limits allow"),
        (Limits(trees=1), "has 2 trees"),
        (Limits(depth=1), "is 2 deep"),
        (Limits(features=2), "has 3 features"),
        (Limits(categories=1), "categories, but limits allow 1"),
    ]:
        with pytest.raises(ModelError, match=message):
            TreeExplainer.load(file, limits=limits)
        if limits.bytes == Limits().bytes:
            with pytest.raises(ModelError, match=message):
                TreeExplainer.from_bytes(file.read_bytes(), limits=limits)


@pytest.mark.parametrize("given", [0, -1, 1.5, True, "1GB", None])
def test_limits_that_make_no_sense(given: Any) -> None:
    with pytest.raises(InputError, match="the limit of trees must be a whole number from 1 up"):
        Limits(trees=given)
