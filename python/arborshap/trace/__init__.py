"""The paper's walk down one tree for one pair of rows, recorded step by step."""

from arborshap.trace.steps import Edge, EdgeType, Leaf, Split
from arborshap.trace.trace import Trace
from arborshap.trace.walk import walk

__all__ = ["Edge", "EdgeType", "Leaf", "Split", "Trace", "walk"]
