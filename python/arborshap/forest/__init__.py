"""The common format: every model becomes one `Forest`, which `ForestBuilder` builds tree by tree."""

from arborshap.forest.builder import ForestBuilder, Missing, Precision, Rule
from arborshap.forest.forest import Forest, NodeFlag, Tree

__all__ = ["Forest", "ForestBuilder", "Missing", "NodeFlag", "Precision", "Rule", "Tree"]
