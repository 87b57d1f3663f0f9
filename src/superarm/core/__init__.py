"""The vocabulary of superarm: read `protocols` first, then `policy`."""

from superarm.core._top_k import top_k
from superarm.core.k_of_m import (
    KOfM,
    as_feasible,
    as_k_of_m,
    as_selection,
    lipschitz_constant,
)
from superarm.core.policy import Counted, Policy
from superarm.core.pools import Pools
from superarm.core.protocols import Belief, Environment, FeasibleSets, KOrSets, Oracle, Reward
from superarm.core.reports import Report, Scores
from superarm.core.sample import Sample

__all__ = [
    "Belief",
    "Counted",
    "Environment",
    "FeasibleSets",
    "KOfM",
    "KOrSets",
    "Oracle",
    "Policy",
    "Pools",
    "Report",
    "Reward",
    "Sample",
    "Scores",
    "as_feasible",
    "as_k_of_m",
    "as_selection",
    "lipschitz_constant",
    "top_k",
]
