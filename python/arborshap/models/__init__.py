"""Models of other libraries, read into the common format. A library is imported only if a model of it is given."""

from arborshap.models.link import Link
from arborshap.models.model import Model
from arborshap.models.registry import load
from arborshap.models.supported import supported_models

__all__ = ["Link", "Model", "load", "supported_models"]
