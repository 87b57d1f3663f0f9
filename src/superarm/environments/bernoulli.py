"""The world of section 2: independent Bernoulli arms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_finite, as_unit


class BernoulliArms:
    """Arm i gives X_i ~ Bern(mu_i), independently of the others and of the past.

    Parameters
    ----------
    mu
        Shape (n_arms,): the true means, in [0, 1]. Kept as a copy that can't be written to.

    Examples
    --------
    >>> world = BernoulliArms([0.0, 1.0, 0.5])
    >>> world.pull([0, 1], rng=np.random.default_rng(0))
    array([0., 1.])
    """

    def __init__(self, mu: ArrayLike) -> None:
        self.mu: FloatArray = as_finite(mu, "mu", ndim=1)
        as_unit(self.mu, "mu", self.mu.shape)
        self.mu.flags.writeable = False
        self.n_arms = len(self.mu)

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome, 0 or 1, for each arm."""
        arms = as_arms(arms, self.n_arms)
        return (rng.random(len(arms)) < self.mu[arms]).astype(np.float64)
