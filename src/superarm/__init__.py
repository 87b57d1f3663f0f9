"""superarm: pick the best k of m items, round after round, and learn from what each picked item does."""

from superarm import theory
from superarm.batch import BatchTrace, simulate_batch
from superarm.beliefs import BetaBelief, GaussianBelief, KLUCBBelief, UCBBelief
from superarm.core import Belief, Counted, Environment, Oracle, Policy, Pools, Reward, top_k
from superarm.environments import BernoulliArms
from superarm.instances import Instance, linear_instance, network_instance
from superarm.oracles import (
    Exhaustive,
    Greedy,
    GroupTesting,
    LazySingletons,
    LocalSearch,
    RandomSets,
    Rarely,
    Singletons,
)
from superarm.policies import cts, cucb, gt_qts, random_sets
from superarm.quantizer import Quantizer
from superarm.rewards import AnySuccess, BlackBox, CoverageReward, LinearReward, NetworkReward
from superarm.simulate import Trace, replicate, simulate
from superarm.version import __version__ as __version__

__all__ = [
    "AnySuccess",
    "BatchTrace",
    "Belief",
    "BernoulliArms",
    "BetaBelief",
    "BlackBox",
    "Counted",
    "CoverageReward",
    "Environment",
    "Exhaustive",
    "GaussianBelief",
    "Greedy",
    "GroupTesting",
    "Instance",
    "KLUCBBelief",
    "LazySingletons",
    "LinearReward",
    "LocalSearch",
    "NetworkReward",
    "Oracle",
    "Policy",
    "Pools",
    "Quantizer",
    "RandomSets",
    "Rarely",
    "Reward",
    "Singletons",
    "Trace",
    "UCBBelief",
    "cts",
    "cucb",
    "gt_qts",
    "linear_instance",
    "network_instance",
    "random_sets",
    "replicate",
    "simulate",
    "simulate_batch",
    "theory",
    "top_k",
]
