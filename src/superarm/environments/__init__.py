"""What the arms really do."""

from superarm.environments.bernoulli import BernoulliArms
from superarm.environments.replay import ReplayEnvironment

__all__ = ["BernoulliArms", "ReplayEnvironment"]
