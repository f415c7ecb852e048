"""What Python writes beside the arrays of a saved explainer, checked entry by entry when it is read."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arborshap.exceptions import ModelError
from arborshap.forest import Forest
from arborshap.forest.linear import LinearForest
from arborshap.game.columns import Apart
from arborshap.models import Link

Numbers: TypeAlias = dict[str, NDArray[np.float64]]


class About:
    """The description that Python wrote beside the arrays; each entry is checked when it is read."""

    def __init__(self, texts: dict[str, list[str]]) -> None:
        self._texts = texts
        described = self.only("python")
        try:
            self._entries = json.loads(described)
        except (ValueError, RecursionError) as error:
            raise ModelError("the saved description is not valid JSON") from error
        if not isinstance(self._entries, dict):
            raise ModelError("the saved description is not a JSON object")

    def only(self, name: str) -> str:
        """Return the text of a list that must hold exactly one."""
        return self.texts(name, 1)[0]

    def texts(self, name: str, count: int | None) -> list[str]:
        """Return a list of texts, which must have `count` entries unless `count` is ``None``."""
        found = self._texts.get(name)
        if found is None:
            message = "; the file was not written from Python" if name == "python" else ""
            raise ModelError(f"the saved explainer has no {name!r}{message}")
        if count is not None and len(found) != count:
            raise ModelError(f"the saved explainer has {len(found)} {name!r}, but it needs {count}")
        return found

    def has(self, name: str) -> bool:
        """Whether the description has this entry."""
        return name in self._entries

    def of(self, name: str, kind: type | tuple[type, ...], *, optional: bool = False) -> Any:
        """Return an entry of the description, which must be of this type."""
        found = self._entries.get(name)
        if not isinstance(found, kind) and not (optional and found is None):
            raise ModelError(f"the saved {name!r} has the wrong type: {str(found)[:40]!r}")
        return found


def link_of(about: About) -> Link:
    """Return the link, which older files describe by its name alone."""
    described = about.of("link", (str, dict))
    if isinstance(described, str):  # an older file
        return Link.named(described, float(about.of("steepness", (int, float))))
    try:
        return Link.from_json(described)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"the saved link is not valid: {error}") from error


def apart_of(about: About, n_columns: int, n_read: int) -> Apart | None:
    """Return the players that columns would be if no feature joined them, if the file has them."""
    described = about.of("apart", dict, optional=True)
    if described is None:
        return None
    owners, names, read = (described.get(name) for name in ("owners", "names", "read"))
    lists = [owners, names, read]
    if not all(isinstance(one, list) for one in lists) or [len(owners), len(read)] != [n_columns, n_read]:
        raise ModelError("the saved players do not fit the model's columns")
    players = set(range(len(names)))
    if not all(isinstance(name, str) for name in names) or set(owners) != players or not set(read) <= players:
        raise ModelError("the saved players do not fit the model's columns")
    return Apart(tuple(owners), tuple(names), tuple(read))


def with_slopes(constants: Forest, numbers: Numbers) -> LinearForest:
    """Return a forest with linear leaves from what was saved of it."""
    columns, nodes, slopes = (numbers.get(name, np.zeros(0)) for name in ("slope_columns", "slope_nodes", "slopes"))
    if len({len(columns), len(nodes), len(slopes)}) > 1 or not np.isfinite([columns, nodes]).all() or not len(slopes):
        raise ModelError("the saved slopes of the leaves are incomplete")
    return LinearForest.of(constants, columns.astype(np.int64), nodes.astype(np.int64), slopes)


def background_of(numbers: Numbers, n_features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows of a saved background, and their shares in the mean."""
    rows, shares = numbers.get("background"), numbers.get("background_shares")
    if rows is None or shares is None or len(rows) != len(shares) * n_features:
        raise ModelError("the saved background is incomplete")
    return rows.reshape(len(shares), n_features), shares
