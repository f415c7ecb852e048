"""What the caller gave to an explainer, for code that asks an explainer for its model or data, as shap's users do."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Given:
    """The model and the background as the caller gave them.

    Attributes
    ----------
    model
        The model; ``None`` if the explainer was loaded.
    data_reference
        A weak reference to the background. The explainer must not keep a large matrix in memory that it does not need.
    """

    model: Any = None
    data_reference: weakref.ref[Any] | None = None

    @classmethod
    def of(cls, model: Any, data: Any) -> Self:
        """Remember a model and its background."""
        try:
            return cls(model, None if data is None else weakref.ref(data))
        except TypeError:  # a list, for example
            return cls(model)

    @property
    def data(self) -> Any:
        """The background, as long as the caller keeps it."""
        return None if self.data_reference is None else self.data_reference()
