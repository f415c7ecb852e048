"""arborshap inside explainerdashboard: ``use_arborshap(explainer)``, before the dashboard starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from explainerdashboard.explainers import BaseExplainer, ClassifierExplainer
from numpy.typing import NDArray

from arborshap import Background, InputError, TreeExplainer
from arborshap._util.checks import checked_choice
from arborshap.adapters.players import check_one_per_column

Array = NDArray[Any]

OUTPUTS = ("probability", "logodds", "raw")
KEPT = ("_shap_values_df", "_shap_base_value", "_shap_interaction_values", "_mean_abs_shap_df")
"""What an explainer keeps of the values that it has computed."""


def use_arborshap(
    explainer: BaseExplainer, data: Any = None, *, model_output: str | None = None, **options: Any
) -> BaseExplainer:
    """Let the explainer of a dashboard take its values, base values and interactions from arborshap.

    One-hot columns that the explainer merges (``cats=``) play as one player, so the value of a merged column is not a
    sum over its categories. For a pipeline, the dashboard shows the columns that the last step sees; if its
    explainer is made with ``shap="kernel"``, which keeps the pipeline whole, it shows raw columns.

    Parameters
    ----------
    explainer
        A `ClassifierExplainer` or `RegressionExplainer` of a tree model or of a pipeline that ends in one. Values that
        it has already computed are discarded.
    data
        The background, in the columns of ``explainer.X``, or a `Background`. The default is the explainer's
        ``X_background``, or its ``X`` if it has none. If the model has category columns, shap refuses ``X_background``;
        pass the rows here instead.
    model_output
        For a classifier, ``"probability"`` or ``"logodds"``; the default is what the explainer was made for, usually
        probability. If a classifier of two classes was made for probability and the dashboard fell back to log-odds,
        which it does for category columns because of shap, probability is explained all the same. For a regressor, the
        prediction is explained by default; ``"raw"`` explains the sum of its trees, before any link.
    **options
        Any other argument of `TreeExplainer`, such as ``n_jobs``.

    Returns
    -------
    explainer
        The same explainer, for ``ExplainerDashboard(use_arborshap(explainer)).run()``.
    """
    if not isinstance(explainer, BaseExplainer):
        raise InputError(
            f"use_arborshap takes a ClassifierExplainer or RegressionExplainer, not a {type(explainer).__name__}; "
            "call it before ExplainerDashboard(explainer)"
        )
    classifier = isinstance(explainer, ClassifierExplainer)
    if model_output is not None:
        checked_choice("model_output", model_output, OUTPUTS)
        if not classifier and model_output != "raw":
            raise InputError(
                f"model_output={model_output!r} is for classifiers; leave it out to explain the prediction of a "
                "regressor, or give 'raw' to explain the sum of its trees"
            )
    chosen = model_output or ("probability" if not classifier or _is_about_probability(explainer) else "logodds")
    if data is None:
        data = explainer.X if explainer.X_background is None else explainer.X_background
    ours = ShapExplainer(explainer, data, "prediction" if chosen == "probability" else "raw", options)
    if classifier:
        explainer.model_output = "probability" if chosen == "probability" else "logodds"
    explainer.shap = "arborshap"  # "tree" would have categories turned into codes
    explainer.interactions_should_work = ours.has_interactions
    theirs = vars(explainer)  # there is no public way to replace the explainer of the values
    theirs["_shap_explainer"] = ours
    for name in KEPT:
        theirs.pop(name, None)
    return explainer


class ShapExplainer:
    """The part of `shap.TreeExplainer` that the dashboard calls, with arborshap's values.

    Parameters
    ----------
    explainer
        The explainer of the dashboard.
    data
        The background.
    model_output
        The output to explain, in the words of `TreeExplainer`.
    options
        Further arguments of `TreeExplainer`.

    Attributes
    ----------
    explainer : TreeExplainer
        The explainer that computes the values.
    has_interactions : bool
        Whether interactions can be computed; probabilities that share a softmax have none.
    """

    def __init__(self, explainer: BaseExplainer, data: Any, model_output: str, options: dict[str, Any]) -> None:
        self._like = explainer.X.iloc[:0]
        names = getattr(explainer.model, "feature_names_in_", None)
        # The dashboard shortens the names that a pipeline makes, so columns go by position.
        self._names = list(self._like.columns) if names is None else [str(name) for name in names]
        owners = _owners(list(self._like.columns), explainer.onehot_dict)
        self._first = np.unique(owners, return_index=True)[1]
        grouped = {"groups": [int(player) for player in owners]} if len(self._first) < len(owners) else {}
        background = data if isinstance(data, Background) else self._rows(data)
        settings = {"model_output": model_output} | grouped | options
        self.explainer = TreeExplainer(explainer.model, background, **settings)
        self.has_interactions = _interact(self.explainer, self._rows(explainer.X[:1]))
        if not grouped:
            check_one_per_column(self.explainer, self._names, "explainerdashboard")

    @property
    def expected_value(self) -> Any:
        """The base value, or one per output."""
        return self.explainer.expected_value

    def shap_values(self, X: Any, **arguments: Any) -> Array:
        """Compute values, in the columns of the dashboard."""
        values = self.explainer.shap_values(self._rows(X), **arguments)
        return self._in_columns(values, axes=[1])

    def shap_interaction_values(self, X: Any) -> Array:
        """Compute interactions, in the columns of the dashboard."""
        return self._in_columns(self.explainer.shap_interaction_values(self._rows(X)), axes=[1, 2])

    def _rows(self, X: Any) -> pd.DataFrame:
        """Give rows, which may come as an array of objects, the types and names that the model knows."""
        if isinstance(X, pd.DataFrame):
            missing = [name for name in self._like.columns if name not in X.columns]
            if missing:
                raise InputError(f"the rows have no column {missing[0]!r}; they need the columns of explainer.X")
            frame = X[list(self._like.columns)]
        else:
            cells = np.asarray(X)
            if cells.ndim != 2 or cells.shape[1] != len(self._like.columns):
                raise InputError(
                    f"the rows have the shape {cells.shape}; they need the {len(self._like.columns)} columns of "
                    "explainer.X"
                )
            frame = pd.DataFrame(cells, columns=self._like.columns)
        typed = {name: _typed(frame[name], dtype) for name, dtype in self._like.dtypes.items()}
        return pd.DataFrame(typed, index=frame.index).set_axis(self._names, axis=1)

    def _in_columns(self, values: Array, axes: list[int]) -> Array:
        """Put the value of a group into its first column; the dashboard adds up the columns of a group."""
        for axis in axes:
            if values.shape[axis] < len(self._names):
                shape = (*values.shape[:axis], len(self._names), *values.shape[axis + 1 :])
                wider = np.zeros(shape, dtype=values.dtype)
                np.moveaxis(wider, axis, 0)[self._first] = np.moveaxis(values, axis, 0)
                values = wider
        return values


def _is_about_probability(explainer: ClassifierExplainer) -> bool:
    """Whether a classifier's explainer was made for probability, even if shap's limits made it fall back."""
    if explainer.model_output == "probability":
        return True
    asked_for = explainer.to_yaml(return_dict=True)["explainer"]["params"]["model_output"]
    return bool(asked_for == "probability" and len(explainer.labels) == 2)


def _typed(cells: pd.Series, like: Any) -> Any:
    """Turn objects into numbers or categories; categories that the dashboard has not seen come last."""
    if cells.dtype != object:
        return cells
    if not isinstance(like, pd.CategoricalDtype):
        return cells.astype(np.float64)
    unseen = [cell for cell in cells.dropna().unique() if cell not in like.categories]
    return pd.Series(pd.Categorical(cells, categories=[*like.categories, *unseen]), index=cells.index)


def _interact(explainer: TreeExplainer, rows: pd.DataFrame) -> bool:
    try:
        explainer.shap_interaction_values(rows)
    except InputError:
        return False
    return True


def _owners(columns: list[str], onehot: dict[str, list[str]]) -> NDArray[np.intp]:
    """Return the number of each column's player, counted by first columns."""
    merged = {column: name for name, members in onehot.items() if len(members) > 1 for column in members}
    numbers: dict[tuple[str, bool], int] = {}
    players = [(merged.get(column, column), column in merged) for column in columns]
    return np.array([numbers.setdefault(player, len(numbers)) for player in players], dtype=np.intp)
