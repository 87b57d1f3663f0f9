"""Off-policy evaluation: what another policy would have earned, from the log of one policy."""

from superarm.offpolicy.estimate import Estimate
from superarm.offpolicy.estimators import doubly_robust, evaluate, ips, set_ips, set_snips, snips
from superarm.offpolicy.log import Log
from superarm.offpolicy.sampling import Propensities, propensities
from superarm.offpolicy.shown import ShownLog
from superarm.offpolicy.target import Target

__all__ = [
    "Estimate",
    "Log",
    "Propensities",
    "ShownLog",
    "Target",
    "doubly_robust",
    "evaluate",
    "ips",
    "propensities",
    "set_ips",
    "set_snips",
    "snips",
]
