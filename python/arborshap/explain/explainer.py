"""`TreeExplainer`: the public face. It names and checks what it is given, and has the engines compute."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_choice, whole_number
from arborshap._util.progress import Report
from arborshap.exceptions import InputError
from arborshap.explain import saved
from arborshap.explain.background import Background, with_its_column
from arborshap.explain.facts import Facts, facts_of
from arborshap.explain.importance import SumOfSizes, number_of_players, sum_of_sizes, top_values, value_chunks
from arborshap.explain.outputs import MODEL_OUTPUTS, OutputName, output_of
from arborshap.explain.plan import Plan
from arborshap.explain.provenance import Provenance
from arborshap.explain.reader import Reader
from arborshap.explain.settings import Settings
from arborshap.explain.state import State, compiled
from arborshap.explain.values import base_values_of, contrast_of, pair_values_of, values_of
from arborshap.forest import Forest
from arborshap.game.groups import Groups
from arborshap.game.indices import (
    INDICES,
    PAIR_INDICES,
    PLAYER_INDICES,
    IndexName,
    PairIndexName,
    PlayerIndexName,
    order_of_index,
)
from arborshap.limits import Limits
from arborshap.result.axes import output_labels
from arborshap.result.explanation import Explanation
from arborshap.result.importance import Importance, TopValues
from arborshap.rows.frames import Rows
from arborshap.trace import Trace, walk

Array: TypeAlias = NDArray[Any]
Perturbation: TypeAlias = Literal["auto", "interventional", "tree_path_dependent"]


class TreeExplainer:
    """Explains the raw predictions of a tree ensemble, exactly, against a whole background.

    A value of a row x is the mean, over the background's rows z, of the game in which a player that is in a coalition
    takes its columns from x and one that is not takes them from z.

    Parameters
    ----------
    model
        A fitted model of a supported library, a path to a saved one, or a `Forest`. A scikit-learn pipeline that ends
        in such a model is explained in the raw columns that go into it; raw columns that a step mixes play as one.
    data
        The background, all of which is used: a matrix, a DataFrame of pandas or polars, a pyarrow Table, or a
        scipy.sparse matrix. A frame's columns are matched to the model's by name. Or a `Background`, which came in
        parts and brings its groups. Left out, values are path-dependent.
    groups
        Columns that play as one: ``{"name": [columns]}``, or one player number per column such as ``[0, 1, 1, 2]``, or
        the fitted transformer that made the model's columns: those made of the same raw columns then play as one.
    feature_perturbation
        ``"interventional"`` against `data`; ``"tree_path_dependent"`` without: absent players follow the shares of the
        training rows that the trees remember. ``"auto"`` is the one or the other, as `data` is given or not.
    model_output
        ``"raw"``: the sum of the trees, before any link, such as the log-odds of a classifier. ``"probability"``: a
        classifier's probabilities; ``"log_loss"``: the loss of each row, whose label `y` is then given with it. For
        these two the values of every pair (x, z) are rescaled, which costs rows times background rows.
    sample_weight
        The weight of each background row; equal if left out.
    feature_names
        What to call the model's columns; for a model that has no names of its own, frames are matched to these too.
        By default the model's names, else those of the `data` frame, else ``x0``, ``x1``, ...
    verify
        Compare our margins with the library's own predictions on the background before anything else.
    engine
        ``"auto"`` chooses the cheapest way for each call (see `explain_plan`); ``"pattern"``, ``"counts"``,
        ``"sparse"`` and ``"traversal"`` force one. All give the same values, to rounding.
    n_jobs
        Threads: ``None`` or -1 for every core the process may use, -2 for all but one, 1 for none but the caller's.
    memory_limit
        The most bytes that the engine's tables, or a result, may take; by default half of what the machine has free
        for the tables, and all it has for a result.
    limits
        The most that a model file may hold; see `Limits`.

    Attributes
    ----------
    feature_names : list of str
        The players' names: the features, or the groups.
    output_names : list of str or None
        The outputs' names, where the model has some.

    Raises
    ------
    ModelError
        If the model cannot be read, is not supported, or does not pass `verify`.
    InputError
        If the background or an argument is not usable.
    """

    _state: State

    def __init__(
        self,
        model: Any,
        data: Any = None,
        *,
        groups: Groups | None = None,
        feature_perturbation: Perturbation = "auto",
        model_output: OutputName = "raw",
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        verify: bool = True,
        engine: str = "auto",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        checked_choice("model_output", model_output, MODEL_OUTPUTS)
        _check_perturbation(feature_perturbation, data)
        settings = Settings.of(engine, n_jobs, memory_limit)
        in_parts = data if isinstance(data, Background) else None
        reader, rows = Reader.of(
            model,
            None if in_parts is not None else data,
            groups=groups,
            feature_names=feature_names,
            verify=verify,
            n_threads=settings.n_threads,
            limits=limits,
            known_names=None if in_parts is None else in_parts.columns.matched,
        )
        output = output_of(reader.model, model_output, settings.engine, has_background=data is not None)
        if rows is not None:
            self._state = State.against(reader, settings, rows, sample_weight, output)
            return
        if sample_weight is not None:
            has = "there is no data" if in_parts is None else "a Background has its weights in it"
            raise InputError(f"sample_weight weighs the rows of data, and {has}")
        if in_parts is None:
            self._state = State.of(reader, settings, compiled(reader, settings, None))
        elif output is not None:
            raise InputError(f"model_output={model_output!r} needs the rows of the background themselves")
        else:
            self._state = in_parts.state_of(reader, settings, groups)

    @classmethod
    def _of(cls, state: State) -> Self:
        self = cls.__new__(cls)
        self._state = state
        return self

    def __repr__(self) -> str:
        state = self._state
        library, n_players = state.reader.model.library, state.columns.n_players
        against = f"{state.n_background} background rows" if state.n_background else "path-dependent"
        return f"<TreeExplainer of {library}: {state.forest!r}, {n_players} players, {against}>"

    @property
    def feature_names(self) -> list[str]:
        """The players' names: the features, or the groups. Another list of as many names may be set."""
        return list(self._state.columns.player_names)

    @feature_names.setter
    def feature_names(self, names: Sequence[str]) -> None:
        reader = self._state.reader
        self._state = replace(self._state, reader=reader.with_columns(reader.columns.renamed(names)))

    @property
    def output_names(self) -> list[str] | None:
        """The outputs' names, if the model has some. Another list may be set."""
        names = self._state.output_names
        return None if names is None else list(names)

    @output_names.setter
    def output_names(self, names: Sequence[str] | None) -> None:
        self._state = replace(self._state, output_names=None if names is None else tuple(names))

    @property
    def n_outputs(self) -> int:
        """How many numbers are explained per row."""
        return self._state.n_outputs

    @property
    def data_names(self) -> list[str]:
        """The names of the columns that a row has, in order; without groups, the players' too."""
        return list(self._state.columns.names)

    @property
    def state(self) -> State:
        """What the explainer is made of: the model, its columns and players, the settings, the compiled core."""
        return self._state

    @property
    def forest(self) -> Forest:
        """The trees that are explained."""
        return self._state.forest

    @property
    def expected_value(self) -> float | NDArray[np.float64]:
        """The mean of what is explained over the background: a float, or one per output of a model with several.

        Without a background, that over the training rows as the trees remember them. A loss has none before there is
        a label: see the base values of its explanations.
        """
        state = self._state
        expected = state.core.expected_value if state.rescaled is None else state.rescaled.expected_of_any_row()
        return float(expected[0]) if len(expected) == 1 else expected

    def check_rows(self, X: Any) -> None:
        """Refuse rows that cannot be read, such as rows without a column that the model needs; compute nothing."""
        self._state.reader.read(X, "X")

    def facts(self) -> Facts:
        """Tell what is explained and how: the library, the sizes of the model and the game, the engine."""
        return facts_of(self._state)

    def __call__(
        self,
        X: Any,
        y: Any = None,
        *,
        index: IndexName = "shapley",
        dtype: Any = np.float64,
        progress: bool | Report = False,
    ) -> Explanation:
        """Explain rows, and return the values with all that is needed to read and draw them.

        Parameters
        ----------
        X
            The rows, of any kind that `data` may be.
        y
            The label of each row, for ``model_output="log_loss"`` only.
        index
            What to compute: ``"shapley"``, ``"taylor"``, ``"interaction"`` or ``"banzhaf"``.
        dtype
            float64, or float32 to halve the memory of a big result.
        progress
            ``True`` for a bar, or a function that is called with the fraction done.

        Returns
        -------
        Explanation
            The values, and with them `data`, names and base values.
        """
        checked_choice("index", index, INDICES)
        state = self._state
        rows = state.reader.read(X, "X")
        start = perf_counter()
        values = values_of(state, rows.matrix, index, dtype, progress, y)
        seconds = perf_counter() - start
        return self._explanation(values, base_values_of(state, len(values), y), rows, index, seconds)

    def values(
        self,
        X: Any,
        y: Any = None,
        *,
        index: IndexName = "shapley",
        dtype: Any = np.float64,
        progress: bool | Report = False,
    ) -> Array:
        """Compute the values of an index as a plain array, without an `Explanation` around it.

        The arguments are those of a call. The shape is (rows, players), with players twice for an index of pairs, and
        one more axis for a model with several outputs.
        """
        checked_choice("index", index, INDICES)
        return values_of(self._state, self._state.reader.matrix(X), index, dtype, progress, y)

    def shap_values(self, X: Any, y: Any = None, *, dtype: Any = np.float64, progress: bool | Report = False) -> Array:
        """Compute Shapley values: (rows, players), or (rows, players, outputs); a row's sum to h(x) - E h(z).

        `y` has the rows' labels, for ``model_output="log_loss"`` only.
        """
        return self.values(X, y, index="shapley", dtype=dtype, progress=progress)

    def banzhaf_values(self, X: Any, *, dtype: Any = np.float64, progress: bool | Report = False) -> Array:
        """Compute Banzhaf values, shaped as the Shapley values are; every coalition weighs the same."""
        return self.values(X, index="banzhaf", dtype=dtype, progress=progress)

    def taylor_values(self, X: Any, *, dtype: Any = np.float64, progress: bool | Report = False) -> Array:
        """Compute Shapley-Taylor indices of order two: (rows, players, players) or (rows, players, players, outputs).

        Symmetric, with main effects on the diagonal and half of each pair's effect on either side of it, so that a
        row of the matrix sums to the player's Shapley value and the whole to h(x) - E h(z).
        """
        return self.values(X, index="taylor", dtype=dtype, progress=progress)

    def shap_interaction_values(self, X: Any, *, dtype: Any = np.float64, progress: bool | Report = False) -> Array:
        """Compute Shapley interaction indices in shap's convention, shaped as the Shapley-Taylor indices are.

        Half of each pair's interaction on either side of the diagonal, which makes each row of the matrix sum to the
        player's Shapley value.
        """
        return self.values(X, index="interaction", dtype=dtype, progress=progress)

    def pair_values(
        self, X: Any, Z: Any = None, *, y: Any = None, dtype: Any = np.float64, progress: bool | Report = False
    ) -> Array:
        """Compute the Shapley values of every pair (x, z), never averaged: (rows, reference rows, players[, outputs]).

        Parameters
        ----------
        X
            The rows to explain.
        Z
            The reference rows; the background if left out.
        y
            The label of each row of X, for ``model_output="log_loss"`` only.
        dtype
            float64, or float32 to halve the memory of a big result.
        progress
            ``True`` for a bar, or a function that is called with the fraction done.

        Returns
        -------
        array
            At [i, j], what takes the prediction from that of row j of Z to that of row i of X.
        """
        state = self._state
        rows = state.reader.read(X, "X").matrix
        if Z is None and not state.n_background:
            raise InputError("this explainer has no background: give Z, the reference rows")
        others = None if Z is None else state.reader.read(Z, "Z").matrix
        return pair_values_of(state, rows, others, dtype, progress, y)

    def value_chunks(
        self, X: Any, y: Any = None, *, index: IndexName = "shapley", progress: bool | Report = False
    ) -> Iterator[Array]:
        """Compute the values of a few rows at a time, so that those of all rows never exist at once.

        X may also be an iterator of batches of rows. Each array that comes is the caller's to overwrite.
        """
        checked_choice("index", index, INDICES)
        return value_chunks(self._state, X, y, index, progress)

    def importance(
        self,
        X: Any,
        y: Any = None,
        *,
        index: IndexName = "shapley",
        sample_weight: Any = None,
        progress: bool | Report = False,
    ) -> Importance:
        """Tell how much each player matters over many rows: the mean size of its values.

        Values are computed a few rows at a time and never kept, so X may have any number of rows.

        Parameters
        ----------
        X
            The rows, of any kind that `data` may be, or an iterator of batches of them.
        y
            The label of each row, for ``model_output="log_loss"`` only.
        index
            What to average the size of; see `__call__`.
        sample_weight
            The weight of each row of X; equal if left out.
        progress
            ``True`` for a bar, or a function that is called with the fraction done.

        Returns
        -------
        Importance
            The means and the names; ``.ranked()`` sorts them.
        """
        chunks = self.value_chunks(X, y, index=index, progress=progress)
        return self.importance_of(sum_of_sizes(chunks, sample_weight), index)

    def importance_of(self, total: SumOfSizes, index: IndexName) -> Importance:
        """Turn sums of sizes into an importance: those of one call, or those that a cluster added up."""
        mean = total.mean()
        several = mean.ndim > order_of_index(index)
        outputs = output_labels(self.output_names, mean.shape[-1]) if several else None
        return Importance(mean, self.feature_names, index, total.n_rows, outputs)

    def interaction_importance(
        self,
        X: Any,
        *,
        index: PairIndexName = "taylor",
        sample_weight: Any = None,
        progress: bool | Report = False,
    ) -> Importance:
        """Tell how much each pair of players matters over many rows, without an array of rows x players x players.

        As `importance`, for the Shapley-Taylor (``"taylor"``) or the Shapley interaction index (``"interaction"``).
        """
        checked_choice("index", index, PAIR_INDICES)
        return self.importance(X, index=index, sample_weight=sample_weight, progress=progress)

    def top_values(
        self,
        X: Any,
        k: int,
        *,
        y: Any = None,
        index: PlayerIndexName = "shapley",
        dtype: Any = np.float64,
        progress: bool | Report = False,
    ) -> TopValues:
        """Keep only the `k` values of largest size in each row, and whose they are.

        Parameters
        ----------
        X
            The rows, of any kind that `data` may be, or an iterator of batches of them.
        k
            How many to keep.
        y
            The label of each row, for ``model_output="log_loss"`` only.
        index
            ``"shapley"`` or ``"banzhaf"``.
        dtype
            float64, or float32 to halve the memory of a big result.
        progress
            ``True`` for a bar, or a function that is called with the fraction done.

        Returns
        -------
        TopValues
            ``players``, positions in `feature_names`, and ``values``: (rows, k), or (rows, k, outputs).
        """
        checked_choice("index", index, PLAYER_INDICES)
        k = number_of_players(k, self._state.columns.n_players)
        return top_values(self.value_chunks(X, y, index=index, progress=progress), k, dtype)

    def explain_plan(self, n: int, *, index: IndexName = "shapley") -> Plan:
        """Tell how a call with `n` rows would be carried out, what it would take, and why."""
        checked_choice("index", index, INDICES)
        n = whole_number("n", n, 0, 2**62 - 1, "a number of rows")
        state = self._state
        engine = state.settings.engine if state.rescaled is None else "traversal"
        return Plan.of(state.core.plan(n, index, engine))

    def trace(self, x: Any, z: Any, tree: int = 0) -> Trace:
        """Walk down one tree for one pair of rows as the paper does, and write down every step.

        Parameters
        ----------
        x, z
            One row each, by itself (a vector, a pandas Series) or in a matrix or frame.
        tree
            The tree's number.

        Returns
        -------
        Trace
            Types of edges, scenarios, S_X and S_Z, what every leaf contributes, and their sum: the tree's share of
            ``pair_values(x, z)``. It is of the raw prediction, whatever `model_output` is.
        """
        reader = self._state.reader
        return walk(
            self.forest,
            tree,
            reader.read(x, "x", one=True),
            reader.read(z, "z", one=True),
            players=reader.columns.players,
            player_names=reader.columns.player_names,
            feature_names=reader.feature_names,
            categories=reader.categories,
        )

    def contrast(self, x: Any, z: Any) -> Explanation:
        """Explain why the prediction of x is not that of z.

        Parameters
        ----------
        x, z
            One row each, by itself (a vector, a pandas Series) or in a matrix or frame; or groups of rows, whose
            mean predictions are then compared: the values are the means over all pairs.

        Returns
        -------
        Explanation
            Of a single row: the values sum to h(x) - h(z), and the base value is h(z). `data` is x and `reference`
            z, where they are one row.
        """
        reader = self._state.reader
        ours, theirs = reader.read(x, "x", one=True), reader.read(z, "z", one=True)
        mean, base = contrast_of(self._state, ours.matrix, theirs.matrix)
        explanation = self._explanation(mean, base, ours, "shapley")
        explanation.reference = theirs.shown[0].copy() if len(theirs.matrix) == 1 else None
        return explanation[0]

    @classmethod
    def from_batches(
        cls,
        model: Any,
        batches: Iterable[Any],
        *,
        groups: Groups | None = None,
        feature_names: Sequence[str] | None = None,
        verify: bool = True,
        engine: str = "auto",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Make an explainer against a background that comes batch by batch and is never in memory as a whole.

        Parameters
        ----------
        model
            As for the class.
        batches
            Rows of any kind that `data` may be, such as the record batches of a Parquet file; each may come as a tuple
            with the weights of its rows. What is kept of them is a `Background`.
        verify
            Compare our margins with the library's own predictions, on rows of every batch.
        groups, feature_names, engine, n_jobs, memory_limit, limits
            As for the class.
        """
        rest = iter(batches)
        first, weights = with_its_column(next(rest, None))
        if first is None:
            raise InputError("batches is empty; the background needs at least one row")
        settings = Settings.of(engine, n_jobs, memory_limit)
        n_threads = settings.n_threads
        reader, rows = Reader.of(
            model, first, groups=groups, feature_names=feature_names, verify=verify, n_threads=n_threads, limits=limits
        )
        assert rows is not None
        background = Background.of_batches(reader, rows, rest, weights, n_threads, verify=verify)
        reader.gate.is_open = False  # every batch was verified
        return cls._of(background.state_of(reader, settings, None))

    def background_part(self, data: Any, *, sample_weight: Any = None) -> Background:
        """Count rows as a part of a background for the same model, groups and columns as this explainer's.

        It needs no library of the model, so that a worker with a saved explainer can count the rows it has.
        """
        reader, n_threads = self._state.reader, self._state.settings.n_threads
        rows = reader.read(data, "data")
        return Background.of_batches(reader, rows, (), sample_weight, n_threads, verify=False, what="data")

    def explain_batches(
        self, batches: Iterable[Any], *, index: IndexName = "shapley", dtype: Any = np.float64
    ) -> Iterator[Explanation]:
        """Explain batch after batch, each when it is asked for.

        Parameters
        ----------
        batches
            Rows of any kind; for ``model_output="log_loss"`` each as a tuple with the labels of its rows.
        index, dtype
            As for a call.

        Yields
        ------
        Explanation
            Of each batch.
        """
        for i, batch in enumerate(batches):
            rows, labels = with_its_column(batch)
            try:
                yield self(rows, labels, index=index, dtype=dtype)
            except InputError as error:
                raise InputError(f"batch {i}: {error}") from error

    def with_settings(
        self, *, engine: str | None = None, n_jobs: int | None = None, memory_limit: int | None = None
    ) -> Self:
        """Return the same explainer with other settings; what is left out stays as it is, and nothing is recompiled."""
        ours = self._state.settings
        settings = Settings.of(
            ours.engine if engine is None else engine,
            ours.n_jobs if n_jobs is None else n_jobs,
            ours.memory_limit if memory_limit is None else memory_limit,
        )
        return self._of(replace(self._state, settings=settings))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explainer to a file that `load` reads with numpy alone, and Rust as well.

        No pickle is in it. The file appears only when it is whole. ``docs/saved-format.md`` describes it.
        """
        saved.save(self._state, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Read an explainer that `save` wrote: the same values to the last bit, without the model's library.

        A file that was cut, changed, made up or written by another version, or holds more than `limits` allow, raises
        a `ModelError` that says so. What cannot be done any more is to compare with the library's own predictions.
        """
        return cls._of(saved.load(path, n_jobs, memory_limit, limits or Limits()))

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return saved.to_bytes(self._state)

    @classmethod
    def from_bytes(
        cls,
        data: saved.Readable,
        *,
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Read what `to_bytes` returned, as `load` does."""
        return cls._of(saved.from_bytes(data, n_jobs, memory_limit, limits or Limits()))

    def __reduce__(self) -> tuple[Any, ...]:
        return self._unpickled, saved.to_pickle(self._state)

    @classmethod
    def _unpickled(cls, *parts: Any) -> Self:
        return cls._of(saved.from_pickle(*parts))

    def _explanation(
        self, values: Array, base: NDArray[np.float64], rows: Rows, index: str, seconds: float | None = None
    ) -> Explanation:
        state = self._state
        same_rows = len(rows.shown) == len(values)
        data = rows.shown.copy()  # the caller's array may change; an explanation may not
        read = data if rows.shown is rows.matrix else rows.matrix.copy()
        return Explanation(
            values,
            base[:, 0] if state.n_outputs == 1 else base,
            feature_names=self.feature_names,
            index=index,
            model_output=state.model_output,
            data=data if same_rows else None,
            data_names=state.columns.names,
            data_players=state.columns.owner_names,
            output_names=self.output_names,
            row_labels=rows.labels if same_rows else None,
            provenance=Provenance(self, state, read, seconds) if same_rows else None,
            frame_kind=rows.frame_kind if same_rows else None,
        )


def _check_perturbation(wanted: object, data: object) -> None:
    checked_choice("feature_perturbation", wanted, ["auto", "interventional", "tree_path_dependent"])
    if wanted == "tree_path_dependent" and data is not None:
        raise InputError("feature_perturbation='tree_path_dependent' uses no background; leave data out, or use 'auto'")
    if wanted == "interventional" and data is None:
        raise InputError("data is missing: give the background rows that the predictions are to be compared with")
