"""The evaluator plug-in of MLflow: ``mlflow.models.evaluate(..., evaluators=["default", "arborshap"])``.

MLflow finds it by its entry point.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import mlflow
from matplotlib.figure import Figure
from mlflow.models.evaluation import EvaluationArtifact, EvaluationResult, ModelEvaluator

from arborshap import ArborshapError, TreeExplainer

LOGGER = logging.getLogger("arborshap")
SETTINGS = ("background", "model_output", "log_explainer", "log_model_explainability", "ignore_exceptions")


class ArborshapEvaluator(ModelEvaluator):  # type: ignore[misc, unused-ignore]
    """Explains the evaluated rows, and logs what matters to the model.

    It logs ``arborshap_importance.csv`` and ``.png`` (the mean size of each feature's values), and
    ``arborshap_report.html``, a page that shows every row. Models that are not made of trees are skipped with a
    warning, and so is a setting that it does not know. Its settings are in ``evaluator_config={"arborshap": {...}}``:

    ``background``
        The rows to compare with. The default is the evaluated rows.
    ``model_output``
        What to explain; the default is ``"prediction"``, what the model itself predicts.
    ``log_explainer``
        Whether to log the explainer too, as an MLflow model; ``False`` by default.
    ``log_model_explainability``
        ``False`` switches the evaluator off, as it does for MLflow's own explanations.
    ``ignore_exceptions``
        By default, an error of arborshap becomes a warning; ``False`` lets it end the evaluation.
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: dict[str, Any], **_: Any) -> bool:
        """Whether the evaluator takes part: for classifiers and regressors, unless it is switched off."""
        return model_type in ("classifier", "regressor") and bool(
            (evaluator_config or {}).get("log_model_explainability", True)
        )

    def evaluate(
        self, *, dataset: Any, run_id: str, evaluator_config: dict[str, Any], model: Any = None, **_: Any
    ) -> EvaluationResult | None:
        """Explain the rows of a dataset and log the results to a run; MLflow calls this.

        Returns
        -------
        EvaluationResult or None
            The artifacts, or ``None`` if the model cannot be explained.
        """
        config = evaluator_config or {}
        rows = dataset.features_data
        for name in config:
            if name not in SETTINGS:
                LOGGER.warning("arborshap's evaluator has no setting %r; it has %s", name, ", ".join(SETTINGS))
        forgiving = config.get("ignore_exceptions", True)
        try:
            explainer = _explainer_of(model, rows, config)
            with tempfile.TemporaryDirectory() as scratch:
                artifacts = _logged(explainer, rows, run_id, Path(scratch))
        except ArborshapError as error:
            if not forgiving:
                raise
            LOGGER.warning("arborshap skips this evaluation: %s", error)
            return None
        if config.get("log_explainer"):
            from arborshap.adapters.mlflow import log_model  # noqa: PLC0415 (MLflow imports this module while it starts)

            try:
                log_model(explainer, name="explainer")
            except ArborshapError as error:
                if not forgiving:
                    raise
                LOGGER.warning("arborshap logs no explainer: %s", error)
        return EvaluationResult(metrics={}, artifacts=artifacts, run_id=run_id)


class FileArtifact(EvaluationArtifact):  # type: ignore[misc, unused-ignore]
    """A logged file, whose content is its bytes."""

    def _save(self, output_artifact_path: str) -> None:
        Path(output_artifact_path).write_bytes(self._content)

    def _load_content_from_file(self, local_artifact_path: str) -> bytes:
        return Path(local_artifact_path).read_bytes()


def _explainer_of(model: Any, rows: Any, config: dict[str, Any]) -> TreeExplainer:
    raw = None
    if model is not None:
        try:
            raw = model.get_raw_model()
        except (AttributeError, NotImplementedError):
            raw = model  # refused below, by its class
    if isinstance(raw, TreeExplainer):
        return raw
    background = config.get("background")
    return TreeExplainer(
        raw, rows if background is None else background, model_output=config.get("model_output", "prediction")
    )


def _logged(explainer: TreeExplainer, rows: Any, run_id: str, scratch: Path) -> dict[str, Any]:
    """Write the files, log them to the run, and return them as MLflow's artifacts by their names."""
    importance = explainer.importance(rows)
    files = {name: scratch / f"arborshap_{name}" for name in ("importance.csv", "importance.png", "report.html")}
    importance.to_frame().to_csv(files["importance.csv"], index=False)
    figure = Figure()  # not pyplot's, which would keep it
    importance.plot(ax=figure.subplots())
    figure.savefig(files["importance.png"], dpi=150, bbox_inches="tight")
    explainer(rows).report(files["report.html"])
    client = mlflow.MlflowClient()
    address = client.get_run(run_id).info.artifact_uri
    artifacts = {}
    for file in files.values():
        client.log_artifact(run_id, str(file))
        artifacts[file.name] = FileArtifact(uri=f"{address}/{file.name}", content=file.read_bytes())
    return artifacts
