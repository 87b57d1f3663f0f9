"""Means that change a little in every round."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_finite
from superarm.core.showing import one_line
from superarm.environments._means import as_means


class DriftingArms:
    """Arm i gives X_i ~ Bern(mu_i); after each pull mu_i moves by N(0, std²), reflected at 0 and 1.

    Each round draws an outcome and a step for *every* arm. So the drift does not depend on which
    arms are pulled, and policies that are compared with `replicate` meet the same means. O(n_arms)
    draws per round. Takes 8 bytes per arm. Make a new environment for each run.

    Parameters
    ----------
    mu
        Shape (n_arms,): the means at the first pull, in [0, 1].
    std
        The standard deviation of a step, at least 0. After t rounds a mean has moved by about
        std · sqrt(t).

    Attributes
    ----------
    mu
        Shape (n_arms,): the means of the next pull, read-only; a new array after each pull.

    Examples
    --------
    >>> environment = DriftingArms([0.0, 1.0, 0.5], std=0.1)
    >>> environment.pull([0, 1], rng=np.random.default_rng(0))
    array([0., 1.])
    >>> environment.mu.round(3)
    array([0.01 , 0.946, 0.536])
    """

    __repr__ = one_line

    def __init__(self, mu: ArrayLike, std: float) -> None:
        self.mu: FloatArray = as_means(mu)
        self.std = float(as_finite([std], "std", ndim=1, least=0.0)[0])
        self.n_arms = len(self.mu)

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome, 0 or 1, per arm; then all means move."""
        arms = as_arms(arms, self.n_arms)
        outcomes = (rng.random(self.n_arms) < self.mu)[arms].astype(np.float64)
        # A new array: `simulate` keeps the old one to value the rounds so far.
        moved = self.mu + self.std * rng.standard_normal(self.n_arms)
        # Reflected at 0 and 1, as often as needed.
        self.mu = 1 - np.abs(1 - moved % 2)
        self.mu.flags.writeable = False
        return outcomes
