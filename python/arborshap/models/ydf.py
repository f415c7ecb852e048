"""YDF (Yggdrasil Decision Forests): gradient boosted trees, random forests and single trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.forest.builder import ForestBuilder
from arborshap.forest.forest import Forest
from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.supported import unsupported
from arborshap.models.vocabulary import VocabularyRecoding

_LINKS = {"IDENTITY": "identity", "SIGMOID": "logistic", "SOFTMAX": "softmax", "EXPONENTIAL": "log", "EXP": "log"}
_TOLERANCE = 2e-6
_IS_IN = "CategoricalIsInCondition"
_MISSING = ""


def load(model: Any) -> Model:
    """Read a trained model whose splits each test one column of numbers, truth values or categories."""
    names = {cls.__name__ for cls in type(model).__mro__}
    if not names & {"GradientBoostedTreesModel", "RandomForestModel"}:
        raise unsupported(model, "of YDF's models, only boosted trees, random forests and single trees are sums")
    task = model.task().name
    if task not in ("REGRESSION", "CLASSIFICATION", "RANKING"):
        raise unsupported(model, f"its task is {task}; regression, classification and ranking are supported")
    is_boosted = "GradientBoostedTreesModel" in names
    classes = np.array(model.label_classes()) if task == "CLASSIFICATION" else None
    trees = model.get_all_trees()
    asked = _with_logits(model) if is_boosted and classes is not None else model
    link = _link_of_boosting(model) if is_boosted else "probability" if task == "CLASSIFICATION" else "identity"
    n_outputs = len(model.initial_predictions()) if is_boosted else 1 if classes is None else len(classes)
    columns = {column: at for at, column in enumerate(model.input_features_col_idxs())}
    feature_names = list(model.input_feature_names())
    reader = _Reader(model, columns, n_outputs)
    for t, tree in enumerate(trees):
        if is_boosted:
            reader.add(tree, t, output=t % n_outputs)
        else:
            reader.add(tree, t, share=1.0 / len(trees), votes=classes is not None and model.winner_takes_all())

    forest = reader.builder.build(
        base=np.asarray(model.initial_predictions(), np.float64) if is_boosted else 0.0,
        feature_names=feature_names,
        output_names=list(map(str, classes)) if classes is not None and n_outputs == len(classes) > 1 else None,
    )
    is_true = [feature.semantic.name == "BOOLEAN" for feature in model.input_features()]
    texts = _texts_of_categories(model)

    def column(j: int, cells: NDArray[Any]) -> NDArray[Any]:
        known = texts[j]
        if known is not None:
            return np.array([_MISSING if np.isnan(code) else known[int(code)] for code in cells.tolist()])
        return cells != 0.0 if is_true[j] else cells.astype(np.float32)

    def predict(rows: NDArray[Any]) -> NDArray[np.float64]:
        if np.isnan(rows[:, is_true]).any():
            raise ValueError("an array of truth values cannot hold missing cells")
        given = {name: column(j, rows[:, j]) for j, name in enumerate(feature_names)}
        return np.asarray(asked.predict(given), np.float64)

    if link == "identity" and is_boosted:
        link = _tried_link(forest, predict, texts)
    return Model(
        forest=forest,
        library=f"ydf {version('ydf')}",
        link=Link.named(link),
        classes=classes,
        raw_predict=lambda rows: _margins(predict(rows), link, n_outputs),
        encode=VocabularyRecoding(texts, 0.0, _MISSING) if any(texts) else None,
        tolerance=_TOLERANCE,
    )


def _texts_of_categories(model: Any) -> list[list[str] | None]:
    """Return the texts that the codes of each column of categories stand for; code 0 is any other category."""
    found: list[list[str] | None] = []
    for feature, at in zip(model.input_features(), model.input_features_col_idxs(), strict=True):
        if feature.semantic.name != "CATEGORICAL":
            found.append(None)
            continue
        described = model.data_spec().columns[at].categorical
        if described.is_already_integerized:
            raise unsupported(
                model, f"column {feature.name!r} holds the codes of categories instead of texts; train it on texts"
            )
        code_of = {text: item.index for text, item in described.items.items()}
        found.append(sorted(code_of, key=code_of.__getitem__))
    return found


def _link_of_boosting(model: Any) -> str:
    activation = str(getattr(model.activation(), "name", model.activation()))
    if model.task().name == "CLASSIFICATION" and model.output_logits():
        return "identity"
    return _LINKS.get(activation, "unknown")


def _tried_link(
    forest: Forest, predict: Callable[[NDArray[Any]], NDArray[np.float64]], texts: list[list[str] | None]
) -> str:
    """Find out whether a regression model takes the exponential of its sum, as for counts; YDF does not tell."""
    rng = np.random.default_rng(0)
    rows = np.round(rng.normal(size=(16, forest.n_features)), 1)
    for j, known in enumerate(texts):
        if known is not None:
            rows[:, j] = rng.integers(0, len(known), len(rows))
    margin, predicted = forest.margin(rows)[:, 0], predict(rows).ravel()
    for link, expected in (("identity", margin), ("log", np.exp(margin))):
        if predicted.shape == expected.shape and np.allclose(predicted, expected, rtol=1e-5, atol=1e-5):
            return link
    return "unknown"


def _with_logits(model: Any) -> Any:
    """Return a copy of a classifier that predicts scores and not probabilities."""
    import ydf

    copied = ydf.deserialize_model(model.serialize())
    copied.set_output_logits(True)
    return copied


def _margins(predicted: NDArray[np.float64], link: str, n_outputs: int) -> NDArray[np.float64]:
    """Return the raw prediction, as far as the prediction tells."""
    if link == "log":
        return np.log(predicted).reshape(-1, 1)
    if link == "probability" and predicted.ndim == 1:  # of two classes, only the probability of the second
        return np.stack([1.0 - predicted, predicted], axis=1)
    return predicted.reshape(len(predicted), n_outputs)


class _Reader:
    """Collects trees of nodes that are objects."""

    def __init__(self, model: Any, columns: Mapping[int, int], n_outputs: int) -> None:
        self.model = model
        self.columns = columns
        self.builder = ForestBuilder(len(columns), n_outputs, rule="<=", precision="float32")

    def add(self, tree: Any, number: int, *, output: int = 0, share: float = 1.0, votes: bool = False) -> None:
        """Number the nodes of a tree, parents first; the child for a condition that is true is on the right."""
        nodes: dict[str, Any] = {
            name: [] for name in ("left", "right", "feature", "threshold", "value", "default_left", "cover")
        }
        categories: dict[int, list[int]] = {}
        waiting: list[tuple[Any, list[Any], int]] = [(tree.root, [0], 0)]
        n_values = 1
        while waiting:
            node, siblings, parent = waiting.pop()
            n = siblings[parent] = len(nodes["left"])
            is_leaf = type(node).__name__ == "Leaf"
            feature, threshold, missing = (0, 0.0, False) if is_leaf else self._split(node.condition, number, n)
            if not is_leaf and type(node.condition).__name__ == _IS_IN:
                categories[n] = list(node.condition.mask)
            value = self._value(node.value, votes) * share if is_leaf else None
            n_values = n_values if value is None else len(value)
            nodes["left"].append(-1)
            nodes["right"].append(-1)
            nodes["feature"].append(feature)
            nodes["threshold"].append(threshold)
            nodes["default_left"].append(not missing)
            nodes["cover"].append(0.0 if node.value is None else float(node.value.num_examples))
            nodes["value"].append(value)
            if not is_leaf:
                waiting += [(node.pos_child, nodes["right"], n), (node.neg_child, nodes["left"], n)]
        value = np.array([np.zeros(n_values) if value is None else value for value in nodes.pop("value")])
        cover = nodes.pop("cover")
        self.builder.add_tree(
            **nodes,
            value=value[:, 0] if value.shape[1] == 1 else value,
            output=output,
            cover=cover if all(cover) else None,
            categories=categories,
            members_left=False,
        )

    def _split(self, condition: Any, tree: int, node: int) -> tuple[int, float, bool]:
        kind = type(condition).__name__
        if kind == "NumericalHigherThanCondition":
            threshold = float(condition.threshold)
        elif kind == "IsTrueCondition":
            threshold = 0.5
        elif kind == "DiscretizedNumericalHigherThanCondition":
            bounds = self.model.data_spec().columns[condition.attribute].discretized_numerical.boundaries
            threshold = float(bounds[condition.threshold_idx - 1])
        elif kind == _IS_IN:
            return self.columns[condition.attribute], 0.0, bool(condition.missing)
        elif kind == "IsMissingInCondition":
            return self.columns[condition.attribute], np.inf, True
        else:
            raise unsupported(
                self.model,
                f"tree {tree}, node {node} is a {kind}, which does not test one column of numbers or "
                "categories; turn sets, texts and vectors into such columns, and train without oblique splits",
            )
        below = np.nextafter(np.float32(threshold), np.float32(-np.inf))  # true means at least the threshold
        return self.columns[condition.attribute], float(below), bool(condition.missing)

    def _value(self, value: Any, votes: bool) -> NDArray[np.float64]:
        kind = type(value).__name__
        if kind == "RegressionValue":
            return np.array([float(value.value)])
        if kind != "ProbabilityValue":
            raise ModelError(f"YDF: the values of leaves are of the unknown kind {kind}")
        probability = np.array(value.probability, np.float64)
        return np.eye(len(probability))[int(probability.argmax())] if votes else probability
