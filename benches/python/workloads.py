"""The models and rows of the benches: the same in every run, trained once and kept in `benches/.cache`."""

import importlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

CACHE = Path(__file__).resolve().parent.parent / ".cache"
TRAINING_ROWS = 20_000
FOREST_ROWS = 10_000


def normal_rows(n: int, n_features: int, seed: int) -> Array:
    """Make normal features that float32 holds exactly, because packages round float64 differently."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, n_features), dtype=np.float32).astype(np.float64)


def response(X: Array, seed: int) -> Array:
    """Combine products, steps and curves of the first columns, a little of every other column, and noise."""
    rng = np.random.default_rng(seed)
    y = X[:, 0] * X[:, 1] + 2.0 * np.where(X[:, 2] > 0.3, X[:, 3], -X[:, 4]) + np.sin(2.0 * X[:, 5])
    y += (X[:, 6] > 1.0) * X[:, 7] * X[:, 8] + np.exp(0.5 * X[:, 9])
    y += X @ np.linspace(0.5, 0.1, X.shape[1])
    return np.asarray(y + 0.3 * rng.standard_normal(len(X)))


def boosted(n_features: int, n_trees: int, depth: int) -> Any:
    """Train XGBoost; a depth of 0 sets no limit."""
    import xgboost

    X = normal_rows(TRAINING_ROWS, n_features, seed=1)
    model = xgboost.XGBRegressor(n_estimators=n_trees, max_depth=depth, learning_rate=0.1, random_state=0)
    return model.fit(X, response(X, seed=2))


def _two_classes() -> Any:
    import xgboost

    X = normal_rows(TRAINING_ROWS, 20, seed=1)
    y = response(X, seed=2)
    model = xgboost.XGBClassifier(n_estimators=100, max_depth=6, learning_rate=0.1, random_state=0)
    return model.fit(X, y > np.median(y))


def _forest(n_features: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    X = normal_rows(FOREST_ROWS, n_features, seed=1)
    y = np.exp(0.7 * response(X, seed=2))  # a skewed response is what makes trees deep
    return RandomForestRegressor(n_estimators=100, random_state=0, n_jobs=-1).fit(X, y)


def _default_forest(*, classes: bool) -> Any:
    """Train a forest with scikit-learn's own settings: trees grow until their leaves are pure."""
    from sklearn import ensemble

    X = normal_rows(TRAINING_ROWS if classes else FOREST_ROWS, 30, seed=1)
    y = response(X, seed=2)
    if classes:
        return ensemble.RandomForestClassifier(random_state=0, n_jobs=-1).fit(X, y > np.median(y))
    return ensemble.RandomForestRegressor(random_state=0, n_jobs=-1).fit(X, y)


def unlimited(n_features: int, n_trees: int) -> Any:
    """Train a forest whose trees grow until their leaves are pure; the response needs at least ten columns."""
    from sklearn.ensemble import RandomForestRegressor

    X = normal_rows(FOREST_ROWS, n_features, seed=1)
    columns = X if n_features >= 10 else np.hstack([X, normal_rows(FOREST_ROWS, 10 - n_features, seed=5)])
    return RandomForestRegressor(n_estimators=n_trees, random_state=0, n_jobs=-1).fit(X, response(columns, seed=2))


def leafwise(n_leaves: int, n_rows: int = TRAINING_ROWS, n_trees: int = 100) -> Any:
    import lightgbm

    X = normal_rows(n_rows, 100, seed=1)
    model = lightgbm.LGBMRegressor(n_estimators=n_trees, num_leaves=n_leaves, random_state=0, verbose=-1)
    return model.fit(X, response(X, seed=2))


def _digits() -> Any:
    import xgboost
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return xgboost.XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, random_state=0).fit(X, y)


def _catboost() -> Any:
    import catboost

    X = normal_rows(TRAINING_ROWS, 20, seed=1)
    model = catboost.CatBoostRegressor(
        iterations=100, depth=6, learning_rate=0.1, random_seed=0, verbose=False, allow_writing_files=False
    )
    return model.fit(X, response(X, seed=2))


# Name: what it is, the library it is trained with, how, and its number of features.
WORKLOADS: dict[str, tuple[str, str, Callable[[], Any], int]] = {
    "A": ("XGBoost, 100 trees, depth 6, 20 features", "xgboost", lambda: boosted(20, 100, 6), 20),
    "P": ("XGBoost, 100 trees, depth 6, 20 features, two classes", "xgboost", _two_classes, 20),
    "B": ("XGBoost, 500 trees, depth 8, 50 features", "xgboost", lambda: boosted(50, 500, 8), 50),
    "C10": ("random forest, 100 trees, unlimited depth, 10 features", "sklearn", lambda: _forest(10), 10),
    "C30": ("random forest, 100 trees, unlimited depth, 30 features", "sklearn", lambda: _forest(30), 30),
    "D": ("XGBoost, digits, 10 classes, 1000 trees, depth 4", "xgboost", _digits, 64),
    "X12": ("XGBoost, 100 trees, depth 12, 50 features", "xgboost", lambda: boosted(50, 100, 12), 50),
    "L255": ("LightGBM, 100 trees, 255 leaves, 100 features", "lightgbm", lambda: leafwise(255), 100),
    "L1023": ("LightGBM, 100 trees, 1023 leaves, 100 features", "lightgbm", lambda: leafwise(1023, 50_000), 100),
    "R30": ("RandomForestRegressor(), 30 features", "sklearn", lambda: _default_forest(classes=False), 30),
    "R30/20": ("the first 20 trees of R30", "sklearn", lambda: fewer_trees("R30", 20), 30),
    "K30": ("RandomForestClassifier(), 30 features", "sklearn", lambda: _default_forest(classes=True), 30),
    "CatBoost": ("CatBoost, 100 trees, depth 6, 20 features", "catboost", _catboost, 20),
}


def fewer_trees(workload: str, n_trees: int) -> Any:
    """Return a model of the first trees of another one."""
    model = model_of(workload)
    if hasattr(model, "estimators_"):
        few = type(model)(**{**model.get_params(), "n_estimators": n_trees})
        few.__dict__.update({name: kept for name, kept in vars(model).items() if name.endswith("_")})
        few.estimators_ = model.estimators_[:n_trees]
        return few
    # Boosting adds tree to tree, so a shorter training gives the same first trees.
    shorter = {"X12": lambda: boosted(50, n_trees, 12), "L255": lambda: leafwise(255, n_trees=n_trees)}
    return cached(f"{workload}-{n_trees}", WORKLOADS[workload][1], shorter[workload])


def tree_count(model: Any) -> int:
    return len(model.estimators_) if hasattr(model, "estimators_") else int(model.n_estimators)


def cached(name: str, library: str, train: Callable[[], Any]) -> Any:
    """Return a trained model, from the cache if the same version of its library wrote it."""
    version = importlib.import_module(library).__version__
    kept = CACHE / f"{name.replace('/', ' of ')}-{library}-{version}.pickle"
    if not kept.exists():
        CACHE.mkdir(exist_ok=True)
        (CACHE / ".gitignore").write_text("*\n")
        kept.write_bytes(pickle.dumps(train()))
    return pickle.loads(kept.read_bytes())


def model_of(workload: str) -> Any:
    _, library, train, _ = WORKLOADS[workload]
    return cached(workload, library, train)


def rows_of(workload: str, n: int, *, background: bool = False) -> Array:
    """Return rows that the model has not seen; those of the digits are drawn from its training rows."""
    if workload != "D":
        return normal_rows(n, WORKLOADS[workload][3], seed=4 if background else 3)
    from sklearn.datasets import load_digits

    X = np.asarray(load_digits().data)
    return X[np.random.default_rng(4 if background else 3).permutation(len(X))[:n]]
