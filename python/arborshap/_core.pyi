"""The native module: arrays in, arrays out. The Python code above it makes everything that users see."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
"""Rows: two-dimensional, C-contiguous, aligned, in native byte order."""

IndexName: TypeAlias = Literal["shapley", "taylor", "interaction", "banzhaf"]
Progress: TypeAlias = Callable[[float], object]
"""Called from time to time, on the calling thread, with the fraction done; if it raises an exception, the call ends."""

__version__: str
MAGIC: bytes
"""The first bytes of a saved explainer or background."""

def available_memory() -> int:
    """Bytes of memory that can be used without swapping anything out."""

def parse_ubjson(content: bytes, what: str) -> Any:
    """Document in UBJSON; arrays of numbers of one type are NumPy arrays. `what` names the document in errors."""

TreeArrays: TypeAlias = tuple[
    NDArray[np.int32] | NDArray[np.int64],
    NDArray[np.int32] | NDArray[np.int64],
    NDArray[np.int32] | NDArray[np.int64],
    NDArray[np.float32] | NDArray[np.float64],
    NDArray[np.float32] | NDArray[np.float64],
    NDArray[np.uint8],
    NDArray[np.uint8],
    NDArray[np.float32] | NDArray[np.float64] | None,
    int,
]
"""The arrays of one tree: left, right, feature, threshold, value, flags, default_left, cover, and its output.

They are aligned, have one dimension, and may be strided. `flags` leaves out the bit of `default_left`; both have one
entry per node, or one for all nodes.
"""

@final
class Forest:
    """A validated, immutable forest: the common format of every model.

    Node arrays run over all trees, one tree after another; `tree_offsets` (length trees + 1) says where each begins.
    Children are numbered within their own tree, node 0 of a tree is its root, and a node with -1 for both is a leaf.
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
    @staticmethod
    def of_trees(
        trees: list[TreeArrays],
        *,
        n_features: int,
        base: NDArray[np.float64],
        category_nodes: NDArray[np.int64],
        category_offsets: NDArray[np.int64],
        categories: NDArray[np.uint32],
        n_threads: int,
    ) -> Forest:
        """Forest from the arrays of one tree after another."""
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
    @property
    def n_categories(self) -> int: ...
    def largest_leaves(self) -> NDArray[np.float64]:
        """Largest absolute leaf or base value of each output."""
    def arrays(self) -> dict[str, Any]:
        """Arrays of the forest by name; `cover` may be None. If any leaf is a vector, all leaves are."""
    def margin(self, rows: Matrix, n_threads: int) -> NDArray[np.float64]:
        """Raw prediction in float64: (rows, outputs)."""

@final
class Plan:
    """Which engines a call would use, and why."""

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
    def weight(self) -> float:
        """The weights of all rows together; without weights, the number of rows."""
    @property
    def counted(self) -> bool:
        """Whether patterns were counted and no rows are kept."""
    def empty(self) -> Background:
        """Return a background without rows, of the same forest and players; they are not compiled again."""
    def add(self, rows: Matrix, weights: NDArray[np.float64] | None = None, *, n_threads: int) -> None:
        """Add rows, with or without weights."""
    def merge(self, other: Background) -> Background:
        """Return a new background with the rows of both."""
    def subtract(self, part: Background) -> Background:
        """Return a new background without the rows of a part of it."""
    def to_bytes(self, texts: dict[str, list[str]]) -> bytes:
        """Return the background as bytes, which also hold these lists of texts."""
    @staticmethod
    def from_bytes(data: bytes) -> tuple[Background, dict[str, list[str]]]:
        """Read the background and the texts from the bytes of `to_bytes`."""

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
        """Make an explainer against a background that was counted in parts."""
    def to_bytes(self, texts: dict[str, list[str]], numbers: dict[str, NDArray[np.float64]]) -> bytes:
        """Return the explainer as bytes, which also hold these lists of texts and of numbers."""
    @staticmethod
    def from_bytes(
        data: bytes, *, memory_limit: int | None = None, n_threads: int
    ) -> tuple[Explainer, dict[str, list[str]], dict[str, NDArray[np.float64]]]:
        """Read the explainer, the texts and the numbers from the bytes of `to_bytes`."""
    @property
    def forest(self) -> Forest: ...
    @property
    def players(self) -> NDArray[np.int32]:
        """The player of each feature."""
    @property
    def n_players(self) -> int: ...
    @property
    def n_background(self) -> int:
        """Number of background rows; 0 without a background."""
    @property
    def expected_value(self) -> NDArray[np.float64]:
        """Mean margin over the (weighted) background, one number per output."""
    def explain(
        self,
        rows: Matrix,
        index: IndexName,
        *,
        engine: str,
        n_threads: int,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Compute an index: (rows, players, outputs), or (rows, players, players, outputs) for an index of pairs."""
    def with_players(self, players: NDArray[np.int32], n_players: int, *, n_threads: int) -> Explainer:
        """Return an explainer of the same forest against the same background, with other players."""
    def explain_population(self, population: Background, index: IndexName, *, n_threads: int) -> NDArray[np.float64]:
        """Compute the mean of an index over counted rows: (players[, players], outputs)."""
    def coalition_values(
        self, rows: Matrix, members: list[bool], *, n_threads: int, progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """Compute the mean prediction with some players from each row, others from the background: (rows, outputs)."""
    def single_values(self, rows: Matrix, players: list[int], *, n_threads: int) -> NDArray[np.float64]:
        """Compute the same for coalitions of one player each: (rows, players, outputs)."""
    def couple_values(self, rows: Matrix, player: int, others: list[int], *, n_threads: int) -> NDArray[np.float64]:
        """Compute the same for coalitions of one player and each of some others: (others, rows, outputs)."""
    def values_without(self, rows: Matrix, *, n_threads: int) -> NDArray[np.float64]:
        """Compute the same for coalitions of all players but one, for each player in turn: (rows, players, outputs)."""
    def standard_error(
        self, rows: Matrix | None, index: IndexName, *, n_threads: int, progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """Compute the standard error of each number that `explain` gives, because the background is a sample."""
    def plan(self, n_rows: int, index: IndexName, engine: str) -> Plan:
        """Plan a call with this number of rows."""
    def player_sets(self, order: int) -> NDArray[np.int32]:
        """List the sets of up to `order` players that share a path: (sets, order), with -1 in the places left."""
    def explain_sets(
        self,
        rows: Matrix,
        index: str,
        parameters: NDArray[np.float64],
        order: int,
        *,
        n_threads: int,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Compute an index of sets of players: (rows, sets, outputs)."""
    def explain_members(
        self,
        rows: Matrix,
        parent: NDArray[np.int32],
        ordered: NDArray[np.bool_],
        *,
        n_threads: int,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Compute the values of members of groups: (rows, players, outputs)."""
    def explain_pairs(
        self,
        rows: Matrix,
        background: Matrix | None,
        *,
        n_threads: int,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Compute phi(x, z) for every pair, without averaging: (rows, background rows, players, outputs)."""
