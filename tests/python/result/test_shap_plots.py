"""shap's plots of explanations as they are: they draw what they draw of `to_shap()`, or say that it is needed."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shap
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from arborshap import Explanation, TreeExplainer

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "c"])
Y = FRAME["a"] * FRAME["b"] + FRAME["c"]
ONE = TreeExplainer(RandomForestRegressor(3, max_depth=3, random_state=0).fit(FRAME, Y), FRAME)(FRAME)
CLASSES = RandomForestClassifier(3, max_depth=3, random_state=0).fit(FRAME, np.digitize(Y, [-0.5, 0.5]))
GROUPED = TreeExplainer(CLASSES, FRAME, groups={"a and b": ["a", "b"]})(FRAME)[..., 0]
SEVERAL = TreeExplainer(CLASSES, FRAME)(FRAME)

Plot = Callable[[Any, Any], Any]
DRAWN: dict[str, Plot] = {
    "beeswarm": lambda e, k: shap.plots.beeswarm(e, show=False),
    "beeswarm of a class": lambda e, k: shap.plots.beeswarm(k[..., 1], show=False),
    "beeswarm in an order": lambda e, k: shap.plots.beeswarm(e, order=shap.Explanation.abs.max(0), show=False),
    "waterfall": lambda e, k: shap.plots.waterfall(e[0], show=False),
    "waterfall of a class": lambda e, k: shap.plots.waterfall(k[0, :, 1], show=False),
    "heatmap": lambda e, k: shap.plots.heatmap(e, show=False),
    "violin": lambda e, k: shap.plots.violin(e, show=False),
    "force": lambda e, k: shap.plots.force(e[0], matplotlib=True, show=False),
    "summary": lambda e, k: shap.summary_plot(e, FRAME, show=False),
}
REFUSED: dict[str, Plot] = {
    "bar": lambda e, k: shap.plots.bar(e, show=False),
    "bar of cohorts": lambda e, k: shap.plots.bar({"one": e[:20], "two": e[20:]}, show=False),
    "scatter": lambda e, k: shap.plots.scatter(e[:, "a"], show=False),
    "scatter by colour": lambda e, k: shap.plots.scatter(ONE.to_shap()[:, "a"], color=e, show=False),
    "beeswarm of groups": lambda e, k: shap.plots.beeswarm(GROUPED, show=False),
    "beeswarm of sizes": lambda e, k: shap.plots.beeswarm(e.abs, show=False),
}


ORDERS: dict[str, Plot] = {
    "order of beeswarm": lambda e, s: shap.plots.beeswarm(s, order=e.abs.max(0), show=False),
    "order of bar": lambda e, s: shap.plots.bar(s, order=e.abs.max(0), show=False),
    "instance_order of heatmap": lambda e, s: shap.plots.heatmap(s, instance_order=e.sum(1), show=False),
}


def picture(plot: Plot, one: Any, several: Any) -> bytes:
    plt.close("all")
    np.random.seed(0)  # noqa: NPY002 (shap spreads dots by it)
    plot(one, several)
    file = io.BytesIO()
    plt.gcf().savefig(file, dpi=50)
    plt.close("all")
    return file.getvalue()


@pytest.mark.parametrize("name", DRAWN)
def test_they_draw_an_explanation_as_it_is(name: str) -> None:
    drawn = picture(DRAWN[name], ONE, SEVERAL)
    assert drawn == picture(DRAWN[name], ONE.to_shap(), SEVERAL.to_shap())
    assert drawn != picture(DRAWN[name], (ONE * 2).to_shap(), (SEVERAL * 2).to_shap())


@pytest.mark.parametrize("name", REFUSED)
def test_or_say_what_they_need(name: str) -> None:
    with pytest.raises(TypeError, match=r"needs shap's own class here: give it explanation.to_shap\(\)"):
        REFUSED[name](ONE, SEVERAL)
    plt.close("all")


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_is_never_read_as_positions(name: str) -> None:
    argument = name.partition(" ")[0]
    for given in (ONE.to_shap(), *([] if "bar" in name else [ONE])):
        with pytest.raises(
            TypeError, match=rf"^{argument}= needs shap's own class: make it of explanation.to_shap\(\)"
        ):
            ORDERS[name](ONE, given)
        ORDERS[name](ONE.to_shap(), given)
    plt.close("all")


def test_it_is_what_it_is_for_everybody_else() -> None:
    assert not isinstance(ONE, shap.Explanation)
    assert isinstance(ONE, Explanation)
    assert ONE.__class__ is type(ONE) is Explanation
    for same in (copy.copy(ONE), copy.deepcopy(ONE), pickle.loads(pickle.dumps(ONE)), ONE[:5], ONE.abs):
        assert type(same) is same.__class__ is Explanation


def test_the_base_value_of_a_row_is_a_number() -> None:
    for one in (ONE[0], SEVERAL[0, :, 1], SEVERAL[..., 1][0]):
        assert isinstance(one.base_values, np.float64)
        assert one.to_shap().base_values == one.base_values
    assert SEVERAL[0].base_values.shape == (3,)
    assert ONE[:1].base_values.shape == (1,)
