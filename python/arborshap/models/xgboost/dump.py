"""XGBoost's JSON dump (``get_dump``, ``dump_model``): nested nodes with column names, and nothing but the trees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arborshap._util.notices import warn
from arborshap.exceptions import ModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.limits import DEFAULT, Limits
from arborshap.models.documents import check_known, take, take_list
from arborshap.models.json import parse_json
from arborshap.models.model import Model
from arborshap.models.xgboost.document import TOLERANCE
from arborshap.models.xgboost.tree import float32

_UNKNOWN = (
    "An XGBoost dump holds only the trees: no base score, no DART weights, no classes. Margins are therefore off by a "
    "constant, but differences between rows are right. A multi-class or DART model must be saved with save_model."
)
_UNKNOWN_CATEGORIES = " Categorical splits use codes; the dump does not say which categories they stand for."
_UNKNOWN_INDICATORS = " Boolean columns are assumed to hold 0 and 1, with 0 on the left; the dump does not say."

_FIELDS = frozenset(
    (
        *("nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children", "leaf"),
        *("gain", "cover"),
    )
)
_NUMBERED = re.compile(r"f(\d{1,9})")


def load_dump(
    trees: Sequence[Any],
    feature_names: Sequence[str] | None = None,
    limits: Limits = DEFAULT,
    n_columns: int | None = None,
) -> Model:
    """Read the trees of a dump, each as text or already parsed.

    If columns have no names, but their number is `n_columns`, they are called f0, f1, ... as XGBoost does.
    """
    if feature_names is None and n_columns is not None:
        feature_names = [f"f{j}" for j in range(n_columns)]
    if not trees:
        raise ModelError("the dump holds no trees")
    limits.check("trees", len(trees), "the dump")
    parsed = [
        parse_json(tree, f"tree {t}", limits.nesting) if isinstance(tree, str) else tree for t, tree in enumerate(trees)
    ]
    flat = [_flatten(t, root) for t, root in enumerate(parsed)]
    nodes = [node for tree in flat for node in tree]
    position = _positions({node.column for node in nodes if node.column is not None}, feature_names)
    n_features = max(position.values(), default=-1) + 1 if feature_names is None else len(feature_names)
    vectors = {len(node.value) for node in nodes if isinstance(node.value, list)}
    if len(vectors) > 1:
        raise ModelError("the leaves of the dump hold different numbers of values")
    builder = ForestBuilder(n_features, vectors.pop() if vectors else 1, rule="<", precision="float32")
    for t, tree in enumerate(flat):
        _add_tree(builder, t, tree, position)
    unknown = _UNKNOWN
    if any(node.members is not None for node in nodes):
        unknown += _UNKNOWN_CATEGORIES
    if any(node.is_indicator for node in nodes):
        unknown += _UNKNOWN_INDICATORS
    warn(unknown)
    forest = builder.build(feature_names=feature_names)
    limits.check_forest(forest, "the dump")
    return Model(forest=forest, library="xgboost dump", tolerance=TOLERANCE, sparse_zero_is_missing=True)


def _positions(columns: set[str], feature_names: Sequence[str] | None) -> dict[str, int]:
    """Find the position of every column that the dump names."""
    position = {name: i for i, name in enumerate(feature_names or ())}
    found = {}
    for name in sorted(columns):
        numbered = _NUMBERED.fullmatch(name)
        if name in position:
            found[name] = position[name]
        elif numbered and (feature_names is None or int(numbered[1]) < len(feature_names)):
            found[name] = int(numbered[1])
        elif feature_names is None:
            raise ModelError(
                f"the dump names its columns ({name!r}, ...) but not their order; "
                "give the names of all columns in order as feature_names"
            )
        else:
            raise ModelError(f"the dump splits on {name!r}, which is not one of the {len(feature_names)} feature_names")
    return found


@dataclass(slots=True)
class _Node:
    left: int = -1
    right: int = -1
    column: str | None = None
    threshold: Any = 0.0
    members: list[int] | None = None
    default_left: bool = False
    is_indicator: bool = False
    value: Any = None
    cover: Any = None


def _flatten(t: int, root: Any) -> list[_Node]:
    """Number the nested nodes, parents first, without recursion."""
    nodes: list[_Node] = []
    waiting: list[tuple[Any, _Node | None, bool]] = [(root, None, False)]
    while waiting:
        raw, parent, is_left = waiting.pop()
        position = len(nodes)
        if parent is not None and is_left:
            parent.left = position
        elif parent is not None:
            parent.right = position
        if not isinstance(raw, dict):
            raise ModelError(f"tree {t}: a node is {type(raw).__name__}, not an object")
        check_known(raw, _FIELDS, f"tree {t}, node {raw.get('nodeid', position)}")
        node = _Node(value=raw.get("leaf"), cover=raw.get("cover"))
        nodes.append(node)
        if node.value is None:
            left, right = _read_split(node, raw, f"tree {t}, node {raw.get('nodeid', position)}")
            waiting += [(right, node, False), (left, node, True)]
    return nodes


def _read_split(node: _Node, raw: dict[str, Any], where: str) -> tuple[Any, Any]:
    """Read the test of a node; return its children, left first."""
    node.column = take(raw, "split", str, where)
    children = take_list(raw, "children", where)
    if len(children) != 2:
        raise ModelError(f"{where}: it has {len(children)} children instead of two")
    first, second = (take(child, "nodeid", int, f"{where}, a child") for child in children)
    yes, no = (take(raw, key, int, where) for key in ("yes", "no"))
    if first == second or {first, second} != {yes, no}:
        raise ModelError(f"{where}: its children are {first} and {second}, but yes is {yes} and no is {no}")
    if "split_condition" not in raw:
        # A boolean column: missing values go to "no", and the child listed first is the left one.
        node.is_indicator = True
        node.threshold = 1.0
        node.default_left = no == first
        return children[0], children[1]
    missing = take(raw, "missing", int, where)
    if missing not in (yes, no):
        raise ModelError(f"{where}: missing values go to node {missing}, which is not one of its children")
    node.default_left = missing == yes
    condition = raw["split_condition"]
    if isinstance(condition, list):
        node.members = condition
    else:
        node.threshold = condition
    return (children[0], children[1]) if yes == first else (children[1], children[0])


def _add_tree(builder: ForestBuilder, t: int, nodes: list[_Node], position: dict[str, int]) -> None:
    width = builder.n_outputs
    no_value = 0.0 if width == 1 else [0.0] * width
    values = [no_value if node.value is None else node.value for node in nodes]
    cover = [node.cover for node in nodes]
    builder.add_tree(
        left=[node.left for node in nodes],
        right=[node.right for node in nodes],
        feature=[0 if node.column is None else position[node.column] for node in nodes],
        threshold=float32(f"tree {t}: split_condition", [node.threshold for node in nodes]),
        value=float32(f"tree {t}: leaf", values, ndim=(1, 2)),
        default_left=[node.default_left for node in nodes],
        categories={n: node.members for n, node in enumerate(nodes) if node.members is not None},
        members_left=True,
        cover=None if None in cover else cover,
    )
