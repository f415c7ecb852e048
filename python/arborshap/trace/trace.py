"""A whole trace: the steps of a walk, and how its leaves add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap.rows.numbers import is_missing
from arborshap.trace.drawing import draw
from arborshap.trace.steps import Edge, Leaf, Split
from arborshap.trace.text import as_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, repr=False)
class Trace:
    """The paper's walk (Algorithm 2, with groups Algorithm 4) down one tree for one pair of rows.

    Attributes
    ----------
    tree, n_trees
        The tree's number, and how many there are.
    players
        The names of all players, in the order of `phi`.
    outputs, output_numbers
        The names of the outputs that the tree adds to, and their numbers.
    steps
        The splits and leaves in the order in which the walk came to them: x's way before z's.
    phi
        The sum of the leaves' contributions, (players,) or, for a model with several outputs, (players, outputs of
        the model): the tree's share of `TreeExplainer.pair_values`.
    value_x, value_z
        The tree's own prediction of the two rows, for each of `outputs`. Their difference is the sum of `phi`.
    n_nodes
        Nodes in the tree; most are never entered.
    """

    tree: int
    n_trees: int
    players: tuple[str, ...]
    outputs: tuple[str, ...]
    output_numbers: tuple[int, ...]
    steps: tuple[Split | Leaf, ...]
    phi: NDArray[np.float64]
    value_x: tuple[float, ...]
    value_z: tuple[float, ...]
    n_nodes: int

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Split))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The leaves among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Leaf))

    def __repr__(self) -> str:
        return as_text(self)

    def plot(
        self, *, output: str | None = None, max_leaves: int = 40, max_players: int = 10, ax: Axes | None = None
    ) -> Axes:
        """Draw the tree with its edges coloured by type, and a table in which its leaves add up to phi.

        What the walk never enters is a closed end with the number of nodes behind it. In the table, a player's cell is
        green where it is in S_X and red where it is in S_Z.

        Parameters
        ----------
        output
            The output to draw, for a tree that adds to several.
        max_leaves
            Leaves to draw at most, those that share out most; the others are one line of the table.
        max_players
            Players to draw at most, those with the largest phi.
        ax
            Where to draw; by default a new figure that is as large as the tree needs.

        Returns
        -------
        Axes
            The picture.
        """
        return draw(self, output, max_leaves, max_players, ax)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, dicts, numbers and text, fit for strict JSON.

        A number that is not finite becomes ``None`` if it is NaN and text otherwise, as JSON has no name for it.
        """
        return {
            "tree": self.tree,
            "n_trees": self.n_trees,
            "n_nodes": self.n_nodes,
            "players": list(self.players),
            "outputs": list(self.outputs),
            "output_numbers": list(self.output_numbers),
            "steps": [_step_to_dict(step) for step in self.steps],
            "phi": self.phi.tolist(),
            "value_x": list(self.value_x),
            "value_z": list(self.value_z),
        }


def _step_to_dict(step: Split | Leaf) -> dict[str, Any]:
    shared = {
        "node": step.node,
        "parent": step.parent,
        "depth": step.depth,
        "s_x": list(step.s_x),
        "s_z": list(step.s_z),
    }
    if isinstance(step, Leaf):
        return shared | {
            "kind": "leaf",
            "value": list(step.value),
            "weight_x": step.weight_x,
            "weight_z": step.weight_z,
            "contributions": {player: list(share) for player, share in step.contributions.items()},
        }
    return shared | {
        "kind": "split",
        "feature": step.feature,
        "player": step.player,
        "test": step.test,
        "threshold": None if step.threshold is None else _plain(step.threshold),
        "categories": None if step.categories is None else list(step.categories),
        "missing_goes": step.missing_goes,
        "x": _plain(step.x),
        "z": _plain(step.z),
        "scenario": step.scenario,
        "left": _edge_to_dict(step.left),
        "right": _edge_to_dict(step.right),
    }


def _edge_to_dict(edge: Edge) -> dict[str, Any]:
    return {"child": edge.child, "type": edge.type, "followed": edge.followed, "n_below": edge.n_below}


def _plain(cell: Any) -> bool | int | float | str | None:
    if is_missing(cell):
        return None
    if isinstance(cell, (np.bool_, np.number)):
        cell = cell.item()
    if isinstance(cell, float):
        return cell if np.isfinite(cell) else str(cell)
    return cell if isinstance(cell, (bool, int)) else str(cell)
