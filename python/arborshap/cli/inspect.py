"""``arborshap inspect``: describes a model file or a saved explainer."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from arborshap import Facts, TreeExplainer
from arborshap.cli.explainers import is_saved
from arborshap.forest import Forest
from arborshap.forest.linear import LinearForest
from arborshap.models import Model, load
from arborshap.models.recoding import known_categories

_SHOWN = 10
"""Number of features listed for people; JSON lists all of them."""


def inspect(options: argparse.Namespace) -> None:
    """Print the size of the model and the features that it uses most."""
    explainer = TreeExplainer.load(options.model) if is_saved(options.model) else None
    about: Facts | Model
    if explainer is None:
        about = model = load(str(options.model))
        forest = model.forest
    else:
        about, forest = explainer.facts(), explainer.forest
    found = _facts(forest) | {
        "library": about.library,
        "link": about.link.name if isinstance(about, Model) else about.link,
        "categories": _categories(model) if explainer is None else explainer.categories,
    }
    if explainer is not None:
        found |= {"players": explainer.feature_names, "background_rows": explainer.facts().n_background}
        found |= {"model_id": explainer.model_id, "metadata": explainer.metadata}
    if options.json:
        print(json.dumps(found))
        return
    outputs = found["outputs"] if found["output_names"] is None else ", ".join(found["output_names"])
    print(f"{options.model}: {about.library}")
    facts = [
        ("trees", f"{found['trees']:,}, up to {found['max_depth']} deep"),
        ("nodes", f"{found['nodes']:,}, including {found['leaves']:,} leaves"),
        ("features", f"{found['features']:,}, {sum(count > 0 for count in found['splits'].values()):,} used"),
        ("outputs", f"{outputs}, link {found['link']}"),
        ("categories", f"{found['categorical_splits']:,} splits on sets of categories"),
        *((f"  {name}", _shown(known)) for name, known in found["categories"].items()),
        ("path-dependent", "yes" if found["has_cover"] else "no: the file has no training weights; give a background"),
    ]
    if explainer is not None:
        facts.append(("players", f"{len(found['players']):,}: {', '.join(found['players'][:_SHOWN])}"))
        facts.append(("background", f"{found['background_rows']:,} rows"))
        facts.append(("model id", found["model_id"]))
        facts += [(name, str(note)) for name, note in found["metadata"].items()]
    for name, text in facts:
        print(f"  {name:<15} {text}")
    print("  most splits on  " + ", ".join(f"{name} ({count:,})" for name, count in _most(found["splits"])))


def _facts(forest: Forest) -> dict[str, Any]:
    is_linear = isinstance(forest, LinearForest)
    if isinstance(forest, LinearForest):
        forest = forest.constants
    splits = np.bincount(forest.feature[forest.left != -1], minlength=forest.n_features)
    names = forest.feature_names or [f"x{j}" for j in range(forest.n_features)]
    return {
        "trees": forest.n_trees,
        "nodes": forest.n_nodes,
        "leaves": forest.n_leaves,
        "max_depth": forest.max_depth,
        "features": forest.n_features,
        "named": forest.feature_names is not None,
        "splits": dict(zip(names, splits.tolist(), strict=True)),
        "categorical_splits": len(forest.category_nodes),
        "outputs": forest.n_outputs,
        "output_names": None if forest.output_names is None else list(forest.output_names),
        "base": forest.base.tolist(),
        "has_cover": forest.cover is not None and not is_linear,
    }


def _categories(model: Model) -> dict[str, list[Any]]:
    names = model.forest.feature_names or [f"x{j}" for j in range(model.forest.n_features)]
    known = known_categories(model.encode, model.forest.n_features)
    return {name: listed for name, listed in zip(names, known, strict=False) if listed is not None}


def _shown(known: list[Any]) -> str:
    texts = ", ".join(str(category) for category in known[:_SHOWN])
    return texts if len(known) <= _SHOWN else f"{texts} and {len(known) - _SHOWN:,} more"


def _most(splits: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(splits.items(), key=lambda item: -item[1])[:_SHOWN]
