"""Write small models in the formats of other versions: `python scripts/write_saved_models.py`, with such a version.

tests/python/models/saved/ holds files that the versions on most machines do not write: XGBoost 3.3 and later, which
keeps DART's weights among the trees and has expectiles, and LightGBM before 4, whose text has an older version. Beside
each model are rows and the margins that the library itself computed for them. Only the files of installed
libraries are written again.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent.parent / "tests" / "python" / "models" / "saved"
RECORD = FOLDER / "recorded.json"
NAMES = ["size", "colour", "depth"]


def data() -> tuple[Any, Any]:
    """Make numbers, some of them missing, categories, and a score."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=120), rng.integers(0, 6, 120), rng.normal(size=120)])
    X[::9, 0] = np.nan
    return X, np.nan_to_num(X[:, 0]) + 2.0 * (X[:, 1] % 3 == 0) + X[:, 2]


def write_xgboost() -> None:
    import xgboost

    if tuple(int(part) for part in xgboost.__version__.split(".")[:2]) < (3, 3):
        return
    X, score = data()
    described: dict[str, Any] = {
        "feature_names": NAMES,
        "feature_types": ["q", "c", "q"],
        "enable_categorical": True,
    }
    shared: dict[str, Any] = {"max_depth": 2, "max_cat_to_onehot": 1, "seed": 1}
    dart: dict[str, Any] = {"booster": "dart", "rate_drop": 0.5}
    for name, parameters, target in (
        ("dart.json", dart, score),
        ("dart-binary.json", {**dart, "objective": "binary:logistic"}, score > 1.0),
        (
            "dart-classes.ubj",
            {**dart, "objective": "multi:softprob", "num_class": 3},
            np.digitize(score, [0.0, 1.5]),
        ),
        ("expectiles.json", {"objective": "reg:expectileerror", "expectile_alpha": [0.1, 0.5, 0.9]}, score),
        ("quantiles.json", {"objective": "reg:quantileerror", "quantile_alpha": [0.4, 0.5, 0.6]}, score),
    ):
        booster = xgboost.train({**shared, **parameters}, xgboost.DMatrix(X, target, **described), 5)
        booster.save_model(FOLDER / name)
        margins = booster.predict(xgboost.DMatrix(X[:12], **described), output_margin=True)
        record(name, f"xgboost {xgboost.__version__}", X[:12], margins)


def write_lightgbm() -> None:
    for name, kind in (("float", float), ("int", int)):
        if not hasattr(np, name):  # the names of NumPy when those versions were new
            setattr(np, name, kind)
    import lightgbm

    major = int(lightgbm.__version__.partition(".")[0])
    if major >= 4:
        return
    X, score = data()
    parameters = {"objective": "binary", "num_leaves": 5, "min_data_in_leaf": 5, "verbose": -1, "num_threads": 1}
    rows = lightgbm.Dataset(X, score > 1.0, feature_name=NAMES, categorical_feature=[1])
    booster = lightgbm.train({**parameters, "min_data_per_group": 1, "cat_smooth": 1}, rows, 5)
    name = f"lightgbm-{major}.txt"
    booster.save_model(str(FOLDER / name))
    record(name, f"lightgbm {lightgbm.__version__}", X[:12], booster.predict(X[:12], raw_score=True))


def record(name: str, library: str, rows: Any, margins: Any) -> None:
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    recorded[name] = {
        "library": library,
        "rows": [[None if np.isnan(cell) else float(cell) for cell in row] for row in rows],
        "margins": np.reshape(margins, (len(rows), -1)).astype(float).tolist(),
    }
    RECORD.write_text(json.dumps(dict(sorted(recorded.items())), indent=1) + "\n")
    print(f"{name}: {library}")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for write in (write_xgboost, write_lightgbm):
        try:
            write()
        except ModuleNotFoundError as error:
            print(f"{error.name} is not installed; its files stay as they are")
