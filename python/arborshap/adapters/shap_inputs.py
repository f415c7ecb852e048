"""What `arborshap.adapters.shap` translates: arguments, backgrounds and names of shap's users."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

import cloudpickle
import numpy as np
import pandas as pd
import shap
from numpy.typing import NDArray
from shap.explainers._tree import TreeEnsemble
from shap.utils._exceptions import InvalidFeaturePerturbationError, InvalidModelError

import arborshap
from arborshap._util.notices import warn
from arborshap.exceptions import InputError, UnsupportedModelError

Array = NDArray[Any]

LOSSES = ("log_loss", "squared_error")
_METHODS = {"predict_proba": "probability", "predict": "prediction"}


@dataclass(frozen=True, slots=True)
class ChosenOutput:
    """Which output is explained, in shap's words, and how it is made of arborshap's.

    Attributes
    ----------
    asked_for
        What the caller wrote.
    name
        The `model_output` of arborshap.
    position
        The output to keep; ``None`` for all.
    doubled
        Whether the probability of the second class is to be shown for both classes.
    """

    asked_for: Any
    name: Any
    position: int | None = None
    doubled: bool = False

    @classmethod
    def of(cls, asked_for: Any) -> Self:
        """Read shap's argument `model_output`."""
        if isinstance(asked_for, (int, np.integer)) and not isinstance(asked_for, bool):
            return cls(asked_for, "raw", position=int(asked_for))
        return cls(asked_for, _METHODS.get(asked_for, asked_for) if isinstance(asked_for, str) else asked_for)

    def checked(self, n_outputs: int) -> Self:
        """Return the choice for a model with so many outputs; refuse an output that it does not have."""
        if self.position is not None and not 0 <= self.position < n_outputs:
            raise InputError(f"model_output={self.position} is not an output of this model, which has {n_outputs}")
        return replace(self, doubled=self.asked_for == "predict_proba" and n_outputs == 1)

    def of_values(self, values: Array) -> Array:
        """Return the values of the outputs that are explained, which lie along the last axis."""
        if self.doubled:
            return np.stack([-values, values], axis=-1)
        return values if self.position is None else self._kept(values)

    def of_expected(self, expected: Any) -> Any:
        """Return the expected values, or base values, of the outputs that are explained."""
        if self.doubled:
            return np.stack([1.0 - np.asarray(expected), np.asarray(expected)], axis=-1)
        return expected if self.position is None else self._kept(np.asarray(expected))

    def _kept(self, array: Array) -> Any:
        return array[..., self.position] if np.ndim(array) else array[()]


@dataclass(slots=True)
class Given:
    """The model and the background as they were given, for the attributes that shap's users read.

    Attributes
    ----------
    model
        The model; ``None`` if it is not known.
    data
        The background as it was given.
    """

    model: Any
    data: Any
    _ensemble: Any = field(default=None, repr=False)

    @property
    def names(self) -> list[Any] | None:
        """The names of the background's columns, if they have names."""
        if hasattr(self.data, "get_feature_names"):  # a catboost.Pool
            named = self.data.get_feature_names()
            return list(named) if all(named) else None
        names = getattr(self.data, "columns", getattr(self.data, "feature_names", None))
        return None if names is None or isinstance(self.data, arborshap.Background) else list(names)

    @property
    def rows(self) -> Array | None:
        """The rows of the background as an array."""
        data = self.data
        if data is None or isinstance(data, arborshap.Background):
            return None
        if hasattr(data, "get_data"):  # an xgboost.DMatrix, which does not store what is missing
            return _dense(data.get_data(), np.nan)
        if hasattr(data, "get_features"):  # a catboost.Pool
            return np.asarray(data.get_features())
        if getattr(getattr(data, "data", None), "ndim", 0) == 2 and not isinstance(data, np.ndarray):
            data = data.data  # a masker, or a summary by shap.kmeans
        return _dense(data, 0.0)

    def masker(self) -> Any:
        """Return the background as a masker of shap."""
        if self.data is None or isinstance(self.data, shap.maskers.Masker):
            return self.data
        rows = self.data if isinstance(self.data, pd.DataFrame) else self.rows
        return None if rows is None else shap.maskers.Independent(rows, max_samples=len(rows))

    def ensemble(self, data: Array | None, model_output: Any) -> Any:
        """Return the model as shap reads it, or as it was given if shap cannot read it."""
        if self._ensemble is None and self.model is not None:
            try:
                self._ensemble = TreeEnsemble(
                    self.model, data, None if data is None else missing_in(data), model_output
                )
            except Exception:  # noqa: BLE001 (shap raises errors of many classes, and no value depends on it)
                self._ensemble = self.model
        return self._ensemble

    def __reduce__(self) -> tuple[Any, ...]:
        lives_in_java = hasattr(self.model, "_java_obj")  # a model of Spark, which cannot leave its session
        return type(self), (None if lives_in_java else self.model, self.data)


@dataclass(frozen=True, slots=True)
class Loaded:
    """An explainer that was read from a file, and the model that it came from if that was saved too."""

    explainer: arborshap.TreeExplainer
    model: Any


def _dense(rows: Any, absent: float) -> Array:
    if not hasattr(rows, "tocoo"):
        return np.asarray(rows.to_numpy() if hasattr(rows, "to_numpy") else rows)
    sparse = rows.tocoo()
    dense = np.full(sparse.shape, absent, dtype=np.result_type(sparse.dtype, np.float32))
    dense[sparse.row, sparse.col] = sparse.data
    return dense


def missing_in(rows: Array) -> NDArray[np.bool_]:
    """Say which cells are missing."""
    return np.asarray(pd.isna(rows))


@contextmanager
def errors_of_shap(model: Any, output: ChosenOutput) -> Iterator[None]:
    """Raise shap's own error for a model that is not supported, since callers may expect that."""
    try:
        yield
    except UnsupportedModelError as error:
        if output.name != "raw":
            raise  # it may be the output that the model does not have
        raise InvalidModelError(f"Model type not yet supported by TreeExplainer: {type(model)}: {error}") from error


def perturbation(asked_for: Any, data: Any) -> Any:
    """Read shap's argument `feature_perturbation`; ``"interventional"`` without data warns, as in shap."""
    if asked_for not in ("auto", "interventional", "tree_path_dependent"):
        raise InvalidFeaturePerturbationError(
            f"feature_perturbation must be 'auto', 'interventional' or 'tree_path_dependent', not {asked_for!r}"
        )
    if asked_for != "interventional" or data is not None:
        return asked_for
    warnings.warn(
        "In the future, passing feature_perturbation='interventional' without data will raise an error. There are no "
        "background rows to compare with, so path-dependent values are computed; give data, or use 'auto'",
        FutureWarning,
        stacklevel=3,
    )
    return "auto"


def refuse_settings(**settings: Any) -> None:
    """Refuse settings that an explainer already has."""
    for name, value in settings.items():
        if value is not None:
            raise InputError(f"the explainer that you gave has its own {name}; leave {name} out")


def is_asked_for(approximate: Any) -> bool:
    """Whether approximate values were asked for; shap's default is a plain object, which asks for nothing."""
    return type(approximate) is not object and bool(approximate)


def explainer_of(model: Any, data: Any, output: Any, settings: dict[str, Any]) -> arborshap.TreeExplainer:
    """Make the explainer; a background whose columns have other names than the model's is read by position."""

    def known_names() -> list[str]:
        return arborshap.TreeExplainer(model, verify=False).data_names

    def with_background(rows: Any) -> arborshap.TreeExplainer:
        return arborshap.TreeExplainer(model, rows, output, **settings)

    explainer: arborshap.TreeExplainer = ask_by_position_too(with_background, data, known_names)
    return explainer


def ask_by_position_too(question: Callable[[Any], Any], rows: Any, known_names: Callable[[], list[str]]) -> Any:
    """Ask a question about rows; if the names of a frame's columns are not the model's, ask again by position."""
    try:
        return question(rows)
    except InputError:
        if not isinstance(rows, (pd.DataFrame, pd.Series)):
            raise
        names = known_names()
        renamed = by_position(rows, names)
        if renamed is None:
            raise
        answer = question(renamed)
        warn(
            f"the columns {list(labels_of(rows))} are not those of the model, {names}; they are taken by position, as "
            "shap does. Rename them to be sure"
        )
        return answer


def limit(tree_limit: Any) -> Any:
    """Return shap's `tree_limit`, of which every negative number means all trees."""
    return -1 if isinstance(tree_limit, (int, np.integer)) and tree_limit < 0 else tree_limit


def labels_of(X: Any) -> Any:
    """Return the names of the cells of a pandas frame or of a single row."""
    return X.index if isinstance(X, pd.Series) else X.columns


def by_position(X: Any, names: Sequence[str]) -> Any:
    """Return a pandas frame or row under the model's names, if its own names leave no doubt that positions are meant.

    A frame that has some of the model's names, but in other places, may be in another order, so ``None`` is returned.
    """
    if not isinstance(X, (pd.DataFrame, pd.Series)) or len(labels_of(X)) != len(names):
        return None
    theirs = [str(name) for name in labels_of(X)]
    if theirs == list(names) or any(name in theirs and theirs[j] != name for j, name in enumerate(names)):
        return None
    return X.set_axis(list(names), axis=1 if isinstance(X, pd.DataFrame) else 0)


def explanation_of_shap(
    explanation: arborshap.Explanation, output: ChosenOutput, names: list[Any] | None, seconds: float
) -> Any:
    """Return the explanation as shap's, of the outputs that are explained and with these names."""
    theirs = explanation.to_shap()
    as_it_is = output.position is None and not output.doubled
    base = output.of_expected(theirs.base_values)
    if len(explanation.players_by_axis()) == 2 and not explanation.has("row"):
        # The matrix of a single row is sliced by its features first, so shap has the base value once per feature.
        base = np.repeat(np.asarray(base)[np.newaxis], len(explanation.values), axis=0)
    return shap.Explanation(
        output.of_values(theirs.values),
        base_values=base,
        data=theirs.data,
        display_data=theirs.display_data,
        feature_names=names,
        output_names=theirs.output_names if as_it_is else None,
        compute_time=seconds,
    )


def names_for_plots(X: Any, explanation: arborshap.Explanation, names: Sequence[Any] | None) -> list[Any] | None:
    """Return the names that shap would show: those of the rows, else those of the data, else the model's."""
    players = explanation.feature_names
    if explanation.data_players != explanation.data_names:
        return players  # groups, or pairs of columns that play as one
    if isinstance(X, pd.DataFrame):
        return list(X.columns) if set(map(str, X.columns)) != set(players) else players
    if names is not None and len(names) == len(players):
        return list(names)
    return None if players == [f"x{j}" for j in range(len(players))] else players


def save_to(out_file: Any, explainer: arborshap.TreeExplainer, given: Given, model_output: Any, saver: Any) -> None:
    """Write an explainer to an open file; the model is written by `saver`, or not at all if that is false."""
    kept = given if saver is None or saver == ".save" else Given(None, given.data)
    cloudpickle.dump({"version": 1, "explainer": explainer, "given": kept, "model_output": model_output}, out_file)
    if callable(saver):
        saver(given.model, out_file)


def load_from(in_file: Any, loader: Any) -> dict[str, Any]:
    """Read what `save_to` wrote, as arguments of the constructor; `loader` reads the model, if it is given."""
    saved = cloudpickle.load(in_file)
    if not isinstance(saved, dict) or saved.get("version") != 1:
        raise InputError("this file was not written by arborshap.adapters.shap, or a later release wrote it")
    model = loader(in_file) if callable(loader) else saved["given"].model
    return {
        "model": Loaded(saved["explainer"], model),
        "data": saved["given"].data,
        "model_output": saved["model_output"],
    }
