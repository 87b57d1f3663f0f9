"""What picks the set: one algorithm per file."""

from superarm.oracles.clucb import CLUCB
from superarm.oracles.dependent_rounding import DependentRounding
from superarm.oracles.epsilon_random import EpsilonRandom
from superarm.oracles.escb import ESCBIndex
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.explore_then_commit import ExploreThenCommit
from superarm.oracles.greedy import Greedy
from superarm.oracles.group_testing import GroupTesting
from superarm.oracles.lazy_greedy import LazyGreedy
from superarm.oracles.lazy_singletons import LazySingletons
from superarm.oracles.local_search import LocalSearch
from superarm.oracles.lucb import LUCB
from superarm.oracles.noisy_greedy import NoisyGreedy
from superarm.oracles.noisy_local_search import NoisyLocalSearch
from superarm.oracles.noisy_singletons import NoisySingletons
from superarm.oracles.random_sets import RandomSets
from superarm.oracles.scheduled import Scheduled
from superarm.oracles.singletons import Singletons
from superarm.oracles.successive_accepts import SuccessiveAccepts
from superarm.oracles.top_k import TopK
from superarm.oracles.top_two import TopTwo

__all__ = [
    "CLUCB",
    "LUCB",
    "DependentRounding",
    "ESCBIndex",
    "EpsilonRandom",
    "Exhaustive",
    "ExploreThenCommit",
    "Greedy",
    "GroupTesting",
    "LazyGreedy",
    "LazySingletons",
    "LocalSearch",
    "NoisyGreedy",
    "NoisyLocalSearch",
    "NoisySingletons",
    "RandomSets",
    "Scheduled",
    "Singletons",
    "SuccessiveAccepts",
    "TopK",
    "TopTwo",
]
