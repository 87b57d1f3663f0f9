"""What another policy would have got, from a log of what one policy did: estimates with intervals."""

from superarm.offpolicy.estimate import Estimate
from superarm.offpolicy.estimators import doubly_robust, ips, set_ips, set_snips, snips
from superarm.offpolicy.log import Log
from superarm.offpolicy.target import Target

__all__ = ["Estimate", "Log", "Target", "doubly_robust", "ips", "set_ips", "set_snips", "snips"]
