"""Random sets: the baseline that every oracle has to beat."""

from __future__ import annotations

from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import KOrSets, Reward, as_selection, is_uniform
from superarm.core.arguments import IndexArray
from superarm.core.showing import one_line


class RandomSets:
    """k arms uniformly at random, whatever theta is.

    No evaluations, k draws. theta is checked, but not used. Within other
    feasible sets than all sets of k arms, it picks the best set for random values of the arms.
    Every set to which no arm can be added has a positive probability. With constraints on
    availability alone, all sets have the same probability.

    Examples
    --------
    >>> import numpy as np
    >>> import superarm as sa
    >>> RandomSets().select(sa.LinearReward(100), np.zeros(100), 3, rng=np.random.default_rng(0))
    array([51, 63, 83])
    """

    report = None

    __repr__ = one_line

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """Any k arms."""
        # theta is checked even though nobody reads it: mistakes should not depend on the oracle.
        _, feasible = as_selection(reward, theta, k)
        if is_uniform(feasible):
            return feasible.random_set(rng=rng)  # type: ignore[attr-defined]
        return feasible.best(rng.random(reward.n_arms), rng=rng)
