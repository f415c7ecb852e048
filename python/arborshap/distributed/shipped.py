"""An explainer that is sent to workers, and the copy that each worker keeps."""

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
"""Number of explainers that a worker keeps; a job needs one or two."""

_ready: OrderedDict[str, TreeExplainer] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True, slots=True)
class ShippedExplainer:
    """The bytes of an explainer, and a fingerprint that tells a worker whether it has already read them.

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
        """Unpickle the explainer, or return the one that another task of this process already unpickled."""
        with _lock:  # other tasks wait for it instead of unpickling their own copy
            if self.fingerprint not in _ready:
                _ready[self.fingerprint] = pickle.loads(self.content)
                if len(_ready) > _KEPT:
                    _ready.popitem(last=False)
            _ready.move_to_end(self.fingerprint)
            return _ready[self.fingerprint]


def check_explainer(explainer: Any) -> None:
    """Refuse anything that is not an explainer, such as a model."""
    if not isinstance(explainer, TreeExplainer):
        raise InputError(f"explainer must be a TreeExplainer, got a {type(explainer).__name__}")


def _engine(explainer: TreeExplainer, index: IndexName) -> str:
    """Choose one engine for every partition: tables or ranked counts, unless a tree has too many players for both.

    Otherwise each call would choose an engine by its own number of rows, and the last bits would depend on the
    partitions.
    """
    facts = explainer.facts()
    if facts.engine != "auto" or not facts.n_background:
        return facts.engine
    plan = explainer.explain_plan(2**40, index=index)
    if plan.trees_by_pairs or plan.trees_by_walk:
        return "auto"
    return "pattern" if plan.trees_by_tables else "counts"
