"""What the arms really do."""

from superarm.environments.bernoulli import BernoulliArms

__all__ = ["BernoulliArms"]
