"""What an explanation says it is when plots of shap ask.

Most of shap's plots take whatever has the right attributes. Four of them first ask whether they are given shap's own
class, through `isinstance`, which reads ``__class__``. Two of these would draw an explanation rightly, so they are told
yes. The other two need what only shap's class has, so they are stopped with the advice that shap's own message lacks.
Plots that are given an explanation as an order are stopped too, since they would read it as positions.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

_DRAW_IT_RIGHTLY = {"shap.plots._beeswarm": "beeswarm", "shap.plots._waterfall": "waterfall"}
_TAKE_AN_ORDER = ("shap.plots._bar", "shap.plots._beeswarm", "shap.plots._heatmap")
_ORDERS = ("order", "instance_order", "feature_order")
_FRAMES = 5
"""How far below a plot NumPy may ask for the values of its order."""
_NEED_THEIR_OWN = {"shap.plots._bar": "bar", "shap.plots._scatter": "scatter"}


def class_for(asker: FrameType, own: type, *, is_plain: bool) -> type:
    """Return the class to show to the function that asks.

    Parameters
    ----------
    asker
        The frame of the function that asks.
    own
        The class of the explanation.
    is_plain
        Whether the values are as they were computed, and every player has one column of data. Results of arithmetic,
        such as absolute values, would get the wrong label, and groups the wrong colours.
    """
    module = str(asker.f_globals.get("__name__"))
    if asker.f_code.co_name == _DRAW_IT_RIGHTLY.get(module) and is_plain:
        theirs: type = sys.modules["shap"].Explanation
        return theirs
    plot = _NEED_THEIR_OWN.get(module) or _DRAW_IT_RIGHTLY.get(module)
    if plot is not None and asker.f_code.co_name == plot:
        raise TypeError(
            f"shap.plots.{plot} needs shap's own class here: give it explanation.to_shap(), or draw "
            f"explanation.plot.{plot}()"
        )
    return own


def refuse_as_order(explanation: Any, asker: FrameType | None) -> None:
    """Raise `TypeError` if a plot of shap asks for the numbers of an explanation to use them as an order."""
    for _ in range(_FRAMES):
        if asker is None:
            return
        module = str(asker.f_globals.get("__name__"))
        if module in _TAKE_AN_ORDER:
            names = [name for name in _ORDERS if asker.f_locals.get(name) is explanation]
            if names:
                raise TypeError(
                    f"{names[0]}= needs shap's own class: make it of explanation.to_shap(), as in "
                    f"{names[0]}=explanation.to_shap().{'sum(1)' if names[0] == 'instance_order' else 'abs.max(0)'}"
                )
        asker = asker.f_back
