"""An explainer on its way to workers, and what each of them keeps of it."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any

from arborshap import saved
from arborshap.exceptions import InputError

if TYPE_CHECKING:
    from arborshap.explainer import IndexName, TreeExplainer

_KEPT = 4
"""Explainers that a worker keeps ready; a job needs one or two."""

_ready: OrderedDict[str, TreeExplainer] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True, slots=True)
class Sent:
    """The bytes of an explainer, and a name for them by which a worker knows whether it has read them before.

    Attributes
    ----------
    content
        The saved explainer, with the Python objects that only the explainer of a pipeline has.
    fingerprint
        The hash of the content.
    """

    content: bytes
    fingerprint: str

    @classmethod
    def of(cls, explainer: TreeExplainer, index: IndexName, n_jobs: int) -> Sent:
        """Take an explainer apart, to compute this index with so many threads a task."""
        check_explainer(explainer)
        _, (kind, data, _, *others) = saved.reduced(explainer)
        content = pickle.dumps((_engine(explainer, index), kind, data, n_jobs, *others), protocol=5)
        return cls(content, sha256(content).hexdigest())

    def explainer(self) -> TreeExplainer:
        """Put the explainer together, or take the one that another task of this process left."""
        with _lock:  # tasks that come meanwhile wait for it instead of each building its own
            if self.fingerprint not in _ready:
                engine, *parts = pickle.loads(self.content)
                explainer: TreeExplainer = saved.unpickled(*parts)
                explainer._engine = engine
                _ready[self.fingerprint] = explainer
                if len(_ready) > _KEPT:
                    _ready.popitem(last=False)
            _ready.move_to_end(self.fingerprint)
            return _ready[self.fingerprint]


def check_explainer(explainer: Any) -> None:
    """Refuse anything else, such as the model."""
    from arborshap.explainer import TreeExplainer

    if not isinstance(explainer, TreeExplainer):
        raise InputError(f"explainer must be a TreeExplainer, got a {type(explainer).__name__}")


def _engine(explainer: TreeExplainer, index: IndexName) -> str:
    """Choose tables for all partitions alike, if all trees can have some.

    Left to itself each call would choose by its own number of rows, and the last bits would tell how rows were cut.
    """
    chosen = str(explainer._engine)
    if chosen != "auto" or not explainer._n_background or explainer._rescaled is not None:
        return chosen
    plan = explainer._core.plan(2**40, index, "auto")
    return "auto" if plan.trees_by_pairs or plan.trees_by_walk else "pattern"
