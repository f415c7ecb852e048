"""arborshap as a backend of shapash: ``SmartExplainer(model, backend=ArborshapBackend(model, background))``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from shapash.backend import BaseBackend
from shapash.utils.transform import get_features_transform_mapping, inverse_transform

from arborshap import Explanation, TreeExplainer
from arborshap.adapters import shap
from arborshap.adapters.players import check_one_per_column


class ArborshapBackend(BaseBackend):  # type: ignore[misc, unused-ignore]
    """Computes the contributions that shapash shows, exactly and against a whole background.

    Columns that an encoder made from one original column play as one player. The contribution of the original column is
    the value of that player, not a sum over encoded columns. A pipeline is explained in its raw columns.

    Parameters
    ----------
    model
        The model that `SmartExplainer` is given, which may be a pipeline that ends in a tree model.
    data
        The background: the rows that predictions are compared with, with the same columns as the rows passed to
        `SmartExplainer.compile`. If omitted, the rows of its first call are the background.
    preprocessing
        The encoders that made the model's columns. If omitted, `SmartExplainer` passes on those that it was given.
    **options
        Any argument of `TreeExplainer`, such as ``model_output="probability"``. By default the raw prediction is
        explained.

    Attributes
    ----------
    explainer : InteractionExplainer or None
        The explainer in the form that shapash's interaction plots need; ``None`` until rows have been compiled. Its
        attribute ``explainer`` is the `arborshap.TreeExplainer`.
    """

    name = "arborshap"
    column_aggregation = "sum"
    support_groups = True

    def __init__(self, model: Any, data: Any = None, preprocessing: Any = None, **options: Any) -> None:
        super().__init__(model, preprocessing)
        self.data = data
        self.options = options
        self.explainer: InteractionExplainer | None = None

    def run_explainer(self, x: pd.DataFrame) -> dict[str, Any]:
        """Explain rows; shapash calls this.

        Parameters
        ----------
        x
            The rows that the model predicts.

        Returns
        -------
        dict
            ``contributions``: a frame, or for a classifier one frame per class. ``base_values``: one number per row,
            or per row and class.
        """
        original = inverse_transform(x, self.preprocessing)
        if self.explainer is None:
            ours = self._explainer_of(x, original)
            check_one_per_column(ours, original.columns, "shapash")
            self.explainer = InteractionExplainer(ours, list(original.columns), self._case == "classification")
        explanation = self.explainer.explainer(x)
        if self._case == "regression":
            return {"contributions": _frame(explanation, original), "base_values": explanation.base_values}
        if explanation.has("output"):
            outputs = range(explanation.shape[-1])
            contributions = [_frame(explanation[..., k], original) for k in outputs]
            return {"contributions": contributions, "base_values": explanation.base_values}
        positive = _frame(explanation, original)
        base = pd.Series(explanation.base_values)
        other = -base if explanation.model_output == "raw" else 1 - base
        return {"contributions": [-positive, positive], "base_values": pd.concat([other, base], axis=1).to_numpy()}

    def _explainer_of(self, x: pd.DataFrame, original: pd.DataFrame) -> TreeExplainer:
        made = get_features_transform_mapping(original, x, self.preprocessing)
        groups = {name: columns for name, columns in made.items() if columns != [name]}
        options = {"groups": groups} if groups else {}
        return TreeExplainer(self.model, x if self.data is None else self.data, **options | self.options)


class InteractionExplainer(shap.TreeExplainer):
    """An explainer whose interactions have the form that shapash draws: in its columns, and one array per class.

    Parameters
    ----------
    explainer
        The explainer.
    columns
        The columns that shapash shows.
    classifier
        Whether there are classes.
    """

    def __init__(self, explainer: TreeExplainer, columns: list[str], classifier: bool) -> None:
        super().__init__(explainer)
        self._positions = [explainer.feature_names.index(name) for name in columns]
        self._classifier = classifier

    def shap_interaction_values(self, X: Any, y: Any = None, tree_limit: int | None = None) -> Any:
        """Compute interactions of pairs of columns: (rows, columns, columns), or a list of one array per class."""
        values: NDArray[Any] = super().shap_interaction_values(X, y, tree_limit)
        values = values[:, self._positions][:, :, self._positions]
        if not self._classifier:
            return values
        return [-values, values] if values.ndim == 3 else list(np.moveaxis(values, -1, 0))


def _frame(explanation: Explanation, original: pd.DataFrame) -> pd.DataFrame:
    """Name values by the columns that shapash shows, in their order."""
    values = pd.DataFrame(explanation.values, columns=explanation.feature_names, index=original.index)
    return values[list(original.columns)]
