"""Write the seeds for fuzzing: one small file of every format that is read and of every kind of saved object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import xgboost

from arborshap import Background, TreeExplainer

CORPUS = Path(__file__).parent.parent / "tests" / "corpus"

rng = np.random.default_rng(5)
X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 40, 60)]).astype(np.float32)
y = X[:, 0] + (X[:, 2] % 3) * X[:, 1]


def write(folder: str, name: str, content: bytes | bytearray | str) -> None:
    path = CORPUS / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else bytes(content))


def xgboost_seeds() -> None:
    kinds: dict[str, dict[str, Any]] = {
        "plain": {"max_depth": 2},
        "classes": {"max_depth": 1, "objective": "multi:softprob", "num_class": 3},
        "vectors": {"max_depth": 1, "multi_strategy": "multi_output_tree", "tree_method": "hist"},
        "dart": {"max_depth": 1, "booster": "dart", "rate_drop": 0.5},
        "categories": {"max_depth": 2, "max_cat_to_onehot": 1},
    }
    for kind, parameters in kinds.items():
        labels = {"classes": X[:, 2] % 3, "vectors": np.column_stack([y, -y])}.get(kind, y)
        types = ["q", "q", "c"] if kind == "categories" else None
        rows = xgboost.DMatrix(X, labels, feature_types=types, enable_categorical=True)
        booster = xgboost.train({"nthread": 1, **parameters}, rows, 2)
        write("json", f"xgboost-{kind}.json", booster.save_raw("json"))
        write("ubjson", f"xgboost-{kind}.ubj", booster.save_raw("ubj"))
        if kind != "vectors":
            dump = booster.get_dump(dump_format="json", with_stats=True)
            write("json", f"dump-{kind}.json", f"[{','.join(dump)}]")


def lightgbm_seeds() -> None:
    kinds: dict[str, dict[str, Any]] = {
        "plain": {"objective": "regression"},
        "classes": {"objective": "multiclass", "num_class": 3},
        "averaged": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.7},
        "categories": {
            "objective": "binary",
            "min_data_per_group": 1,
            "cat_smooth": 0,
            "cat_l2": 0,
            "max_cat_to_onehot": 1,
        },
    }
    for kind, parameters in kinds.items():
        labels = {"classes": X[:, 2] % 3, "categories": X[:, 2] % 4 > 1}.get(kind, y)
        rows = lightgbm.Dataset(X, labels, categorical_feature=[2] if kind == "categories" else [])
        settings = {"num_leaves": 4, "min_data_in_leaf": 3, "verbose": -1, "num_threads": 1}
        text = lightgbm.train({**settings, **parameters}, rows, 2).model_to_string()
        write("lightgbm", f"{kind}.txt", text.split("\nparameters:")[0])


def catboost_seeds() -> None:
    for policy in ("SymmetricTree", "Depthwise"):
        settings = {"iterations": 2, "depth": 2, "verbose": False, "thread_count": 1, "allow_writing_files": False}
        model = catboost.CatBoostRegressor(grow_policy=policy, **settings).fit(X, y)
        path = CORPUS / "json" / f"catboost-{policy.lower()}.json"
        model.save_model(str(path), format="json")
        document = json.loads(path.read_bytes())
        # Of the training parameters, only the loss is read.
        document["model_info"] = {"params": {"loss_function": {"type": "RMSE"}}}
        path.write_text(json.dumps(document))


def saved_seeds() -> None:
    rows = xgboost.DMatrix(X, y, feature_types=["q", "q", "c"], enable_categorical=True)
    booster = xgboost.train({"nthread": 1, "max_depth": 2}, rows, 2)
    write("saved", "rows", TreeExplainer(booster, X[:5], n_jobs=1).to_bytes())
    write("saved", "weighted", TreeExplainer(booster, X[:5], sample_weight=[1, 2, 3, 4, 5], n_jobs=1).to_bytes())
    write("saved", "path-dependent", TreeExplainer(booster, n_jobs=1).to_bytes())
    write("saved", "groups", TreeExplainer(booster, X[:5], groups=[0, 1, 1], n_jobs=1).to_bytes())
    many = np.repeat(X, 2000, axis=0)
    write("saved", "counts", TreeExplainer(booster, many, memory_limit=2**20, n_jobs=1).to_bytes())
    write("saved", "background", Background(booster, X, n_jobs=1).to_bytes())


if __name__ == "__main__":
    xgboost_seeds()
    lightgbm_seeds()
    catboost_seeds()
    saved_seeds()
    sizes = [path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()]
    print(f"{len(sizes)} files, {sum(sizes)} bytes")
