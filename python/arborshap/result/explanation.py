"""The result of explaining rows: values, with the names, data and base values that are needed to read or draw them."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import InputError
from arborshap.game.indices import is_efficient, order_of_index
from arborshap.result import selections
from arborshap.result.arithmetic import Arithmetic
from arborshap.result.asked_by_shap import class_for, refuse_as_order
from arborshap.result.axes import Axis, Pick, Selector, output_labels, pick_along
from arborshap.result.frames import frame_of
from arborshap.result.per_player import data_per_player, to_shap
from arborshap.result.value_unit import ValueUnit
from arborshap.rows.frames import FrameKind

if TYPE_CHECKING:
    from arborshap.draw.plots import Plots


class Explanation(Arithmetic):
    """Values of one index for some rows.

    The axes of `values` are rows, players and outputs, in this order. An index of pairs has two axes of players, and a
    model with one output has no axis of outputs. For Shapley values, the base value and the values of a row add up to
    the model's prediction.

    Slicing keeps everything aligned: ``explanation[3]``, ``explanation[10:20]``, ``explanation[mask]``,
    ``explanation[:, "age"]``, ``explanation[:, ["age", "sex"]]``, ``explanation[..., "class a"]``. A single position or
    name drops its axis. Each axis is selected independently, so two lists select a block.

    ``np.asarray(explanation)`` is its values. ``explanation.abs.mean(0)`` and the like summarise values along an axis,
    and ``2 * explanation`` changes all of them; the results are explanations that no longer add up to predictions.

    Parameters
    ----------
    values
        The values: (rows, players) or (rows, players, outputs), with two axes of players for an index of pairs.
    base_values
        The base values that the values are measured from: (rows,) or (rows, outputs).
    feature_names
        The players' names, in the order of `values`: features, or groups of features.
    index
        The index that was computed: ``"shapley"``, ``"taylor"``, ``"interaction"`` or ``"banzhaf"``.
    model_output
        The output that the values add up to: ``"raw"``, ``"prediction"``, ``"probability"``, ``"log_loss"`` or
        ``"squared_error"``.
    data
        The rows that were explained, with one column per model feature. Without groups, that is one column per player,
        as in `values`. With groups, a player may own several columns, and `data_players` names the owner of each.
    data_names
        The names of the columns of `data`. The default is `feature_names`.
    data_players
        The name of the player that each column of `data` belongs to. The default is `data_names`.
    output_names
        The outputs' names. If omitted, several outputs are called "0", "1", ...
    row_labels
        The labels of the rows, if they came in a frame that has labels.
    reference
        In a contrast with one row, that row; its columns are those of `data`.
    provenance
        The explainer and the rows that the values came from. The explainer sets it, and pickling omits it.
    frame_kind
        The kind of frame that the rows came in, which `to_frame` returns by default. The explainer sets it.
    unit
        The unit of the values, such as log-odds, by the model's link. The explainer sets it; without it, `model_output`
        tells what is known.

    standard_error
        How far each value may be off because the compared rows are samples, in the shape of `values`; ``None`` if they
        are not. `TreeExplainer.contrast` sets it.

    Attributes
    ----------
    axes : tuple of Axis
        What lies along each axis of `values`, and the names along it.
    adds_up : bool
        Whether the base value and all values of a row still add up to its prediction.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[0.5, -0.25], [0.0, 1.0]])
    >>> explanation = Explanation(values, [2.0, 2.0], feature_names=["age", "sex"])
    >>> explanation[1]
    <Explanation shapley: 2 players; sex +1, age +0>
    >>> explanation[:, "age"].values
    array([0.5, 0. ])
    """

    def __init__(
        self,
        values: NDArray[Any],
        base_values: Any,
        *,
        feature_names: Sequence[str],
        index: str = "shapley",
        model_output: str = "raw",
        data: NDArray[Any] | None = None,
        data_names: Sequence[str] | None = None,
        data_players: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        row_labels: NDArray[Any] | None = None,
        reference: NDArray[Any] | None = None,
        provenance: Any = None,
        frame_kind: FrameKind | None = None,
        unit: ValueUnit | None = None,
        standard_error: NDArray[Any] | None = None,
    ) -> None:
        self.values: NDArray[Any] = np.asarray(values)
        self.base_values: NDArray[Any] = np.asarray(base_values)[()]
        self.feature_names = list(feature_names)
        self.index = index
        self.model_output = model_output
        self.data = data
        self.data_names = list(feature_names if data_names is None else data_names)
        self.data_players = list(self.data_names if data_players is None else data_players)
        self.output_names = None if output_names is None else list(output_names)
        self.row_labels = row_labels
        self.reference = reference
        self.provenance = provenance
        self.frame_kind = frame_kind
        self.standard_error = standard_error
        self.unit = ValueUnit.of(model_output) if unit is None else unit
        self.adds_up = is_efficient(index)

        axes = [Axis("row", [])] + [Axis("player", self.feature_names)] * order_of_index(index)
        if self.values.ndim == len(axes) + 1:
            if self.output_names is None:
                self.output_names = output_labels(None, self.values.shape[-1])
            axes.append(Axis("output", self.output_names))
        self.axes = tuple(axes)
        self._check_shapes()

    @property  # type: ignore[misc] # nobody assigns to it
    def __class__(self) -> type:
        is_plain = self.adds_up and self.data_players == self.feature_names
        return class_for(sys._getframe(1), type(self), is_plain=is_plain)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `values`."""
        return self.values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        refuse_as_order(self, sys._getframe(1))
        return super().__array__(dtype, copy)

    def __len__(self) -> int:
        if not self.has("row"):
            raise TypeError("an explanation of a single row has no length")
        return len(self.values)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Selector | tuple[Selector, ...]) -> Explanation:
        refuse_as_order(self, sys._getframe(1))
        selectors = self._one_selector_per_axis(key)
        picks = [pick_along(s, axis, n) for s, axis, n in zip(selectors, self.axes, self.values.shape, strict=True)]
        picked = [axis.take(pick) for axis, pick in zip(self.axes, picks, strict=True)]
        result = copy.copy(self)
        for i in reversed(range(len(picks))):  # from the last axis, so that dropping one does not move the others
            at = (slice(None),) * i + (picks[i],)
            result.values = result.values[at]
            result.standard_error = None if result.standard_error is None else result.standard_error[at]
        result.axes = tuple(axis for axis, pick in zip(picked, picks, strict=True) if not isinstance(pick, int))
        for axis, pick in zip(picked, picks, strict=True):
            if axis.kind == "row":
                _take_rows(result, pick)
            elif axis.kind == "output":
                result.output_names = axis.names
                result.base_values = result.base_values[..., pick][()]  # a number, not an array without axes
        players = [axis.names for axis in picked if axis.kind == "player"]
        if players:
            _take_players(result, players)
        return result

    @property
    def predictions(self) -> NDArray[Any]:
        """The predictions that are explained: the base value plus all values of each row.

        They are in the unit of the values, such as log-odds: see `model_output`.
        """
        if not self.adds_up:
            raise InputError(
                "these values do not add up to predictions, because they are Banzhaf values, not those of all players, "
                "or results of arithmetic; ask the explanation that the explainer returned"
            )
        players = tuple(i for i, axis in enumerate(self.axes) if axis.kind == "player")
        return np.asarray(self.base_values + self.values.sum(axis=players))

    @property
    def display_data(self) -> NDArray[Any] | None:
        """The cells to print beside the values, one per player; the cells of a group are joined by commas."""
        data, display = data_per_player(self)
        return data if display is None else display

    @property
    def compute_time(self) -> float | None:
        """How many seconds the values took to compute, if that is known."""
        return None if self.provenance is None else self.provenance.seconds

    def sample(self, max_samples: int, *, replace: bool = False, random_state: Any = 0) -> Explanation:
        """Return `max_samples` rows chosen at random; all of them if there are no more."""
        return selections.sample(self, max_samples, replace=replace, random_state=random_state)

    def cohorts(self, by: Any) -> dict[str, Explanation]:
        """Divide the rows into cohorts.

        Parameters
        ----------
        by
            One label per row, or the largest number of cohorts. If it is a number, a decision tree that predicts the
            values from the data finds the cohorts (this needs scikit-learn).

        Returns
        -------
        dict
            The explanation of each cohort, by its label or by its conditions.
        """
        return selections.cohorts(self, by)

    def hclust(self, metric: str = "sqeuclidean", axis: int = 0) -> NDArray[np.intp]:
        """Return an order of the rows (axis 0) or players (axis 1) that puts similar values side by side (scipy)."""
        return selections.similar_together(self, metric, axis)

    @staticmethod
    def concat(explanations: Iterable[Explanation]) -> Explanation:
        """Put the rows of explanations of the same players and outputs one after another."""
        return selections.concat(explanations)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation to a file that `load` reads with NumPy alone; it contains no pickle.

        Values, base values, data, names and labels are kept to the last bit. The provenance is not: a loaded
        explanation can be drawn, sliced and reported, but does not know the explainer that it came from.
        """
        from arborshap.result import saved_explanation  # noqa: PLC0415 (few callers save, and it loads zipfile)

        saved_explanation.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Explanation:
        """Read an explanation that `save` wrote."""
        from arborshap.result import saved_explanation  # noqa: PLC0415 (as in save)

        return saved_explanation.load(path, cls)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None, max_rows: int = 5000) -> Path:
        """Write a page that shows the explanation in a browser: one file that needs no network.

        Parameters
        ----------
        path
            The file to write, such as ``"page.html"``. It appears complete or not at all.
        title
            The heading of the page.
        max_rows
            Most rows to include, spread evenly over all rows. The page says how many rows it leaves out.

        Returns
        -------
        Path
            The file.
        """
        from arborshap.report import write_report  # noqa: PLC0415 (a door: the report knows explanations)

        return write_report(self, path, title=title, max_rows=max_rows)

    @property
    def plot(self) -> Plots:
        """Plots of these values: bar, beeswarm, waterfall, scatter, heatmap, contrast. They need matplotlib."""
        from arborshap.draw.plots import Plots  # noqa: PLC0415 (a door: plots know explanations)

        return Plots(self)

    def to_frame(self, kind: Literal["pandas", "polars", "pyarrow"] | None = None) -> Any:
        """Return the values as a frame of the kind that the rows came in.

        Values of rows by players, or of rows by outputs, become a frame of that shape with the names as columns; for
        pandas it has the index of the rows. Any other values, such as those of an index of pairs, of several outputs or
        of a single row, become a long frame with one line per value. Its column ``value`` holds the value, and its
        columns ``row``, ``player``, ``other_player`` and ``output``, as far as they apply, say what the value belongs
        to. Base values are not included.

        Parameters
        ----------
        kind
            The library of the frame to make. The default is the library of the frame that the rows came in, or pandas
            if they came in none.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
            The values.
        """
        return frame_of(self, kind)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` of the same values, for shap's own plots.

        shap draws one number per player. A group of several columns has no single number, so its data are NaN, which
        shap draws grey. Plots that print data print the group's cells, separated by commas.

        Returns
        -------
        shap.Explanation
            The same values, with the data and names in shap's form.
        """
        return to_shap(self)

    def __repr__(self) -> str:
        sizes = [f"{n} {axis.kind}s" for axis, n in zip(self.axes, self.values.shape, strict=True)]
        what = f"{self.index}: {' x '.join(sizes)}" if sizes else f"{self.index}: {float(self.values):.4g}"
        kinds = [axis.kind for axis in self.axes]
        if kinds == ["player"]:
            order = np.argsort(-np.abs(self.values), kind="stable")[:3]
            largest = ", ".join(f"{self.feature_names[j]} {self.values[j]:+.4g}" for j in order)
        elif kinds == ["row", "player"] and self.values.size:
            size = np.abs(self.values).mean(axis=0)
            order = np.argsort(-size, kind="stable")[:3]
            largest = "mean size " + ", ".join(f"{self.feature_names[j]} {size[j]:.4g}" for j in order)
        else:
            largest = ""
        return f"<Explanation {what}{'; ' if largest else ''}{largest}>"

    def _repr_html_(self) -> str:
        from arborshap.draw.html import as_html  # noqa: PLC0415 (a door: plots know explanations)

        return as_html(self)

    def has(self, kind: Literal["row", "player", "output"]) -> bool:
        """Whether the values have an axis of this kind."""
        return any(axis.kind == kind for axis in self.axes)

    def players_by_axis(self) -> list[list[str]]:
        """Return the names along each axis of players; after a selection, those of an index of pairs may differ."""
        return [axis.names for axis in self.axes if axis.kind == "player"]

    def _check_shapes(self) -> None:
        shape = self.values.shape
        if len(shape) != len(self.axes):
            raise InputError(f"{self.index} values have {len(self.axes)} axes, or one more for outputs; got {shape}")
        for axis, length in zip(self.axes, shape, strict=True):
            if axis.kind != "row" and len(axis.names) != length:
                raise InputError(f"values of shape {shape} need {length} {axis.kind} names, got {len(axis.names)}")
        if self.standard_error is not None and self.standard_error.shape != shape:
            raise InputError(f"standard_error has shape {self.standard_error.shape}, but values have shape {shape}")
        base_shape = tuple(n for axis, n in zip(self.axes, shape, strict=True) if axis.kind != "player")
        if self.base_values.shape != base_shape:
            message = f"values of shape {shape} need base_values of shape {base_shape}, got {self.base_values.shape}"
            raise InputError(message)
        named = self.data_players == self.feature_names or set(self.data_players) == set(self.feature_names)
        if len(self.data_players) != len(self.data_names) or not named:
            raise InputError("data_players must name the player of every data column")
        if self.data is not None and self.data.shape != (shape[0], len(self.data_names)):
            message = f"data must have {shape[0]} rows and {len(self.data_names)} columns, got shape {self.data.shape}"
            raise InputError(message)

    def _one_selector_per_axis(self, key: Selector | tuple[Selector, ...]) -> list[Selector]:
        if isinstance(key, str) and self.has("row"):
            key = (slice(None), key)  # rows have no names, so a name alone means a player
        selectors = list(key) if isinstance(key, tuple) else [key]
        gaps = [i for i, selector in enumerate(selectors) if selector is Ellipsis]
        given = len(selectors) - len(gaps)
        if len(gaps) > 1:
            raise IndexError("an explanation can be selected with only one '...'")
        if given > len(self.axes):
            raise IndexError(f"there are {given} selectors, but the explanation has {len(self.axes)} axes")
        gap = gaps[0] if gaps else given
        everything: list[Selector] = [slice(None)] * (len(self.axes) - given)
        return [*selectors[:gap], *everything, *selectors[gap + 1 :]]


def _take_rows(explanation: Explanation, pick: Pick) -> None:
    explanation.base_values = explanation.base_values[pick]
    explanation.data = None if explanation.data is None else explanation.data[pick]
    explanation.provenance = None if explanation.provenance is None else explanation.provenance.take(pick)
    explanation.frame_kind = None if explanation.frame_kind is None else explanation.frame_kind.take(pick)
    explanation.row_labels = (
        None if explanation.row_labels is None or isinstance(pick, int) else explanation.row_labels[pick]
    )


def _take_players(explanation: Explanation, picked: list[list[str]]) -> None:
    """Keep the columns of the players that are still in the values, in the order of the first axis of players."""
    left = explanation.players_by_axis()
    first = picked[0]
    if any(len(names) < len(explanation.feature_names) for names in picked):
        explanation.adds_up = False
    players = first + [name for names in picked[1:] for name in names if name not in set(first)]
    explanation.feature_names = left[0] if left else players
    columns_of: dict[str, list[int]] = {}
    for column, player in enumerate(explanation.data_players):
        columns_of.setdefault(player, []).append(column)
    columns: Any = [column for player in players for column in columns_of[player]]
    if left and columns == list(range(len(explanation.data_names))):
        return
    explanation.data_names = [explanation.data_names[column] for column in columns]
    explanation.data_players = [explanation.data_players[column] for column in columns]
    if not left and len(columns) == 1:
        columns = columns[0]  # one feature's data are a vector, as its values are
    explanation.data = None if explanation.data is None else explanation.data[..., columns]
    explanation.reference = None if explanation.reference is None else explanation.reference[..., columns]
