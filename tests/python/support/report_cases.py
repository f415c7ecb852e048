"""Explanations to report: every kind of split, groups, several outputs, text, names that are markup, many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier, XGBRegressor

from arborshap import TreeExplainer
from arborshap.forest.forest import Forest, NodeFlag
from arborshap.result.explanation import Explanation

MARKUP = [
    "<script>window.harmed = 1</script>",
    "</script><script>window.harmed = 2</script>",
    "<img src=x onerror='window.harmed=3'>",
]


@dataclass(frozen=True)
class Reported:
    """An explainer, its rows in the form that it accepts, and their explanation."""

    explainer: TreeExplainer
    rows: Any
    explanation: Explanation

    def row(self, i: int) -> Any:
        """Return one row, as a frame or a matrix."""
        return self.rows.iloc[[i]] if isinstance(self.rows, pd.DataFrame) else self.rows[[i]]


def reported(explainer: TreeExplainer, rows: Any) -> Reported:
    return Reported(explainer, rows, explainer(rows))


CUTS = np.array([-1.0, -0.5, 0.0, 1e-36, 0.1, float(np.float32(0.1)), 1.0, 2.0])


def random_forest(rng: np.random.Generator, n_trees: int, n_features: int) -> Forest:
    """Make trees of depth four whose splits have every combination of flags."""
    n_splits, n_leaves = 15, 16
    nodes = n_splits + n_leaves
    shape = (n_trees, n_splits)
    plain = rng.integers(0, 8, shape) | rng.choice([0, NodeFlag.NAN_IS_ZERO, NodeFlag.ZERO_IS_MISSING], shape)
    members = rng.choice([0, NodeFlag.MEMBERS_LEFT, NodeFlag.NEGATIVE_FRACTION_IS_ZERO], shape) | NodeFlag.CATEGORICAL
    categorical = rng.random(shape) < 0.3
    flags = np.where(categorical, (plain & ~NodeFlag.LESS_EQUAL) | members, plain)
    leaves = np.zeros((n_trees, n_leaves), dtype=int)
    of_category = np.concatenate([categorical, leaves], axis=1).ravel() == 1
    sets = [np.unique(rng.choice(5, rng.integers(1, 4))) for _ in range(int(of_category.sum()))]
    left = np.concatenate([2 * np.arange(n_splits) + 1, np.full(n_leaves, -1)])
    return Forest(
        n_features=n_features,
        tree_offsets=np.arange(n_trees + 1) * nodes,
        left=np.tile(left, n_trees),
        right=np.tile(np.where(left < 0, -1, left + 1), n_trees),
        feature=rng.integers(0, n_features, n_trees * nodes, dtype=np.int32),
        threshold=np.where(of_category, 0.0, rng.choice(CUTS, n_trees * nodes)),
        flags=np.concatenate([flags, leaves], axis=1).ravel(),
        value=rng.normal(size=n_trees * nodes),
        tree_output=np.zeros(n_trees, dtype=int),
        base=np.array([0.25]),
        category_nodes=np.flatnonzero(of_category),
        category_offsets=np.cumsum([0, *map(len, sets)]),
        categories=np.concatenate(sets),
    )


def every_kind_of_split() -> Reported:
    """Make splits with every way to read a value, and rows on, next to and far from the thresholds."""
    rng = np.random.default_rng(0)
    far = [np.nan, -0.0, -0.3, 3.7, 4e9, 1e300]
    cells = np.concatenate([CUTS, np.nextafter(CUTS, 9), np.nextafter(CUTS, -9), far])
    rows = rng.choice(cells, (120, 5))
    return reported(TreeExplainer(random_forest(rng, 40, 5), rows, groups=[0, 1, 1, 2, 3]), rows)


def groups_and_gaps() -> Reported:
    """Make a regression with a group of columns, some missing values, and row labels."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.normal(size=(150, 5)), columns=["age", "bmi", "s1", "s2", "s3"])
    rows.index = pd.Index([f"patient {i}" for i in range(150)])
    rows.loc[rows.index[::7], "bmi"] = np.nan
    target = rows["age"] * rows["s1"] + rows["bmi"].fillna(0.5) + rows["s2"]
    model = XGBRegressor(n_estimators=20, max_depth=4, n_jobs=1).fit(rows, target)
    return reported(TreeExplainer(model, rows, groups={"blood": ["s1", "s2", "s3"]}), rows)


def classes() -> Reported:
    """Make leaves with a vector, one number per class of three."""
    wine = load_wine(as_frame=True)
    names = wine.target.map(dict(enumerate(wine.target_names)))
    model = RandomForestClassifier(n_estimators=10, random_state=0).fit(wine.data, names)
    return reported(TreeExplainer(model, wine.data), wine.data)


def categories() -> Reported:
    """Make a boosted classifier with separate trees per class, and a text column with some markup."""
    rng = np.random.default_rng(2)
    towns = ["Thun", "Bern & Biel", *MARKUP]
    rows = pd.DataFrame(
        {"age": rng.integers(18, 90, 300).astype(float), "town": pd.Categorical(rng.choice(towns, 300))}
    )
    rows.loc[::9, "age"] = np.nan
    label = np.where(rows["town"].isin(towns[1:4]), 1, np.where(rows["age"] > 50, 2, 0))
    model = XGBClassifier(n_estimators=8, enable_categorical=True, max_cat_to_onehot=1, n_jobs=1).fit(rows, label)
    return reported(TreeExplainer(model, rows), rows)


def pipeline() -> Reported:
    """Make raw columns, one of them text, that the trees see scaled and one-hot encoded."""
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(
        {"size": rng.normal(size=80), "town": rng.choice(["Thun", "Chur", "Bern"], 80), "age": rng.random(80)}
    )
    prepare = ColumnTransformer([("number", StandardScaler(), ["age", "size"]), ("text", OneHotEncoder(), ["town"])])
    model = make_pipeline(prepare, RandomForestRegressor(n_estimators=6, max_depth=5, random_state=0))
    model.fit(rows, rows["size"] + (rows["town"] == "Chur") * rows["age"])
    return reported(TreeExplainer(model, rows), rows)


def people(n: int = 150) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Make rows with truth values, some of them missing, and labels that depend on them."""
    rng = np.random.default_rng(6)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "smoker": rng.random(n) < 0.4,
            "member": pd.Series(rng.random(n) < 0.5).astype("boolean").mask(rng.random(n) < 0.1),
            "kids": rng.integers(0, 5, n),
        }
    )
    score = 0.05 * (rows["age"] - 50) + 1.5 * rows["smoker"] * (rows["age"] > 45) + 0.5 * rows["member"].fillna(False)
    return rows, (score + rng.logistic(size=n) > 0).to_numpy().astype(np.int64)


def model_of_people() -> XGBClassifier:
    return XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1).fit(*people())


def log_odds() -> Reported:
    """Make a classifier of two classes, whose raw prediction is log-odds."""
    rows, _ = people()
    return reported(TreeExplainer(model_of_people(), rows), rows)


def probability() -> Reported:
    """Make the same classifier, with its probability explained; two rows are the same."""
    rows, _ = people()
    rows = pd.concat([rows, rows.iloc[[0]]], ignore_index=True)
    return reported(TreeExplainer(model_of_people(), rows, model_output="probability"), rows)


def class_probabilities() -> Reported:
    """Make three classes that share a softmax, with their probabilities explained."""
    rows, label = people(60)
    model = XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(rows, label + (rows["kids"] > 2))
    return reported(TreeExplainer(model, rows[:30], model_output="probability"), rows)


def markup() -> Reported:
    """Make columns, classes and rows whose names are markup."""
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(
        rng.normal(size=(40, 3)), columns=MARKUP, index=[f"{name} {i}" for i in range(20) for name in MARKUP[:2]]
    )
    label = np.array(MARKUP)[(rows.iloc[:, 0] > 0).astype(int) + (rows.iloc[:, 1] > 0.5)]
    model = RandomForestClassifier(n_estimators=4, random_state=0).fit(rows, label)
    return reported(TreeExplainer(model, rows), rows)


def large() -> Reported:
    """Make 5,000 rows with 200 features."""
    rng = np.random.default_rng(4)
    rows: NDArray[np.float64] = rng.normal(size=(5000, 200))
    return reported(TreeExplainer(random_forest(rng, 200, 200), rows[:500]), rows)
