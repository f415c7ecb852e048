"""Explainers as MLflow models: `save_model`, `log_model`, `load_model`, and a pyfunc flavour that explains frames.

An MLflow model of this flavour holds the file that `TreeExplainer.save` writes. It contains no pickle, and loading it
needs neither the model's library nor the training code.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
from mlflow.models import Model, infer_signature

from arborshap import Explanation, InputError, ModelError, TreeExplainer, __version__

FLAVOR_NAME = "arborshap"
FILE_NAME = "model.explainer"
BASE_VALUE = "base_value"


def save_model(
    explainer: TreeExplainer,
    path: str | Path,
    *,
    mlflow_model: Model | None = None,
    signature: Any = None,
    input_example: Any = None,
    conda_env: Any = None,
    pip_requirements: Any = None,
    extra_pip_requirements: Any = None,
    code_paths: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Save an explainer to a folder in the format of MLflow models.

    Parameters
    ----------
    explainer
        The explainer. The explainer of a pipeline can be saved if `TreeExplainer.save` can save it.
    path
        The folder to write to. It must be empty or not exist yet.
    mlflow_model
        The MLflow model to add this flavour to; `log_model` passes one.
    signature, input_example, conda_env, pip_requirements, extra_pip_requirements, code_paths, metadata
        As for every flavour of MLflow. The default requirements are this version of arborshap, and the versions of
        MLflow, numpy and pandas. If `input_example` is a frame or an array, the signature is inferred from it. Category
        columns of a frame are saved as their texts or numbers, since MLflow's signatures have no categories.
    """
    if not isinstance(explainer, TreeExplainer):
        raise InputError(
            f"save_model and log_model take an arborshap.TreeExplainer, not a {type(explainer).__name__}; save the "
            "model itself with the flavour of its own library"
        )
    if (output := explainer.facts().model_output) in ("log_loss", "squared_error"):
        raise InputError(f"model_output={output!r} needs the label of each row, which a served model is not given")
    columns_of(explainer)  # refuses names that would clash
    input_example = _without_categories(input_example)
    if signature is None and isinstance(input_example, (pd.DataFrame, np.ndarray)):
        signature = infer_signature(input_example, ExplainingModel(explainer).predict(input_example))
    model = Model() if mlflow_model is None else mlflow_model
    model.add_flavor(FLAVOR_NAME, arborshap_version=__version__, data=f"data/{FILE_NAME}")
    if conda_env is None and pip_requirements is None:
        pip_requirements = [*default_requirements(), *(extra_pip_requirements or ())]
        extra_pip_requirements = None
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, FILE_NAME)
        explainer.save(file)
        mlflow.pyfunc.save_model(
            path=str(path),
            loader_module=__name__,
            data_path=str(file),
            code_paths=code_paths,
            conda_env=conda_env,
            mlflow_model=model,
            signature=signature,
            input_example=input_example,
            pip_requirements=pip_requirements,
            extra_pip_requirements=extra_pip_requirements,
            metadata=metadata,
        )


def log_model(explainer: TreeExplainer, name: str | None = None, **options: Any) -> Any:
    """Log an explainer as a model of the current run, or of a new one.

    Parameters
    ----------
    explainer
        The explainer.
    name
        The name of the logged model.
    **options
        What `save_model` takes, and ``registered_model_name``, ``await_registration_for``, ``params``, ``tags``,
        ``step`` and the like, as for every flavour of MLflow. ``artifact_path`` is the old word for `name`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` is what `load_model` and `mlflow.pyfunc.load_model` take.
    """
    given = {"artifact_path": None, "explainer": explainer} | options
    return Model.log(name=name, flavor=sys.modules[__name__], **given)


def load_model(model_uri: str, dst_path: str | None = None, **settings: Any) -> TreeExplainer:
    """Load an explainer that `save_model` or `log_model` wrote; its values are the same to the last bit.

    Parameters
    ----------
    model_uri
        Where the MLflow model is: a folder, ``models:/...``, ``runs:/...`` or any other address that MLflow knows.
    dst_path
        An existing folder to download to. The default is a temporary one.
    **settings
        ``n_jobs``, ``memory_limit`` and ``limits``, as for `TreeExplainer.load`.

    Returns
    -------
    TreeExplainer
        The explainer.
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri), dst_path=dst_path))
    flavours = Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavours:
        raise ModelError(
            f"the MLflow model at {model_uri} has no explainer, only the flavours {', '.join(flavours)}; "
            "load the model with one of these, and make a TreeExplainer of it"
        )
    return TreeExplainer.load(folder / flavours[FLAVOR_NAME]["data"], **settings)


def default_requirements() -> list[str]:
    """List the packages that a loaded explainer needs to explain frames, in the versions that are installed."""
    return [
        f"arborshap=={__version__}",
        f"mlflow=={mlflow.__version__}",
        f"numpy=={np.__version__}",
        f"pandas=={pd.__version__}",
    ]


class ExplainingModel:
    """What `mlflow.pyfunc.load_model` wraps: a model whose prediction is an explanation.

    Parameters
    ----------
    explainer
        The explainer.
    """

    def __init__(self, explainer: TreeExplainer) -> None:
        self.explainer = explainer

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Explain rows.

        Parameters
        ----------
        model_input
            The rows, in any form that a `TreeExplainer` takes.
        params
            Ignored; MLflow passes it.

        Returns
        -------
        pandas.DataFrame
            One line per row, with one column per player for its Shapley value, and the column ``base_value``. If the
            model has several outputs, there is one such block per output, and the output's name precedes each column's
            name, as in ``setosa: petal length``.
        """
        if isinstance(model_input, dict) and any(isinstance(cells, list) for cells in model_input.values()):
            model_input = pd.DataFrame(model_input)  # columns, as a client of a served model may send them
        return frame_of(self.explainer, self.explainer(model_input))

    def get_raw_model(self) -> TreeExplainer:
        """Return the explainer itself, as `mlflow.pyfunc.PyFuncModel.get_raw_model` does."""
        return self.explainer


def columns_of(explainer: TreeExplainer) -> list[str]:
    """List the columns of a prediction; `InputError` if two of them would have the same name."""
    outputs = [""] if explainer.n_outputs == 1 else [f"{name}: " for name in _output_names(explainer)]
    columns = [output + name for output in outputs for name in [*explainer.feature_names, BASE_VALUE]]
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InputError(f"two columns of an explanation would be called {twice!r}; rename the players or the outputs")
    return columns


def frame_of(explainer: TreeExplainer, explanation: Explanation) -> pd.DataFrame:
    """Make a frame of an explanation: one column per player and one for the base value, output by output."""
    n_players, n_outputs = len(explainer.feature_names), explainer.n_outputs
    n_rows = len(explanation) if explanation.has("row") else 1  # a row by itself
    values = explanation.values.reshape(n_rows, n_players, n_outputs)
    base = explanation.base_values.reshape(n_rows, 1, n_outputs)
    blocks = np.concatenate([values, base], axis=1)
    cells = np.moveaxis(blocks, 2, 1).reshape(n_rows, n_outputs * (n_players + 1))
    kind = explanation.frame_kind
    return pd.DataFrame(cells, columns=columns_of(explainer), index=None if kind is None else kind.index)


def _without_categories(example: Any) -> Any:
    """Return an example whose category columns hold plain texts or numbers; `TreeExplainer` reads these as well."""
    if not isinstance(example, pd.DataFrame):
        return example
    plain = {
        name: kind.categories.dtype for name, kind in example.dtypes.items() if isinstance(kind, pd.CategoricalDtype)
    }
    return example.astype(plain) if plain else example


def _output_names(explainer: TreeExplainer) -> list[str]:
    return explainer.output_names or [str(k) for k in range(explainer.n_outputs)]


def _load_pyfunc(path: str) -> ExplainingModel:
    """Load the explainer; MLflow calls this by its name."""
    return ExplainingModel(TreeExplainer.load(path))
