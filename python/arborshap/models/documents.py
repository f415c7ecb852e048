"""Taking fields out of a parsed model file, with errors that name the field that is missing or of the wrong type."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from arborshap._util.checks import is_whole
from arborshap.exceptions import ModelError, UnsupportedModelError

T = TypeVar("T")


def shown(found: Any) -> str:
    """Return a value of a file as text for an error message, shortened."""
    text = repr(found[:80] if isinstance(found, (str, bytes)) else found)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_known(found: Iterable[Any], known: Collection[str], where: str) -> None:
    """Refuse fields that later versions of a library may have added, and that may change what a model predicts."""
    unknown = [field for field in found if field not in known]
    if unknown:
        raise UnsupportedModelError(
            f"{where}: this version of arborshap does not know {', '.join(map(shown, unknown[:5]))}, which may change "
            "what the model predicts; update arborshap, or save the model with an older version of its library"
        )


def take(document: Any, key: str, kind: type[T], where: str) -> T:
    """Return ``document[key]``, which must exist and be of type `kind`; `where` names the document in errors."""
    if not isinstance(document, dict) or key not in document:
        raise ModelError(f"{where}: {key!r} is missing; the file is damaged or not of this format")
    found = document[key]
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise ModelError(f"{where}: {key!r} must be {kind.__name__}, not {type(found).__name__}")
    return found


def take_list(document: Any, key: str, where: str) -> Any:
    """Return ``document[key]``, which must be a list or an array."""
    if not isinstance(document, dict) or key not in document:
        raise ModelError(f"{where}: {key!r} is missing; the file is damaged or not of this format")
    found = document[key]
    if not isinstance(found, list) and not hasattr(found, "__array__"):
        raise ModelError(f"{where}: {key!r} must be a list, not {type(found).__name__}")
    return found


def whole(text: Any, what: str) -> int:
    """Read a whole number that a file may have written as text."""
    try:
        if isinstance(text, str) and len(text) <= 20:
            return int(text)
    except ValueError:
        pass
    if is_whole(text):
        return int(text)
    raise ModelError(f"{what} must be a whole number, not {str(text)[:40]!r}")


def unknown_objective(library: str, objective: str) -> str:
    """Return the warning about a file whose objective is not known; a file has no library to be verified with."""
    which = f"the objective {objective[:80]!r}, which is not known here" if objective else "no objective of its own"
    return (
        f"this {library} file has {which}. The values explain the sum of the trees. If {library}'s predict does more "
        f"than add up the trees, give the model object instead of the file, so that the sum is compared with {library}"
    )
