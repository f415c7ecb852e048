"""The native module: arrays in, arrays out. Everything a user touches is in Python above it."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
"""Rows, two-dimensional and C-contiguous, native byte order, aligned."""

IndexName: TypeAlias = Literal["shapley", "taylor", "interaction", "banzhaf"]
Progress: TypeAlias = Callable[[float], object]
"""Called now and then from the calling thread with the fraction done; an exception it raises ends the call."""

__version__: str

def available_memory() -> int:
    """Bytes of memory that can be used without pushing anything else out."""

@final
class Forest:
    """A validated, immutable forest: the common format every model is turned into.

    Node arrays run over all trees, one after another; `tree_offsets` (length trees + 1) says where each begins.
    Children are numbered within their own tree, node 0 of a tree is its root, and -1 for both children makes a leaf.
    """

    def __new__(
        cls,
        *,
        n_features: int,
        tree_offsets: NDArray[np.int64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        flags: NDArray[np.uint8],
        value: NDArray[np.float64],
        tree_output: NDArray[np.int32],
        base: NDArray[np.float64],
        category_nodes: NDArray[np.int64],
        category_offsets: NDArray[np.int64],
        categories: NDArray[np.uint32],
        cover: NDArray[np.float64] | None = None,
    ) -> Forest: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def n_trees(self) -> int: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    def arrays(self) -> dict[str, Any]:
        """The arrays it is made of, by name; `cover` may be None. Leaves are vectors everywhere if anywhere."""
    def margin(self, rows: Matrix, n_threads: int) -> NDArray[np.float64]:
        """The raw prediction in float64: (rows, outputs)."""

@final
class Plan:
    """How a call would be carried out, and why."""

    @property
    def trees_by_tables(self) -> int: ...
    @property
    def trees_by_counts(self) -> int: ...
    @property
    def trees_by_pairs(self) -> int: ...
    @property
    def trees_by_walk(self) -> int: ...
    @property
    def seconds(self) -> float:
        """Estimated seconds on one thread."""
    @property
    def bytes(self) -> int:
        """Estimated bytes beyond the rows and the result."""
    @property
    def reason(self) -> str: ...

@final
class Background:
    """A background, or a part of one, as a forest and its players see it: exact counts, or distinct rows."""

    def __new__(cls, forest: Forest, *, players: NDArray[np.int32], n_players: int, n_threads: int) -> Background: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def counted(self) -> bool:
        """Whether only patterns were counted, instead of keeping rows."""
    def add(self, rows: Matrix, weights: NDArray[np.float64] | None = None, *, n_threads: int) -> None:
        """Add rows, which may carry weights."""
    def merge(self, other: Background) -> Background:
        """The rows of both, in a background of its own."""
    def to_bytes(self, texts: dict[str, list[str]]) -> bytes:
        """The background as bytes, with lists of texts to be kept beside it."""
    @staticmethod
    def from_bytes(data: bytes) -> tuple[Background, dict[str, list[str]]]:
        """What `to_bytes` was called on and given."""

@final
class Explainer:
    """A forest, its players and its background, ready to explain rows."""

    def __new__(
        cls,
        forest: Forest,
        *,
        players: NDArray[np.int32],
        n_players: int,
        background: Matrix | None,
        weights: NDArray[np.float64] | None = None,
        memory_limit: int | None = None,
        n_threads: int,
    ) -> Explainer: ...
    @staticmethod
    def from_background(
        forest: Forest,
        background: Background,
        *,
        players: NDArray[np.int32],
        n_players: int,
        memory_limit: int | None = None,
        n_threads: int,
    ) -> Explainer:
        """Against a background that came in parts."""
    def to_bytes(self, texts: dict[str, list[str]], numbers: dict[str, NDArray[np.float64]]) -> bytes:
        """The explainer as bytes, with lists of texts and of numbers to be kept beside it."""
    @staticmethod
    def from_bytes(
        data: bytes, *, memory_limit: int | None = None, n_threads: int
    ) -> tuple[Explainer, dict[str, list[str]], dict[str, NDArray[np.float64]]]:
        """What `to_bytes` was called on and given."""
    @property
    def forest(self) -> Forest: ...
    @property
    def players(self) -> NDArray[np.int32]:
        """The player of every feature."""
    @property
    def n_players(self) -> int: ...
    @property
    def n_background(self) -> int:
        """Rows of the background; none where there is no background."""
    @property
    def expected_value(self) -> NDArray[np.float64]:
        """Mean margin over the (weighted) background, one per output."""
    def explain(
        self,
        rows: Matrix,
        index: IndexName,
        *,
        engine: str,
        n_threads: int,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """(rows, players, outputs), or (rows, players, players, outputs) for an index of pairs of players."""
    def plan(self, n_rows: int, index: IndexName, engine: str) -> Plan:
        """How a call with that many rows would be carried out, and why."""
    def explain_pairs(
        self,
        rows: Matrix,
        background: Matrix | None,
        *,
        n_threads: int,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """phi(x, z) for every pair, never averaged: (rows, background rows, players, outputs)."""
