"""Chance: the baseline that every oracle has to beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Choices, Reward, as_request
from superarm.core.arguments import IndexArray


class RandomSets:
    """k arms uniformly at random, whatever theta is. No evaluations, k draws; theta is checked, not used.

    Within `Choices`, the best set for random values of the arms: every set to which nothing can be added has a chance,
    and with nothing but availability an equal one.

    Examples
    --------
    >>> import superarm as sa
    >>> RandomSets().select(sa.LinearReward(100), np.zeros(100), 3, rng=np.random.default_rng(0))
    array([51, 63, 83])
    """

    report = None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | Choices, *, rng: np.random.Generator
    ) -> IndexArray:
        """Any k arms."""
        _, k = as_request(reward, theta, k, constraints=True)
        if not isinstance(k, int):
            return k.best(rng.random(reward.n_arms), rng=rng)
        return np.sort(rng.choice(reward.n_arms, k, replace=False))
