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
    explainer = source.explainer
    rows = source.rows.reshape(-1, explainer._model.forest.n_features)
    margin = explainer._model.forest.margin(rows, explainer._n_threads)
    outputs = _model_outputs(content, explainer)
    margin = margin[:, outputs]
    payload: dict[str, Any] = {
        "margin": packed(margin[content.shown].T),
        "model": _model_facts(explainer),
        "computed": _computing_facts(content, source),
    }
    if content.explanation.feature_names != explainer.feature_names:
        return payload  # some players only: nothing adds up, and a walk would have all of them
    if content.explanation.index != "banzhaf":
        total = content.base + content.values.sum(axis=1, dtype=np.float64)
        payload["additivity"] = {
            "gap": float(np.max(np.abs(total - margin))),
            "largest": float(np.max(np.abs(margin))),
            "rows": len(margin),
        }
        payload["interactions"] = _interactions(content, explainer, rows, outputs)
    payload |= _tree_rows(content, explainer, rows)
    payload["trees"] = trees_payload(explainer._model.forest, outputs)
    if not payload["trees"]["complete"]:
        payload["contrasts"] = _contrasts(content, explainer, rows, outputs)
    return payload


def _model_outputs(content: Content, explainer: TreeExplainer) -> list[int]:
    """The numbers, in the model, of the outputs that the explanation has."""
    names = explainer.output_names or [str(k) for k in range(explainer._model.forest.n_outputs)]
    return [names.index(name) if name in names else 0 for name in content.outputs]


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
    background = f"{explainer._n_background:,} rows, all of them used" if explainer._n_background else None
    facts = [
        ["Index", _INDEX_NAMES[index]],
        ["Background", background or "none: path-dependent, by the training weights that the trees remember"],
        ["Plan", str(explainer.explain_plan(n, index=index))],
        ["Engine asked for", explainer._engine],
        ["Threads", str(explainer._n_threads)],
    ]
    if source.seconds is not None:
        facts.append(["Time", f"{source.seconds:.3g} s for the call that explained the rows"])
    return [*facts, ["arborshap", __version__]]


_INDEX_NAMES = {
    "shapley": "interventional Shapley values",
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
        pairs, index = explainer.taylor_values(rows[evenly_spaced(len(rows), n)]), "taylor"
        pairs = pairs.reshape(n, n_players, n_players, -1)[..., outputs]
    return {"index": index, "rows": len(pairs), "sizes": packed(mean_size(pairs).transpose(2, 0, 1))}


def _tree_rows(content: Content, explainer: TreeExplainer, rows: NDArray[Any]) -> dict[str, Any]:
    """The shown rows as the trees read them, unless the page has the same numbers already."""
    read, given = rows[content.shown], None if content.data is None else content.data[content.shown]
    players = [int(player) for player in explainer._players]
    if given is not None and given.dtype.kind in "fiub" and np.array_equal(given, read, equal_nan=True):
        return {"tree_rows": None, "tree_players": players}
    return {"tree_rows": packed(read.T), "tree_players": players}


def _contrasts(content: Content, explainer: TreeExplainer, rows: NDArray[Any], outputs: list[int]) -> dict[str, Any]:
    some = evenly_spaced(len(content.shown), min(CONTRAST_ROWS, len(content.shown)))
    chosen = rows[content.shown[some]]
    pairs = explainer.pair_values(chosen, chosen)
    pairs = pairs.reshape(len(some), len(some), explainer._n_players, -1)[..., outputs]
    return {"rows": [int(row) for row in some], "values": packed(pairs.transpose(3, 0, 1, 2))}


def facts_without_origin(explanation: Explanation) -> list[list[str]]:
    """What can be said of an explanation that does not know its explainer."""
    from arborshap import __version__

    return [["Index", _INDEX_NAMES.get(explanation.index, explanation.index)], ["arborshap", __version__]]
