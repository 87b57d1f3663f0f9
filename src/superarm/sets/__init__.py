"""Which sets of arms may be chosen."""

from superarm.core import KOfM
from superarm.sets.feasible import Feasible, Group
from superarm.sets.matchings import Matchings
from superarm.sets.paths import Paths
from superarm.sets.spanning_trees import SpanningTrees

__all__ = ["Feasible", "Group", "KOfM", "Matchings", "Paths", "SpanningTrees"]
