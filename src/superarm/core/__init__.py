"""The vocabulary of superarm: read `protocols` first, then `policy`."""

from superarm.core._top_k import top_k
from superarm.core.policy import Counted, Policy, as_request, lipschitz_constant
from superarm.core.pools import Pools
from superarm.core.protocols import Belief, Choices, Environment, Oracle, Reward
from superarm.core.sample import Draw

__all__ = [
    "Belief",
    "Choices",
    "Counted",
    "Draw",
    "Environment",
    "Oracle",
    "Policy",
    "Pools",
    "Reward",
    "as_request",
    "lipschitz_constant",
    "top_k",
]
