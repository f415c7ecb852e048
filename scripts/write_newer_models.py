"""Write small models as newer libraries save them: `python scripts/write_newer_models.py`, with XGBoost from 3.3 on.

XGBoost 3.3 moved DART's weights in among the trees. Where the tests run with an older one, these files stand for it:
tests/python/models/newer/ holds the models, and the rows and margins that the library itself gave for them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

FOLDER = Path(__file__).parent.parent / "tests" / "python" / "models" / "newer"
NAMES = ["size", "colour", "depth"]
TYPES = ["q", "c", "q"]


def main() -> None:
    if tuple(int(part) for part in xgboost.__version__.split(".")[:2]) < (3, 3):
        raise SystemExit(f"XGBoost {xgboost.__version__} still writes the layout that every test makes by itself")
    FOLDER.mkdir(exist_ok=True)
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=120), rng.integers(0, 6, 120), rng.normal(size=120)])
    X[::9, 0] = np.nan
    score = np.nan_to_num(X[:, 0]) + 2.0 * (X[:, 1] % 3 == 0) + X[:, 2]
    matrix = xgboost.DMatrix(X, feature_names=NAMES, feature_types=TYPES, enable_categorical=True)
    common: dict[str, Any] = {"max_depth": 2, "nthread": 1, "seed": 1, "max_cat_to_onehot": 1}
    dropping = {"booster": "dart", "rate_drop": 0.5}
    models = {
        "dart.json": ({**dropping}, score),
        "dart-classes.ubj": (
            {**dropping, "objective": "multi:softprob", "num_class": 3},
            np.digitize(score, [0.0, 1.5]),
        ),
        "dart-binary.json": ({**dropping, "objective": "binary:logistic"}, (score > 1.0).astype(float)),
    }
    record: dict[str, Any] = {"library": f"xgboost {xgboost.__version__}", "rows": rounded(X[:12]), "margins": {}}
    for name, (parameters, target) in models.items():
        matrix.set_label(target)
        booster = xgboost.train({**common, **parameters}, matrix, 5)
        booster.save_model(FOLDER / name)
        rows = xgboost.DMatrix(X[:12], feature_names=NAMES, feature_types=TYPES, enable_categorical=True)
        margins = booster.predict(rows, output_margin=True).reshape(12, -1)
        record["margins"][name] = margins.astype(float).tolist()
    (FOLDER / "recorded.json").write_text(json.dumps(record, indent=1) + "\n")


def rounded(rows: Any) -> list[list[float | None]]:
    """Rows as JSON has them, without a NaN."""
    return [[None if np.isnan(cell) else float(cell) for cell in row] for row in rows]


if __name__ == "__main__":
    main()
