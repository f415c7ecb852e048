"""What an explanation says it is when plots of shap ask.

Most of shap's plots take whatever has the right attributes. Four of them first ask whether they are given shap's own
class, through `isinstance`, which reads ``__class__``. Two of these would draw an explanation rightly, so they are told
yes. The other two need what only shap's class has, so they are stopped with the advice that shap's own message lacks.
"""

from __future__ import annotations

import sys
from types import FrameType

_DRAW_IT_RIGHTLY = {"shap.plots._beeswarm": "beeswarm", "shap.plots._waterfall": "waterfall"}
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
