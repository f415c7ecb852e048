"""`TreeExplainer`, the public entry point: it checks and names its inputs, and the engines compute."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import checked_choice, checked_dtype, checked_names, checked_weights, whole_number
from arborshap._util.progress import Report
from arborshap._util.words import counted
from arborshap.exceptions import InputError
from arborshap.explain import saved, shap_arguments
from arborshap.explain.announce import announce, plan_of
from arborshap.explain.background import Background, with_its_column
from arborshap.explain.contrasts import contrast_of
from arborshap.explain.facts import Facts, checked_metadata, facts_of, fingerprint
from arborshap.explain.given import Given
from arborshap.explain.labels import MODEL_OUTPUTS, OutputName
from arborshap.explain.methods.columns import ColumnMethods
from arborshap.explain.methods.curves import CurveMethods
from arborshap.explain.methods.losses import LossMethods
from arborshap.explain.methods.orders import OrderMethods
from arborshap.explain.methods.populations import PopulationMethods
from arborshap.explain.methods.streams import StreamMethods
from arborshap.explain.orders import player_values
from arborshap.explain.outputs import output_of
from arborshap.explain.plan import Plan
from arborshap.explain.provenance import Provenance
from arborshap.explain.reader import Reader
from arborshap.explain.settings import Settings
from arborshap.explain.state import State, background_rows, compiled
from arborshap.explain.values import base_values_of, of_given_rows, pair_values_of, values_of
from arborshap.forest import Forest
from arborshap.game.groups import Groups
from arborshap.game.indices import INDICES, IndexName
from arborshap.limits import Limits
from arborshap.result.explanation import Explanation
from arborshap.rows.frames import Rows, is_one_row

if TYPE_CHECKING:
    from arborshap.trace import Trace

Array: TypeAlias = NDArray[Any]
Perturbation: TypeAlias = Literal["auto", "interventional", "tree_path_dependent"]


class TreeExplainer(ColumnMethods, CurveMethods, LossMethods, OrderMethods, PopulationMethods, StreamMethods):
    """Explains the predictions of a tree ensemble, exactly, against a whole background.

    For a row x and a background row z, players form coalitions: players in the coalition take their columns from x, the
    others take theirs from z, and the coalition is worth the model's prediction for this mixed row. The values of x are
    the values of that game, averaged over all background rows z.

    Parameters
    ----------
    model
        A fitted model of a supported library, the path of a saved model, or a `Forest`. A scikit-learn pipeline that
        ends in such a model is explained in terms of its raw columns; raw columns that a step mixes play as one player.
    data
        The background, of which every row is used: a matrix, a pandas or polars DataFrame, a pyarrow Table, a
        scipy.sparse matrix, or a `Background` that was counted in parts and brings its groups. The columns of a frame
        are matched to the model's by name. If omitted, values are path-dependent.
    groups
        Columns that play as one player: ``{"name": [columns]}``, or the player of each column such as ``[0, 1, 1, 2]``,
        or the fitted transformer that made the model's columns: columns made from the same raw columns then play as
        one.
    feature_perturbation
        ``"interventional"`` compares with the rows of `data`. ``"tree_path_dependent"`` compares with nothing: absent
        players follow both branches of a split, weighted by the rows of `data` that each branch receives, or by the
        training rows if there are no `data`. ``"auto"`` is interventional if `data` is given, and path-dependent
        otherwise.
    model_output
        What to explain. ``"raw"``: the sum of the trees before any link, such as the log-odds of a classifier.
        ``"prediction"``: what the model itself predicts, such as a probability, or the mean of a model with a log link.
        ``"probability"``: the probabilities of a classifier. ``"log_loss"`` and ``"squared_error"``: the loss of each
        row, given its label `y`. All but ``"raw"`` rescale the values of every pair (x, z). This costs about ten to
        twenty times as much as the raw values; for a softmax, whose pairs are computed one by one, the cost grows with
        the number of rows times the number of background rows.
    sample_weight
        The weight of each background row. If omitted, all weights are equal.
    feature_names
        Names for the model's columns. If the model has no names of its own, frames are matched to these names too. The
        default is the model's names, or else those of the `data` frame, or else ``x0``, ``x1``, ...
    verify
        Whether to compare our margins with the library's own predictions on the background before explaining anything.
    engine
        ``"auto"`` chooses the cheapest engine for each call (see `explain_plan`). ``"pattern"``, ``"counts"``,
        ``"sparse"`` and ``"traversal"`` force one engine. All engines give the same values, up to rounding.
    n_jobs
        Number of threads: ``None`` or -1 for every core that the process may use, -2 for all cores but one, and 1 for
        the calling thread only.
    memory_limit
        Most bytes that the engine's tables, or a result, may take. By default, tables may take half of the machine's
        free memory, and a result may take all of it. The limit does not cover what a call works with and gives back:
        for deep trees, some 100 MB per thread, and more for many outputs or pairs of players.
    limits
        Largest model file to accept; see `Limits`.
    approximate, link, feature_dependence
        Arguments of `shap.TreeExplainer`, accepted if they change nothing and refused otherwise.

    Attributes
    ----------
    feature_names : list of str
        Names of the players: features or groups.
    output_names : list of str or None
        Names of the outputs, if the model has them.

    Raises
    ------
    ModelError
        If the model cannot be read, is not supported, or fails `verify`.
    InputError
        If the background or another argument cannot be used.
    """

    _state: State
    _given: Given

    def __init__(
        self,
        model: Any,
        data: Any = None,
        model_output: OutputName = "raw",
        feature_perturbation: Perturbation = "auto",
        feature_names: Sequence[str] | None = None,
        *,
        groups: Groups | None = None,
        sample_weight: Any = None,
        verify: bool = True,
        engine: str = "auto",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        limits: Limits | None = None,
        approximate: bool = False,
        link: Any = None,
        feature_dependence: str | None = None,
    ) -> None:
        shap_arguments.check_call(0, approximate)
        shap_arguments.check_link(link)
        model_output = shap_arguments.output_name(model_output)
        feature_perturbation = shap_arguments.perturbation_name(feature_perturbation, feature_dependence)
        if hasattr(data, "predict") and not hasattr(model, "predict"):
            raise InputError("model and data are swapped: write TreeExplainer(model, data)")
        self._given = Given.of(model, data)
        data, sample_weight = shap_arguments.background_in(data, sample_weight)
        checked_choice("model_output", model_output, MODEL_OUTPUTS)
        path_dependent = _is_path_dependent(feature_perturbation, data)
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
            counted=None if in_parts is None else in_parts.columns,
        )
        output = output_of(reader.model, model_output, has_background=not path_dependent)
        if rows is not None and not path_dependent:
            self._state = State.against(reader, settings, rows, sample_weight, output)
            return
        if sample_weight is not None and rows is None:
            why = "there is no data" if data is None else "a Background already includes its weights"
            raise InputError(f"sample_weight gives the weights of the rows of data, but {why}; leave it out")
        if in_parts is not None:
            self._state = in_parts.state_of(reader, settings, groups, output)
            return
        if rows is not None:
            reader = reader.weighing(background_rows(reader, rows), checked_weights(sample_weight, len(rows.matrix)))
        self._state = State.of(reader, settings, compiled(reader, settings, None))

    @classmethod
    def _of(cls, state: State, given: Given | None = None) -> Self:
        self = cls.__new__(cls)
        self._state = state
        self._given = given or Given()
        return self

    def __repr__(self) -> str:
        state = self._state
        library, n_players = state.reader.model.library, state.columns.n_players
        against = counted(state.n_background, "background row") if state.n_background else "path-dependent"
        return f"<TreeExplainer of {library}: {state.forest!r}, {counted(n_players, 'player')}, {against}>"

    @property
    def feature_names(self) -> list[str]:
        """Names of the players: features or groups. You may assign another list of the same length."""
        return list(self._state.columns.player_names)

    @feature_names.setter
    def feature_names(self, names: Sequence[str]) -> None:
        reader = self._state.reader
        self._state = replace(self._state, reader=reader.with_columns(reader.columns.renamed(names)))

    @property
    def output_names(self) -> list[str] | None:
        """Names of the outputs, or ``None`` if the model has none. You may assign another list."""
        names = self._state.output_names
        return None if names is None else list(names)

    @output_names.setter
    def output_names(self, names: Sequence[str] | None) -> None:
        checked = checked_names(names, self.n_outputs, "output_names", "outputs")
        self._state = replace(self._state, output_names=None if checked is None else tuple(checked))

    @property
    def n_outputs(self) -> int:
        """Number of outputs that are explained per row."""
        return self._state.n_outputs

    @property
    def data_names(self) -> list[str]:
        """Names of the columns of a row, in order. Without groups these are the names of the players too."""
        return list(self._state.columns.names)

    @property
    def categories(self) -> dict[str, list[Any]]:
        """The categories of each column that held categories in training, as far as the model records them.

        Rows without types (lists, dicts, arrays of objects) may hold these categories as text. For a saved pipeline,
        these are the raw columns that hold text.
        """
        if self._state.reader.pipeline is not None:
            texts = self._state.reader.texts.items()
            return {self.data_names[j]: [cell for cell in cells if isinstance(cell, str)] for j, cells in texts}
        known = zip(self._state.columns.names, self._state.reader.categories, strict=False)
        return {name: list(categories) for name, categories in known if categories is not None}

    @property
    def state(self) -> State:
        """Everything the explainer consists of: the model, its columns and players, the settings, the compiled core."""
        return self._state

    @property
    def metadata(self) -> dict[str, Any]:
        """Notes of your own, such as the model's version or the date of training; `save` keeps them.

        Assign a dict of anything that JSON can hold.
        """
        return dict(self._state.metadata)

    @metadata.setter
    def metadata(self, notes: Mapping[str, Any]) -> None:
        self._state = replace(self._state, metadata=checked_metadata(notes))

    @property
    def model_id(self) -> str:
        """A fingerprint of the trees, the same for equal models on every machine, before and after saving."""
        return fingerprint(self._state.forest)

    @property
    def model(self) -> Any:
        """The model as it was given; ``None`` in an explainer that was loaded or unpickled."""
        return self._given.model

    @property
    def data(self) -> Any:
        """The background as it was given, as long as the caller keeps it; ``None`` otherwise.

        The explainer keeps what the trees see of the background, which is much smaller, and not the rows themselves.
        """
        return self._given.data

    @property
    def feature_perturbation(self) -> str:
        """``"interventional"`` if rows are compared with a background, and ``"tree_path_dependent"`` if not."""
        return "interventional" if self._state.n_background else "tree_path_dependent"

    @property
    def forest(self) -> Forest:
        """The trees that are explained."""
        return self._state.forest

    @property
    def expected_value(self) -> float | NDArray[np.float64]:
        """Mean of the explained output over the background: a float, or one number per output if there are several.

        Without a background, the mean is taken over the training rows, as the trees recorded them. The mean of a loss
        depends on the label, so it is not available here; use the base values of an explanation instead.
        """
        state = self._state
        expected = state.core.expected_value if state.rescaled is None else state.rescaled.expected_of_any_row()
        return float(expected[0]) if len(expected) == 1 else expected

    def check_rows(self, X: Any) -> None:
        """Raise `InputError` if rows cannot be read, for example because a column is missing. Nothing is computed."""
        self._state.reader.read(X, "X", one=True)

    def facts(self) -> Facts:
        """Describe what is explained and how: the library, the sizes of the model and of the game, the engine."""
        return facts_of(self._state)

    def __call__(
        self,
        X: Any,
        y: Any = None,
        interactions: bool = False,
        check_additivity: bool = True,
        approximate: bool = False,
        *,
        index: IndexName = "shapley",
        dtype: Any = np.float64,
        progress: bool | Report = False,
    ) -> Explanation:
        """Explain rows, and return the values with everything needed to read and draw them.

        Parameters
        ----------
        X
            The rows to explain, in any form that `data` may have, or a single row (a vector, a pandas Series), whose
            explanation then has no axis of rows.
        y
            The label of each row, for a loss only.
        interactions
            The same as ``index="interaction"``; an argument of shap.
        check_additivity, approximate
            Arguments of shap without effect: values always add up, and none are approximate.
        index
            What to compute: ``"shapley"``, ``"taylor"``, ``"interaction"`` or ``"banzhaf"``.
        dtype
            float64, or float32 to halve the memory of a large result.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        Explanation
            The values, with the data, the names and the base values.
        """
        state = self._state
        if approximate:
            shap_arguments.check_call(state.forest.n_trees, approximate)
        if interactions is not False:
            index = shap_arguments.index_asked_for(index, interactions)
        checked_choice("index", index, INDICES)
        is_one = is_one_row(X)
        rows = state.reader.read(X, "X", one=is_one)
        if rows.matrix.shape[0] > 1:
            announce(state, len(rows.matrix), index, progress)
        start = perf_counter()
        values = values_of(state, rows.matrix, index, dtype, progress, y)
        seconds = perf_counter() - start
        explanation = self._explanation(values, base_values_of(state, len(values), y), rows, index, seconds)
        return explanation[0] if is_one else explanation

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

        The parameters are those of `__call__`. The shape is (rows, players), or (rows, players, players) for an index
        of pairs. If the model has several outputs, they are one more axis at the end. The values of a single row that
        is not in a matrix have no axis of rows.
        """
        checked_choice("index", index, INDICES)
        matrix = self._state.reader.matrix(X)
        if matrix.shape[0] > 1:
            announce(self._state, matrix.shape[0], index, progress)
        found: Array = values_of(self._state, matrix, index, dtype, progress, y)
        return found if matrix is X else of_given_rows(X, found)

    def shap_values(
        self,
        X: Any,
        y: Any = None,
        tree_limit: int | None = None,
        approximate: bool = False,
        check_additivity: bool = True,
        *,
        dtype: Any = np.float64,
        progress: bool | Report = False,
    ) -> Array:
        """Compute Shapley values: (rows, players) or (rows, players, outputs).

        The values of a row sum to h(x) - E h(z). `y` holds the labels of the rows, for ``model_output="log_loss"``
        only. `tree_limit`, `approximate` and `check_additivity` are arguments of shap: they are accepted if they change
        nothing and refused otherwise.
        """
        if approximate or tree_limit is not None:
            shap_arguments.check_call(self._state.forest.n_trees, approximate, tree_limit)
        return self.values(X, y, index="shapley", dtype=dtype, progress=progress)

    def banzhaf_values(
        self, X: Any, p: float = 0.5, *, dtype: Any = np.float64, progress: bool | Report = False
    ) -> Array:
        """Compute Banzhaf values, in the shape of the Shapley values. Every coalition has the same weight.

        With another `p` than 0.5 these are weighted Banzhaf values: every other player has joined with probability `p`.
        """
        if not isinstance(p, (int, float, np.number)) or not 0.0 <= p <= 1.0:
            raise InputError(f"p must be a probability, from 0 to 1; got {p!r}")
        if p == 0.5:
            return self.values(X, index="banzhaf", dtype=dtype, progress=progress)
        rows = self._state.reader.matrix(X)
        found = player_values(self._state, rows, "weighted-banzhaf", np.array([float(p)]), progress)
        return of_given_rows(X, found.astype(checked_dtype(dtype), copy=False))

    def taylor_values(self, X: Any, *, dtype: Any = np.float64, progress: bool | Report = False) -> Array:
        """Compute Shapley-Taylor indices of order two: (rows, players, players) or (rows, players, players, outputs).

        The matrix of each row is symmetric. Main effects are on the diagonal, and half of each pair's effect is on
        either side of it, so a line of the matrix sums to the player's Shapley value and the whole matrix to h(x) - E
        h(z).
        """
        return self.values(X, index="taylor", dtype=dtype, progress=progress)

    def shap_interaction_values(
        self,
        X: Any,
        y: Any = None,
        tree_limit: int | None = None,
        *,
        dtype: Any = np.float64,
        progress: bool | Report = False,
    ) -> Array:
        """Compute Shapley interaction indices in shap's convention, in the shape of the Shapley-Taylor indices.

        Half of each pair's interaction is on either side of the diagonal, so each line of the matrix sums to the
        player's Shapley value. `tree_limit` is an argument of shap; see `shap_values`.
        """
        shap_arguments.check_call(self._state.forest.n_trees, tree_limit=tree_limit)
        return self.values(X, y, index="interaction", dtype=dtype, progress=progress)

    def pair_values(
        self, X: Any, Z: Any = None, *, y: Any = None, dtype: Any = np.float64, progress: bool | Report = False
    ) -> Array:
        """Compute the Shapley values of every pair (x, z): (rows, reference rows, players[, outputs]).

        Parameters
        ----------
        X
            The rows to explain.
        Z
            The reference rows. The default is the background.
        y
            The label of each row of X, for a loss only.
        dtype
            float64, or float32 to halve the memory of a large result.
        progress
            ``True`` shows a bar; a function is called with the fraction done.

        Returns
        -------
        array
            The values at ``[i, j]`` sum to the prediction of row i of X minus the prediction of row j of Z.
        """
        state = self._state
        rows = state.reader.read(X, "X").matrix
        if Z is None and not state.n_background:
            raise InputError("this explainer has no background; give the reference rows Z")
        others = None if Z is None else state.reader.read(Z, "Z").matrix
        return pair_values_of(state, rows, others, dtype, progress, y)

    def explain_plan(self, n: int, *, index: IndexName = "shapley") -> Plan:
        """Describe how a call with `n` rows would be carried out, what it would cost, and why."""
        checked_choice("index", index, INDICES)
        n = whole_number("n", n, 0, 2**62 - 1, "a number of rows")
        return plan_of(self._state, n, index)

    def trace(self, x: Any, z: Any, tree: int = 0) -> Trace:
        """Walk down one tree for one pair of rows, as the paper does, and record every step.

        Parameters
        ----------
        x, z
            One row each, either alone (a vector, a pandas Series) or in a matrix or frame.
        tree
            The position of the tree in the model.

        Returns
        -------
        Trace
            The edge types, the scenarios, the sets S_X and S_Z, the contribution of every leaf, and their sum, which is
            the tree's share of ``pair_values(x, z)``. A trace explains the raw prediction, whatever `model_output` is.
        """
        from arborshap.trace import walk  # noqa: PLC0415 (few callers trace, and drawing comes with it)

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
        """Explain why the prediction of x differs from the prediction of z.

        Parameters
        ----------
        x, z
            One row each, either alone (a vector, a pandas Series) or in a matrix or frame. If either holds several
            rows, mean predictions are compared, and the values are means over all pairs. To give rows weights, compare
            two `Background`s with `Background.contrast`.

        Returns
        -------
        Explanation
            The explanation of a single row: its values sum to h(x) - h(z), and its base value is h(z). If x is one row,
            `data` is x; if z is one row, `reference` is z. If either holds several rows, `standard_error` says how far
            each value may be off because these rows are samples.
        """
        reader = self._state.reader
        ours, theirs = reader.read(x, "x", one=True), reader.read(z, "z", one=True)
        contrast = contrast_of(self._state, ours.matrix, theirs.matrix)
        explanation = self._explanation(contrast.values, contrast.base, ours, "shapley")
        explanation.standard_error = contrast.standard_error
        explanation.reference = theirs.shown[0].copy() if len(theirs.matrix) == 1 else None
        return explanation[0]

    @classmethod
    def from_batches(
        cls,
        model: Any,
        batches: Iterable[Any],
        *,
        groups: Groups | None = None,
        model_output: OutputName = "raw",
        feature_names: Sequence[str] | None = None,
        verify: bool = True,
        engine: str = "auto",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Make an explainer against a background that arrives in batches and is never in memory as a whole.

        Parameters
        ----------
        model
            The model, as for `TreeExplainer`.
        batches
            Batches of rows in any form that `data` may have, such as the record batches of a Parquet file. A batch may
            also be a tuple of its rows and their weights. Only a `Background` is kept of them.
        verify
            Whether to compare our margins with the library's own predictions on rows of every batch.
        groups, model_output, feature_names, engine, n_jobs, memory_limit, limits
            As for `TreeExplainer`.

        Returns
        -------
        TreeExplainer
            The explainer against all rows of all batches.
        """
        settings = Settings.of(engine, n_jobs, memory_limit)
        background = Background.from_batches(
            model,
            batches,
            groups=groups,
            model_output=model_output,
            feature_names=feature_names,
            verify=verify,
            n_jobs=settings.n_threads,
            limits=limits,
        )
        reader = background.reader
        assert reader is not None
        reader.gate.is_open = False  # every batch was verified
        output = output_of(reader.model, model_output, has_background=True)
        return cls._of(background.state_of(reader, settings, None, output))

    def background_part(self, data: Any, *, sample_weight: Any = None, error_bars: bool = False) -> Background:
        """Count rows as a part of a background, for the same model, groups, columns and output as this explainer.

        This does not need the model's library, so a worker that loaded a saved explainer can count its own rows.
        `sample_weight` and `error_bars` are as for `Background`.
        """
        reader, n_threads = self._state.reader, self._state.settings.n_threads
        return Background.of_batches(
            reader,
            reader.read(data, "data"),
            (),
            sample_weight,
            n_threads,
            verify=False,
            what="data",
            model_output=self._state.model_output,
            error_bars=error_bars,
        )

    def explain_batches(
        self, batches: Iterable[Any], *, index: IndexName = "shapley", dtype: Any = np.float64
    ) -> Iterator[Explanation]:
        """Explain batches of rows one after another, each when the caller asks for it.

        Parameters
        ----------
        batches
            Batches of rows of any kind. For ``model_output="log_loss"``, each is a tuple of its rows and their labels.
        index, dtype
            As for `__call__`.

        Yields
        ------
        Explanation
            The explanation of each batch.
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
        """Return the same explainer with other settings. Omitted settings stay as they are; nothing is recompiled."""
        ours = self._state.settings
        settings = Settings.of(
            ours.engine if engine is None else engine,
            ours.n_jobs if n_jobs is None else n_jobs,
            ours.memory_limit if memory_limit is None else memory_limit,
        )
        return self._of(self._state.with_settings(settings), self._given)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explainer to a file that `load` can read with NumPy alone; the Rust crate can read it as well.

        The file contains no pickle, and it appears only when it is complete. ``docs/saved-format.md`` describes the
        format.
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
        """Read an explainer that `save` wrote. It needs no model library and gives the same values to the last bit.

        A file that is truncated, altered, forged, written by another version, or larger than `limits` allow raises a
        `ModelError` that says which. A loaded explainer can no longer be verified against the library's own
        predictions.
        """
        return cls._of(saved.load(path, n_jobs, memory_limit, limits or Limits()))

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes."""
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
        """Read an explainer from the bytes of `to_bytes`, as `load` does from a file."""
        return cls._of(saved.from_bytes(data, n_jobs, memory_limit, limits or Limits()))

    def __reduce__(self) -> tuple[Any, ...]:
        return self._unpickled, saved.to_pickle(self._state)

    @classmethod
    def _unpickled(cls, *pickled: Any) -> Self:
        return cls._of(saved.from_pickle(*pickled))

    def _explanation(
        self, values: Array, base: NDArray[np.float64], rows: Rows, index: str, seconds: float | None = None
    ) -> Explanation:
        state = self._state
        same_rows = len(rows.shown) == len(values)
        data = rows.shown.copy()  # the caller's array may change; an explanation may not
        read = data if rows.shown is rows.matrix else rows.matrix.copy()
        columns = state.columns.named_by(rows.names)
        return Explanation(
            values,
            base[:, 0] if state.n_outputs == 1 else base,
            feature_names=columns.player_names,
            index=index,
            model_output=state.model_output,
            data=data if same_rows else None,
            data_names=columns.names,
            data_players=columns.owner_names,
            output_names=self.output_names,
            row_labels=rows.labels if same_rows else None,
            provenance=Provenance(self, state, read, seconds) if same_rows else None,
            frame_kind=rows.frame_kind if same_rows else None,
            unit=state.unit,
        )


def _is_path_dependent(chosen: object, data: object) -> bool:
    """Whether rows are compared with nothing, even though there may be data."""
    checked_choice("feature_perturbation", chosen, ["auto", "interventional", "tree_path_dependent"])
    if chosen == "interventional" and data is None:
        raise InputError("data is missing: give the background rows to compare the predictions with")
    if chosen != "tree_path_dependent" or data is None:
        return data is None
    if isinstance(data, Background):
        raise InputError("feature_perturbation='tree_path_dependent' uses no Background; leave data out, or use 'auto'")
    return True
