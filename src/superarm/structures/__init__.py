"""Sets that are more than k of m: the arms are edges of a graph."""

from superarm.structures.matchings import Matchings
from superarm.structures.paths import Paths
from superarm.structures.spanning_trees import SpanningTrees

__all__ = ["Matchings", "Paths", "SpanningTrees"]
