"""Parts that several named policies use."""

from __future__ import annotations

from superarm.beliefs import LearnedBetaBelief
from superarm.core import Oracle
from superarm.oracles import Singletons


def or_singletons(oracle: Oracle | None) -> Oracle:
    """The given oracle, or Oracle+ of the paper."""
    return Singletons() if oracle is None else oracle


def plain_learned_beta(n_arms: int) -> LearnedBetaBelief:
    """A `LearnedBetaBelief` whose draws have the law of its posteriors, one by one."""
    return LearnedBetaBelief(n_arms, shared=0.0, optimism=0.0, spread=1.0, stay_after=0, wide=False)
