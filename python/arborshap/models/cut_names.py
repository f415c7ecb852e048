"""The names of categories in XGBoost's files, which XGBoost writes wrongly if they go beyond ASCII.

From a pandas frame, some versions of XGBoost (3.2, but not 3.4.1) join the UTF-8 bytes of all names, but count and
cut them by characters: of "Zürich" and "Bern" they keep "Züric" and "hBer". The names at the end are lost. A frame that
holds the same categories in the same order shows what the names were.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

WRONG = (
    "XGBoost writes the names of categories beyond ASCII wrongly if it is trained on a pandas frame. Give a background "
    "from a pandas frame whose category column has the categories of training, all of them and in the same order: then "
    "the names are mended. Or train with names in ASCII, or on a polars or pyarrow frame"
)


def name_of(content: bytes) -> str:
    """Read a name; bytes that are no UTF-8 text, because a name was cut amid a character, are kept as they are."""
    return content.decode("utf-8", "surrogateescape")


def settled(known: list[Any], shown: Sequence[Any]) -> list[Any] | None:
    """Return the true names of a feature's categories, given names that rows show; ``None`` if they do not tell.

    If XGBoost cut the names, then the first one beyond ASCII has lost its end, so rows that hold it as it is written
    prove that the names were not cut.
    """
    if as_cut(shown) == known:
        return list(shown)
    return known if known[first_unsure(known)] in shown else None


def first_unsure(known: Sequence[Any]) -> int:
    """Return the position of the first name beyond ASCII; those before it are right in any case."""
    return next(at for at, name in enumerate(known) if isinstance(name, str) and not name.isascii())


def may_be_cut(known: Sequence[Any]) -> bool:
    """Whether the names that a file has of a feature's categories may be cut in the wrong places."""
    return any(isinstance(name, str) and not name.isascii() for name in known)


def as_cut(names: Sequence[Any]) -> list[str] | None:
    """Return what XGBoost makes of the names of a pandas column; ``None`` if they are not all text."""
    if not all(isinstance(name, str) for name in names):
        return None
    try:
        content = "".join(names).encode("utf-8")
    except UnicodeEncodeError:  # half of a pair of surrogates
        return None
    return [name_of(content[start:end]) for start, end in pairwise(accumulate(map(len, names), initial=0))]
