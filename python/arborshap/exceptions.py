"""Everything arborshap refuses, as one family: catch `ArborshapError`, or plain `ValueError`, to catch them all."""


class ArborshapError(ValueError):
    """Any error arborshap raises on purpose."""


class ModelError(ArborshapError):
    """The model cannot be explained as it is: its trees, its file or its settings are at fault."""


class UnsupportedModelError(ModelError):
    """The model's library, class or option is not one arborshap reads."""


class VerificationError(ModelError):
    """The trees as read do not predict what the model's own library predicts."""


class InputError(ArborshapError):
    """Rows, weights, groups or an argument are not usable; the message says which and where."""


class InternalError(ArborshapError):
    """A defect of arborshap itself; please report it."""
