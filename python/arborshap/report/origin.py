"""What the explainer behind an explanation has to add: the model, how it was computed, interactions, trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from arborshap.explanation import Explanation
from arborshap.report.content import MAX_CELLS, Content, evenly_spaced, mean_size
from arborshap.report.packing import packed
from arborshap.report.trees import trees_payload
from arborshap.source import Source

if TYPE_CHECKING:
    from arborshap.explainer import IndexName, TreeExplainer

INTERACTION_ROWS = 200
INTERACTION_SECONDS = 3.0
"""Estimated time that interactions may take which nobody asked for."""
CONTRAST_ROWS = 20
"""Rows whose contrasts are computed in advance when the trees are too large for the page."""


def origin_payload(content: Content, source: Source) -> dict[str, Any]:
    """The part of the page's data that only the explainer knows."""
    explainer, explanation = source.explainer, content.explanation
    payload: dict[str, Any] = {"model": _model_facts(explainer), "computed": _computing_facts(content, source)}
    rows = source.rows.reshape(len(content.values), -1)
    outputs = _model_outputs(content, explainer)
    predicted = _predictions(explainer, rows)
    if predicted is not None:
        predicted = predicted[:, outputs]
        payload["margin"] = packed(predicted[content.shown].T)
    if explanation.feature_names != explainer.feature_names:
        return payload | {"no_walk": "only some of the model's players are here"}
    if predicted is not None and explanation.index != "banzhaf":
        total = content.base + content.values.sum(axis=1, dtype=np.float64)
        payload["additivity"] = {
            "gap": float(np.max(np.abs(total - predicted))),
            "largest": float(np.max(np.abs(predicted))),
            "rows": len(predicted),
        }
    if explainer._rescaled is not None:
        return payload | {"no_walk": "the walk is of raw predictions, and something else was explained"}
    if explanation.index != "banzhaf":
        payload["interactions"] = _interactions(content, explainer, rows, outputs)
    payload |= _tree_rows(content, explainer, rows)
    payload["trees"] = trees_payload(explainer._model.forest, outputs)
    if not payload["trees"]["complete"]:
        payload["contrasts"] = _contrasts(content, explainer, rows, outputs)
    return payload


def _predictions(explainer: TreeExplainer, rows: NDArray[Any]) -> NDArray[np.float64] | None:
    """What the values should add up to: (rows, outputs). ``None`` for a loss, as the labels are not at hand."""
    margins = explainer._model.forest.margin(rows, explainer._n_threads)
    if explainer._rescaled is None:
        return margins
    return None if explainer._rescaled.output.is_loss else explainer._rescaled.output.of(margins, None)


def _model_outputs(content: Content, explainer: TreeExplainer) -> list[int]:
    """The numbers, in the model, of the outputs that the explanation has."""
    n = explainer._n_outputs
    names = explainer.output_names or [str(k) for k in range(n)]
    if n == 1 or content.outputs == names:
        return list(range(n))
    return [names.index(name) for name in content.outputs]


def _model_facts(explainer: TreeExplainer) -> list[list[str]]:
    model, forest = explainer._model, explainer._model.forest
    facts = [
        ["Read from", model.library],
        ["Trees", f"{forest.n_trees:,}"],
        ["Leaves", f"{forest.n_leaves:,}"],
        ["Deepest path", f"{forest.max_depth} splits"],
        ["Features", f"{forest.n_features:,}"],
    ]
    if explainer._n_players != forest.n_features:
        facts.append(["Players", f"{explainer._n_players:,}, some of several features"])
    if forest.n_outputs > 1:
        facts.append(["Outputs", f"{forest.n_outputs:,}"])
    facts.append(["Link", model.link])
    return facts


def _computing_facts(content: Content, source: Source) -> list[list[str]]:
    from arborshap import __version__

    explainer, n = source.explainer, len(content.values)
    index = cast("IndexName", content.explanation.index)
    rescaled = explainer._rescaled
    explained = (
        "the raw prediction" if rescaled is None else "the log loss" if rescaled.output.is_loss else "probabilities"
    )
    facts = [
        ["Index", _INDEX_NAMES[index]],
        ["Explained", explained],
        ["Background", _background(content, explainer)],
        ["Plan for as many rows", str(explainer.explain_plan(n, index=index))],
        ["Engine asked for", explainer._engine],
        ["Threads", str(explainer._n_threads)],
    ]
    if source.seconds is not None:
        facts.append(["Time", f"{source.seconds:.3g} s for the call that explained the rows"])
    return [*facts, ["arborshap", __version__]]


def _background(content: Content, explainer: TreeExplainer) -> str:
    expected = explainer._core.expected_value
    if explainer._rescaled is None and not np.isin(content.base, expected).all():
        return "the row or rows it was contrasted with"
    if not explainer._n_background:
        return "none: path-dependent, by the training weights that the trees remember"
    return f"{explainer._n_background:,} rows, all of them used"


_INDEX_NAMES = {
    "shapley": "Shapley values",
    "taylor": "Shapley-Taylor indices of order two",
    "interaction": "Shapley interaction indices",
    "banzhaf": "Banzhaf values",
}


def _interactions(
    content: Content, explainer: TreeExplainer, rows: NDArray[Any], outputs: list[int]
) -> dict[str, Any] | None:
    """Mean sizes of pairs: of those that were explained, or of Shapley-Taylor indices of a sample of the rows."""
    n_players = explainer._n_players
    if n_players < 2:
        return None
    if content.pairs is not None:
        pairs, index = content.pairs, content.explanation.index
    else:
        room = MAX_CELLS * 2 // (n_players**2 * explainer._n_outputs)
        n = min(len(rows), INTERACTION_ROWS, room)
        while n and explainer.explain_plan(n, index="taylor").seconds > INTERACTION_SECONDS:
            n //= 2
        if n == 0:
            return None
        some = np.ascontiguousarray(rows[evenly_spaced(len(rows), n)])
        pairs = explainer._core.explain(some, "taylor", engine=explainer._engine, n_threads=explainer._n_threads)
        pairs, index = pairs[..., outputs], "taylor"
    return {"index": index, "rows": len(pairs), "sizes": packed(mean_size(pairs).transpose(2, 0, 1))}


def _tree_rows(content: Content, explainer: TreeExplainer, rows: NDArray[Any]) -> dict[str, Any]:
    """The shown rows as the trees read them, unless the page has the same numbers already."""
    read, given = rows[content.shown], None if content.data is None else content.data[content.shown]
    players = [int(player) for player in explainer._players]
    if explainer._pipeline is not None:  # the trees see other columns than those that were given
        names = list(explainer._pipeline.names_of_features())
        return {"tree_rows": packed(read.T), "tree_players": players, "tree_columns": names}
    same = given is not None and given.dtype.kind in "fiub" and np.array_equal(given, read, equal_nan=True)
    return {"tree_rows": None if same else packed(read.T), "tree_players": players, "tree_columns": None}


def _contrasts(content: Content, explainer: TreeExplainer, rows: NDArray[Any], outputs: list[int]) -> dict[str, Any]:
    some = evenly_spaced(len(content.shown), min(CONTRAST_ROWS, len(content.shown)))
    chosen = np.ascontiguousarray(rows[content.shown[some]])
    pairs = explainer._core.explain_pairs(chosen, chosen, n_threads=explainer._n_threads)[..., outputs]
    return {"rows": [int(row) for row in some], "values": packed(pairs.transpose(3, 0, 1, 2))}


def payload_without_origin(explanation: Explanation) -> dict[str, Any]:
    """What can be said of an explanation that does not know its explainer."""
    from arborshap import __version__

    return {
        "computed": [["Index", _INDEX_NAMES.get(explanation.index, explanation.index)], ["arborshap", __version__]],
        "no_walk": "the explanation does not know its explainer",
    }
