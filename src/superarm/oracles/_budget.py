"""What oracles that keep to a budget have in common."""

from __future__ import annotations

import numpy as np

from superarm.core import Reward, top_k
from superarm.core.arguments import FloatArray, IndexArray, as_count


def as_budget(budget: int | None) -> int | None:
    """A limit of evaluations a round, or None for as many as it takes."""
    return None if budget is None else as_count(budget, "budget", least=1)


def likeliest(
    reward: Reward, theta: FloatArray, arms: IndexArray, n: int, *, rng: np.random.Generator
) -> IndexArray:
    """The n of some arms with the largest B_i theta_i, in the order given: all of them if they are not more than n.

    Where a mean of zero is an absent arm, that is the most an arm can add.
    """
    if n >= len(arms):
        return arms
    if n == 0:
        return arms[:0]
    return arms[top_k((reward.lipschitz * theta)[arms], n, rng=rng)]
