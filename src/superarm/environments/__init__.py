"""Environments: what the arms really do. One per file."""

from superarm.environments.bernoulli import BernoulliArms
from superarm.environments.cascading import CascadingArms
from superarm.environments.changing import ChangingArms
from superarm.environments.contextual_replay import ContextualReplay
from superarm.environments.drifting import DriftingArms
from superarm.environments.position_biased import PositionBiasedArms
from superarm.environments.replay import ReplayEnvironment
from superarm.environments.triggered import TriggeredArms

__all__ = [
    "BernoulliArms",
    "CascadingArms",
    "ChangingArms",
    "ContextualReplay",
    "DriftingArms",
    "PositionBiasedArms",
    "ReplayEnvironment",
    "TriggeredArms",
]
