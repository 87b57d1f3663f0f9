"""superarm: pick the best k of m items, round after round, and learn from what each picked item does."""

from superarm import theory
from superarm.batch import BatchTrace, simulate_batch
from superarm.beliefs import BetaBelief, GaussianBelief, KLUCBBelief, UCBBelief
from superarm.core import Belief, Choices, Counted, Draw, Environment, Oracle, Policy, Pools, Reward, top_k
from superarm.environments import BernoulliArms, ReplayEnvironment
from superarm.feasible import Feasible, Group
from superarm.inspection import Inspection, Property, Recommendation, Witness, auto, inspect
from superarm.instances import Instance, linear_instance, network_instance
from superarm.oracles import (
    Exhaustive,
    Greedy,
    GroupTesting,
    LazyGreedy,
    LazySingletons,
    LocalSearch,
    RandomSets,
    Rarely,
    Singletons,
    TopK,
)
from superarm.planning import Plan, PlanRow, plan
from superarm.policies import cts, cucb, gt_qts, random_sets
from superarm.quantizer import Quantizer
from superarm.rewards import AnySuccess, BlackBox, CoverageReward, LinearReward, NetworkReward
from superarm.sessions import (
    ConflictError,
    Decision,
    ExpiredDecisionError,
    Expiry,
    Explanation,
    Reason,
    Session,
    SessionFileError,
    UnknownDecisionError,
)
from superarm.simulate import Trace, replicate, simulate
from superarm.structures import Matchings, Paths, SpanningTrees
from superarm.version import __version__ as __version__

__all__ = [
    "AnySuccess",
    "BatchTrace",
    "Belief",
    "BernoulliArms",
    "BetaBelief",
    "BlackBox",
    "Choices",
    "ConflictError",
    "Counted",
    "CoverageReward",
    "Decision",
    "Draw",
    "Environment",
    "Exhaustive",
    "ExpiredDecisionError",
    "Expiry",
    "Explanation",
    "Feasible",
    "GaussianBelief",
    "Greedy",
    "Group",
    "GroupTesting",
    "Inspection",
    "Instance",
    "KLUCBBelief",
    "LazyGreedy",
    "LazySingletons",
    "LinearReward",
    "LocalSearch",
    "Matchings",
    "NetworkReward",
    "Oracle",
    "Paths",
    "Plan",
    "PlanRow",
    "Policy",
    "Pools",
    "Property",
    "Quantizer",
    "RandomSets",
    "Rarely",
    "Reason",
    "Recommendation",
    "ReplayEnvironment",
    "Reward",
    "Session",
    "SessionFileError",
    "Singletons",
    "SpanningTrees",
    "TopK",
    "Trace",
    "UCBBelief",
    "UnknownDecisionError",
    "Witness",
    "auto",
    "cts",
    "cucb",
    "gt_qts",
    "inspect",
    "linear_instance",
    "network_instance",
    "plan",
    "random_sets",
    "replicate",
    "simulate",
    "simulate_batch",
    "theory",
    "top_k",
]
