"""Limits on the size of a model file, which may come from a stranger and is read into memory."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeAlias

from arborshap._util.checks import whole_number
from arborshap.exceptions import ModelError
from arborshap.forest import Forest

Content: TypeAlias = bytes  # in the class below, `bytes` is a limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a model file or a saved explainer may hold; more raises a `ModelError` that names the limit.

    Whatever the other limits are, the memory to read a file is proportional to its size, so `bytes` bounds it too.

    Attributes
    ----------
    bytes
        Size of the file.
    trees, nodes
        Number of trees, and number of nodes of all trees.
    depth
        Number of splits on the longest path from a root to a leaf.
    features
        Number of columns of a row. A file of a few bytes can claim any number.
    categories
        Number of members of all sets of categories together.
    """

    bytes: int = 2**30
    trees: int = 2**20
    nodes: int = 2**27
    depth: int = 2**17
    features: int = 2**20
    categories: int = 2**26

    def __post_init__(self) -> None:
        for field in fields(self):
            whole_number(f"the limit of {field.name}", getattr(self, field.name), 1, 2**63, "a whole number from 1 up")

    @property
    def nesting(self) -> int:
        """How deeply containers in a text may be nested: a dump has two per node of a path."""
        return 2 * self.depth + 64

    def read(self, path: str | os.PathLike[str]) -> Content:
        """Read a file, unless it is too large."""
        with Path(path).open("rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):  # it has no size, and may never end
                raise ModelError(f"{str(path)!r} is not a regular file; give the path of one")
            self.check("bytes", found.st_size, f"the file {str(path)!r}")
            content = file.read()
        self.check("bytes", len(content), f"the file {str(path)!r}")  # it may have grown since
        return content

    def check_forest(self, forest: Forest, what: str) -> None:
        """Raise `ModelError` if a forest exceeds a limit; `what` says where the forest came from."""
        self.check("trees", forest.n_trees, what)
        self.check("nodes", forest.n_nodes, what)
        self.check("depth", forest.max_depth, what)
        self.check("features", forest.n_features, what)
        self.check("categories", forest.n_categories, what)

    def check(self, name: str, found: int, what: str) -> None:
        """Raise `ModelError` if `found` exceeds the limit called `name`."""
        most = getattr(self, name)
        if found > most:
            has = f"is {found:,} deep" if name == "depth" else f"has {found:,} {name}"
            raise ModelError(
                f"{what} {has}, but limits allow {most:,}; if you trust it, pass limits=Limits({name}=...)"
            )


DEFAULT = Limits()
"""The limits if a caller gives none."""
