"""Interactions: values of sets of players of any size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import whole_number
from arborshap._util.words import counted
from arborshap.exceptions import InputError
from arborshap.result.axes import output_labels
from arborshap.result.value_unit import ValueUnit

if TYPE_CHECKING:
    from arborshap.draw.interactions import InteractionPlots

Set = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """The values of sets of players that share a path of a tree. All other sets have the value 0.

    Attributes
    ----------
    sets
        The sets, as positions in `feature_names`: first single players, then pairs, and so on.
    values
        (rows, sets) or (rows, sets, outputs); if only the largest of each row were kept, (rows, top[, outputs]).
    kept
        Which sets were kept of each row, as positions in `sets`, largest first: (rows, top). ``None`` if all were.
    base_values
        What the values of a row are measured from: (rows,) or (rows, outputs). The values of ``"k-SII"``, ``"STII"``
        and ``"FSII"`` sum to the prediction minus the base value.
    feature_names
        The names of the players.
    index
        The index: ``"SII"``, ``"k-SII"``, ``"STII"``, ``"FSII"`` or ``"BII"``.
    order
        The most players of a set.
    output_names
        The names of the outputs, if the model has several outputs; otherwise ``None``.
    unit
        The unit of the values.
    """

    sets: list[Set]
    values: NDArray[np.float64]
    kept: NDArray[np.intp] | None
    base_values: NDArray[np.float64]
    feature_names: list[str]
    index: str
    order: int
    output_names: list[str] | None = None
    unit: ValueUnit = ValueUnit()  # noqa: RUF009 (it is frozen)

    def __repr__(self) -> str:
        kept = "" if self.kept is None else f", the {self.values.shape[1]} largest of each row"
        rows, sets = counted(len(self), "row"), counted(len(self.sets), "set")
        return f"<Interactions {self.index} up to order {self.order}: {rows}, {sets}{kept}>"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def names(self) -> list[tuple[str, ...]]:
        """The sets by the names of their players."""
        return [tuple(self.feature_names[player] for player in players) for players in self.sets]

    @property
    def plot(self) -> InteractionPlots:
        """The plots of interactions; they need matplotlib."""
        from arborshap.draw.interactions import InteractionPlots  # noqa: PLC0415 (a door: plots know interactions)

        return InteractionPlots(self)

    def of_order(self, order: int) -> Self:
        """Return only the sets of exactly `order` players."""
        order = whole_number("order", order, 1, self.order, f"a number of players from 1 to {self.order}")
        if self.kept is not None:
            raise InputError(
                "only the largest sets of each row were kept; compute all of them (top=None) to select some"
            )
        chosen = [at for at, players in enumerate(self.sets) if len(players) == order]
        return replace(self, sets=[self.sets[at] for at in chosen], values=self.values[:, chosen])

    def output(self, output: int | str) -> Self:
        """Return one output of a model with several, by name or position."""
        if self.values.ndim == 2:
            raise InputError("the model has a single output; leave output out")
        names = output_labels(self.output_names, self.values.shape[2])
        if isinstance(output, str):
            if output not in names:
                raise InputError(f"there is no output {output!r}; the outputs are {names}")
            output = names.index(output)
        output = whole_number("output", output, 0, len(names) - 1, f"a name, or a position from 0 to {len(names) - 1}")
        return replace(
            self, values=self.values[..., output], base_values=self.base_values[..., output], output_names=None
        )

    def top(self, k: int) -> list[list[tuple[tuple[str, ...], Any]]]:
        """List the `k` sets with the largest absolute values of each row, with their values, largest first.

        For several outputs, sets are ordered by the sum of the absolute values, and a value is an array.
        """
        k = whole_number("k", k, 1, 2**62, "a whole number from 1 up")
        names = self.names
        listed = []
        for row, values in enumerate(self.values):
            sizes = np.abs(values).reshape(len(values), -1).sum(axis=1)
            largest = np.argsort(-sizes, kind="stable")[:k]
            positions = largest if self.kept is None else self.kept[row, largest]
            found = values[largest].tolist() if values.ndim == 1 else list(values[largest])
            listed.append([(names[at], value) for at, value in zip(positions, found, strict=True)])
        return listed

    def mean_sizes(self) -> NDArray[np.float64]:
        """Return the mean absolute value of each set over the rows: (sets,) or (sets, outputs)."""
        sums = np.zeros((len(self.sets), *self.values.shape[2:]))
        if self.kept is None:
            sums += np.abs(self.values).sum(axis=0)
        else:
            np.add.at(sums, self.kept, np.abs(self.values))
        return np.asarray(sums / max(1, len(self)))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per row and set (and output), without values that are 0."""
        try:
            import pandas as pd
        except ImportError as missing:
            raise ImportError("Interactions.to_frame() makes a pandas DataFrame: pip install pandas") from missing
        found = np.nonzero(self.values)
        positions = found[1] if self.kept is None else self.kept[found[:2]]
        labels = np.empty(len(self.sets), dtype=object)
        labels[:] = [" x ".join(names) for names in self.names]
        sizes = np.array([len(players) for players in self.sets], np.intp)
        columns: dict[str, Any] = {"row": found[0], "set": labels[positions], "order": sizes[positions]}
        if self.values.ndim == 3:
            columns["output"] = np.array(output_labels(self.output_names, self.values.shape[2]), dtype=object)[found[2]]
        return pd.DataFrame(columns | {"value": self.values[found]})

    def to_shapiq(self, row: int = 0) -> Any:
        """Return the values of one row as an `InteractionValues` of shapiq, whose plots then draw them."""
        try:
            from shapiq import InteractionValues
        except ImportError as missing:
            raise ImportError("Interactions.to_shapiq() needs shapiq: pip install shapiq") from missing
        if self.values.ndim == 3:
            raise InputError("shapiq holds one output at a time: choose it with interactions.output(...)")
        row = whole_number("row", row, 0, len(self) - 1, f"the position of a row, from 0 to {len(self) - 1}")
        sets = self.sets if self.kept is None else [self.sets[at] for at in self.kept[row]]
        base = float(self.base_values[row])
        return InteractionValues(
            np.concatenate([[base], self.values[row]]),
            index=self.index,
            max_order=self.order,
            min_order=0,
            n_players=len(self.feature_names),
            interaction_lookup={players: at for at, players in enumerate([(), *sets])},
            estimated=False,
            baseline_value=base,
        )
