"""Every error that arborshap raises on purpose. `ArborshapError`, or plain `ValueError`, catches all of them."""


class ArborshapError(ValueError):
    """Base class of all errors that arborshap raises on purpose."""


class ModelError(ArborshapError):
    """The model cannot be explained as it is, because of its trees, its file or its settings."""


class UnsupportedModelError(ModelError):
    """arborshap does not support the model's library, class or option."""


class VerificationError(ModelError):
    """The trees as read do not predict what the model's own library predicts."""


class InputError(ArborshapError):
    """Rows, weights, groups or another argument cannot be used; the message says which and where."""


class InternalError(ArborshapError):
    """A bug in arborshap itself; please report it."""
