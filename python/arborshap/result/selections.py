"""Sets of rows of an explanation: a sample, cohorts, an order that puts similar rows together, concatenation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arborshap._util.checks import is_whole, whole_number
from arborshap.exceptions import InputError
from arborshap.rows.frames import FrameKind

if TYPE_CHECKING:
    from arborshap.result.explanation import Explanation


def sample(explanation: Explanation, max_samples: int, *, replace: bool, random_state: Any) -> Explanation:
    """Choose rows at random; all of them, in their order, if there are no more than `max_samples`."""
    n = len(explanation)
    count = whole_number("max_samples", max_samples, 1, 2**62, "a positive number of rows")
    if count >= n and not replace:
        return explanation
    return explanation[np.random.default_rng(random_state).choice(n, count, replace=replace)]


def cohorts(explanation: Explanation, by: Any) -> dict[str, Explanation]:
    """Divide the rows by labels, one per row, or into at most `by` cohorts that a small decision tree finds."""
    n = len(explanation)
    labels = _found_by_a_tree(explanation, by) if is_whole(by) else np.asarray(by)
    if labels.shape != (n,):
        raise InputError(f"cohorts needs a number of cohorts, or one label for each of {n} rows; got {labels.shape}")
    texts = np.array([str(label) for label in labels.tolist()], dtype=object)
    return {label: explanation[np.flatnonzero(texts == label)] for label in dict.fromkeys(texts.tolist())}


def _found_by_a_tree(explanation: Explanation, most: int) -> NDArray[Any]:
    """Label each row with the leaf of a decision tree that predicts the values from the data."""
    from sklearn.tree import DecisionTreeRegressor

    most = whole_number("cohorts", most, 1, 2**31 - 1, "a positive number of cohorts")
    data = explanation.data
    if data is None or data.dtype.kind not in "fiub":
        raise InputError("cohorts(number) needs numeric data; give one label per row instead")
    if most == 1:
        return np.full(len(explanation), "all rows", dtype=object)
    filled = np.nan_to_num(data.astype(np.float64))
    tree = DecisionTreeRegressor(max_leaf_nodes=most, random_state=0)
    tree.fit(filled, explanation.values.reshape(len(explanation), -1))
    leaves = tree.apply(filled)
    named = _conditions(tree.tree_, explanation.data_names)
    return np.array([named[leaf] for leaf in leaves.tolist()], dtype=object)


def _conditions(tree: Any, names: list[str]) -> dict[int, str]:
    """Describe each leaf by the conditions on the way to it."""
    waiting, found = [(0, "")], {}
    while waiting:
        node, path = waiting.pop()
        if tree.children_left[node] < 0:
            found[node] = path or "all rows"
            continue
        name, cut = names[tree.feature[node]], tree.threshold[node]
        before = f"{path} & " if path else ""
        waiting.append((int(tree.children_left[node]), f"{before}{name} <= {cut:.4g}"))
        waiting.append((int(tree.children_right[node]), f"{before}{name} > {cut:.4g}"))
    return found


def similar_together(explanation: Explanation, metric: str, axis: int) -> NDArray[np.intp]:
    """Return an order of the rows (axis 0) or players (axis 1) that puts those with similar values side by side."""
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import pdist

    if [found.kind for found in explanation.axes] != ["row", "player"]:
        raise InputError("hclust needs values of rows by players; select one output first, such as explanation[..., 0]")
    if axis not in (0, 1):
        raise InputError(f"axis must be 0 (rows) or 1 (players); got {axis!r}")
    values = explanation.values if axis == 0 else explanation.values.T
    if len(values) < 3:
        return np.arange(len(values))
    distances = pdist(values, metric)
    return np.asarray(leaves_list(optimal_leaf_ordering(linkage(distances, "complete"), distances)), np.intp)


def concat(explanations: Iterable[Explanation]) -> Explanation:
    """Put the rows of explanations of the same players and outputs one after another."""
    parts = list(explanations)
    if not parts:
        raise InputError("concat needs at least one explanation")
    first = parts[0]
    for i, part in enumerate(parts):
        for what in ("index", "model_output", "feature_names", "output_names", "data_names", "data_players"):
            ours, theirs = getattr(first, what), getattr(part, what)
            if ours != theirs:
                raise InputError(f"explanation {i} has another {what} than explanation 0: {theirs!r} and {ours!r}")
        if not part.has("row"):
            raise InputError(f"explanation {i} is one row without an axis of rows; use explanation[[i]] to select it")
    result = first[:0]
    result.values = np.concatenate([part.values for part in parts])
    result.base_values = np.concatenate([part.base_values for part in parts])
    result.data = _joined([part.data for part in parts])
    result.row_labels = _joined([part.row_labels for part in parts])
    result.provenance = None
    result.adds_up = all(part.adds_up for part in parts)
    result.frame_kind = _kind_of([part.frame_kind for part in parts])
    return result


def _joined(arrays: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    given = [array for array in arrays if array is not None]
    return np.concatenate(given) if len(given) == len(arrays) else None


def _kind_of(kinds: list[FrameKind | None]) -> FrameKind | None:
    given = [kind for kind in kinds if kind is not None]
    if len(given) < len(kinds) or len({kind.kind for kind in given}) > 1:
        return None
    index = given[0].index
    return FrameKind(given[0].kind, None if index is None else index.append([kind.index for kind in given[1:]]))
