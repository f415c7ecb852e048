"""Building a `Forest` tree by tree, both for the loaders and for models of any other library."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arborshap import _core
from arborshap._util.threads import reading_threads
from arborshap.exceptions import ModelError
from arborshap.forest.forest import Forest, NodeFlag, as_array, count, frozen_copy

Rule: TypeAlias = Literal["<", "<="]
Precision: TypeAlias = Literal["float32", "float64"]
Missing: TypeAlias = Literal["nan", "none", "zero"]
CategorySet: TypeAlias = Collection[int] | NDArray[Any]

_OF_SETS = {"members_left": NodeFlag.MEMBERS_LEFT, "negative_fraction_is_zero": NodeFlag.NEGATIVE_FRACTION_IS_ZERO}
_MISSING: dict[str, int] = {"nan": 0, "none": NodeFlag.NAN_IS_ZERO, "zero": NodeFlag.ZERO_IS_MISSING}


class ForestBuilder:
    """Collects trees one at a time and joins them into a `Forest`.

    Parameters
    ----------
    n_features : int
        Number of features of a row.
    n_outputs : int
        Number of outputs per row.
    rule : {"<", "<="}
        Which values go left: ``x < threshold`` (XGBoost) or ``x <= threshold`` (most other libraries).
    precision : {"float32", "float64"}
        Precision to which the library rounds a row's values before it compares them. Thresholds are never rounded.

    Examples
    --------
    A stump on the second of two features. Its value is -1 if the feature is at most 0.5 or missing, and 2 otherwise:

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
        self._trees: list[dict[str, NDArray[Any]]] = []
        self._outputs: list[int] = []
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
        """Add one tree. Arrays run over its nodes, and node 0 is the root.

        Parameters
        ----------
        left, right : array of int
            Children of each node. A node with -1 for both is a leaf.
        feature : array of int
            Feature that each node tests; ignored in leaves.
        threshold : array of float
            Threshold that the feature is compared with; ignored in leaves and categorical nodes.
        value : array of float, (nodes,) or (nodes, n_outputs)
            Leaf values: one number per leaf, added to `output`, or one number per output. All trees must use the same
            form.
        output : int
            Output that the tree adds to, if each leaf holds one number.
        default_left : bool or array of bool
            Whether missing values go left.
        missing : {"nan", "none", "zero"}, or one of these per node
            Which values are missing. ``"nan"``: NaN. ``"none"``: no value, and NaN counts as 0. ``"zero"``: NaN and
            values within 1e-35 of 0.
        categories : mapping of node to categories, optional
            Nodes that test whether the truncated value is in a set of non-negative integers, and the set of each.
        members_left : bool or array of bool
            Whether members of a set go left and all other values right, or the other way round.
        negative_fraction_is_zero : bool
            Whether a value in (-1, 0) counts as category 0.
        cover : array of float, optional
            Training weight that reached each node. It must be given for all trees or for none.
        """
        # Only shapes are checked here; `build` checks the numbers. Arrays are not copied before that.
        where = f"tree {len(self._trees)}"
        tree = {"left": as_array(f"{where}: left", left)}
        if tree["left"].ndim != 1:
            raise ModelError(f"{where}: left must have 1 dimension, but its shape is {tree['left'].shape}")
        n = len(tree["left"])
        tree["right"] = as_array(f"{where}: right", right)
        tree["feature"] = as_array(f"{where}: feature", feature)
        tree["threshold"] = as_array(f"{where}: threshold", threshold)
        tree["value"] = as_array(f"{where}: value", value)
        if cover is not None:
            tree["cover"] = as_array(f"{where}: cover", cover)
        has_vectors = tree["value"].ndim == 2
        for name, array in tree.items():
            if array.shape != ((n, self.n_outputs) if has_vectors and name == "value" else (n,)):
                raise ModelError(
                    f"{where}: {name} has shape {array.shape}, but left has {n} entries, one per node"
                    + (f", and there are {self.n_outputs} outputs" if has_vectors else "")
                )
        tree["default_left"] = as_array(f"{where}: default_left", default_left)
        tree["members_left"] = as_array(f"{where}: members_left", members_left)
        tree["negative_fraction_is_zero"] = as_array(f"{where}: negative_fraction_is_zero", negative_fraction_is_zero)
        tree["missing"] = _missing_flags(where, missing)
        for name in ("default_left", "members_left", "negative_fraction_is_zero", "missing"):
            if tree[name].shape not in ((), (n,)):
                raise ModelError(f"{where}: {name} has shape {tree[name].shape}, but the tree has {n} nodes")
        if categories:
            self._add_sets(where, categories, n)
            tree["categorical"] = np.array(sorted(categories))
        self._trees.append(tree)
        self._outputs.append(-1 if has_vectors else count(f"{where}: output", output))
        self._sizes.append(n)
        self._n_nodes += n

    def _add_sets(self, where: str, categories: Mapping[int, CategorySet], n: int) -> None:
        for node, members in categories.items():
            if not 0 <= node < n:
                raise ModelError(f"{where}: categories are given for node {node}, but there are {n} nodes")
            ids = members if isinstance(members, np.ndarray) else list(members)
            found = frozen_copy(f"{where}, node {node}: categories", ids, np.uint32)
            # Most sets are already sorted, and sorting takes many times their memory.
            self._sets[self._n_nodes + node] = found if (found[1:] > found[:-1]).all() else np.unique(found)

    def build(
        self,
        *,
        base: ArrayLike = 0.0,
        feature_names: Iterable[str] | None = None,
        output_names: Iterable[str] | None = None,
    ) -> Forest:
        """Join the trees into a forest.

        Parameters
        ----------
        base : float or array of float, (n_outputs,)
            Constant that is added to the sum of the trees.
        feature_names, output_names : iterable of str, optional
            Names of the features and of the outputs.

        Returns
        -------
        Forest
            The validated forest.

        Raises
        ------
        ModelError
            If a tree is invalid; the message names the tree and the node.
        """
        if len({tree["value"].ndim for tree in self._trees}) > 1:
            raise ModelError("some trees hold one value per leaf and others one per output; all must do the same")
        has_cover = {"cover" in tree for tree in self._trees}
        if len(has_cover) > 1:
            raise ModelError("cover must be given for every tree or for none")
        start = as_array("base", base)
        if start.shape not in ((), (self.n_outputs,)):
            raise ModelError(
                f"base has shape {start.shape}, but there are {self.n_outputs} outputs; give one per output"
            )
        nodes = sorted(self._sets)
        sets = [self._sets[node] for node in nodes]
        # Libraries may leave anything in entries without meaning, and the native forest never looks at them.
        native = _core.Forest.of_trees(
            [self._arrays(t) for t in range(len(self._trees))],
            n_features=self.n_features,
            base=frozen_copy("base", np.broadcast_to(start, self.n_outputs), np.float64),
            category_nodes=np.array(nodes, np.int64),
            category_offsets=np.cumsum([0, *map(len, sets)]),
            categories=np.concatenate(sets) if sets else np.empty(0, np.uint32),
            n_threads=reading_threads(),
        )
        return Forest.of_native(native, _listed(feature_names), _listed(output_names))

    def _arrays(self, t: int) -> _core.TreeArrays:
        """Return the arrays of a tree as they were given, except for those that the native forest cannot read."""
        return (
            self._whole(t, "left"),
            self._whole(t, "right"),
            self._whole(t, "feature"),
            self._real(t, "threshold"),
            self._real(t, "value").ravel(),
            self._node_flags(t),
            self._switch(t, "default_left"),
            self._real(t, "cover") if "cover" in self._trees[t] else None,
            self._outputs[t],
        )

    def _whole(self, t: int, name: str) -> NDArray[np.int32] | NDArray[np.int64]:
        array = self._trees[t][name]
        if array.dtype in (np.int64, np.int32) and array.flags.aligned:
            return array
        return self._converted(t, name, np.int32)

    def _real(self, t: int, name: str) -> NDArray[np.float32] | NDArray[np.float64]:
        array = self._trees[t][name]
        if array.dtype in (np.float64, np.float32) and array.flags.aligned:
            return array
        return self._converted(t, name, np.float64)

    def _converted(self, t: int, name: str, dtype: type[np.number[Any]]) -> NDArray[Any]:
        """Convert one array of a tree, or refuse it; entries that the format ignores become 0."""
        tree = self._trees[t]
        array = tree[name].copy()
        leaf = (tree["left"] == -1) & (tree["right"] == -1)
        if name == "value":
            array[~leaf] = 0
        elif name in ("feature", "threshold"):
            array[leaf] = 0
        return frozen_copy(f"tree {t}: {name}", array, dtype, (1, 2) if name == "value" else (1,))

    def _node_flags(self, t: int) -> NDArray[np.uint8]:
        """Return the flags of a tree without `default_left`: one per node, or one for all nodes."""
        tree = self._trees[t]
        flags = np.atleast_1d(tree["missing"] | np.uint8(self._flags))
        if "categorical" in tree:
            flags = np.array(np.broadcast_to(flags, self._sizes[t]))
            nodes = tree["categorical"]
            flags[nodes] |= np.uint8(NodeFlag.CATEGORICAL)
            for name, flag in _OF_SETS.items():
                flags[nodes] |= np.broadcast_to(self._switch(t, name), len(flags))[nodes] * np.uint8(flag)
        return flags

    def _switch(self, t: int, name: str) -> NDArray[np.uint8]:
        """Return an array of booleans, one per node or one for all nodes, as zeros and ones."""
        array = np.atleast_1d(self._trees[t][name])
        if array.dtype == np.bool_:
            return array.view(np.uint8)
        if array.dtype == np.uint8 and name == "default_left":
            return array  # the native forest refuses other numbers than zeros and ones
        if array.dtype.kind not in "iub" or (array.size and not 0 <= array.min() <= array.max() <= 1):
            raise ModelError(f"tree {t}: {name} must be true or false for every node")
        return array.astype(np.uint8, copy=False)


def _listed(names: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _missing_flags(where: str, missing: str | Sequence[str]) -> NDArray[np.uint8]:
    kinds = [missing] if isinstance(missing, str) else list(missing)
    unknown = next((kind for kind in kinds if kind not in _MISSING), None)
    if unknown is not None:
        raise ModelError(f"{where}: missing must be one of {', '.join(map(repr, _MISSING))}, not {unknown!r}")
    if isinstance(missing, str):
        return np.array(_MISSING[missing], np.uint8)
    return np.array([_MISSING[kind] for kind in kinds], np.uint8)
