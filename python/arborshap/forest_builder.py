"""Building a `Forest` tree by tree: what the loaders use, and the way to feed a model of any other library."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arborshap.exceptions import ModelError
from arborshap.forest import Forest, NodeFlag, as_array, count, frozen_copy

Rule: TypeAlias = Literal["<", "<="]
Precision: TypeAlias = Literal["float32", "float64"]
Missing: TypeAlias = Literal["nan", "none", "zero"]
CategorySet: TypeAlias = Collection[int] | NDArray[Any]

_NODE_ARRAYS = ("left", "right", "feature", "threshold", "flags", "value")
_MISSING: dict[str, int] = {"nan": 0, "none": NodeFlag.NAN_IS_ZERO, "zero": NodeFlag.ZERO_IS_MISSING}


class ForestBuilder:
    """Collects trees one at a time and joins them into a `Forest`.

    Parameters
    ----------
    n_features : int
        Columns a row has.
    n_outputs : int
        Numbers predicted for a row.
    rule : {"<", "<="}
        When a value goes left: ``x < threshold`` (XGBoost) or ``x <= threshold`` (most others).
    precision : {"float32", "float64"}
        Whether the library rounds a row's values to float32 before it compares them. Thresholds are never rounded.

    Examples
    --------
    A stump on the second of two columns, worth -1 where it is at most 0.5 or missing, and 2 elsewhere:

    >>> builder = ForestBuilder(n_features=2, rule="<=", precision="float64")
    >>> builder.add_tree(
    ...     left=[1, -1, -1], right=[2, -1, -1], feature=[1, 0, 0], threshold=[0.5, 0, 0], value=[0, -1, 2],
    ...     default_left=True,
    ... )
    >>> builder.build(base=10).margin([[0.0, 0.5], [0.0, 0.6]])
    array([[ 9.],
           [12.]])
    """

    def __init__(self, n_features: int, n_outputs: int = 1, *, rule: Rule, precision: Precision) -> None:
        if rule not in ("<", "<="):
            raise ModelError(f'rule must be "<" or "<=", not {rule!r}')
        if precision not in ("float32", "float64"):
            raise ModelError(f'precision must be "float32" or "float64", not {precision!r}')
        self.n_features = count("n_features", n_features)
        self.n_outputs = count("n_outputs", n_outputs)
        self._flags = (NodeFlag.LESS_EQUAL if rule == "<=" else 0) | (NodeFlag.FLOAT32 if precision == "float32" else 0)
        self._arrays: dict[str, list[NDArray[Any]]] = {}
        self._tree_output: list[int] = []
        self._sizes: list[int] = []
        self._sets: dict[int, NDArray[np.uint32]] = {}
        self._n_nodes = 0

    def add_tree(
        self,
        *,
        left: ArrayLike,
        right: ArrayLike,
        feature: ArrayLike,
        threshold: ArrayLike,
        value: ArrayLike,
        output: int = 0,
        default_left: ArrayLike = False,
        missing: Missing | Sequence[Missing] = "nan",
        categories: Mapping[int, CategorySet] | None = None,
        members_left: ArrayLike = True,
        negative_fraction_is_zero: bool = False,
        cover: ArrayLike | None = None,
    ) -> None:
        """Add one tree; arrays run over its nodes and node 0 is the root.

        Parameters
        ----------
        left, right : array of int
            Children; -1 for both makes a leaf.
        feature : array of int
            Column each node tests; ignored in leaves.
        threshold : array of float
            What the column is compared with; ignored in leaves and categorical nodes.
        value : array of float, (nodes,) or (nodes, n_outputs)
            Leaf values: one number, added to `output`, or one per output. All trees of a forest do the same.
        output : int
            The output the tree adds to, when leaves hold one number.
        default_left : bool or array of bool
            Where missing values go.
        missing : {"nan", "none", "zero"}, or one of them per node
            What is missing: NaN; nothing (NaN counts as 0); NaN and values within 1e-35 of 0.
        categories : mapping of node to categories, optional
            Makes these nodes test membership of the truncated value in a set of non-negative integers.
        members_left : bool or array of bool
            Whether members of a set go left and all others right, or the other way round.
        negative_fraction_is_zero : bool
            Whether a value in (-1, 0) counts as category 0.
        cover : array of float, optional
            Training weight that reached each node; given for all trees or for none.
        """
        where = f"tree {len(self._sizes)}"
        lefts = frozen_copy(f"{where}: left", left, np.int32)
        n = len(lefts)
        given = {
            "right": as_array(f"{where}: right", right),
            "feature": as_array(f"{where}: feature", feature),
            "threshold": as_array(f"{where}: threshold", threshold),
            "value": as_array(f"{where}: value", value),
        }
        if cover is not None:
            given["cover"] = as_array(f"{where}: cover", cover)
        for name, array in given.items():
            if array.shape[:1] != (n,):
                raise ModelError(f"{where}: {name} has shape {array.shape}, but left has {n} entries, one per node")
        rights = frozen_copy(f"{where}: right", given["right"], np.int32)
        values = frozen_copy(f"{where}: value", given["value"], np.float64, ndim=(1, 2))
        if values.ndim == 2 and values.shape[1] != self.n_outputs:
            raise ModelError(f"{where}: value has {values.shape[1]} columns for {self.n_outputs} outputs")

        leaf = (lefts == -1) & (rights == -1)
        categorical = self._add_sets(where, categories or {}, n)
        flags = np.full(n, int(self._flags), np.uint8)
        flags[_per_node(f"{where}: default_left", default_left, n)] |= np.uint8(NodeFlag.DEFAULT_LEFT)
        flags |= _missing_flags(where, missing, n)
        flags[categorical] |= np.uint8(NodeFlag.CATEGORICAL)
        flags[categorical & _per_node(f"{where}: members_left", members_left, n)] |= np.uint8(NodeFlag.MEMBERS_LEFT)
        if negative_fraction_is_zero:
            flags[categorical] |= np.uint8(NodeFlag.NEGATIVE_FRACTION_IS_ZERO)
        flags[leaf] = 0

        tree = {
            "left": lefts,
            "right": rights,
            "feature": frozen_copy(f"{where}: feature", _zeroed(given["feature"], leaf), np.int32),
            "threshold": frozen_copy(
                f"{where}: threshold", _zeroed(given["threshold"], leaf | categorical), np.float64
            ),
            "flags": flags,
            "value": _zeroed(values, ~leaf),
        }
        if cover is not None:
            tree["cover"] = frozen_copy(f"{where}: cover", given["cover"], np.float64)
        for name, array in tree.items():
            self._arrays.setdefault(name, []).append(array)
        self._tree_output.append(-1 if values.ndim == 2 else count(f"{where}: output", output))
        self._sizes.append(n)
        self._n_nodes += n

    def _add_sets(self, where: str, categories: Mapping[int, CategorySet], n: int) -> NDArray[np.bool_]:
        categorical = np.zeros(n, np.bool_)
        for node, members in categories.items():
            if not 0 <= node < n:
                raise ModelError(f"{where}: categories are given for node {node}, but there are {n} nodes")
            ids = members if isinstance(members, np.ndarray) else list(members)
            ids = frozen_copy(f"{where}, node {node}: categories", ids, np.uint32)
            self._sets[self._n_nodes + node] = np.unique(ids)
            categorical[node] = True
        return categorical

    def build(
        self,
        *,
        base: ArrayLike = 0.0,
        feature_names: Iterable[str] | None = None,
        output_names: Iterable[str] | None = None,
    ) -> Forest:
        """Join the trees.

        Parameters
        ----------
        base : float or array of float, (n_outputs,)
            What the trees' sum starts from.
        feature_names, output_names : iterable of str, optional
            Names of the columns and of the outputs.

        Returns
        -------
        Forest
            Validated: an error names the tree and the node at fault.
        """
        arrays = self._arrays
        if len({array.ndim for array in arrays.get("value", [])}) > 1:
            raise ModelError("some trees hold one value per leaf and others one per output; all must do the same")
        if "cover" in arrays and len(arrays["cover"]) != len(self._sizes):
            raise ModelError("cover must be given for every tree or for none")
        start = as_array("base", base)
        if start.shape not in ((), (self.n_outputs,)):
            raise ModelError(f"base has shape {start.shape} for {self.n_outputs} outputs")
        nodes = sorted(self._sets)
        sets = [self._sets[node] for node in nodes]
        joined: dict[str, NDArray[Any]] = {
            name: np.concatenate(arrays[name]) if name in arrays else np.empty(0) for name in _NODE_ARRAYS
        }
        return Forest(
            n_features=self.n_features,
            tree_offsets=np.cumsum([0, *self._sizes]),
            tree_output=np.array(self._tree_output, np.int32),
            base=np.broadcast_to(start, self.n_outputs),
            category_nodes=np.array(nodes, np.int64),
            category_offsets=np.cumsum([0, *map(len, sets)]),
            categories=np.concatenate(sets) if sets else np.empty(0, np.uint32),
            cover=np.concatenate(arrays["cover"]) if "cover" in arrays else None,
            feature_names=None if feature_names is None else tuple(feature_names),
            output_names=None if output_names is None else tuple(output_names),
            **joined,
        )


def _zeroed(array: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    """Clear the entries that mean nothing, so that whatever a library left there is never looked at."""
    copy = array.copy()
    copy[mask] = 0
    return copy


def _per_node(name: str, given: ArrayLike, n: int) -> NDArray[np.bool_]:
    array = as_array(name, given)
    if array.shape not in ((), (n,)):
        raise ModelError(f"{name} has shape {array.shape}, but the tree has {n} nodes")
    if array.size and not (array.dtype.kind in "iub" and array.min() >= 0 and array.max() <= 1):
        raise ModelError(f"{name} must be true or false for every node")
    return np.broadcast_to(array.astype(np.bool_), n)


def _missing_flags(where: str, missing: str | Sequence[str], n: int) -> NDArray[np.uint8]:
    kinds = [missing] if isinstance(missing, str) else list(missing)
    if not isinstance(missing, str) and len(kinds) != n:
        raise ModelError(f"{where}: missing has {len(kinds)} entries, but the tree has {n} nodes")
    unknown = next((kind for kind in kinds if kind not in _MISSING), None)
    if unknown is not None:
        raise ModelError(f"{where}: missing must be one of {', '.join(map(repr, _MISSING))}, not {unknown!r}")
    return np.broadcast_to(np.array([_MISSING[kind] for kind in kinds], np.uint8), n)
