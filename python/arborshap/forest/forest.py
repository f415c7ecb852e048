"""The common format: a model of any library becomes one `Forest` of immutable arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from enum import IntFlag
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arborshap import _core
from arborshap._util.checks import is_whole, repeated
from arborshap._util.words import counted
from arborshap.exceptions import InputError, ModelError


class NodeFlag(IntFlag):
    """How one split reads a value: the bits of a node's byte in `Forest.flags`."""

    LESS_EQUAL = 1
    """A value goes left if x <= threshold (unset: if x < threshold)."""
    FLOAT32 = 2
    """x is rounded to float32 before the test."""
    DEFAULT_LEFT = 4
    """A missing value goes left."""
    NAN_IS_ZERO = 8
    """Nothing is missing: NaN counts as 0.0."""
    ZERO_IS_MISSING = 16
    """NaN and every abs(x) <= 1e-35 are missing."""
    CATEGORICAL = 32
    """The split tests whether x, truncated, is in the node's set of categories."""
    MEMBERS_LEFT = 64
    """Members of the set go left and all other values right (unset: members right, all others left)."""
    NEGATIVE_FRACTION_IS_ZERO = 128
    """A value in (-1, 0) truncates to category 0 (unset: it is in no set)."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One tree of a forest, as read-only views of the forest's arrays. Node 0 is the root.

    Attributes
    ----------
    left, right : array of int, (nodes,)
        Children of each node; both are -1 in a leaf.
    feature : array of int, (nodes,)
        Feature that each node tests; 0 and without meaning in a leaf.
    threshold : array of float, (nodes,)
        Threshold that the feature is compared with; 0 in leaves and categorical nodes.
    flags : array of uint8, (nodes,)
        `NodeFlag` bits of each node.
    value : array of float, (nodes,) or (nodes, outputs)
        Leaf values; the entries of internal nodes have no meaning.
    output : int or None
        Output that the leaf values are added to; ``None`` if each leaf holds one value per output.
    categories : dict of int to array of uint32
        Set of categories of each categorical node.
    cover : array of float, (nodes,), or None
        Training weight that reached each node.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    flags: NDArray[np.uint8]
    value: NDArray[np.float64]
    output: int | None
    categories: dict[int, NDArray[np.uint32]]
    cover: NDArray[np.float64] | None

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        return np.asarray(self.left == -1)

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """An immutable, validated forest: trees with typed splits, stored in flat arrays.

    Node arrays run over all trees, one tree after another. Models are loaded into this format, so few users build one.
    To feed a model of an unsupported library, use `ForestBuilder`, which takes one tree at a time.

    Parameters
    ----------
    n_features : int
        Number of features of a row.
    tree_offsets : array of int, (trees + 1,)
        Tree t owns the nodes from ``tree_offsets[t]`` up to, but not including, ``tree_offsets[t + 1]``.
    left, right : array of int, (nodes,)
        Children of each node, numbered within its own tree, whose root is node 0. A node with -1 for both is a leaf.
    feature : array of int, (nodes,)
        Feature that each node tests.
    threshold : array of float, (nodes,)
        Threshold that the feature is compared with.
    flags : array of uint8, (nodes,)
        `NodeFlag` bits of each node.
    value : array of float, (nodes,) or (nodes, outputs)
        Leaf values; the entries of internal nodes are ignored.
    tree_output : array of int, (trees,)
        Output that each tree adds to; all -1 if each leaf holds one value per output.
    base : array of float, (outputs,)
        Constant that is added to the sum of the trees.
    category_nodes : array of int, (sets,)
        Categorical nodes, numbered over the whole forest, in ascending order.
    category_offsets : array of int, (sets + 1,)
        Set s is ``categories[category_offsets[s]:category_offsets[s + 1]]``.
    categories : array of uint32
        The sets of categories, each in ascending order.
    cover : array of float, (nodes,), optional
        Training weight that reached each node.
    feature_names, output_names : sequence of str, optional
        Names of the features and of the outputs.

    Attributes
    ----------
    native : _core.Forest
        The validated forest that the engines work on.
    """

    n_features: int
    tree_offsets: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    flags: NDArray[np.uint8]
    value: NDArray[np.float64]
    tree_output: NDArray[np.int32]
    base: NDArray[np.float64]
    category_nodes: NDArray[np.int64]
    category_offsets: NDArray[np.int64]
    categories: NDArray[np.uint32]
    cover: NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] | None = None
    output_names: tuple[str, ...] | None = None
    native: _core.Forest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        arrays: dict[str, Any] = {}
        for name, dtype in _DTYPES.items():
            given = getattr(self, name)
            arrays[name] = (
                None
                if name == "cover" and given is None
                else frozen_copy(name, given, dtype, (1, 2) if name == "value" else (1,))
            )
            object.__setattr__(self, name, arrays[name])
        object.__setattr__(self, "n_features", count("n_features", self.n_features))
        native = _core.Forest(n_features=self.n_features, **arrays)
        object.__setattr__(self, "native", native)
        for name, expected in (("feature_names", native.n_features), ("output_names", native.n_outputs)):
            object.__setattr__(self, name, _names(name, getattr(self, name), expected))

    @classmethod
    def of_native(
        cls,
        native: _core.Forest,
        feature_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
    ) -> Self:
        """Make a `Forest` from a native forest, without validating it again. Its arrays are made when one is read."""
        forest = object.__new__(cls)
        object.__setattr__(forest, "n_features", native.n_features)
        object.__setattr__(forest, "native", native)
        names = ("feature_names", feature_names, native.n_features), ("output_names", output_names, native.n_outputs)
        for name, given, expected in names:
            object.__setattr__(forest, name, _names(name, given, expected))
        return forest

    def __getattr__(self, name: str) -> Any:
        """Make the arrays of a forest from `of_native` when one of them is first read; explaining needs none."""
        if name not in _DTYPES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        for array_name, array in self.native.arrays().items():
            if array is not None:
                array.flags.writeable = False
            object.__setattr__(self, array_name, array)
        return object.__getattribute__(self, name)

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, f.name) for f in fields(self) if f.init)

    def __repr__(self) -> str:
        native = self.native
        return (
            f"Forest({counted(native.n_trees, 'tree')}, {counted(native.n_nodes, 'node')}, "
            f"{counted(native.n_leaves, 'leaf', 'leaves')}, depth {native.max_depth}, "
            f"{counted(native.n_features, 'feature')}, {counted(native.n_outputs, 'output')})"
        )

    @property
    def n_outputs(self) -> int:
        """Number of outputs per row."""
        return self.native.n_outputs

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.native.n_trees

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, leaves included."""
        return self.native.n_nodes

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return self.native.n_leaves

    @property
    def max_depth(self) -> int:
        """Number of splits on the longest path from a root to a leaf."""
        return self.native.max_depth

    @property
    def n_categories(self) -> int:
        """Number of categories in all sets of categories."""
        return self.native.n_categories

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The trees, each as read-only views."""
        return tuple(self._tree(t) for t in range(self.n_trees))

    def _tree(self, t: int) -> Tree:
        start, end = self.tree_offsets[t : t + 2].tolist()
        own = slice(start, end)
        first, last = np.searchsorted(self.category_nodes, (start, end)).tolist()
        bounds = self.category_offsets
        return Tree(
            left=self.left[own],
            right=self.right[own],
            feature=self.feature[own],
            threshold=self.threshold[own],
            flags=self.flags[own],
            value=self.value[own],
            output=None if self.tree_output[t] == -1 else int(self.tree_output[t]),
            categories={
                int(self.category_nodes[s]) - start: self.categories[bounds[s] : bounds[s + 1]]
                for s in range(first, last)
            },
            cover=None if self.cover is None else self.cover[own],
        )

    def margin(self, rows: ArrayLike, n_threads: int = 1) -> NDArray[np.float64]:
        """Compute the margin, which is the raw prediction before any link, in float64.

        Parameters
        ----------
        rows : array-like, (n, n_features)
            Rows to evaluate.
        n_threads : int
            Number of threads to use.

        Returns
        -------
        array of float64, (n, n_outputs)
            The margin of each row.
        """
        matrix = np.asarray(rows)
        if matrix.dtype.kind not in "fiub":
            raise InputError(f"rows must be numbers, got {matrix.dtype}")
        if n_threads < 1:
            raise InputError(f"n_threads must be at least 1, got {n_threads}")
        if matrix.dtype != np.float32:
            matrix = matrix.astype(np.float64, copy=False)
        if matrix.ndim != 2 or matrix.shape[1] != self.n_features:
            raise InputError(f"rows must have shape (n, {self.n_features}), one column per feature; got {matrix.shape}")
        return self.native.margin(np.require(matrix, requirements=["C", "A"]), n_threads)


_DTYPES: dict[str, type[np.number[Any]]] = {
    "tree_offsets": np.int64,
    "left": np.int32,
    "right": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "flags": np.uint8,
    "value": np.float64,
    "tree_output": np.int32,
    "base": np.float64,
    "category_nodes": np.int64,
    "category_offsets": np.int64,
    "categories": np.uint32,
    "cover": np.float64,
}


def as_array(name: str, given: ArrayLike) -> NDArray[Any]:
    """Return any array-like as an array; an error calls it by `name`."""
    try:
        return np.asarray(given)
    except ValueError as error:
        raise ModelError(f"{name} must be an array of numbers: {error}") from None


def frozen_copy(name: str, given: ArrayLike, dtype: type[np.number[Any]], ndim: tuple[int, ...] = (1,)) -> NDArray[Any]:
    """Copy into a read-only C-contiguous array of `dtype`; refuse anything that would change a number."""
    array = as_array(name, given)
    whole = issubclass(dtype, np.integer)
    if array.ndim not in ndim:
        raise ModelError(f"{name} must have {' or '.join(map(str, ndim))} dimension(s), but its shape is {array.shape}")
    if array.size and array.dtype.kind not in ("iub" if whole else "iubf"):
        raise ModelError(f"{name} must be an array of {'whole ' if whole else ''}numbers, not of {array.dtype}")
    if array.size and issubclass(dtype, np.integer) and not np.can_cast(array.dtype, dtype):
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if int(array.min()) < low or int(array.max()) > high:
            at = int(np.argmax((array < low) | (array > high)))
            raise ModelError(f"{name}: entry {at} is {array.flat[at]}, outside [{low}, {high}]")
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.owndata and not flags.writeable:
        return array  # already a frozen copy
    copy = np.array(array, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy


def count(name: str, given: Any) -> int:
    """Return a whole number that the format can hold; an error calls it by `name`."""
    if not is_whole(given) or not 0 <= given < 2**31:
        raise ModelError(f"{name} must be a whole number from 0 to {2**31 - 1}, not {given!r}")
    return int(given)


def _names(name: str, given: Sequence[str] | None, expected: int) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise ModelError(f"{name} must be a sequence of strings")
    if len(given) != expected:
        raise ModelError(f"{name} has {len(given)} entries, but {expected} are needed")
    if name == "feature_names" and len(set(given)) < len(given):
        raise ModelError(f"{name} has {repeated(given)[0][:60]!r} more than once")
    return tuple(given)
