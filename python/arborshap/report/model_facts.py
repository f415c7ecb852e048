"""What the explainer adds to a report: the model, how the values were computed, interactions, trees."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from arborshap._core import __version__
from arborshap.explain.provenance import Provenance
from arborshap.explain.softmax import softmax
from arborshap.game.indices import IndexName, is_efficient
from arborshap.report.content import MAX_CELLS, Content, evenly_spaced, mean_size
from arborshap.report.packing import packed
from arborshap.report.shapes import shapes_payload
from arborshap.report.trees import trees_payload
from arborshap.report.wording import contrast_says, trace_in
from arborshap.result.axes import output_labels
from arborshap.result.explanation import Explanation

INTERACTION_ROWS = 200
INTERACTION_SECONDS = 3.0
"""Most estimated time for interactions that the caller did not ask for."""
CONTRAST_ROWS = 20
"""Number of rows whose contrasts are computed in advance if the trees are too large for the page."""


def payload_of_model(content: Content, provenance: Provenance) -> dict[str, Any]:
    """Return the page's data that only the explainer knows."""
    explainer, explanation = provenance.explainer, content.explanation
    payload: dict[str, Any] = {"model": _model_facts(provenance), "computed": _computing_facts(content, provenance)}
    outputs = _model_outputs(content, provenance)
    predicted = provenance.predictions()
    if predicted is not None:
        predicted = predicted[:, outputs]
        payload["margin"] = packed(predicted[content.shown].T)
        payload["becomes"] = _becomes(content, provenance, outputs)
    if explanation.feature_names != explainer.feature_names:
        return payload | {"no_walk": "the explanation has only some of the model's players"}
    if predicted is not None and is_efficient(explanation.index):
        total = content.base + content.values.sum(axis=1, dtype=np.float64)
        sizes = [np.max(np.abs(total - predicted)), np.max(np.abs(predicted))]
        payload["additivity"] = {"sizes": packed(np.array(sizes)), "rows": len(predicted)}
    if provenance.needs_labels:
        return payload | {"no_walk": "a loss depends on the labels of rows, which the page does not have"}
    if not _is_contrast(content, provenance):
        payload["shapes"] = shapes_payload(content, provenance, outputs)
    if is_efficient(explanation.index):
        payload["interactions"] = _interactions(content, provenance, outputs)
        payload["has_no_pairs"] = not provenance.explains_pairs
    if explainer.n_outputs != explainer.forest.n_outputs:
        return payload | {"no_walk": "the prediction is a mean of several raw predictions"}
    payload |= _tree_rows(content, provenance)
    payload["trees"] = trees_payload(explainer.forest, outputs)
    units = explanation.unit, provenance.raw_unit
    payload |= {"trace_in": trace_in(*units), "contrast_says": contrast_says(*units)}
    rescaling = provenance.rescaling(content.shown)
    if rescaling is not None:
        payload["rescaled"] = {name: packed(array[:, outputs].T) for name, array in rescaling._asdict().items()}
    why_ready = None if payload["trees"]["complete"] else "There are too many trees for this page"
    if rescaling is None and explanation.model_output != "raw":
        why_ready = "A probability of one class depends on the trees of all classes"
    if why_ready is not None:
        payload["contrasts"] = _contrasts(content, provenance, outputs) | {"why": why_ready}
    return payload


def _model_outputs(content: Content, provenance: Provenance) -> list[int]:
    """Return the positions, in the model, of the explanation's outputs."""
    n = provenance.explainer.n_outputs
    names = output_labels(provenance.explainer.output_names, n)
    if n == 1 or content.outputs == names:
        return list(range(n))
    return [names.index(name) for name in content.outputs]


def _model_facts(provenance: Provenance) -> list[list[str]]:
    found = provenance.explainer.facts()
    facts = [
        ["Read from", found.library],
        ["Trees", f"{found.n_trees:,}"],
        ["Leaves", f"{found.n_leaves:,}"],
        ["Deepest path", f"{found.max_depth} splits"],
        ["Features", f"{found.n_features:,}"],
    ]
    if found.n_players != found.n_features:
        facts.append(["Players", f"{found.n_players:,}, some with several features"])
    if provenance.explainer.forest.n_outputs > 1:
        facts.append(["Outputs", f"{provenance.explainer.forest.n_outputs:,}"])
    facts.append(["Link", found.link])
    return facts


def _computing_facts(content: Content, provenance: Provenance) -> list[list[str]]:
    found, n, seconds = provenance.explainer.facts(), len(content.values), provenance.seconds
    index = cast("IndexName", content.explanation.index)
    facts = [
        ["Index", _INDEX_NAMES[index]],
        ["Explained", _EXPLAINED[found.model_output]],
        ["Background", _background(content, provenance)],
        ["Plan for this many rows", str(provenance.explainer.explain_plan(n, index=index))],
        ["Engine setting", found.engine],
        ["Threads", str(found.n_threads)],
    ]
    if seconds is not None:
        taken = f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
        facts.append(["Time", f"{taken} for the call that explained the rows"])
    return [*facts, ["arborshap", __version__]]


def _is_contrast(content: Content, provenance: Provenance) -> bool:
    """Whether rows were compared with other rows than the background."""
    is_raw = content.explanation.model_output == "raw"
    return is_raw and not bool(np.isin(content.base, provenance.explainer.expected_value).all())


def _background(content: Content, provenance: Provenance) -> str:
    n_background = provenance.explainer.facts().n_background
    if _is_contrast(content, provenance):
        return "the row or rows of the contrast"
    if not n_background:
        return "none: path-dependent, from the training weights in the trees"
    return f"{n_background:,} rows, all used"


_INDEX_NAMES = {
    "shapley": "Shapley values",
    "taylor": "Shapley-Taylor indices of order two",
    "interaction": "Shapley interaction indices",
    "banzhaf": "Banzhaf values",
}

_EXPLAINED = {
    "raw": "the raw prediction",
    "prediction": "the prediction, after the link",
    "probability": "probabilities",
    "log_loss": "the log loss",
    "squared_error": "the squared error",
}


def _interactions(content: Content, provenance: Provenance, outputs: list[int]) -> dict[str, Any] | None:
    """Return mean sizes of pairs: those that were explained, or Shapley-Taylor indices of a sample of the rows."""
    explainer = provenance.explainer
    n_players, n_rows = len(explainer.feature_names), len(provenance.matrix)
    if n_players < 2 or not provenance.explains_pairs:
        return None
    if content.pairs is not None:
        pairs, index = content.pairs, content.explanation.index
    else:
        room = MAX_CELLS * 2 // (n_players**2 * explainer.n_outputs)
        n = min(n_rows, INTERACTION_ROWS, room)
        while n and explainer.explain_plan(n, index="taylor").seconds > INTERACTION_SECONDS:
            n //= 2
        if n == 0:
            return None
        pairs = provenance.values(evenly_spaced(n_rows, n), "taylor")
        pairs, index = pairs[..., outputs], "taylor"
    return {"index": index, "rows": len(pairs), "sizes": packed(mean_size(pairs).transpose(2, 0, 1))}


def _becomes(content: Content, provenance: Provenance, outputs: list[int]) -> dict[str, Any] | None:
    """Return the probabilities of a softmax, which one output alone does not tell; the page computes all others."""
    if content.explanation.unit.becomes is None or content.explanation.unit.curve is not None:
        return None
    return packed(softmax(provenance.margins(content.shown))[:, outputs].T)


def _tree_rows(content: Content, provenance: Provenance) -> dict[str, Any]:
    """Return the shown rows as the trees read them, unless the page already has the same numbers."""
    read, given = provenance.matrix[content.shown], None if content.data is None else content.data[content.shown]
    facts = {"tree_players": provenance.tree_players, "tree_columns": provenance.tree_columns}
    is_plain = given is not None and provenance.tree_columns is None and given.dtype.kind in "fiub"
    same = is_plain and np.array_equal(cast("NDArray[Any]", given), read, equal_nan=True)
    return {"tree_rows": None if same else packed(read.T), **facts}


def _contrasts(content: Content, provenance: Provenance, outputs: list[int]) -> dict[str, Any]:
    some = evenly_spaced(len(content.shown), min(CONTRAST_ROWS, len(content.shown)))
    pairs = provenance.pair_values(content.shown[some])[..., outputs]
    return {"rows": [int(row) for row in some], "values": packed(pairs.transpose(3, 0, 1, 2))}


def payload_without_model(explanation: Explanation) -> dict[str, Any]:
    """Return the facts about an explanation that does not know its explainer."""
    return {
        "computed": [["Index", _INDEX_NAMES.get(explanation.index, explanation.index)], ["arborshap", __version__]],
        "no_walk": "the explanation does not know its explainer",
    }
