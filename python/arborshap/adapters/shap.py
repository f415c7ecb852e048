"""`shap.TreeExplainer` with the values of arborshap: ``pip install 'arborshap[shap]'``.

>>> from arborshap.adapters.shap import TreeExplainer  # instead of: from shap import TreeExplainer
>>> explanation = TreeExplainer(model, X_train)(X)  # doctest: +SKIP
>>> shap.plots.beeswarm(explanation)  # doctest: +SKIP

The result of a call is a `shap.Explanation`, so everything that shap's users do with one works. All values are
arborshap's: the whole background, exact, and checked against the predictions of the model's own library.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray

import arborshap
from arborshap.adapters import shap_inputs as inputs

Array = NDArray[Any]


class TreeExplainer(shap.TreeExplainer):  # type: ignore[misc] # shap ships no types
    """Explains tree ensembles as `arborshap.TreeExplainer` does, in the shape of `shap.TreeExplainer`.

    Tools that check for a `shap.TreeExplainer` accept it, but no value is computed by shap's code.

    Parameters
    ----------
    model
        Any model that `arborshap.TreeExplainer` takes, or an `arborshap.TreeExplainer`, which keeps its own background
        and output. Of the other arguments, it then takes `engine`, `n_jobs` and `memory_limit` only.
    data
        The background: whatever `arborshap.TreeExplainer` takes, a masker of shap, or an `xgboost.DMatrix`. Every row
        is used. A masker keeps only 100 rows unless told otherwise, so pass the rows themselves.
    model_output
        ``"raw"``, ``"probability"``, ``"log_loss"`` and ``"predict_proba"``, as in shap. ``"predict"`` is arborshap's
        ``"prediction"``. A number selects one output of the raw prediction.
    feature_perturbation
        As in shap. ``"interventional"`` without data gives a warning and path-dependent values, as in shap.
    feature_names
        Names of the columns.
    approximate, link, linearize_link
        Accepted if they change nothing, and refused otherwise.
    groups, sample_weight, verify, engine, n_jobs, memory_limit
        Additional arguments, which shap does not have; see `arborshap.TreeExplainer`.

    Attributes
    ----------
    explainer : arborshap.TreeExplainer
        The explainer that does the work; use it for everything that shap does not offer.
    expected_value : float or array
        As in arborshap: a float, or one number per output. For ``model_output="log_loss"`` a function of the label.
    data : array or None
        The rows of the background; ``None`` if there are none, or if they came as an `arborshap.Background`.
    """

    def __init__(
        self,
        model: Any,
        data: Any = None,
        model_output: Any = "raw",
        feature_perturbation: str = "auto",
        feature_names: Sequence[str] | None = None,
        approximate: Any = False,
        link: Any = None,
        linearize_link: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        verify: bool = True,
        engine: str = "auto",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
    ) -> None:
        # Not super().__init__, which would read the model its own way, and keep 100 rows of the background.
        output = inputs.ChosenOutput.of(model_output)
        if isinstance(model, inputs.Loaded):
            self.explainer, model = model.explainer, model.model
        elif isinstance(model, arborshap.TreeExplainer):
            inputs.refuse_settings(
                data=None if data is model.data else data,
                model_output=None if model_output == "raw" else model_output,
                feature_perturbation=None
                if feature_perturbation in ("auto", model.feature_perturbation)
                else feature_perturbation,
                feature_names=feature_names,
                approximate=True if inputs.is_asked_for(approximate) else None,
                link=None if link is shap.links.identity else link,
                groups=groups,
                sample_weight=sample_weight,
            )
            self.explainer = model.with_settings(
                engine=None if engine == "auto" else engine, n_jobs=n_jobs, memory_limit=memory_limit
            )
            model_output = model.facts().model_output
            model, data = model.model, model.data
        else:
            settings = {
                "feature_perturbation": inputs.perturbation(feature_perturbation, data),
                "feature_names": feature_names,
                "groups": groups,
                "sample_weight": sample_weight,
                "verify": verify,
                "engine": engine,
                "n_jobs": n_jobs,
                "memory_limit": memory_limit,
                "approximate": inputs.is_asked_for(approximate),
                "link": link,
            }
            with inputs.errors_of_shap(model, output):
                self.explainer = inputs.explainer_of(model, data, output.name, settings)
        self.model_output = model_output
        self.feature_names = feature_names
        self.link = shap.links.identity
        self.linearize_link = True if linearize_link is None else linearize_link
        self.output_names = None
        self._output = output.checked(self.explainer.n_outputs)
        self._given = inputs.Given(model, data)
        self._is_loss = self.explainer.facts().model_output in inputs.LOSSES
        names = feature_names if feature_names is not None else self._given.names
        if names is not None:
            self.data_feature_names = list(names)

    @property
    def feature_perturbation(self) -> str:
        """``"interventional"`` if rows are compared with a background, and ``"tree_path_dependent"`` if not."""
        return self.explainer.feature_perturbation

    @property
    def data(self) -> Array | None:
        """The rows of the background, all of them, as an array."""
        return self._given.rows

    @property
    def data_missing(self) -> Any:
        """Which cells of the background are missing."""
        return None if self.data is None else inputs.missing_in(self.data)

    @property
    def masker(self) -> Any:
        """The background as a masker of shap, with all rows."""
        return self._given.masker() if "_given" in self.__dict__ else self.__dict__["masker"]

    @property
    def model(self) -> Any:
        """The model as shap reads it, a ``TreeEnsemble``, for code that looks at shap's trees.

        It is made on first use, and no value depends on it. If shap cannot read the model (a pipeline, for example),
        this is the model as it was given.
        """
        if "_given" not in self.__dict__:  # `shap.Explainer` turns itself into this class, and asks before `__init__`
            return self.__dict__["model"]
        data = self.data if self.feature_perturbation == "tree_path_dependent" else None
        return self._given.ensemble(data, self.model_output)

    @property
    def expected_value(self) -> Any:
        """The mean of the explained output over the background; for ``"log_loss"`` a function of the label."""
        if self._is_loss:
            return self._expected_loss
        return self._output.of_expected(self.explainer.expected_value)

    def _expected_loss(self, y: Any) -> Any:
        labels = np.atleast_1d(np.asarray(y))
        row = np.zeros(len(self.explainer.data_names)) if self.data is None else self.data[0]
        base = self.explainer(np.tile(row, (len(labels), 1)), labels).base_values
        return base if np.ndim(y) else base[0]

    def __call__(
        self,
        X: Any,
        y: Any = None,
        interactions: bool = False,
        check_additivity: bool = True,
        approximate: bool = False,
    ) -> Any:
        """Explain rows.

        Parameters
        ----------
        X
            The rows to explain: whatever `arborshap.TreeExplainer` takes. A frame whose columns have other names than
            the model's is read by position, as shap does, with a warning.
        y
            The label of each row, which only a loss needs.
        interactions
            Whether to compute Shapley interaction values.
        check_additivity
            Has no effect, because values add up: see `verify`, which compares with the library's own predictions.
        approximate
            Must be false: Saabas values are not Shapley values.

        Returns
        -------
        shap.Explanation
            The values, with the data and names.
        """
        start = perf_counter()
        y = self._labels(y)
        ours = self._ask(lambda rows: self.explainer(rows, y, bool(interactions), approximate=approximate), X)
        names = inputs.names_for_plots(X, ours, getattr(self, "data_feature_names", None))
        return inputs.explanation_of_shap(ours, self._output, names, perf_counter() - start)

    def shap_values(
        self,
        X: Any,
        y: Any = None,
        tree_limit: int | None = None,
        approximate: bool = False,
        check_additivity: bool = True,
        from_call: bool = False,
    ) -> Array:
        """Compute Shapley values: (rows, players) or (rows, players, outputs); see `__call__`.

        `tree_limit` must be ``None``, negative, or at least the number of trees. `from_call` has no effect.
        """
        y = self._labels(y)
        values = self._ask(lambda rows: self.explainer.shap_values(rows, y, inputs.limit(tree_limit), approximate), X)
        return self._output.of_values(values)

    def shap_interaction_values(self, X: Any, y: Any = None, tree_limit: int | None = None) -> Array:
        """Compute Shapley interaction values: (rows, players, players) or (rows, players, players, outputs)."""
        y = self._labels(y)
        values = self._ask(lambda rows: self.explainer.shap_interaction_values(rows, y, inputs.limit(tree_limit)), X)
        return self._output.of_values(values)

    def _labels(self, y: Any) -> Any:
        """Return the labels if a loss is explained; shap ignores them otherwise."""
        return y if self._is_loss else None

    def _ask(self, question: Callable[[Any], Any], X: Any) -> Any:
        """Ask about rows; if the names of a frame's columns are not the model's, ask by position."""
        return inputs.ask_by_position_too(question, X, lambda: self.explainer.data_names)

    def save(self, out_file: Any, model_saver: Any = None, masker_saver: Any = None) -> None:
        """Write the explainer to an open file for `load` or `shap.Explainer.load`: a pickle, as shap's files are.

        `model_saver` is called with the model and the file, as in shap; if it is false, the model is not saved. The
        loaded explainer needs the model only for its attribute `model`. `masker_saver` has no effect.
        """
        pickle.dump(type(self), out_file)  # shap's `load` finds the class by it
        inputs.save_to(out_file, self.explainer, self._given, self._output.asked_for, model_saver)

    @classmethod
    def load(cls, in_file: Any, model_loader: Any = None, masker_loader: Any = None, instantiate: bool = True) -> Any:
        """Read an explainer from an open file that `save` wrote. It gives the same values to the last bit."""
        if instantiate:
            return cls._instantiated_load(in_file, model_loader=model_loader, masker_loader=masker_loader)
        return inputs.load_from(in_file, model_loader)

    def __repr__(self) -> str:
        return f"<shap.TreeExplainer by arborshap: {self.explainer!r}>"

    @staticmethod
    def supports_model_with_masker(model: Any, masker: Any) -> bool:
        """Whether arborshap can explain this model."""
        try:
            arborshap.TreeExplainer(model, verify=False)
        except (arborshap.ArborshapError, ImportError):
            return False
        return masker is None or hasattr(masker, "data")
