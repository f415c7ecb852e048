"""ONNX files with one tree ensemble: which node of the graph it is, what its scores mean, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError, UnsupportedModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.models.documents import shown
from arborshap.models.link import Link
from arborshap.models.model import Model, class_names
from arborshap.models.onnx.ensemble import Attributes, add_trees, attribute, numbers
from arborshap.models.onnx.protobuf import Message

_ENSEMBLES = {"TreeEnsembleRegressor": "target", "TreeEnsembleClassifier": "class"}
_PASSING = {"Cast", "Identity", "ZipMap", "Reshape", "ArrayFeatureExtractor", "ArgMax", "Squeeze", "Flatten"}
"""Operators around the trees that do not change a score: they convert its type or shape, or choose a label."""

_LINKS = {"SOFTMAX": "softmax", "LOGISTIC": "logistic"}
_FLOAT, _DOUBLE = 1, 11


def load(model: Any) -> Model:
    """Read a live ``onnx.ModelProto``."""
    return read_onnx(model.SerializeToString(), "the ONNX model")


def read_onnx(content: bytes, what: str, n_columns: int | None = None) -> Model:
    """Read the content of an ONNX file; `what` names it in errors."""
    graphs = Message(memoryview(content), what).messages(7)
    if not graphs:
        raise ModelError(f"{what} is not a complete ONNX file: it has no graph")
    graph = graphs[-1]
    nodes = graph.messages(1)
    found = [node for node in nodes if node.text(4) in _ENSEMBLES]
    others = sorted({node.text(4) for node in nodes} - _ENSEMBLES.keys() - _PASSING)
    if len(found) != 1 or others:
        listed = ", ".join(map(shown, others)) or f"{len(found)} tree ensembles"
        raise UnsupportedModelError(
            f"{what} is a graph with {listed}; only a graph of one TreeEnsembleRegressor or TreeEnsembleClassifier can "
            "be read. Convert the model without the steps around it"
        )
    width, kind = _input(graph, found[0], nodes, what)
    attributes = {one.text(1): _value(one) for one in found[0].messages(5)}
    return _model(found[0].text(4), attributes, n_columns or width, single=kind != _DOUBLE)


def _model(operator: str, attributes: Attributes, n_columns: int | None, *, single: bool) -> Model:
    leaves = _ENSEMBLES[operator]
    is_classifier = operator == "TreeEnsembleClassifier"
    labels = _labels(attributes) if is_classifier else None
    n_outputs = len(labels) if labels is not None else attribute(attributes, "n_targets", 1)
    if not 1 <= n_outputs <= 2**16:
        raise ModelError(f"the number of outputs is {n_outputs}")
    used = np.unique(numbers(attributes, f"{leaves}_ids"))
    # Two classes may share one score, that of the second class.
    is_one_score = labels is not None and n_outputs == 2 and len(used) == 1
    if is_one_score:
        attributes = {**attributes, "class_ids": np.zeros(len(numbers(attributes, "class_ids")), np.int64)}
        n_outputs = 1

    def builder_of(needed: int) -> ForestBuilder:
        if n_columns is not None and n_columns < needed:
            raise ModelError(f"the trees split on column {needed - 1}, but the input has {n_columns} columns")
        return ForestBuilder(n_columns or needed, n_outputs, rule="<=", precision="float32" if single else "float64")

    base = _base(attributes, n_outputs, is_one_score=is_one_score)
    builder = add_trees(attributes, leaves, builder_of, base, single=single)
    return Model(
        forest=builder.build(base=base, output_names=class_names(labels, n_outputs)),
        library="ONNX",
        link=Link.named(_link(attributes, leaves, is_classifier=is_classifier)),
        classes=labels,
        tolerance=2e-6,  # runtimes add up in float32
    )


def _base(attributes: Attributes, n_outputs: int, *, is_one_score: bool) -> NDArray[Any]:
    base = numbers(attributes, "base_values")
    if is_one_score and len(base) == 2:
        base = base[1:]
    if len(base) not in (0, n_outputs):
        raise ModelError(f"base_values has {len(base)} entries, but there are {n_outputs} outputs")
    return base if len(base) else np.zeros(n_outputs)


def _link(attributes: Attributes, leaves: str, *, is_classifier: bool) -> str:
    transform = attribute(attributes, "post_transform", "NONE")
    if transform != "NONE":
        return _LINKS.get(transform, f"post_transform {transform}")
    is_share = is_classifier and bool((numbers(attributes, f"{leaves}_weights") >= 0).all())
    return "probability" if is_share else "identity"


def _labels(attributes: Attributes) -> NDArray[Any]:
    texts: list[str] = attribute(attributes, "classlabels_strings", [])
    labels = np.array(texts) if texts else numbers(attributes, "classlabels_int64s")
    if len(labels) < 1:
        raise ModelError("the classifier has no class labels")
    return labels


def _input(graph: Message, ensemble: Message, nodes: list[Message], what: str) -> tuple[int | None, int]:
    """Return the width and the type of the graph's input, which the ensemble must read as it is."""
    inputs = {value.text(1): value for value in graph.messages(11)}
    name = next(iter(ensemble.texts(1)), "")
    maker = {output: node for node in nodes for output in node.texts(2)}
    seen = set()
    while name not in inputs and name in maker and name not in seen and maker[name].text(4) in ("Cast", "Identity"):
        seen.add(name)
        name = next(iter(maker[name].texts(1)), "")
    if name not in inputs:
        raise UnsupportedModelError(f"the trees in {what} do not read the graph's input itself")
    for kind in inputs[name].messages(2):
        for tensor in kind.messages(1):
            sizes = [size.whole(1) for shape in tensor.messages(2) for size in shape.messages(1)]
            return (sizes[-1] or None) if len(sizes) == 2 else None, _FLOAT if seen else tensor.whole(1)
    return None, _FLOAT


def _value(attribute: Message) -> Any:
    """Return the value of an attribute, by its type."""
    match attribute.whole(20):
        case 1:
            return float(next(iter(attribute.floats(2)), 0.0))
        case 2:
            return attribute.whole(3)
        case 3:
            return attribute.text(4)
        case 4:
            return next((_tensor(tensor) for tensor in attribute.messages(5)), np.empty(0))
        case 6:
            return attribute.floats(7)
        case 7:
            return attribute.wholes(8)
        case 8:
            return attribute.texts(9)
    return None


def _tensor(tensor: Message) -> NDArray[np.float64]:
    kind = tensor.whole(2)
    if kind not in (_FLOAT, _DOUBLE):
        raise UnsupportedModelError(f"an attribute is a tensor of type {kind}; only floats and doubles can be read")
    raw, dtype = tensor.raw(9), "<f4" if kind == _FLOAT else "<f8"
    if raw:
        if len(raw) % np.dtype(dtype).itemsize:
            raise ModelError("a tensor of the ONNX file is incomplete")
        return np.frombuffer(raw, dtype).astype(np.float64)
    return tensor.floats(4) if kind == _FLOAT else tensor.floats(10, "<f8")
