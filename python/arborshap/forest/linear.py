"""Forests whose leaves hold linear functions of the row, as LightGBM's linear trees do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arborshap.exceptions import InputError, ModelError
from arborshap.forest.forest import Forest
from arborshap.forest.margins import some_trees

MAGIC = b"ARBORLIN"
"""The first bytes of a saved explainer of linear leaves, before those of the explainer of its constants.

Whoever knows constant leaves alone, such as the Rust crate, refuses such a file instead of ignoring the slopes.
"""
REFUSED = (
    "the leaves of these trees hold linear functions (linear_tree=true), so this cannot be computed for them: only "
    "values of players and of sets of players, pair values and predictions of coalitions can, each against rows as the "
    "background; train with linear_tree=false"
)


class LinearForest(Forest):
    """Trees whose leaves hold a constant and a slope for each of some columns.

    It has the sizes, the names and the margin of a forest, but no arrays and no native forest: whoever asks for those
    takes leaves to be constant, and gets an error instead of wrong numbers.

    Attributes
    ----------
    constants : Forest
        The trees with the constants in their leaves.
    slopes : dict of int to a pair of arrays
        For each column that leaves depend on, in order: the nodes of these leaves, numbered over the whole forest, and
        the slopes there.
    """

    __slots__ = ("constants", "slopes")

    constants: Forest
    slopes: dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]]

    @classmethod
    def of(
        cls,
        constants: Forest,
        columns: NDArray[np.integer[Any]],
        nodes: NDArray[np.integer[Any]],
        slopes: NDArray[np.float64],
    ) -> Self:
        """Make a forest of trees with these constants; each slope has a column and a node.

        Raises
        ------
        ModelError
            If a column does not exist, a node is not a leaf, or a slope is not finite.
        """
        exists = (columns >= 0) & (columns < constants.n_features) & (nodes >= 0) & (nodes < constants.n_nodes)
        if not exists.all() or (constants.left[nodes] != -1).any() or not np.isfinite(slopes).all():
            raise ModelError("the slope of a leaf has no such column or leaf, or is not finite")
        forest = object.__new__(cls)
        for name in ("n_features", "feature_names", "output_names"):
            object.__setattr__(forest, name, getattr(constants, name))
        object.__setattr__(forest, "constants", constants)
        found = {}
        for column in np.unique(columns).tolist():
            own = columns == column
            found[column] = nodes[own].astype(np.int64), slopes[own].astype(np.float64)
        object.__setattr__(forest, "slopes", found)
        return forest

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InputError(REFUSED)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self.constants, *self.entries())

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return all slopes as three arrays: their columns, their nodes, and the slopes themselves."""
        columns = np.repeat(np.array(list(self.slopes), np.int64), [len(nodes) for nodes, _ in self.slopes.values()])
        nodes, slopes = zip(*self.slopes.values(), strict=True)
        return columns, np.concatenate(nodes), np.concatenate(slopes)

    def __repr__(self) -> str:
        return f"Linear{self.constants!r}"

    @property
    def n_outputs(self) -> int:
        """Number of outputs per row."""
        return self.constants.n_outputs

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.constants.n_trees

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, leaves included."""
        return self.constants.n_nodes

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return self.constants.n_leaves

    @property
    def max_depth(self) -> int:
        """Number of splits on the longest path from a root to a leaf."""
        return self.constants.max_depth

    @property
    def n_categories(self) -> int:
        """Number of categories in all sets."""
        return self.constants.n_categories

    def of_slopes(self, column: int) -> Forest:
        """Return the trees that depend on a column, with its slopes in their leaves."""
        nodes, slopes = self.slopes[column]
        value = np.zeros(self.n_nodes)
        np.add.at(value, nodes, slopes)
        trees = np.zeros(self.n_trees, np.bool_)
        trees[np.searchsorted(self.constants.tree_offsets, nodes, side="right") - 1] = True
        return some_trees(replace(self.constants, value=value), trees)

    def around(self, centre: Mapping[int, float]) -> Forest:
        """Return the trees with what their leaves hold if each column is at its centre."""
        value = self.constants.value.copy()
        for column, (nodes, slopes) in self.slopes.items():
            np.add.at(value, nodes, centre[column] * slopes)
        return replace(self.constants, value=value)

    def margin(self, rows: ArrayLike, n_threads: int = 1) -> NDArray[np.float64]:
        """Compute the margin; see `Forest.margin`."""
        margin = self.constants.margin(rows, n_threads)
        matrix = np.asarray(rows, np.float64)
        self.check(matrix)
        for column in self.slopes:
            margin += matrix[:, column, np.newaxis] * self.of_slopes(column).margin(matrix, n_threads)
        return margin

    def check(self, rows: NDArray[np.floating[Any]]) -> None:
        """Raise `InputError` if a column that leaves depend on is missing or infinite."""
        for column in self.slopes:
            wrong = ~np.isfinite(rows[:, column])
            if wrong.any():
                name = f"x{column}" if self.feature_names is None else self.feature_names[column]
                raise InputError(
                    f"row {int(wrong.argmax())} of column {name!r} is {rows[wrong.argmax(), column]}, and leaves hold "
                    "linear functions of this column, for which missing and infinite values cannot be explained; fill "
                    "them, or train with linear_tree=false"
                )
