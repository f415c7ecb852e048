"""`TreeExplainer`: names and checks what it is given, and has the native engines compute."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from time import perf_counter
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap import _core, saved
from arborshap._checks import (
    check_fits,
    check_none_missing,
    checked_choice,
    checked_dtype,
    checked_memory_limit,
    checked_names,
    checked_weights,
)
from arborshap._numbers import Matrix
from arborshap._progress import Report, reporting
from arborshap._threads import thread_count
from arborshap._verify import verify as verify_margins
from arborshap.background import Background, gathered, with_weights
from arborshap.exceptions import InputError
from arborshap.explanation import PAIR_INDICES, Explanation
from arborshap.frames import Rows, column_names, is_ready, read_rows, read_some_rows
from arborshap.groups import Groups, players_from
from arborshap.importance import Importance, TopValues, importance, top_values
from arborshap.limits import Limits
from arborshap.models import Model, load
from arborshap.models._recoding import known_categories
from arborshap.outputs import OutputName, Rescaled, check_no_labels, output_of
from arborshap.pipelines import split_pipeline
from arborshap.plan import Plan
from arborshap.source import Source
from arborshap.trace import Trace, walk

IndexName: TypeAlias = Literal["shapley", "taylor", "interaction", "banzhaf"]
Array: TypeAlias = NDArray[Any]

_CHUNK = 2**25
"""Float64 values computed at a time when the result is float32, so that the wide form of all never exists."""


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
        ``"auto"`` chooses the cheapest way for each call (see `explain_plan`); ``"pattern"``, ``"sparse"`` and
        ``"traversal"`` force one. All give the same values, to rounding.
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

    output_names: list[str] | None
    _model: Model
    _n_players: int
    _rescaled: Rescaled | None = None
    """What computes probabilities or losses, where the raw prediction is not what is explained."""

    def __init__(
        self,
        model: Any,
        data: Any = None,
        *,
        groups: Groups | None = None,
        feature_perturbation: Literal["auto", "interventional", "tree_path_dependent"] = "auto",
        model_output: OutputName = "raw",
        sample_weight: Any = None,
        feature_names: Sequence[str] | None = None,
        verify: bool = True,
        engine: str = "auto",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        checked_choice("model_output", model_output, ["raw", "probability", "log_loss"])
        _check_perturbation(feature_perturbation, data)
        background = self._set_up(model, data, groups, feature_names, verify, engine, n_jobs, memory_limit, limits)
        forest = self._model.forest
        output = output_of(self._model, model_output, engine, has_background=data is not None)
        if background is None:
            if sample_weight is not None:
                has = "a Background has its weights in it" if isinstance(data, Background) else "there is no data"
                raise InputError(f"sample_weight weighs the rows of data, and {has}")
            if isinstance(data, Background):
                if output is not None:
                    raise InputError(f"model_output={model_output!r} needs the rows of the background themselves")
                data.lend_to(self, groups)
            else:
                self._n_background = 0
                self._core = self._compile(None, None)
        else:
            if len(background.matrix) == 0:
                raise InputError("data has no rows; the background needs at least one")
            weights = checked_weights(sample_weight, len(background.matrix))
            if verify and self._pipeline is None:
                verify_margins(self._model, background.matrix, "data", self._n_threads)
            self._n_background = len(background.matrix)
            self._core = self._compile(background.matrix, weights)
            if output is not None:
                players, threads = self._n_players, self._n_threads
                matrix = background.matrix.copy()  # the caller's array may change
                shares = None if weights is None else weights / weights.sum()
                self._rescaled = Rescaled(output, forest.native, self._core, players, matrix, shares, threads)
                self.output_names = None if output.is_loss else self.output_names
        # Without a background the first rows that come are what the model can be verified on.
        self._to_verify = verify and background is None
        self._core.plan(1, "shapley", str(engine))  # say now, not at the first call, that there is no such engine

    def _set_up(
        self,
        model: Any,
        data: Any,
        groups: Groups | None,
        feature_names: Sequence[str] | None,
        verify: bool,
        engine: str,
        n_jobs: int | None,
        memory_limit: int | None,
        limits: Limits | None = None,
    ) -> Rows | None:
        """Read the model, its players and names, and the rows of `data`: all but what needs the whole background."""
        self._n_jobs = n_jobs
        self._n_threads = thread_count(n_jobs)
        self._memory_limit = checked_memory_limit(memory_limit)
        self._engine = engine
        # A dump says what its columns are called, but not where they are.
        known = data.column_names if isinstance(data, Background) else column_names(data)
        if isinstance(data, Background):
            data = None
        model, self._pipeline = split_pipeline(model, data)
        self._to_verify = verify and self._pipeline is not None  # on the first raw rows that are read
        self._model = load(model, feature_names=known if feature_names is None else feature_names, limits=limits)
        forest = self._model.forest

        n_columns = forest.n_features if self._pipeline is None else self._pipeline.n_columns
        own_names = checked_names(feature_names, n_columns)
        self._column_names = (self._pipeline or forest).feature_names or own_names
        background = None if data is None else self._read(data, "data")
        if background is not None:
            self._column_names = self._column_names or background.names
        self._data_names = list(own_names or self._column_names or (f"x{j}" for j in range(n_columns)))
        if self._pipeline is None:
            self._players, self._player_names = players_from(groups, self._data_names, n_columns)
            self._data_players = self._players.tolist()
        else:
            self._players, self._data_players, self._player_names = self._pipeline.players(groups, self._data_names)
        self._n_players = len(self._player_names)
        self.output_names = None if forest.output_names is None else list(forest.output_names)
        return background

    def __repr__(self) -> str:
        return f"<TreeExplainer of {self._model.library}: {self._model.forest!r}, {self._n_players} players, " + (
            f"{self._n_background} background rows>" if self._n_background else "path-dependent>"
        )

    @property
    def feature_names(self) -> list[str]:
        """The players' names: the features, or the groups. Another list of as many names may be set."""
        return list(self._player_names)

    @feature_names.setter
    def feature_names(self, names: Sequence[str]) -> None:
        self._player_names = checked_names(names, self._n_players) or self._player_names

    @property
    def data_names(self) -> list[str]:
        """The names of the columns that a row has, in order; without groups, the players' too."""
        return list(self._data_names)

    @property
    def expected_value(self) -> float | NDArray[np.float64]:
        """The mean of what is explained over the background: a float, or one per output of a model with several.

        Without a background, that over the training rows as the trees remember them. A loss has none before there is
        a label: see the base values of its explanations.
        """
        expected = self._core.expected_value if self._rescaled is None else self._rescaled.expected_of_any_row()
        return float(expected[0]) if len(expected) == 1 else expected

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
        checked_choice("index", index, ["shapley", "taylor", "interaction", "banzhaf"])
        rows = self._read(X, "X")
        start = perf_counter()
        values = self._explain(rows.matrix, index, dtype, progress, y)
        seconds = perf_counter() - start
        base = np.empty((len(values), self._n_outputs))
        base[:] = self._core.expected_value if self._rescaled is None else self._rescaled.expected(y, len(values))
        return self._explanation(values, base, rows, index, seconds)

    def shap_values(self, X: Any, y: Any = None, *, dtype: Any = np.float64, progress: bool | Report = False) -> Array:
        """Compute Shapley values: (rows, players), or (rows, players, outputs); a row's sum to h(x) - E h(z).

        `y` has the rows' labels, for ``model_output="log_loss"`` only.
        """
        return self._explain(self._matrix(X), "shapley", dtype, progress, y)

    def banzhaf_values(self, X: Any, *, dtype: Any = np.float64, progress: bool | Report = False) -> Array:
        """Compute Banzhaf values, shaped as the Shapley values are; every coalition weighs the same."""
        return self._explain(self._matrix(X), "banzhaf", dtype, progress)

    def taylor_values(self, X: Any, *, dtype: Any = np.float64, progress: bool | Report = False) -> Array:
        """Compute Shapley-Taylor indices of order two: (rows, players, players) or (rows, players, players, outputs).

        Symmetric, with main effects on the diagonal and half of each pair's effect on either side of it, so that a
        row of the matrix sums to the player's Shapley value and the whole to h(x) - E h(z).
        """
        return self._explain(self._matrix(X), "taylor", dtype, progress)

    def shap_interaction_values(self, X: Any, *, dtype: Any = np.float64, progress: bool | Report = False) -> Array:
        """Compute Shapley interaction indices in shap's convention, shaped as the Shapley-Taylor indices are.

        Half of each pair's interaction on either side of the diagonal, which makes each row of the matrix sum to the
        player's Shapley value.
        """
        return self._explain(self._matrix(X), "interaction", dtype, progress)

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
        rows = self._read(X, "X").matrix
        if Z is None and not self._n_background:
            raise InputError("this explainer has no background: give Z, the reference rows")
        others = None if Z is None else self._read(Z, "Z").matrix
        if self._rescaled is not None:
            against = self._rescaled if others is None else self._rescaled.against(others)
            every = against.explain_pairs(rows, y, dtype, progress, self._memory_limit)
            return self._without_single_output(every)
        check_no_labels(y)
        n_others = self._n_background if others is None else len(others)
        shape = (len(rows), n_others, self._n_players, self._n_outputs)

        def compute(part: Matrix, report: Report | None) -> NDArray[np.float64]:
            return self._core.explain_pairs(part, others, n_threads=self._n_threads, progress=report)

        return self._in_parts(compute, rows, shape, dtype, progress)

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
        checked_choice("index", index, ["shapley", "taylor", "interaction", "banzhaf"])
        return importance(self, X, y, index, sample_weight, progress)

    def interaction_importance(
        self,
        X: Any,
        *,
        index: Literal["taylor", "interaction"] = "taylor",
        sample_weight: Any = None,
        progress: bool | Report = False,
    ) -> Importance:
        """Tell how much each pair of players matters over many rows, without an array of rows x players x players.

        As `importance`, for the Shapley-Taylor (``"taylor"``) or the Shapley interaction index (``"interaction"``).
        """
        checked_choice("index", index, PAIR_INDICES)
        return importance(self, X, None, index, sample_weight, progress)

    def top_values(
        self,
        X: Any,
        k: int,
        *,
        y: Any = None,
        index: Literal["shapley", "banzhaf"] = "shapley",
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
        checked_choice("index", index, ["shapley", "banzhaf"])
        return top_values(self, X, y, k, index, dtype, progress)

    def explain_plan(self, n: int, *, index: IndexName = "shapley") -> Plan:
        """Tell how a call with `n` rows would be carried out, what it would take, and why."""
        checked_choice("index", index, ["shapley", "taylor", "interaction", "banzhaf"])
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 0 <= n < 2**62:
            raise InputError(f"n must be a number of rows, got {n!r}")
        plan = self._core.plan(int(n), index, self._engine if self._rescaled is None else "traversal")
        trees = (plan.trees_by_tables, plan.trees_by_pairs, plan.trees_by_walk)
        return Plan(*trees, plan.seconds, plan.bytes, plan.reason)

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
        return walk(
            self._model.forest,
            tree,
            self._read(x, "x", one=True),
            self._read(z, "z", one=True),
            players=self._players,
            player_names=self._player_names,
            feature_names=self._data_names if self._pipeline is None else self._pipeline.names_of_features(),
            categories=known_categories(self._model.encode, self._model.forest.n_features),
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
        ours, theirs = self._read(x, "x", one=True), self._read(z, "z", one=True)
        for what, rows in (("x", ours), ("z", theirs)):
            if len(rows.matrix) == 0:
                raise InputError(f"{what} has no rows; a contrast needs at least one on either side")
        if self._rescaled is not None:
            values, base = self._rescaled.contrast(ours.matrix, theirs.matrix)
        else:
            against = self._compile(theirs.matrix, None)
            values = against.explain(ours.matrix, "shapley", engine=self._engine, n_threads=self._n_threads)
            base = against.expected_value[np.newaxis]
        mean = self._without_single_output(values.mean(axis=0, keepdims=True))
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
        first, weights = with_weights(next(rest, None))
        if first is None:
            raise InputError("batches is empty; the background needs at least one row")
        explainer = cls.__new__(cls)
        rows = explainer._set_up(model, first, groups, feature_names, verify, engine, n_jobs, memory_limit, limits)
        assert rows is not None
        gathered(explainer, rows, rest, weights, verify).lend_to(explainer, None)
        explainer._to_verify = False
        explainer._core.plan(1, "shapley", str(engine))
        return explainer

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
            rows, labels = with_weights(batch)
            try:
                yield self(rows, labels, index=index, dtype=dtype)
            except InputError as error:
                raise InputError(f"batch {i}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explainer to a file that `load` reads with numpy alone, and Rust as well.

        No pickle is in it. The file appears only when it is whole. ``docs/saved-format.md`` describes it.
        """
        saved.save(self, path)

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
        return saved.load(cls, path, n_jobs, memory_limit, limits or Limits())

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return saved.to_bytes(self)

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
        return saved.from_bytes(cls, data, n_jobs, memory_limit, limits or Limits())

    def __reduce__(self) -> tuple[Any, ...]:
        return saved.reduced(self)

    @property
    def _n_outputs(self) -> int:
        return self._model.forest.n_outputs if self._rescaled is None else self._rescaled.output.n_outputs

    def _read(self, rows: Any, what: str, *, one: bool = False) -> Rows:
        if self._pipeline is not None:
            return self._read_raw(rows, what, one)
        return self._read_features(rows, what, self._column_names, one)

    def _matrix(self, X: Any) -> Matrix:
        """The rows as the trees read them; a matrix that the trees can read as it is goes the short way."""
        if (
            is_ready(X)
            and X.shape[1] == self._model.forest.n_features
            and self._model.encode is None
            and self._model.takes_missing
            and self._pipeline is None
        ):
            ready: Matrix = X
            return ready
        return self._read(X, "X").matrix

    def _read_raw(self, rows: Any, what: str, one: bool) -> Rows:
        assert self._pipeline is not None
        read = self._pipeline.read(rows, what, self._column_names, one, self._read_features)
        if self._to_verify and len(read.matrix):
            self._pipeline.verify(read, self._model, what, self._n_threads, self._read_features)
            self._to_verify = False
        return read

    def _read_features(self, rows: Any, what: str, names: Sequence[str] | None = None, one: bool = False) -> Rows:
        read = read_some_rows if one else read_rows
        found = read(
            rows,
            what,
            names=names,
            n_features=self._model.forest.n_features,
            encode=self._model.encode,
            sparse_zero_is_missing=self._model.library.startswith(("xgboost", "treelite")),
            spaces_are_underscores=self._model.library.startswith("lightgbm"),
        )
        if not self._model.takes_missing:
            check_none_missing(found.matrix, what, found.names, self._model.library)
        return found

    def _compile(self, background: Matrix | None, weights: NDArray[np.float64] | None) -> _core.Explainer:
        return _core.Explainer(
            self._model.forest.native,
            players=self._players,
            n_players=self._n_players,
            background=background,
            weights=weights,
            memory_limit=self._memory_limit,
            n_threads=self._n_threads,
        )

    def _explain(self, rows: Matrix, index: IndexName, dtype: Any, progress: bool | Report, y: Any = None) -> Array:
        if self._rescaled is not None:
            values = self._rescaled.explain(rows, y, index, dtype, progress, self._memory_limit)
            return self._without_single_output(values)
        check_no_labels(y)
        players = (self._n_players,) * (2 if index in PAIR_INDICES else 1)
        if self._to_verify and len(rows):
            verify_margins(self._model, rows, "X", self._n_threads)
            self._to_verify = False

        def compute(part: Matrix, report: Report | None) -> NDArray[np.float64]:
            return self._core.explain(part, index, engine=self._engine, n_threads=self._n_threads, progress=report)

        return self._in_parts(compute, rows, (len(rows), *players, self._n_outputs), dtype, progress)

    def _in_parts(
        self,
        compute: Callable[[Matrix, Report | None], NDArray[np.float64]],
        rows: Matrix,
        shape: tuple[int, ...],
        dtype: Any,
        progress: bool | Report,
    ) -> Array:
        """Compute all rows at once, or in parts where each is narrowed to float32 before the next is computed."""
        kind = checked_dtype(dtype)
        check_fits(shape, kind, self._memory_limit)
        if 0 in shape:
            return self._without_single_output(np.empty(shape, kind))
        if progress is False and kind == np.float64:  # nothing to tell and nothing to narrow: one row asks for speed
            return self._without_single_output(compute(rows, None))
        with reporting(progress) as report:
            if kind == np.float64:
                values = compute(rows, report)
            else:
                values = np.empty(shape, kind)
                step = max(1, _CHUNK // prod(shape[1:]))
                for start in range(0, len(rows), step):
                    part = rows[start : start + step]
                    values[start : start + step] = compute(part, _share(report, start, len(part), len(rows)))
            if report is not None:
                report(1.0)
        return self._without_single_output(values)

    def _without_single_output(self, values: Array) -> Array:
        return values.reshape(values.shape[:-1]) if self._n_outputs == 1 else values

    def _explanation(
        self, values: Array, base: NDArray[np.float64], rows: Rows, index: str, seconds: float | None = None
    ) -> Explanation:
        same_rows = len(rows.shown) == len(values)
        data = rows.shown.copy()  # the caller's array may change; an explanation may not
        read = data if rows.shown is rows.matrix else rows.matrix.copy()
        return Explanation(
            values,
            base[:, 0] if self._n_outputs == 1 else base,
            feature_names=self.feature_names,
            index=index,
            model_output="raw" if self._rescaled is None else self._rescaled.output.name,
            data=data if same_rows else None,
            data_names=self._data_names,
            data_players=[self._player_names[player] for player in self._data_players],
            output_names=self.output_names,
            row_labels=rows.labels if same_rows else None,
            source=Source(self, read, seconds) if same_rows else None,
            origin=rows.origin if same_rows else None,
        )


def _check_perturbation(wanted: object, data: object) -> None:
    checked_choice("feature_perturbation", wanted, ["auto", "interventional", "tree_path_dependent"])
    if wanted == "tree_path_dependent" and data is not None:
        raise InputError("feature_perturbation='tree_path_dependent' uses no background; leave data out, or use 'auto'")
    if wanted == "interventional" and data is None:
        raise InputError("data is missing: give the background rows that the predictions are to be compared with")


def _share(report: Report | None, start: int, length: int, total: int) -> Report | None:
    """Turn the fraction of one part into the fraction of the whole."""
    return None if report is None else lambda fraction: report((start + fraction * length) / total)
