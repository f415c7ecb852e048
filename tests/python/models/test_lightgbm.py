"""LightGBM in detail: early stopping, links, frames with categories, and the saved text."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest

from arborshap import TreeExplainer
from arborshap.exceptions import InputError
from arborshap.models import load
from support.models.case import columns_of, data, predicted
from support.models.lightgbm_cases import SMALL, raw_score, train

pd = pytest.importorskip("pandas")


def test_early_stopping_is_followed() -> None:
    given = data()
    rows = lightgbm.Dataset(given.X, given.y, free_raw_data=False)
    other = rows.create_valid(given.X[:80], given.y[80:160])
    booster = lightgbm.train(
        {**SMALL, "learning_rate": 0.7},
        rows,
        30,
        valid_sets=[other],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
        keep_training_booster=True,  # and with it the trees after the best iteration
    )
    assert 0 < booster.best_iteration < booster.current_iteration()
    forest = load(booster).forest
    assert forest.n_trees == booster.best_iteration
    np.testing.assert_allclose(forest.margin(given.rows), raw_score(booster, given.rows), rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "target", "link"),
    [
        ({}, "y", "identity"),
        ({"objective": "binary"}, "binary", "logistic"),
        ({"objective": "binary", "sigmoid": 2.0}, "binary", "logistic"),
        ({"objective": "multiclassova", "num_class": 3, "sigmoid": 0.5}, "classes", "logistic"),
        ({"objective": "cross_entropy_lambda"}, "binary", "softplus"),
        ({"objective": "cross_entropy"}, "binary", "logistic"),
        ({"objective": "multiclass", "num_class": 3}, "classes", "softmax"),
        ({"objective": "multiclassova", "num_class": 3}, "classes", "logistic"),
        ({"objective": "poisson"}, "positive", "log"),
        ({"objective": "tweedie"}, "positive", "log"),
        ({"objective": "regression", "reg_sqrt": True}, "positive", "signed square"),
        ({"objective": "huber"}, "y", "identity"),
        ({"objective": "quantile"}, "y", "identity"),
    ],
)
def test_links(options: dict[str, Any], target: str, link: str) -> None:
    booster = train(target, rounds=2, **options)
    model = load(booster)
    assert model.link.name == link
    steepness = model.link.curve(0).steps[0].scale if model.link.curves else 1.0
    assert steepness == options.get("sigmoid", 1.0)
    ours = predicted(link, raw_score(booster, data().rows), steepness)
    np.testing.assert_allclose(ours, columns_of(booster.predict(data().rows)), rtol=1e-9)


def test_the_link_of_an_objective_of_ones_own_is_unknown() -> None:
    given = data()

    def squares(margins: Any, rows: Any) -> tuple[Any, Any]:
        return margins - rows.get_label(), np.ones_like(margins)

    booster = lightgbm.train({**SMALL, "objective": squares}, lightgbm.Dataset(given.X, given.y), 2)
    assert load(booster).link.name == "unknown"


def test_a_forest_of_classifiers_is_a_mean_before_its_link() -> None:
    booster = train("binary", objective="binary", boosting="rf", bagging_freq=1, bagging_fraction=0.5)
    ours = predicted("logistic", load(booster).forest.margin(data().rows))
    np.testing.assert_allclose(ours, columns_of(booster.predict(data().rows)), rtol=1e-9)


def test_a_model_without_splits() -> None:
    booster = train("y", min_data_in_leaf=10_000)
    forest = load(booster).forest
    assert forest.max_depth == 0
    np.testing.assert_allclose(forest.margin(data().rows), raw_score(booster, data().rows), rtol=1e-12)


def test_names_are_kept_only_where_there_were_any(tmp_path: Path) -> None:
    assert load(train("y")).forest.feature_names is None
    given = data()
    frame = pd.DataFrame(given.X, columns=["a", "b", "c", "d", "Column_4"])
    booster = lightgbm.train(SMALL, lightgbm.Dataset(frame, given.y), 2)
    booster.save_model(tmp_path / "model.txt")
    for model in (booster, tmp_path / "model.txt", lightgbm.Booster(model_file=tmp_path / "model.txt")):
        assert load(model).forest.feature_names == ("a", "b", "c", "d", "Column_4")


def test_names_may_hold_any_blank() -> None:
    """LightGBM turns spaces into underscores, and keeps other blanks as they are."""
    given = data()
    names = ["mean radius", "a_b", "c\td", "x\u00a0y", "worst  area"]
    frame = pd.DataFrame(given.X, columns=names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM says that it changes them
        booster = lightgbm.train(SMALL, lightgbm.Dataset(frame, given.y), 2)
    assert load(booster).forest.feature_names == ("mean_radius", "a_b", "c\td", "x\u00a0y", "worst__area")
    explainer = TreeExplainer(booster, frame[names[::-1]])
    np.testing.assert_array_equal(explainer.shap_values(frame), explainer.shap_values(given.X))


def category_frame() -> Any:
    given = data()
    frame = pd.DataFrame(given.X, columns=["size", "height", "width", "colour", "depth"])
    frame["colour"] = pd.Categorical([f"c{int(code)}" for code in given.X[:, 3]])
    frame["width"] = pd.Categorical((2 * given.X[:, 2]).astype(int))
    frame.loc[::13, "colour"] = None
    return frame


def test_categories_of_a_frame_are_matched_by_name(tmp_path: Path) -> None:
    frame = category_frame()
    booster = lightgbm.train(SMALL, lightgbm.Dataset(frame, data().y), 5)
    booster.save_model(tmp_path / "model.txt")
    other = frame.copy()
    other["colour"] = other["colour"].cat.set_categories(["new", *reversed(frame["colour"].cat.categories)])
    other.loc[:9, "colour"] = "new"
    for given in (booster, tmp_path / "model.txt"):
        model = load(given)
        assert model.encode is not None
        assert (model.forest.flags & 32).any(), "the trees must split on categories"
        for rows in (frame, other):
            expected = columns_of(booster.predict(rows, raw_score=True))
            np.testing.assert_allclose(model.forest.margin(model.encode(rows)), expected, rtol=1e-9)
        codes = model.encode(frame)
        np.testing.assert_array_equal(model.encode(codes), codes)
        with pytest.raises(
            InputError, match=r"trained with 2 category columns, .* are: 'colour'; give 'width' the same type"
        ):
            model.encode(frame.assign(width=1.0))


def test_a_category_is_never_missing_whatever_the_other_bits_say() -> None:
    """LightGBM does not write a default direction for categories; if a file has one, it does not read it either."""
    text = train("y", categories=True).model_to_string()
    kinds = re.findall(r"decision_type=(.*)", text)
    assert any("1" in line.split() for line in kinds)
    for line in kinds:
        changed = " ".join("3" if kind == "1" else kind for kind in line.split())
        text = text.replace(f"decision_type={line}\n", f"decision_type={changed}\n", 1)
    booster = lightgbm.Booster(model_str=text)
    rows = data().rows.copy()
    rows[::3, 3] = np.nan
    np.testing.assert_allclose(load(booster).forest.margin(rows), raw_score(booster, rows), rtol=1e-9)


def test_lines_may_end_as_on_windows(tmp_path: Path) -> None:
    booster = train("y", categories=True)
    (tmp_path / "model.txt").write_bytes(booster.model_to_string().replace("\n", "\r\n").encode())
    np.testing.assert_allclose(
        load(tmp_path / "model.txt").forest.margin(data().rows), raw_score(booster, data().rows), rtol=1e-9
    )


def test_outputs_are_called_after_the_classes() -> None:
    given = data()
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1)
    model.fit(given.X, np.array(["red", "green", "blue"])[given.classes])
    explainer = TreeExplainer(model, given.X)
    assert explainer.output_names == ["blue", "green", "red"]
    assert explainer.trace(given.X[0], given.X[1], tree=1).outputs == ("green",)
