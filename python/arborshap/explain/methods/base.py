"""What the methods of an explainer may use of it."""

from __future__ import annotations

from arborshap.explain.state import State


class Methods:
    """A set of methods of an explainer. They see its public names only."""

    @property
    def state(self) -> State:
        """Everything the explainer consists of."""
        raise NotImplementedError

    @property
    def feature_names(self) -> list[str]:
        """Names of the players."""
        raise NotImplementedError

    @property
    def output_names(self) -> list[str] | None:
        """Names of the outputs, if the model has them."""
        raise NotImplementedError
