"""superarm: pick the best k of m items, round after round, and learn from each picked item.

These names are enough for most programs. Everything else is in the rooms of the package:

| room | contents |
| --- | --- |
| `superarm.core` | the vocabulary: protocols, policies, pools, samples |
| `superarm.beliefs`, `superarm.oracles`, `superarm.rewards`, `superarm.environments` | the parts |
| `superarm.features` | tables of arms and contexts as numbers |
| `superarm.sets` | which sets may be chosen |
| `superarm.policies` | named combinations of belief and oracle |
| `superarm.simulation` | simulations, instances with a known optimum, many runs at once |
| `superarm.sessions` | a policy in use |
| `superarm.advice` | which oracle suits a reward, and what it costs |
| `superarm.offpolicy` | estimates from logs |
| `superarm.theory` | the paper's bounds |
| `superarm.errors` | the exceptions |
| `superarm.catalog` | the table of all parts that the command line and the service offer |
| `superarm.testing` | contract checks for your own parts |
| `superarm.client` | the client of the service |
"""

# The rooms are attributes of the package, so that `import superarm` is the only import needed. Some
# are imported when they are first used, because that takes long or needs an extra: see the end.
import importlib
from typing import TYPE_CHECKING, Any

from superarm import advice as advice
from superarm import beliefs as beliefs
from superarm import core as core
from superarm import environments as environments
from superarm import errors as errors
from superarm import features as features
from superarm import offpolicy as offpolicy
from superarm import oracles as oracles
from superarm import policies as policies
from superarm import rewards as rewards
from superarm import sessions as sessions
from superarm import sets as sets
from superarm import simulation as simulation
from superarm import theory
from superarm.advice import auto, inspect, plan
from superarm.beliefs import (
    BetaBelief,
    GaussianBelief,
    KLUCBBelief,
    LinearBelief,
    LogisticBelief,
    UCBBelief,
)
from superarm.core import (
    Belief,
    Counted,
    Environment,
    FeasibleSets,
    Oracle,
    Policy,
    Pools,
    Reward,
)
from superarm.environments import BernoulliArms
from superarm.oracles import (
    Exhaustive,
    Greedy,
    GroupTesting,
    LazyGreedy,
    LazySingletons,
    LocalSearch,
    Singletons,
    TopK,
)
from superarm.policies import (
    cts,
    cucb,
    epsilon_greedy,
    gt_qts,
    random_sets,
    single_seed_ts,
    thompson,
)
from superarm.rewards import AnySuccess, BlackBox, CoverageReward, LinearReward, NetworkReward
from superarm.sessions import Session
from superarm.sets import Feasible, Group
from superarm.simulation import (
    Instance,
    Trace,
    compare,
    linear_instance,
    network_instance,
    replicate,
    simulate,
)
from superarm.theory import Quantizer
from superarm.version import __version__ as __version__

__all__ = [
    "AnySuccess",
    "Belief",
    "BernoulliArms",
    "BetaBelief",
    "BlackBox",
    "Counted",
    "CoverageReward",
    "Environment",
    "Exhaustive",
    "Feasible",
    "FeasibleSets",
    "GaussianBelief",
    "Greedy",
    "Group",
    "GroupTesting",
    "Instance",
    "KLUCBBelief",
    "LazyGreedy",
    "LazySingletons",
    "LinearBelief",
    "LinearReward",
    "LocalSearch",
    "LogisticBelief",
    "NetworkReward",
    "Oracle",
    "Policy",
    "Pools",
    "Quantizer",
    "Reward",
    "Session",
    "Singletons",
    "TopK",
    "Trace",
    "UCBBelief",
    "auto",
    "compare",
    "cts",
    "cucb",
    "epsilon_greedy",
    "gt_qts",
    "inspect",
    "linear_instance",
    "network_instance",
    "plan",
    "random_sets",
    "replicate",
    "simulate",
    "single_seed_ts",
    "theory",
    "thompson",
]

if TYPE_CHECKING:
    from superarm import catalog as catalog
    from superarm import client as client
    from superarm import testing as testing
else:

    def __getattr__(name: str) -> Any:
        if name in ("catalog", "client", "testing"):
            return importlib.import_module(f"superarm.{name}")
        raise AttributeError(f"module 'superarm' has no attribute {name!r}")
