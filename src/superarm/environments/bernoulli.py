"""The environment of section 2: independent Bernoulli arms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms
from superarm.core.showing import one_line
from superarm.environments._means import as_means


class BernoulliArms:
    """Arm i gives X_i ~ Bern(mu_i), independently of the other arms and of the past.

    Parameters
    ----------
    mu
        Shape (n_arms,): the true means, in [0, 1]. Kept as a read-only copy.

    Examples
    --------
    >>> environment = BernoulliArms([0.0, 1.0, 0.5])
    >>> environment.pull([0, 1], rng=np.random.default_rng(0))
    array([0., 1.])
    """

    __repr__ = one_line

    def __init__(self, mu: ArrayLike) -> None:
        self.mu: FloatArray = as_means(mu)
        self.n_arms = len(self.mu)

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome, 0 or 1, per arm."""
        arms = as_arms(arms, self.n_arms)
        # rng.random() is below 1 always and may be 0: so mean 1 always succeeds and mean 0 never
        # does.
        return (rng.random(len(arms)) < self.mu[arms]).astype(np.float64)
