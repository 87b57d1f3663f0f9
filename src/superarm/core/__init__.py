"""The vocabulary of superarm: read `protocols` first, then `policy`."""

from superarm.core.k_of_m import (
    KOfM,
    as_feasible,
    as_k_of_m,
    as_selection,
    best_up_to,
    is_uniform,
    lipschitz_constant,
    top_k,
)
from superarm.core.policy import Counted, Policy, Sample
from superarm.core.pools import Pools
from superarm.core.progress import RoundProgress
from superarm.core.protocols import Belief, Environment, FeasibleSets, KOrSets, Oracle, Reward
from superarm.core.reports import Report, Scores

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
    "RoundProgress",
    "Sample",
    "Scores",
    "as_feasible",
    "as_k_of_m",
    "as_selection",
    "best_up_to",
    "is_uniform",
    "lipschitz_constant",
    "top_k",
]
