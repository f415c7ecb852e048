"""An explainer on its way to workers, and what each of them keeps of it."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any

from arborshap import TreeExplainer
from arborshap.exceptions import InputError
from arborshap.game.indices import IndexName

_KEPT = 4
"""Explainers that a worker keeps ready; a job needs one or two."""

_ready: OrderedDict[str, TreeExplainer] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True, slots=True)
class ShippedExplainer:
    """The bytes of an explainer, and a name for them by which a worker knows whether it has read them before.

    Attributes
    ----------
    content
        The pickled explainer: its saved form, with the Python objects that only the explainer of a pipeline has.
    fingerprint
        The hash of the content.
    """

    content: bytes
    fingerprint: str

    @classmethod
    def of(cls, explainer: TreeExplainer, index: IndexName, n_jobs: int) -> ShippedExplainer:
        """Prepare an explainer that will compute this index with `n_jobs` threads per task."""
        check_explainer(explainer)
        ready = explainer.with_settings(engine=_engine(explainer, index), n_jobs=n_jobs)
        content = pickle.dumps(ready, protocol=5)
        return cls(content, sha256(content).hexdigest())

    def explainer(self) -> TreeExplainer:
        """Put the explainer together, or take the one that another task of this process left."""
        with _lock:  # tasks that come meanwhile wait for it instead of each building its own
            if self.fingerprint not in _ready:
                _ready[self.fingerprint] = pickle.loads(self.content)
                if len(_ready) > _KEPT:
                    _ready.popitem(last=False)
            _ready.move_to_end(self.fingerprint)
            return _ready[self.fingerprint]


def check_explainer(explainer: Any) -> None:
    """Refuse anything else, such as the model."""
    if not isinstance(explainer, TreeExplainer):
        raise InputError(f"explainer must be a TreeExplainer, got a {type(explainer).__name__}")


def _engine(explainer: TreeExplainer, index: IndexName) -> str:
    """Choose one engine for all partitions alike: tables or ranked counts, unless a tree has too many players for both.

    Left to itself each call would choose by its own number of rows, and the last bits would tell how rows were cut.
    """
    facts = explainer.facts()
    if facts.engine != "auto" or not facts.n_background or facts.model_output != "raw":
        return facts.engine
    plan = explainer.explain_plan(2**40, index=index)
    if plan.trees_by_pairs or plan.trees_by_walk:
        return "auto"
    return "pattern" if plan.trees_by_tables else "counts"
