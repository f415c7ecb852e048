"""A whole trace: the steps of a walk, and the sum of its leaves."""

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
    """The paper's walk (Algorithm 2, or Algorithm 4 with groups) down one tree for one pair of rows.

    Attributes
    ----------
    tree, n_trees
        The position of the tree in the model, and the number of trees.
    players
        The names of all players, in the order of `phi`.
    outputs, output_numbers
        The names of the outputs that the tree adds to, and their positions.
    steps
        The splits and leaves in the order in which the walk reached them: x's way before z's.
    phi
        The sum of the leaves' contributions, which is the tree's share of `TreeExplainer.pair_values`: (players,), or
        (players, outputs of the model) if the model has several outputs.
    value_x, value_z
        The tree's own prediction of each row, one per entry of `outputs`. Their difference is the sum of `phi`.
    n_nodes
        Number of nodes in the tree; the walk enters only a few of them.
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
        """Draw the tree with its edges coloured by type, and beside it a grid in which its leaves add up to phi.

        Where the walk does not go, the branch ends in a stub that gives the number of nodes behind it. In the grid, a
        player's cell is green if the player is in S_X and red if it is in S_Z.

        Parameters
        ----------
        output
            The output to draw, if the tree adds to several.
        max_leaves
            Most leaves to draw, chosen by how much they contribute; the grid sums the others in one line.
        max_players
            Most players to draw, chosen by the size of their phi.
        ax
            Where to draw; by default, a new figure that is as large as the tree needs.

        Returns
        -------
        Axes
            The axes with the drawing.
        """
        return draw(self, output, max_leaves, max_players, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, dicts, numbers and strings that fit strict JSON.

        JSON has no numbers that are not finite: NaN becomes ``None``, and infinity becomes a string.
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
