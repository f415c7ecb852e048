"""Where an explanation came from: what a report needs beyond the values themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from arborshap._numbers import Matrix

if TYPE_CHECKING:
    from arborshap.explainer import TreeExplainer


@dataclass(frozen=True, slots=True)
class Source:
    """The explainer of some rows, and those rows as its trees read them.

    A copied or sliced explanation keeps its source. A pickled one does not: values, data and names are to stay small
    and readable without the model.

    Attributes
    ----------
    explainer
        Who explained them.
    rows
        The rows after encoding, in the order of the explanation's: (rows, model features), or one row.
    seconds
        How long it took, where that was measured.
    """

    explainer: TreeExplainer
    rows: Matrix
    seconds: float | None = None

    def take(self, pick: Any) -> Source:
        """The source of some of the rows."""
        return replace(self, rows=self.rows[pick])

    def __deepcopy__(self, memo: dict[int, Any]) -> Source:
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()
