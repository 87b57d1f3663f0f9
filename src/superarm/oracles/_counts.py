"""What oracles that read the counts of a belief have in common."""

from __future__ import annotations

from typing import Any

from superarm.core import Reward
from superarm.core.optional import CountsOutcomes


def as_counting(belief: Any) -> CountsOutcomes:
    """The belief, if it counts its outcomes."""
    if not isinstance(belief, CountsOutcomes):
        raise TypeError(
            f"belief must have outcomes, as MeanBelief has, got a {type(belief).__name__}"
        )
    return belief


def outcomes_of(oracle: object, belief: CountsOutcomes, reward: Reward) -> Any:
    """The counts and sums of the arms of a reward, which must be additive."""
    if not reward.additive:
        raise ValueError(
            f"reward must be additive, since {type(oracle).__name__} is about sums of means, got "
            "one that does not declare it; use cts or cucb"
        )
    outcomes = belief.outcomes
    if len(outcomes.counts) != reward.n_arms:
        raise ValueError(
            f"belief must be about the reward's {reward.n_arms} arms, "
            f"got one of {len(outcomes.counts)}"
        )
    return outcomes
