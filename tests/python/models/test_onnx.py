"""ONNX files against the ONNX runtime: every comparison, missing values, aggregation, and files that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arborshap import ModelError, TreeExplainer, UnsupportedModelError
from arborshap.models import load

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"]


def attributes(trees: int = 4, *, leaves: str = "target", n_outputs: int = 2) -> dict[str, Any]:
    """Trees of depth 2 over three columns; each tests in another way, and some send missing values to the true side."""
    n = 7 * trees
    modes = [mode for t in range(trees) for mode in (*(MODES[(t + k) % 4] for k in range(3)), *["LEAF"] * 4)]
    ids = [t for t in range(trees) for _ in range(7)]
    return {
        "nodes_treeids": ids,
        "nodes_nodeids": [*range(7)] * trees,
        "nodes_featureids": [(t + k) % 3 if k < 3 else 0 for t in range(trees) for k in range(7)],
        "nodes_values": [round(0.3 * t - 0.4 * k, 2) if k < 3 else 0.0 for t in range(trees) for k in range(7)],
        "nodes_modes": modes,
        "nodes_truenodeids": [1, 3, 5, 0, 0, 0, 0] * trees,
        "nodes_falsenodeids": [2, 4, 6, 0, 0, 0, 0] * trees,
        "nodes_missing_value_tracks_true": [int(i % 3 == 0) for i in range(n)],
        f"{leaves}_treeids": [t for t in range(trees) for _ in range(4 * n_outputs)],
        f"{leaves}_nodeids": [leaf for leaf in (3, 4, 5, 6) for _ in range(n_outputs)] * trees,
        f"{leaves}_ids": [*range(n_outputs)] * (4 * trees),
        f"{leaves}_weights": [0.25 * (k % 7) - 0.5 for k in range(4 * n_outputs * trees)],
    }


def model_of(given: dict[str, Any], kind: str = "TreeEnsembleRegressor", before: list[Any] | None = None) -> Any:
    helper, types = onnx.helper, onnx.TensorProto
    is_classifier = kind == "TreeEnsembleClassifier"
    outputs = ["label", "scores"] if is_classifier else ["scores"]
    source = "scaled" if before else "X"
    node = helper.make_node(kind, [source], outputs, domain="ai.onnx.ml", **given)
    infos = [helper.make_tensor_value_info("scores", types.FLOAT, None)]
    if is_classifier:
        infos.insert(0, helper.make_tensor_value_info("label", types.INT64, None))
    inputs = [helper.make_tensor_value_info("X", types.FLOAT, [None, 3])]
    graph = helper.make_graph([*(before or []), node], "trees", inputs, infos)
    opset = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


def scores(model: Any, rows: NDArray[Any]) -> NDArray[np.float64]:
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"X": rows.astype(np.float32)})[-1], np.float64)


def rows() -> NDArray[np.float64]:
    """Rows on every threshold, a float32 step beside it, and missing values."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    thresholds = np.unique(np.array(attributes()["nodes_values"], np.float32))
    near = np.concatenate([np.nextafter(thresholds, np.float32(s)) for s in (-9, 9)] + [thresholds]).astype(np.float64)
    X[:200] = rng.choice(near, (200, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
@pytest.mark.parametrize("function", ["SUM", "AVERAGE"])
def test_every_comparison(n_outputs: int, function: str, tmp_path: Path) -> None:
    given = attributes(n_outputs=n_outputs) | {"n_targets": n_outputs, "aggregate_function": function}
    model = model_of(given | {"base_values": [0.5 * k + 0.125 for k in range(n_outputs)]})
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    for thing in (model, path):
        np.testing.assert_allclose(load(thing).forest.margin(rows()), scores(model, rows()), atol=1e-6)
    assert load(path).link.name == "identity"
    assert TreeExplainer(path, rows()).shap_values(rows()).shape[:2] == (300, 3)


def test_classifiers() -> None:
    several = attributes(leaves="class", n_outputs=3) | {"classlabels_int64s": [0, 1, 2], "post_transform": "SOFTMAX"}
    model = model_of(several, "TreeEnsembleClassifier")
    loaded = load(model)
    margin = loaded.forest.margin(rows())
    softmax = np.exp(margin) / np.exp(margin).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax, scores(model, rows()), atol=1e-6)
    assert (loaded.link.name, loaded.forest.output_names) == ("softmax", ("0", "1", "2"))
    one = attributes(leaves="class", n_outputs=1) | {"classlabels_int64s": [0, 1], "post_transform": "LOGISTIC"}
    for base in ([], [0.25]):
        binary = model_of(one | ({"base_values": base} if base else {}), "TreeEnsembleClassifier")
        loaded = load(binary)
        assert (loaded.link.name, loaded.forest.n_outputs) == ("logistic", 1)
        probability = 1.0 / (1.0 + np.exp(-loaded.forest.margin(rows())[:, 0]))
        np.testing.assert_allclose(probability, scores(binary, rows())[:, 1], atol=1e-6)


def test_graphs_that_are_refused() -> None:
    scaler = onnx.helper.make_node("Scaler", ["X"], ["scaled"], domain="ai.onnx.ml", offset=[0.0], scale=[2.0])
    given = attributes() | {"n_targets": 2}
    with pytest.raises(UnsupportedModelError, match=r"a graph with 'Scaler'.*without the steps around it"):
        load(model_of(given, before=[scaler]))
    with pytest.raises(UnsupportedModelError, match="aggregated by 'MAX'"):
        load(model_of(given | {"aggregate_function": "MAX"}))
    one_per_leaf = {"target_treeids": [0] * 4, "target_nodeids": [3, 4, 5, 6], "target_ids": [0, 1, 0, 1]}
    with pytest.raises(UnsupportedModelError, match="output 1 has a base value, but every tree has a leaf without"):
        load(model_of(given | one_per_leaf | {"target_weights": [1.0] * 4, "base_values": [0.0, 1.0]}))
    equal = [mode if mode == "LEAF" else "BRANCH_EQ" for mode in given["nodes_modes"]]
    with pytest.raises(UnsupportedModelError, match="tests by 'BRANCH_EQ'"):
        load(model_of(given | {"nodes_modes": equal}))
    with pytest.raises(UnsupportedModelError, match="a graph with 'TreeEnsemble'"):
        load(model_of({}, "TreeEnsemble"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"nodes_values": [0.0]}, "one entry per node"),
        ({"target_weights": [1.0]}, "the same length"),
        ({"target_ids": [9] * 32}, "there is no output 9"),
        ({"target_nodeids": [0] * 32}, "has a weight but is not a leaf"),
        ({"nodes_nodeids": [0] * 28}, "the same number"),
        ({"nodes_truenodeids": [77] * 28}, "the child 77, which does not exist"),
        ({"nodes_truenodeids": [0] * 28}, "node 0"),
        ({"nodes_featureids": [9] * 28}, "split on column 9, but the input has 3 columns"),
        ({"base_values": [1.0, 2.0, 3.0]}, "base_values has 3 entries"),
        ({"nodes_values": [float("nan")] * 28}, "tree 0"),
        ({"n_targets": 0}, "number of outputs is 0"),
    ],
)
def test_damaged_trees(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(model_of(attributes() | {"n_targets": 2} | changed))


def test_a_file_cut_or_changed_anywhere(tmp_path: Path) -> None:
    content = model_of(attributes(2) | {"n_targets": 2}).SerializeToString()
    path = tmp_path / "model.onnx"
    rng = np.random.default_rng(0)
    for end in range(len(content)):
        path.write_bytes(content[:end])
        try:
            load(path)
        except (ModelError, UnsupportedModelError):
            continue
    for at in rng.integers(0, len(content), 300).tolist():
        path.write_bytes(content[:at] + bytes([int(rng.integers(0, 256))]) + content[at + 1 :])
        try:
            load(path)
        except (ModelError, UnsupportedModelError):
            continue
