"""Models as dictionaries of arrays, in the form that shap's TreeExplainer takes: ``{"trees": [...]}``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.forest.forest import as_array
from arborshap.models.documents import take_list
from arborshap.models.link import Link
from arborshap.models.model import Model

_LINKS = {"raw_value": "identity", "log_odds": "logistic", "probability": "probability"}
_KEYS = {"trees", "base_offset", "input_dtype", "internal_dtype", "objective", "tree_output", "model_output"}


def load_dictionary(model: dict[str, Any], feature_names: Sequence[str] | None, n_columns: int | None) -> Model:
    """Read a dictionary of trees; values up to a threshold go left, and missing values to ``children_default``."""
    unknown = sorted(set(map(str, model)) - _KEYS)
    if unknown:
        raise ModelError(f"the dictionary has the entry {unknown[0]!r}, which is not known; known are {sorted(_KEYS)}")
    trees = take_list(model, "trees", "the dictionary")
    if not len(trees):
        raise ModelError("the dictionary has no trees")
    read = [_Tree(tree, t, np.dtype(model.get("internal_dtype", np.float64))) for t, tree in enumerate(trees)]
    needed = max(tree.n_features for tree in read)
    width = n_columns if feature_names is None else len(feature_names)
    if width is not None and width < needed:
        raise ModelError(f"the trees split on column {needed - 1}, but there are only {width} columns")
    outputs = {tree.value.shape[1] for tree in read}
    if len(outputs) > 1:
        raise ModelError(f"the trees have different numbers of outputs: {sorted(outputs)}")
    n_outputs = outputs.pop()
    is_single = np.dtype(model.get("input_dtype", np.float64)) == np.float32
    builder = ForestBuilder(
        needed if width is None else width, n_outputs, rule="<=", precision="float32" if is_single else "float64"
    )
    for tree in read:
        builder.add_tree(**tree.arrays(n_outputs))
    return Model(
        forest=builder.build(base=np.broadcast_to(model.get("base_offset", 0.0), n_outputs)),
        library="a dictionary of trees",
        link=Link.named(_LINKS.get(str(model.get("tree_output")), "unknown")),
    )


class _Tree:
    def __init__(self, tree: Any, t: int, dtype: np.dtype[Any]) -> None:
        where = f"tree {t}"
        plural = "features" in tree if isinstance(tree, dict) else True
        # shap also takes the names of scikit-learn's arrays.
        names = ("features", "thresholds", "values") if plural else ("feature", "threshold", "value")
        arrays = [as_array(f"{where}: {name}", take_list(tree, name, where)) for name in names]
        self.feature, self.threshold = arrays[0], arrays[1].astype(dtype)
        self.left, self.right, self.default = (
            as_array(f"{where}: {name}", take_list(tree, name, where))
            for name in ("children_left", "children_right", "children_default")
        )
        self.cover = tree.get("node_sample_weight")
        self.leaf = (self.left < 0) | (self.right < 0)
        n = len(self.left)
        if {array.shape for array in (self.right, self.default, self.feature, self.threshold)} != {(n,)}:
            raise ModelError(f"{where}: its arrays have different lengths")
        self.value = arrays[2].astype(dtype).reshape(n, -1) if len(arrays[2]) == n else np.empty((0, 0))
        if not self.value.size:
            raise ModelError(f"{where}: {names[2]} must have one row per node")
        wrong = ~self.leaf & (self.default != self.left) & (self.default != self.right)
        if wrong.any():
            raise ModelError(f"{where}, node {int(wrong.argmax())}: children_default is neither of its children")
        self.n_features = int(np.where(self.leaf, 0, self.feature).max(initial=0)) + 1

    def arrays(self, n_outputs: int) -> dict[str, Any]:
        value: NDArray[Any] = self.value[:, 0] if n_outputs == 1 else self.value
        return {
            "left": np.where(self.leaf, -1, self.left),
            "right": np.where(self.leaf, -1, self.right),
            "feature": np.where(self.leaf, 0, self.feature),
            "threshold": self.threshold,
            "default_left": self.default == self.left,
            "value": value,
            "cover": self.cover,
        }
