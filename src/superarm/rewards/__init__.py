"""Rewards: the value of a set of arms. One family per file."""

from superarm.rewards.any_success import AnySuccess
from superarm.rewards.black_box import BlackBox
from superarm.rewards.coverage import CoverageReward
from superarm.rewards.linear import LinearReward
from superarm.rewards.network import NetworkReward

__all__ = ["AnySuccess", "BlackBox", "CoverageReward", "LinearReward", "NetworkReward"]
